"""A graph described in Python, and the passes over it: no file, no operator, no kernel. Compiled by `test_passes.py`.

    sketch = Sketch([node("conv", "x", "y"), node("add", "y b", "z", in_place=1)], inputs="x b", outputs="z")
    sketch.run("alias_buffers")        # this pass and those in front of it, in the product's order; invariants hold behind each
    sketch.alias("z")                  # "y"
"""
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from tflm_cy.graph.allocator cimport Allocator
from tflm_cy.graph.compilation cimport Compilation, Pass
from tflm_cy.graph.context cimport EPILOGUE_ADD, EPILOGUE_CLAMP, EPILOGUE_PAD_CHANNELS, Context, Node, position_space
from tflm_cy.graph.deferred_constants cimport DeferredConstants
from tflm_cy.graph.graph cimport NOT_ELIDED, Graph, Step
from tflm_cy.graph.memory_plan cimport MemoryPlan
from tflm_cy.graph.passes.invariants cimport check_invariants
from tflm_cy.graph.tensor cimport CONSTANT, PLANNED, Tensor
from tflm_cy.memory.block cimport Block, new_block
from tflm_cy.memory.growing_arena cimport GrowingArena

from tflm_cy.graph.passes.pipeline import PASSES

EPILOGUES = {"add": EPILOGUE_ADD, "clamp": EPILOGUE_CLAMP, "pad": EPILOGUE_PAD_CHANNELS}


def node(name, reads, writes, **properties):
    """`properties`: in_place, view, transposes (rows, columns), epilogue, fuses, units, elementwise, time, scratch, window."""
    return {"name": name, "reads": reads.split(), "writes": writes.split(), **properties}


cdef int nothing(Context context, Node* node) noexcept nogil:
    return 0


