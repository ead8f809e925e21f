"""The inside of an Interpreter: subgraphs, the lock, and the count of live views.

`tflm_cy.interpreter` and `tflm_cy.calls` are the face that users see; this class does what has to be fast or needs C. All methods take a
subgraph's index last, with 0 for the primary subgraph.

Every call holds the instance's lock (`threads.call_lock`): calls from several threads wait for each other (with the GIL released), a call
from within a call (a Python operator that uses its own interpreter) raises RuntimeError. A forked child starts with a
free lock. Without a GIL descriptions take it, too.

A view (`view`) has a base object of `graph.view`, which keeps the memory alive and counts itself; while one lives, allocate, invoke and
resize raise, so that memory never moves under it.
"""
import os

import numpy as np

from cpython.buffer cimport PyBUF_STRIDED_RO, PyBuffer_IsContiguous, PyBuffer_Release, PyObject_GetBuffer
from cpython.long cimport PyLong_AsLong, PyLong_AsLongAndOverflow
from cpython.pythread cimport PyThread_free_lock, PyThread_get_thread_ident
from libc.stdint cimport int32_t, uint32_t

from tflm_cy.graph.arrays cimport (
    checked_strings, checked_value, expect_shape, fields, fits, has_plain_type, new_array, open_constant, read_only, read_value, small_index,
    view_value, write_value,
)
from tflm_cy.graph.context cimport INVOKE
from tflm_cy.graph.arrays import ARRAY_TYPES, LAYOUT_KNOWN
from tflm_cy.graph.details cimport check_strict, node_details, step_list, tensor_details
from tflm_cy.graph.graph cimport is_internal
from tflm_cy.graph.loader cimport empty, load
from tflm_cy.graph.overwritten cimport is_overwritten
from tflm_cy.graph.replay cimport Replay, last_value
from tflm_cy.graph.passes.prepare cimport reset_variables
from tflm_cy.graph.strings cimport store_strings
from tflm_cy.graph.subgraph cimport Subgraph, note_write
from tflm_cy.graph.tensor cimport (
    CONSTANT, MAX_RANK, STRING, Tensor, is_constant, shape_of,
)
from tflm_cy.platform.long_copy cimport copy_bytes
from tflm_cy.schema.model cimport Model
from tflm_cy.threads.processor cimport load32
from tflm_cy.threads.call_lock cimport HAS_GIL, begin_call, end_call, is_alone, is_left_behind, make_call_lock

from tflm_cy.graph.passes import pipeline

SWITCHES = pipeline.SWITCHES     # the passes that an interpreter can leave out

GUARD = """There is at least 1 reference to internal data
      in the interpreter in the form of a numpy array or slice. Be sure to
      only hold the function returned from tensor() if you are using raw
      data access. Alive: """

cdef uint32_t forks = 0          # that this process stems from: locks made before one are void in the child
cdef unsigned long survivor = 0  # the thread that has forked


def _after_fork():
    global forks, survivor
    survivor = PyThread_get_thread_ident()
    forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


cdef list DTYPE_OF = ARRAY_TYPES
cdef object ndarray = np.ndarray

# Without a GIL another thread may be anywhere: no shortcut past the lock.
cdef bint SHORTCUTS = LAYOUT_KNOWN and HAS_GIL


cdef Subgraph WITHOUT_INIT = empty("the interpreter was made without __init__.")


