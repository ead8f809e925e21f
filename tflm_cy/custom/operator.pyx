# cython: binding=True
"""Operators written in Python: `tflm_cy.register_custom_op(name, prepare, invoke)`.

    def prepare(node):                                  # when shapes may have changed: before anything runs
        x = node.inputs[0]                              # TensorInfo: shape, dtype, scales, value of a constant ...
        node.set_shape(0, x.shape)
        node.state = node.request_scratch(x.shape, "float32")

    def invoke(node):                                   # numpy views of the arena; the GIL is held
        twice = node.scratch(node.state)
        np.multiply(node.inputs[0], 2, out=twice)
        np.add(twice, 1, out=node.outputs[0])

| call | in | what |
| --- | --- | --- |
| inputs, outputs | both | TensorInfo (prepare), arrays (invoke); None where omitted; strings are object arrays of bytes |
| set_shape(i, shape) | prepare | the shape of output i, which else is the file's |
| set_dynamic(i) | prepare | output i gets its shape with `store` while invoking |
| request_scratch(shape, dtype) -> scratch(handle) | prepare -> invoke | memory of the arena's head, for the time of this node; not zeroed |
| request_persistent(shape, dtype) -> persistent(handle) | prepare -> both | memory of the arena's tail, zeroed, until the next prepare |
| store(i, value) | invoke | value, and shape, of an output that is dynamic or holds strings |
| state | both | any object, None before prepare; the same one in invoke |
| name, index, custom_options, options | both | of the node; options: the FlexBuffer map as a dict |

Inputs are read-only, variables excepted. Arrays die with the call: a function that keeps one makes the call raise, and every
later one until the array is gone. An exception is raised by `allocate_tensors` or `invoke` as the cause of a RuntimeError that names the node.
"""
import sys

import numpy as np

from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uintptr_t

from tflm_cy.graph.context cimport Context, Node, Registration
from tflm_cy.graph.description cimport array_of, is_viewable, memory_of, store_value, strings_of, tensor_info
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport DYNAMIC, MAX_RANK, STRING, VARIABLE, Tensor, type_name
from tflm_cy.schema.flexbuffer import options as read_options


cdef class PythonOperator(Registration):
    """Two callables as an operator of any version."""

    def __init__(self, str name, prepare, invoke):
        self.name = name
        self.prepare_with = prepare
        self.invoke_with = invoke
        self.prepare = prepare_node
        self.version = self.reference_version = 0x7FFFFFFF
        self.lowest_version = 0
        self.sparse_input = -1

    def __reduce__(self):
        return PythonOperator, (self.name, self.prepare_with, self.invoke_with)


cdef class PythonNode:
    """What prepare and invoke have in common; made by the engine."""

    def __init__(self):
        self.scratch_forms = []
        self.persistent_forms = []
        self.persistent_addresses = []

    cdef Node* live(self) except NULL:
        if self.node == NULL:
            raise RuntimeError("a node can be used during the call that it was given to, not afterwards")
        return self.node

    @property
    def name(self):
        """The operator's name in the model."""
        return self.op.name

    @property
    def index(self):
        """The node's number in its subgraph."""
        return self.live().index

    @property
    def custom_options(self):
        """The options as bytes, b"" when there are none."""
        cdef const Node* node = self.live()
        return b"" if node.custom_options == NULL else (<const char*>node.custom_options)[:node.custom_options_size]

    @property
    def options(self):
        """The options as a dict, when they are a FlexBuffer map; ValueError when they are something else."""
        return read_options(self.custom_options)

    @property
    def state(self):
        """Any object that prepare leaves for invoke."""
        return self.kept_state

    @state.setter
    def state(self, value):
        self.kept_state = value

    def persistent(self, int handle):
        """Memory that `request_persistent` was asked for."""
        self.live()
        if not 0 <= handle < len(self.persistent_forms):
            raise IndexError(f"{self.op.name}: no persistent memory has the handle {handle}")
        size, shape, dtype = self.persistent_forms[handle]
        return memory_of(self.g, <void*><uintptr_t>self.persistent_addresses[handle], size, shape, dtype, False)


cdef class Preparation(PythonNode):
    """What `prepare` is given; see the module."""

    @property
    def inputs(self):
        """TensorInfo of each input, None where omitted."""
        cdef Node* node = self.live()
        return tuple([None if node.inputs[i] < 0 else tensor_info(self.g, node.inputs[i]) for i in range(node.input_count)])

    @property
    def outputs(self):
        """TensorInfo of each output, None where omitted."""
        cdef Node* node = self.live()
        return tuple([None if node.outputs[i] < 0 else tensor_info(self.g, node.outputs[i]) for i in range(node.output_count)])

    def set_shape(self, int i, shape):
        """The shape of output i."""
        cdef int32_t[MAX_RANK] dims
        cdef Tensor* tensor = result(self, i)
        cdef list sizes = [int(size) for size in shape]
        cdef int d
        if len(sizes) > MAX_RANK:
            raise ValueError(f"rank {len(sizes)} of output {i} exceeds {MAX_RANK}")
        for d in range(len(sizes)):
            dims[d] = sizes[d]
        self.g.set_shape(tensor, len(sizes), dims)

    def set_dynamic(self, int i):
        """Output i has a shape that is known only while invoking: `store` gives it then."""
        cdef Tensor* tensor = result(self, i)
        self.g.set_dynamic(tensor)

    def request_scratch(self, shape, dtype):
        """A handle for memory while this node runs."""
        self.live()
        size, shape, dtype = form(shape, dtype)
        self.scratch_forms.append((self.g.request_scratch(size), size, shape, dtype))
        return len(self.scratch_forms) - 1

    def request_persistent(self, shape, dtype):
        """A handle for zeroed memory that keeps its values between invokes, until the next prepare."""
        self.live()
        size, shape, dtype = form(shape, dtype)
        self.persistent_addresses.append(<uintptr_t>self.g.persistent(max(<size_t>size, 1)))
        self.persistent_forms.append((size, shape, dtype))
        return len(self.persistent_forms) - 1


