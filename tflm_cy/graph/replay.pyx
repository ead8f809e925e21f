"""The values of intermediate tensors whose memory serves other tensors by now: the last run, repeated where every tensor keeps its memory.

    replay = Replay(g, find, reference=False, delegates=[...], clustering=True)
    value = replay.value(g, t)                    # an array of tensor t as the last run of g has computed it

A replay is a copy of all subgraphs of an interpreter with the same delegates, in which no two tensors share memory and no nodes are merged. It
gets the inputs of the run and the constants that the user has replaced, and runs. TensorFlow returns the bytes of whichever tensor came last.

A value is given only if it is the run's. A graph without state is run twice: all tensors must have the same bytes both times, and the outputs must be
those of the interpreter; this tells operators and delegates in Python that remember something, and random numbers. A graph with variables is
repeated if the run was the first since they were initialized. Inputs that were written to since the run are known only if a value had been asked for
before the run: from then on an interpreter keeps them (`Subgraph.last_inputs`).
"""
from libc.string cimport memcmp, memcpy

from tflm_cy.graph.arrays cimport read_value
from tflm_cy.graph.description cimport tensor_name
from tflm_cy.graph.graph cimport is_internal
from tflm_cy.graph.loader cimport load
from tflm_cy.graph.passes import pipeline
from tflm_cy.graph.passes.partition import delegate
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport CONSTANT, DYNAMIC, PLANNED, VARIABLE, Tensor, is_constant, same_shape, shape_of

SWITCHES = frozenset(pipeline.SWITCHES)
KEEP_ALL = "to read intermediate tensors construct the interpreter with experimental_preserve_all_tensors=True"


cdef class Replay:
    """See the module."""

    def __init__(self, Subgraph g, find, bint reference, list delegates, bint clustering):
        self.find = find
        self.reference = reference
        self.delegates = delegates
        self.clustering = clustering
        self.copy_graphs(g)

    cdef int copy_graphs(self, Subgraph g) except -1:
        cdef Subgraph copy
        self.subgraphs = load(g.model, self.find, self.reference, False)
        copy = self.subgraphs[0]
        copy.set_up(g.num_threads, SWITCHES)
        for copy in self.subgraphs:
            copy.graph.keep_all = True
        for mine in self.delegates:
            again = mine.renewed()
            for copy in self.subgraphs:
                delegate(copy, again, self.clustering)
        return 0

    def __dealloc__(self):
        if self.subgraphs is not None:
            self.subgraphs.clear()       # the subgraphs hold this list too

    cdef object value(self, Subgraph g, int t):
        """A tensor as the last run has computed it; ValueError where that cannot be told."""
        cdef Subgraph copy
        if self.last is not g or self.generation != g.generation or self.runs != g.shared.runs:
            self.last = None
            try:
                if has_state(self.subgraphs):
                    self.copy_graphs(g)
                copy = self.subgraphs[g.index]
                self.repeat(g, copy)
            except MemoryError:
                raise
            except Exception as error:
                raise unknown(g, t, f"repeating the last run failed ({error})") from error
            if not self.same_outputs(g, copy) or not self.is_repeatable(g, copy):
                raise unknown(g, t, "the run depends on more than its inputs, and that has changed since")
            self.last, self.generation, self.runs = g, g.generation, g.shared.runs
        copy = self.subgraphs[g.index]
        if copy.tensors[t].data == NULL or shape_of(&copy.tensors[t]) != shape_of(&g.tensors[t]):
            raise unknown(g, t, "the repeated run has not computed it")
        return read_value(copy, t, tuple(shape_of(&copy.tensors[t])))

    cdef int repeat(self, Subgraph g, Subgraph copy) except -1:
        """Shapes, constants and inputs of the last run, and the run."""
        cdef Tensor* tensor
        cdef Subgraph other, mine
        cdef bytes value
        cdef int i, t
        for other in g.siblings:
            mine = self.subgraphs[other.index]
            for t in range(other.tensor_count):
                tensor = &other.tensors[t]
                if tensor.allocation == CONSTANT and other.allocator.owned[t] != NULL and mine.tensors[t].bytes == tensor.bytes:
                    mine.own_constant(t)
                    if memcmp(mine.tensors[t].data, tensor.data, tensor.bytes) != 0:
                        memcpy(mine.tensors[t].data, tensor.data, tensor.bytes)
                        mine.ready = copy.ready = False
        for i in range(g.graph.input_count):
            t = g.graph.inputs[i]
            if t >= 0 and not is_constant(&g.tensors[t]):
                copy.resize_tensor(t, g.tensors[t].rank, g.tensors[t].dims)
        copy.shared.kept.update(g.shared.kept)
        copy.allocate()
        for t, value in g.last_inputs.items():
            tensor = &copy.tensors[t]
            if tensor.allocation == DYNAMIC:
                if copy.allocator.own(t, len(value)) == NULL:
                    raise MemoryError(f"no memory for tensor {t}")
                tensor.data = copy.allocator.owned[t]
                tensor.bytes = len(value)
            if tensor.data == NULL or tensor.bytes != <size_t>len(value):
                raise ValueError(f"input {t} has another size")
            memcpy(tensor.data, <const char*>value, len(value))
        return copy.invoke()

    cdef bint same_outputs(self, Subgraph g, Subgraph copy) noexcept:
        cdef int i
        for i in range(g.graph.output_count):
            if g.graph.outputs[i] >= 0 and not same_value(&g.tensors[g.graph.outputs[i]], &copy.tensors[g.graph.outputs[i]]):
                return False
        return True

    cdef bint is_repeatable(self, Subgraph g, Subgraph copy) except -1:
        """Another run of the copy gives the same values; of a graph with variables the run itself was the first one."""
        cdef dict before = {}
        cdef const Tensor* tensor
        cdef int t
        if has_state(self.subgraphs):
            return g.state_changes == 1 and (g.shared.runs == 1 or not has_resources(g))
        for t in range(copy.tensor_count):
            tensor = &copy.tensors[t]
            if tensor.data != NULL and not is_internal(&copy.graph, t) and (tensor.allocation == PLANNED or tensor.allocation == DYNAMIC):
                before[t] = (<char*>tensor.data)[:tensor.bytes]
        copy.invoke()
        for t, value in before.items():
            tensor = &copy.tensors[t]
            if tensor.data == NULL or tensor.bytes != <size_t>len(value) or memcmp(tensor.data, <const char*><bytes>value, tensor.bytes) != 0:
                return False
        return True