cdef void no_work(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    pass


cdef bint fuse_all(Context context, Node* node, const Node* reader, int operand, int other) noexcept:
    return True


cdef bint fuse_none(Context context, Node* node, const Node* reader, int operand, int other) noexcept:
    return False


cdef class Sketch:
    """See the module; `sizes` are bytes of tensors (256), `visible` those inside that the user sees, `constants` those of the file."""

    cdef Graph graph
    cdef Context context
    cdef Compilation c
    cdef list names, nodes, blocks

    def __init__(self, nodes, inputs, outputs, sizes=(), visible="", constants="", int workers=1, disabled=()):
        cdef int count
        self.nodes, self.blocks = nodes, []
        self.names = list(dict.fromkeys(t for n in nodes for t in n["reads"] + n["writes"]))
        self.context = Context.__new__(Context)
        self.c = Compilation(Allocator(GrowingArena(), 64, False), MemoryPlan(), DeferredConstants())
        self.c.graph = &self.graph
        self.c.disabled = frozenset(disabled)
        self.c.operator_names = [n["name"] for n in nodes]
        self.c.partitions = []
        count = len(self.names)
        self.graph.context = <void*>self.context
        self.graph.workers = self.context.workers = workers
        self.graph.tensor_count = self.context.tensor_count = count
        self.graph.strip_capacity = (workers - 1) * len(nodes)
        self.graph.tensors = self.context.tensors = <Tensor*>self.memory((count + self.graph.strip_capacity) * sizeof(Tensor))
        self.graph.internal = <uint8_t*>self.memory(count)
        self.graph.first_use = <int32_t*>self.memory(5 * count * sizeof(int32_t))
        self.graph.last_use = self.graph.first_use + count
        self.graph.alias = self.graph.last_use + count
        self.graph.live_from = self.graph.alias + count
        self.graph.live_to = self.graph.live_from + count
        self.graph.inputs = self.indices(inputs.split())
        self.graph.input_count = len(inputs.split())
        self.graph.outputs = self.indices(outputs.split())
        self.graph.output_count = len(outputs.split())
        self.make_tensors(dict(sizes), constants.split(), {*inputs.split(), *outputs.split(), *visible.split()})
        self.make_nodes()

    def __dealloc__(self):
        free(self.graph.groups)
        free(self.context.scratch_buffers)

    cdef void* memory(self, size_t bytes) except NULL:
        cdef Block block = new_block(bytes + 1, 64)
        memset(block.data, 0, block.size)
        self.blocks.append(block)
        return block.data

    cdef int32_t* indices(self, list names) except NULL:
        cdef int32_t* found = <int32_t*>self.memory(len(names) * sizeof(int32_t))
        for i, name in enumerate(names):
            found[<int>i] = self.names.index(name)
        return found

    cdef int make_tensors(self, dict sizes, list constants, set seen) except -1:
        cdef Tensor* tensor
        for t, name in enumerate(self.names):
            tensor = &self.graph.tensors[<int>t]
            tensor.index = t
            tensor.bytes = sizes.get(name, 256)
            tensor.rank = 1
            tensor.dims[0] = <int32_t>(tensor.bytes // 4)
            tensor.allocation = CONSTANT if name in constants else PLANNED
            self.graph.internal[<int>t] = name not in seen
            self.graph.alias[<int>t] = -1
        return 0

    cdef int make_nodes(self) except -1:
        cdef Graph* graph = &self.graph
        cdef Node* n
        cdef int count = len(self.nodes)
        graph.nodes = <Node*>self.memory(count * sizeof(Node))
        graph.node_count = graph.listed_nodes = graph.step_count = self.c.end = count
        graph.laid_out = <Step*>self.memory(2 * count * sizeof(Step))
        graph.steps = graph.laid_out + count
        for i, what in enumerate(self.nodes):
            n = &graph.nodes[<int>i]
            n.index = i
            n.inputs, n.input_count = self.indices(what["reads"]), len(what["reads"])
            n.outputs, n.output_count = self.indices(what["writes"]), len(what["writes"])
            n.invoke = nothing
            self.describe(n, what)
            graph.laid_out[<int>i].node = n
            graph.laid_out[<int>i].source = i
            graph.laid_out[<int>i].partition = -1
            if what.get("scratch"):
                self.c.memory.request_scratch(what["scratch"], i, i)
        memcpy(graph.steps, graph.laid_out, count * sizeof(Step))
        return 0

    cdef int describe(self, Node* n, dict what) except -1:
        n.in_place = what.get("in_place", 0)
        n.is_view = what.get("view", False)
        n.transpose_rows, n.transpose_columns = what.get("transposes", (0, 0))
        n.epilogue.kind = EPILOGUES.get(what.get("epilogue"), 0)
        n.epilogue.operand = -1
        n.time = what.get("time", 0.0)
        if "fuses" in what:
            n.try_fuse = fuse_all if what["fuses"] else fuse_none
        if "units" in what:
            n.work = no_work
            n.space = position_space(what["units"], 1, what.get("elementwise", 0))
        if "window" in what:
            space = what["window"]
            n.space.window.images = space.get("images", 1)
            n.space.window.row, n.space.window.input_row, n.space.window.input_rows = space["row"], space["row"], space["rows"]
            n.space.window.stride, n.space.window.before, n.space.window.reach = 1, 1, 3
            n.space.granularity = space["row"]
        return 0

    def run(self, last):
        """All passes behind `prepare` up to this one."""
        cdef Pass one
        for one in PASSES:
            if one.name != "prepare" and (one.partial or not one.optional or one.name not in self.c.disabled):
                one.run(self.c)
                check_invariants(self.c, one.name)
            if one.name == last:
                return self
        raise ValueError(last)

    def steps(self):
        """(node, what it reads, what it writes) of those that run, in their order."""
        cdef const Node* n
        found = []
        for step in range(self.graph.step_count):
            n = self.graph.steps[<int>step].node
            if self.graph.steps[<int>step].elision == NOT_ELIDED:
                reads = " ".join([self.names[n.inputs[i]] for i in range(n.input_count)])
                found.append((self.nodes[n.index]["name"], reads, " ".join([self.names[n.outputs[i]] for i in range(n.output_count)])))
        return found

    def groups(self):
        """[nodes, tiles, strips] of each tile group."""
        found, head = [], 0
        while head < self.graph.step_count:
            last = self.graph.groups[<int>head].last
            found.append(
                ([self.nodes[self.graph.steps[<int>step].source]["name"] for step in range(head, last + 1)],
                 self.graph.groups[<int>head].tiles, self.graph.groups[<int>head].strips))
            head = last + 1
        return found

    def alias(self, name):
        """The tensor in whose buffer this one lies, None: its own."""
        cdef int root = self.graph.alias[<int>self.names.index(name)]
        return self.names[root] if root >= 0 else None

    def live(self, name):
        """The steps during which its buffer is needed."""
        cdef int t = self.names.index(name)
        return self.graph.live_from[t], self.graph.live_to[t]

    def line_bytes(self, name):
        """Of the line buffer of a node's output; 0: it has none."""
        for step in range(self.graph.step_count):
            if self.nodes[self.graph.steps[<int>step].source]["name"] == name:
                return self.graph.groups[<int>step].line_bytes

    def size(self):
        return self.c.memory.size

    def place(self, name):
        """Where a tensor lies, from the head's start."""
        return <char*>self.graph.tensors[<int>self.names.index(name)].data - <char*>self.c.allocator.arena.head_start()

    def scratch(self, request):
        return <char*>self.context.scratch_buffers[<int>request] - <char*>self.c.allocator.arena.head_start()

    def value(self, name):
        """The bytes of a tensor."""
        cdef int t = self.names.index(name)
        return (<char*>self.graph.tensors[t].data)[:self.graph.tensors[t].bytes]
