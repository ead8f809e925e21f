# tflm_cy: optimize=speed
"""A stage of a graph on its way to a run: what passes are given.

    compilation.first, compilation.end        # the steps first .. end - 1; `prepare` sets the end
    compilation.graph                         # what a pass reads and changes
    compilation.memory                        # requests for scratch memory; the problem and its solution
    compilation.allocator                     # memory until the next prepare

A stage ends behind a node whose output's shape is known only while invoking: the nodes behind it form the next stages, which are prepared when
they are reached (`graph.dynamic_stages`).
"""
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from tflm_cy.graph.context cimport Node
from tflm_cy.graph.graph cimport NOT_ELIDED, Graph, elide_step, sink_elided
from tflm_cy.graph.tensor cimport CONSTANT, Tensor, shape_of, type_name
from tflm_cy.memory.block cimport Block, new_block


cdef frozenset NONE = frozenset()


cdef class Compilation:
    """See the module."""

    def __init__(self, Allocator allocator, MemoryPlan memory, DeferredConstants constants):
        self.allocator = allocator
        self.memory = memory
        self.constants = constants
        self.packed = PackedWeights.__new__(PackedWeights)
        self.packed.constants = constants
        self.strip_blocks, self.kept = [], []
        self.disabled = NONE

    cdef Node* new_node(self, int operands) except NULL:
        """Memory of a node and of the indices of its operands, behind it, until the next prepare."""
        return <Node*>self.allocator.arena.allocate_unfilled(sizeof(Node) + operands * sizeof(int32_t), 8, 0)

    cdef Node* extended(self, const Node* node, int32_t operand) except NULL:
        """A copy of a node with one more input and an output of its own to write."""
        cdef Node* copy = self.new_node(node.input_count + 2)
        cdef int32_t* inputs = <int32_t*>(copy + 1)
        copy[0] = node[0]
        memcpy(inputs, node.inputs, node.input_count * sizeof(int32_t))
        inputs[node.input_count] = operand
        inputs[node.input_count + 1] = node.outputs[0]
        copy.inputs = inputs
        copy.input_count = node.input_count + (operand >= 0)
        copy.outputs = inputs + node.input_count + 1
        return copy

    cdef int elide(self, int step, int elision, int fused_into) except -1:
        """The step does nothing from now on."""
        return elide_step(self.graph, step, elision, fused_into, self.new_node(0))

    cdef int sink(self) except -1:
        """Elided steps go to the end of the stage; requests for scratch memory follow their steps."""
        cdef Graph* graph = self.graph
        cdef Block memory = new_block((graph.node_count + 1) * sizeof(int32_t), 16)
        cdef int32_t* step_of = <int32_t*>memory.data
        cdef int step, i
        sink_elided(graph, self.first, self.end)
        for step in range(self.first, self.end):
            step_of[graph.steps[step].source] = step
        for i in range(self.memory.scratch_bound, self.memory.scratch_count):
            self.memory.scratch_requests[i].step = step_of[self.memory.scratch_requests[i].source]
            if graph.steps[self.memory.scratch_requests[i].step].elision != NOT_ELIDED:
                self.memory.scratch_requests[i].bytes = 0
        return 0

    cdef bint kept_by_tensorflow(self, const Tensor* tensor) except -1:
        """Whether TensorFlow keeps a tensor whose value is known in prepare: all but what DEQUANTIZE makes of another such tensor.

        That is made anew in each invoke there, which only shows in bytes that depend on whether a filter can change.
        """
        cdef const Node* node
        cdef int n
        for n in range(self.graph.node_count):
            node = &self.graph.nodes[n]
            if node.output_count == 1 and node.outputs[0] == tensor.index and self.operator_names[n] == "DEQUANTIZE":
                return node.inputs[0] >= 0 and self.graph.tensors[node.inputs[0]].allocation == CONSTANT
        return True

    cdef object node_error(self, int step, object reason, str verb):
        """RuntimeError: why, which node, and the tensors that it reads."""
        cdef const Node* node = &self.graph.nodes[self.graph.steps[step].source]
        cdef const Tensor* tensor
        cdef list tensors = []
        cdef int i
        for i in range(node.input_count):
            if node.inputs[i] < 0:
                tensors.append("omitted")
                continue
            tensor = &self.graph.tensors[node.inputs[i]]
            tensors.append(f"{type_name(tensor.type)} {shape_of(tensor)}")
        text = str(reason).rstrip()
        if not text.endswith((".", "!", "?")):
            text += "."
        name = self.operator_names[node.index]
        who = f"Node number {node.index} ({name}) failed to {verb}."
        if self.graph.steps[step].partition >= 0:
            partition = self.partitions[self.graph.steps[step].partition]
            who = f"Node number {partition.index} ({partition.delegate.name}) failed to {verb}."
            if node.index != partition.index:
                who += f" It runs {name}{f' (node {node.index})' if node.index < self.graph.listed_nodes else ''}."
        return RuntimeError(f"{text} {who} Inputs: {', '.join(tensors)}")


cdef class Pass:
    """One step from prepared nodes to memory that is bound; made by `new_pass`, listed in `graph.passes.pipeline`."""

    def __repr__(self):
        return f"<pass {self.name}: {self.summary}>"


cdef Pass new_pass(PassFunction run, str name, str summary, bint optional=False, bint plans=True, bint partial=False):
    cdef Pass made = Pass.__new__(Pass)
    made.run = run
    made.name = name
    made.summary = summary
    made.optional = optional
    made.plans = plans
    made.partial = partial
    return made


cdef bint is_enabled(Compilation c, str name) noexcept:
    """False for an optional pass that is switched off, in a graph whose tensors are all preserved, and in a light stage."""
    return not c.graph.preserve_all and not c.micro and not c.light and name not in c.disabled