cdef bint has_state(list subgraphs) noexcept:
    """Variables of either kind, tables, or what CALL_ONCE has done."""
    cdef Subgraph g
    cdef int t
    for g in subgraphs:
        if has_resources(g):
            return True
        for t in range(g.tensor_count):
            if g.tensors[t].allocation == VARIABLE:
                return True
    return False


cdef bint has_resources(Subgraph g) noexcept:
    """What all subgraphs share, which no allocation resets."""
    return len(g.shared.resources) > 0 or len(g.shared.tables) > 0 or len(g.shared.initialized) > 0


cdef bint same_value(const Tensor* a, const Tensor* b) noexcept:
    if not same_shape(a, b) or a.bytes != b.bytes:
        return False
    return a.bytes == 0 or (a.data != NULL and b.data != NULL and memcmp(a.data, b.data, a.bytes) == 0)


cdef object unknown(Subgraph g, int t, str reason):
    return ValueError(f"the memory of tensor {t} '{tensor_name(g, t)}' serves another tensor by now, and {reason}; {KEEP_ALL}")


cdef object last_value(Subgraph g, int t, Replay replay):
    """The value of a tensor that was overwritten, from a replay of the interpreter's; ValueError where that cannot be told."""
    if g.runs == 0:
        raise unknown(g, t, "no run has computed it")
    if g.last_inputs is None:
        if g.touched:
            g.last_inputs = {}
            raise unknown(g, t, "inputs were written to since the run; it can be read before they are, and after the next invoke")
        g.last_inputs = g.save_inputs()
    elif not g.last_inputs and g.touched:
        raise unknown(g, t, "inputs were written to since the run; it can be read after the next invoke")
    return replay.value(g, t)