cdef class Invocation(PythonNode):
    """What `invoke` is given; see the module."""
    cdef readonly tuple inputs
    cdef readonly tuple outputs

    def scratch(self, int handle):
        """Memory that `request_scratch` was asked for; what it holds at first is arbitrary."""
        self.live()
        if not 0 <= handle < len(self.scratch_forms):
            raise IndexError(f"{self.op.name}: no scratch memory has the handle {handle}")
        number, size, shape, dtype = self.scratch_forms[handle]
        return memory_of(self.g, self.g.scratch(number), size, shape, dtype, False)

    def store(self, int i, value):
        """Give output i a value and its shape: strings (bytes or str), or an array of exactly the tensor's dtype."""
        store_value(self.g, result(self, i), value, f"output {i}")


cdef Tensor* result(PythonNode self, int i) except NULL:
    """Output i, which must exist."""
    cdef const Node* node = self.live()
    cdef Tensor* tensor = self.g.output(node, i) if i >= 0 else NULL
    if tensor == NULL:
        raise IndexError(f"{self.op.name} has no output {i}")
    return tensor


cdef tuple form(shape, dtype):
    """(bytes, shape, dtype) of an array to be."""
    dtype = np.dtype(dtype)
    if dtype.hasobject:
        raise ValueError(f"memory of the arena holds no Python objects ({dtype})")
    shape = tuple([int(size) for size in (shape if np.iterable(shape) else (shape,))])
    size = dtype.itemsize
    for length in shape:
        if length < 0:
            raise ValueError(f"negative dimension in {shape}")
        size *= length
    if size > sys.maxsize >> (17 if sizeof(void*) == 8 else 1):
        raise MemoryError(f"no memory for an array {shape} of {dtype}")
    return size, shape, dtype


cdef int prepare_node(Context context, Node* node) except -1:
    cdef Subgraph g = <Subgraph>context
    cdef PythonOperator op = g.registrations[node.index]
    cdef Preparation preparation = Preparation()
    cdef int views = g.shared.live_views
    preparation.g = g
    preparation.op = op
    preparation.node = node
    try:
        if op.prepare_with is not None:
            op.prepare_with(preparation)
    finally:
        preparation.node = NULL
        preparation.g = None                     # which holds this object
    if g.shared.live_views > views:
        raise RuntimeError(f"{op.name}: prepare has kept an array over the arena; it must copy what it keeps")
    check_tensors(g, node, op)
    g.keep(preparation)
    node.data = <void*>preparation                # `keep` holds it as long as the node is prepared
    node.invoke = invoke_node
    return 0


cdef int check_tensors(Subgraph g, const Node* node, PythonOperator op) except -1:
    """Every tensor can be shown as an array."""
    cdef const Tensor* tensor
    cdef int i
    for i in range(node.input_count + node.output_count):
        tensor = g.input(node, i) if i < node.input_count else g.output(node, i - node.input_count)
        if tensor != NULL and tensor.type != STRING and not is_viewable(tensor):
            raise ValueError(f"{op.name}: tensor {tensor.index} of type {type_name(tensor.type)} has no numpy view")
    return 0


cdef int invoke_node(Context context, Node* node) noexcept nogil:
    with gil:
        return call(<Subgraph>context, node)


cdef object operand(Subgraph g, Tensor* tensor, bint readonly):
    """An input or output as invoke sees it: None for one that waits for `store`."""
    if tensor == NULL:
        return None
    if tensor.type == STRING:
        if not readonly:
            return None
        return strings_of(g, tensor)
    if not readonly and tensor.allocation == DYNAMIC:
        return None
    return array_of(g, tensor, readonly and tensor.allocation != VARIABLE)


cdef int call(Subgraph g, Node* node) noexcept:
    cdef Preparation prepared = <Preparation>node.data
    cdef Invocation invocation
    cdef int views = g.shared.live_views
    cdef int i
    try:
        invocation = Invocation()
        invocation.g = g
        invocation.node = node
        invocation.op = prepared.op
        invocation.scratch_forms = prepared.scratch_forms
        invocation.persistent_forms = prepared.persistent_forms
        invocation.persistent_addresses = prepared.persistent_addresses
        invocation.kept_state = prepared.kept_state
        invocation.inputs = tuple([operand(g, g.input(node, i), True) for i in range(node.input_count)])
        invocation.outputs = tuple([operand(g, g.output(node, i), False) for i in range(node.output_count)])
        try:
            invocation.op.invoke_with(invocation)
        finally:
            prepared.kept_state = invocation.kept_state
            invocation.inputs = invocation.outputs = ()
            invocation.node = NULL
            invocation.g = None
        if g.shared.live_views > views:
            raise RuntimeError("invoke has kept an array over the arena; it must copy what it keeps")
    except Exception as error:
        if isinstance(error, MemoryError):
            return g.fail_because(error)
        failure = RuntimeError(f"{type(error).__name__}: {error}. Node number {node.index} ({prepared.op.name}) failed to invoke.")
        failure.__cause__ = error
        g.execution.failure = failure
        return -1
    except BaseException as error:
        return g.fail_because(error)
    return 0
