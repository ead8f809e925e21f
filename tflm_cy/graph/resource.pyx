# tflm_cy: optimize=speed
"""Resource variables, shared by the subgraphs of a model, and the note of what CALL_ONCE has run.

A variable is named by (container, shared name); VAR_HANDLE turns the name into a number, which travels through RESOURCE
tensors. Memory is reserved when ASSIGN_VARIABLE is prepared, so that assigning a value of that size allocates nothing.
A `Variable` keeps its address as long as the `Resources` live, so that operators may hold it.

A delegate may compute values that only it understands (TensorFlow's lists, tables, iterators). Such a value is an object, its tensor of type VARIANT or
RESOURCE holds a *handle*: a number that names this very tensor, so `handles` maps it to the object. Its life:

| | |
| --- | --- |
| `hold` | a node writes the tensor: it refers to the new object, and no longer to the one before |
| `copy_handle` | the tensor is copied (into a called subgraph, out of it, around a loop): both refer to the object, each by its own number |
| `held` | a node reads the tensor; None: what it holds is no handle |
| `handles.clear` | the outermost invoke ends, or fails: no tensor refers to anything |

An object that no tensor refers to is freed at once, unless the delegate keeps it. So there are never more of them than tensors of these types, however often
a loop turns, and none between two invokes, where nobody could read them (but in a graph that preserves all tensors, whose nodes may be run one by one).
The lower half of a handle is negative, which no number of a variable is: neither can be taken for the other.
"""
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from tflm_cy.graph.tensor cimport Tensor, shape_of, type_name
from tflm_cy.platform.long_copy cimport copy_bytes


cdef int reserve(Variable* variable, size_t bytes) noexcept nogil:
    """Memory for a value of so many bytes; -1 when it cannot be had."""
    cdef void* data
    if variable.planned:
        return 0 if bytes <= variable.capacity else -1
    if bytes > variable.capacity or variable.data == NULL:
        data = realloc(variable.data, bytes + 1)
        if data == NULL:
            return -1
        variable.data = data
        variable.capacity = bytes
    return 0


cdef int assign(Variable* variable, const Tensor* value) noexcept nogil:
    """Copy a value; -1 when there is no memory for it. An empty one leaves the bytes that there are, which a reader of another shape gets."""
    cdef int d
    if reserve(variable, value.bytes) != 0:
        return -1
    copy_bytes(variable.data, value.data, value.bytes)
    if value.bytes > 0 or not variable.assigned:
        variable.bytes = value.bytes
    variable.type = value.type
    variable.rank = value.rank
    for d in range(value.rank):
        variable.dims[d] = value.dims[d]
    variable.assigned = True
    return 0


cdef int overwrite(Variable* variable, const Tensor* value) noexcept nogil:
    """Write a value into the memory that there is, behind which nothing changes; -1 when there is none, or less, and no more can be had."""
    if not variable.assigned or value.bytes > variable.bytes:
        return assign(variable, value)
    copy_bytes(variable.data, value.data, value.bytes)
    return 0


cdef class Resource:
    """The owner of one variable; unassigned until the first ASSIGN_VARIABLE runs."""

    def __dealloc__(self):
        if not self.variable.planned:
            free(self.variable.data)


cdef class Resources:
    """All variables of one interpreter."""

    def __init__(self):
        self.identifiers = {}
        self.resources = []
        self.initialized = set()
        self.tables = {}
        self.handles = {}
        self.kept = {}

    cdef int identifier(self, str container, str name) except -1:
        """The number of a variable, new or known."""
        key = (container, name)
        number = self.identifiers.get(key)
        if number is None:
            number = len(self.resources)
            self.identifiers[key] = number
            self.resources.append(Resource())
        return number

    cdef Variable* variable(self, int number) noexcept:
        """The variable of a number, NULL when there is none."""
        if not 0 <= number < len(self.resources):
            return NULL
        return &(<Resource>self.resources[number]).variable

    # ---------------------------------------------------------------- handles of what a delegate has computed

    cdef int hold(self, int subgraph, Tensor* tensor, object value) except -1:
        """Let a tensor refer to an object of a delegate's."""
        cdef int64_t number = handle_of(subgraph, tensor)
        if tensor.data == NULL or tensor.bytes < sizeof(number):
            raise ValueError(f"tensor {tensor.index} of type {type_name(tensor.type)} {shape_of(tensor)} has no room for a handle")
        memcpy(tensor.data, &number, sizeof(number))
        self.handles[number] = value
        return 0

    cdef object held(self, const Tensor* tensor):
        """What a tensor refers to; None when a delegate has put nothing there."""
        cdef int64_t number
        if not self.handles or tensor.data == NULL or tensor.bytes < sizeof(number):
            return None
        memcpy(&number, tensor.data, sizeof(number))
        return self.handles.get(number)

    cdef int copy_handle(self, int subgraph, Tensor* target, const Tensor* value) except -1:
        """The target has the value's bytes; where these are a handle, it refers to the same object by its own number."""
        cdef object shared = self.held(value)
        if shared is not None:
            return self.hold(subgraph, target, shared)
        self.handles.pop(handle_of(subgraph, target), None)
        return 0


cdef int64_t handle_of(int subgraph, const Tensor* tensor) noexcept:
    """The number that names a tensor of the model."""
    return (<int64_t>subgraph << 32) | <uint32_t>(-1 - tensor.index)