cdef class Core:
    """See the module."""

    def __cinit__(self):
        make_call_lock(&self.call_lock, forks)
        self.primary = WITHOUT_INIT

    def __dealloc__(self):
        if self.call_lock.lock != NULL:
            PyThread_free_lock(self.call_lock.lock)
        if self.subgraphs is not None:
            self.subgraphs.clear()       # the subgraphs hold this list too

    def __init__(self, Model model, find, bint reference, bint preserve_all, int num_threads, default_delegate=None, bint clustering=True,
                 list subgraphs=None, frozenset disabled=frozenset()):
        self.default_delegate = default_delegate
        self.clustering = clustering
        self.model = model
        self.num_threads = num_threads
        self.find = find
        self.reference = reference
        self.delegates = []
        self.subgraphs = load(model, find, reference, preserve_all) if subgraphs is None else subgraphs
        self.primary = self.subgraphs[0]
        self.primary.set_up(num_threads, disabled)

    def __reduce__(self):
        raise TypeError("an interpreter's inside cannot be copied; pickle or copy the Interpreter")

    # ---------------------------------------------------------------- lock, guard, lookup

    cdef int enter(self) except -1:
        if load32(&self.call_lock.forks) != forks and is_left_behind(&self.call_lock, forks, survivor):
            self.forget_call()
            make_call_lock(&self.call_lock, forks)
        return begin_call(&self.call_lock)

    cdef int forget_call(self) except -1:
        """In a child of fork: what another thread of the parent was doing is not going on here. Values are what they were by then."""
        cdef Subgraph g
        for g in self.subgraphs if self.call_lock.owner != 0 and self.subgraphs is not None else ():
            if g.allocating or (g.running and g.state != INVOKE):
                g.ready = False
            g.allocating = g.running = False
            g.shared.engaged = False
            g.shared.depth = 0
        return 0

    cdef bint enter_to_look(self) except -1:
        """True: `leave` must follow."""
        if is_alone(&self.call_lock):
            return False
        self.enter()
        return True

    cdef int leave(self) noexcept:
        return end_call(&self.call_lock)

    cdef bint is_quick(self, object index, object subgraph_index):
        """True for an index in the primary subgraph, a plain int in range, while no call is under way.

        What then happens needs no lock: nothing of it lets another thread in between looking at a tensor and copying it.
        """
        cdef int overflow = 0
        cdef long t
        if not SHORTCUTS or subgraph_index is not 0 or self.call_lock.owner != 0 or type(index) is not int:
            return False
        t = PyLong_AsLongAndOverflow(index, &overflow)
        return overflow == 0 and 0 <= t < self.primary.tensor_count

    cdef int guard(self) except -1:
        cdef int alive = self.primary.shared.live_views
        if alive > 0:
            raise RuntimeError(f"{GUARD}{alive} view{'s' if alive > 1 else ''}.")
        return 0

    cpdef bint is_safe(self):
        """True while no view lives."""
        return self.primary.shared.live_views == 0

    cdef Subgraph subgraph(self, object index):
        cdef int i
        if index is 0:
            return self.primary
        i = small_index(index)
        if not 0 <= i < len(self.subgraphs):
            raise ValueError(f"Invalid subgraph index {i}: the model has {len(self.subgraphs)} subgraphs")
        return self.subgraphs[i]

    cdef int tensor_index(self, Subgraph g, object index) except -1:
        cdef int i = small_index(index)
        if not 0 <= i < g.tensor_count:
            raise ValueError(f"Invalid tensor index {i} exceeds max tensor index {g.tensor_count - 1}")
        return i

    # ---------------------------------------------------------------- life cycle

    def set_num_threads(self, int threads):
        """How many threads may share a node; without effect once a subgraph has been allocated."""
        cdef Subgraph g
        self.enter()
        try:
            if self.subgraphs is not None and all([g.generation == 0 for g in self.subgraphs]):
                self.num_threads = threads
                self.primary.set_up(threads, self.primary.compilation.disabled)
        finally:
            self.leave()

    def delegate(self, mine):
        """Let a delegate take its nodes of all subgraphs, or, where it fails, of none."""
        from tflm_cy.graph.passes.partition import delegate_all
        delegate_all(self.subgraphs, mine, self.clustering)
        self.delegates.append(mine)

    cdef int apply_default_delegate(self) except -1:
        """At the first allocation of any subgraph, before anything is prepared."""
        if self.default_delegate is not None:
            self.delegate(self.default_delegate())
            self.default_delegate = None
        return 0

    def allocate(self, subgraph_index=0):
        """Prepare and plan a subgraph; nothing when it is ready."""
        cdef Subgraph g = self.subgraph(subgraph_index)
        self.enter()
        try:
            self.guard()
            self.apply_default_delegate()
            g.allocate()
        finally:
            self.leave()

    def invoke(self, subgraph_index=0):
        """Run a subgraph once, with the GIL released."""
        self.run(self.subgraph(subgraph_index))

    cdef int run(self, Subgraph g) except -1:
        self.enter()
        try:
            self.guard()
            g.invoke()
        finally:
            self.leave()
        return 0

    def run_node(self, index, subgraph_index=0):
        """Run one node of a graph that preserves all tensors, on the values that its inputs hold."""
        cdef Subgraph g = self.subgraph(subgraph_index)
        cdef int n = small_index(index)
        if not g.graph.preserve_all:
            raise RuntimeError("single nodes run with experimental_preserve_all_tensors=True only")
        self.enter()
        try:
            self.guard()
            g.run_node(n)
        finally:
            self.leave()

    def resize(self, index, shape, bint strict, subgraph_index=0):
        """Change a tensor's shape; `shape` is a 1-d int32 array."""
        cdef Subgraph g = self.subgraph(subgraph_index)
        self.enter()
        try:
            self.guard()
            self.resize_unlocked(g, index, shape, strict)
        finally:
            self.leave()

    cdef int resize_unlocked(self, Subgraph g, object index, object shape, bint strict) except -1:
        cdef int32_t[MAX_RANK] dims
        cdef int i = small_index(index)
        cdef int d, rank = len(shape)
        if not 0 <= i < g.tensor_count:
            raise RuntimeError(f"Invalid tensor index {i} exceeds max tensor index {g.tensor_count - 1}")
        if rank > MAX_RANK:
            raise RuntimeError(f"rank {rank} exceeds {MAX_RANK}")
        for d in range(rank):
            dims[d] = shape[d]
        if strict:
            check_strict(g, i, rank, dims)
        g.resize_tensor(i, rank, dims)
        g.ready = g.ready and (i in g.written_strings if g.tensors[i].type == STRING else g.tensors[i].bytes > 0)   # without memory any is new
        return 0

    def reset_variables(self):
        """Zero the variable tensors of all subgraphs."""
        cdef Subgraph g
        self.enter()
        try:
            for g in self.subgraphs:
                if not reset_variables(g.compilation) and g.generation == 0:      # else an allocation failed; the next one zeros them
                    raise RuntimeError("Variables have no memory before allocate_tensors().")
                g.state_changes = 0
        finally:
            self.leave()

    # ---------------------------------------------------------------- values

    def set_tensor(self, index, value, subgraph_index=0):
        """Copy a value into a tensor."""
        self.put(index, value, subgraph_index)

    cdef int put(self, object index, object value, object subgraph_index) except -1:
        cdef Subgraph g = self.primary
        cdef Tensor* tensor
        if self.is_quick(index, subgraph_index) and type(value) is ndarray:
            tensor = &g.tensors[PyLong_AsLong(index)]
            if (value.dtype is DTYPE_OF[tensor.type] and not is_constant(tensor) and fits(fields(value), tensor)
                    and not is_internal(&g.graph, tensor.index)):
                copy_bytes(tensor.data, fields(value).data, tensor.bytes)
                note_write(g, tensor.index)
                return 0
        g = self.subgraph(subgraph_index)
        self.enter()
        try:
            self.set_unlocked(g, index, value)
        finally:
            self.leave()
        return 0

    cdef int set_unlocked(self, Subgraph g, object index, object value) except -1:
        cdef int t = self.tensor_index(g, index)
        cdef Tensor* tensor = &g.tensors[t]
        cdef Py_buffer buffer
        if tensor.type == STRING:
            store_strings(g.allocator, tensor, checked_strings(g, t, value))
            g.written_strings.add(t)
            note_write(g, t)
            return 0
        if type(value) is not ndarray or value.dtype is not DTYPE_OF[tensor.type] or not has_plain_type(tensor):
            value = checked_value(g, t, value)
        PyObject_GetBuffer(value, &buffer, PyBUF_STRIDED_RO)
        try:
            expect_shape(buffer.ndim, buffer.shape, tensor)
            if is_constant(tensor):
                if g.ready:
                    self.guard()
                open_constant(g, t)
            if (tensor.data == NULL and tensor.bytes > 0) or is_internal(&g.graph, t):
                raise ValueError(
                    "Cannot set tensor: Tensor is unallocated. Try calling allocate_tensors() first")
            if PyBuffer_IsContiguous(&buffer, b"C"):
                write_value(tensor, &buffer)
                note_write(g, t)
                if tensor.allocation == CONSTANT and g.ready:
                    g.prepare_again()
                return 0
        finally:
            PyBuffer_Release(&buffer)
        return self.set_unlocked(g, index, np.ascontiguousarray(value))

    def get_tensor(self, index, subgraph_index=0):
        """A fresh copy of a tensor's value; rank 0 gives a numpy scalar."""
        return self.get(index, subgraph_index)

    cdef object get(self, object index, object subgraph_index):
        cdef Subgraph g = self.primary
        cdef const Tensor* tensor
        cdef int t
        if self.is_quick(index, subgraph_index):
            t = PyLong_AsLong(index)
            tensor = &g.tensors[t]
            if g.ready and tensor.rank > 0 and g.graph.last_use[t] >= g.graph.step_count and has_plain_type(tensor) and not is_internal(&g.graph, t):
                array = new_array(tensor)
                if self.call_lock.owner == 0 and fits(fields(array), tensor):
                    copy_bytes(fields(array).data, tensor.data, tensor.bytes)
                    return array
        g = self.subgraph(subgraph_index)
        self.enter()
        try:
            return self.get_unlocked(g, index)
        finally:
            self.leave()

    cdef object get_unlocked(self, Subgraph g, object index):
        cdef int t = self.tensor_index(g, index)
        if self.is_lost(g, t):
            if self.replay is None:
                self.replay = Replay(g, self.find, self.reference, self.delegates, self.clustering)
            return last_value(g, t, self.replay)
        return read_value(g, t, tuple(shape_of(&g.tensors[t])))

    cdef bint is_lost(self, Subgraph g, int t) noexcept:
        """The memory of a tensor serves another one by now: its value takes a replay."""
        return g.ready and not g.micro and not is_internal(&g.graph, t) and is_overwritten(&g.graph, g.memory, g.scratch_buffers, t)

    def view(self, index, subgraph_index=0):
        """A numpy array over a tensor's memory; rank 0 gives a numpy scalar, which is a copy."""
        cdef Subgraph g = self.subgraph(subgraph_index)
        cdef int t
        self.enter()
        try:
            t = self.tensor_index(g, index)
            if self.is_lost(g, t):
                return read_only(self.get_unlocked(g, t))
            return view_value(g, t)
        finally:
            self.leave()

    def run_signature(self, int subgraph_index, dict inputs, dict outputs, dict values):
        """Resize, allocate, set, invoke and get in one step; names -> tensor indices in `inputs` and `outputs`."""
        cdef Subgraph g
        if not 0 <= subgraph_index < len(self.subgraphs):
            raise ValueError(f"Invalid subgraph index {subgraph_index}: the model has {len(self.subgraphs)} subgraphs")
        g = self.subgraphs[subgraph_index]
        self.enter()
        try:
            for name, value in values.items():
                shape = value.shape
                t = inputs[name]
                if not 0 <= t < g.tensor_count:
                    raise RuntimeError(f"Invalid tensor index {t} exceeds max tensor index {g.tensor_count - 1}")
                if list(shape) != shape_of(&g.tensors[<int>t]):
                    self.guard()
                    self.resize_unlocked(g, t, shape, False)
            if not g.ready:
                self.guard()
            self.apply_default_delegate()
            g.allocate()
            for name, value in values.items():
                self.set_unlocked(g, inputs[name], value)
            g.invoke()
            return {name: self.get_unlocked(g, t) for name, t in outputs.items()}
        finally:
            self.leave()

    # ---------------------------------------------------------------- descriptions

    def wants_flex(self):
        """True when a custom operator that nobody has registered is one of TensorFlow's, by its name."""
        cdef Subgraph g
        return any([
            g.registrations[n] is None and g.operator_names[n].startswith("Flex") for g in self.subgraphs for n in g.custom_nodes])

    def num_subgraphs(self):
        return len(self.subgraphs)

    def tensor_count(self, subgraph_index=0):
        return self.subgraph(subgraph_index).tensor_count

    def inputs(self, subgraph_index=0):
        """Tensor indices of a subgraph's inputs."""
        cdef Subgraph g = self.subgraph(subgraph_index)
        return [g.graph.inputs[i] for i in range(g.graph.input_count)]

    def outputs(self, subgraph_index=0):
        """Tensor indices of a subgraph's outputs; none when one of them does not exist."""
        cdef Subgraph g = self.subgraph(subgraph_index)
        indices = [g.graph.outputs[i] for i in range(g.graph.output_count)]
        return indices if all(0 <= i < g.tensor_count for i in indices) else []

    def tensor_details(self, index, subgraph_index=0):
        """The details dictionary of a tensor; keys in TensorFlow's order."""
        cdef Subgraph g = self.subgraph(subgraph_index)
        cdef bint mine = self.enter_to_look()
        try:
            return tensor_details(g, self.tensor_index(g, index))
        finally:
            if mine:
                self.leave()

    cdef object look(self, tell, subgraph_index):
        """What a function tells of a subgraph while no call is under way."""
        cdef Subgraph g = self.subgraph(subgraph_index)
        cdef bint mine = self.enter_to_look()
        try:
            return tell(g)
        finally:
            if mine:
                self.leave()

    def execution_plan(self, subgraph_index=0):
        """Node indices in the order in which they run; a delegate's nodes as their DELEGATE node."""
        return self.look(lambda g: list(g.execution_plan), subgraph_index)

    def explain(self, subgraph_index=0):
        """What each pass did (see `graph.explanation.explain`)."""
        from tflm_cy.graph.explanation import explain

        return self.look(explain, subgraph_index)

    def delegate_nodes(self, subgraph_index=0):
        """DELEGATE node -> (the nodes that it runs, its inputs, its outputs)."""
        from tflm_cy.graph.details import partition_nodes

        return self.look(partition_nodes, subgraph_index)

    def node_count(self, subgraph_index=0):
        return self.subgraph(subgraph_index).graph.listed_nodes

    def node_details(self, index, subgraph_index=0):
        """The details dictionary of an operator."""
        cdef Subgraph g = self.subgraph(subgraph_index)
        cdef int n = small_index(index)
        cdef bint mine
        if not 0 <= n < g.graph.listed_nodes:
            raise ValueError("Invalid node index")
        mine = self.enter_to_look()
        try:
            return node_details(g, n)
        finally:
            if mine:
                self.leave()

    def record(self, runs):
        """Add each run's times to a list from now on (see Execution.recorder); None: stop."""
        cdef Subgraph g
        self.enter()
        try:
            for g in self.subgraphs:
                g.execution.recorder = runs
        finally:
            self.leave()

    def steps(self, subgraph_index=0):
        """What the engine runs, in order: (node, the node of the plan that it is part of, name, arithmetic, inputs, outputs).

        Tensors are (index, name, type, shape, bytes, constant); None where an input is omitted.
        """
        return self.look(lambda g: step_list(g), subgraph_index)

    def arena_used_bytes(self):
        """Bytes of the primary subgraph's arena: head, and tail with everything that lives as long as the model."""
        return self.look(lambda g: g.allocator.used_bytes + g.packed.used_bytes, 0)
