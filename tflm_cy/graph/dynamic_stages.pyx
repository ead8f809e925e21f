"""What is known of the stages behind dynamic outputs, from one invoke to the next.

    end = stages.prepared_end(step)       # while running: the stage that begins here, as the last invoke prepared it; 0: prepare it ...
    stages.begin(step)                    # ... after this, which forgets what was prepared from here on,
    stages.complete(step)                 # ... and before this

A node whose output's shape is known only while invoking ends a *stage*: the nodes behind it are prepared when they are
reached, and their tensors lie in a block of the stage's own, so that nothing that is alive moves. The next invoke finds them
prepared as long as the shapes in front of the stage are the same.
"""
from libc.string cimport memcpy, memset

from tflm_cy.graph.context cimport Node
from tflm_cy.graph.graph cimport Graph, Step
from tflm_cy.graph.tensor cimport CONSTANT, PLANNED, STRING, VARIABLE, Tensor
from tflm_cy.memory.block cimport new_block


cdef DynamicStages new_stages(Compilation c):
    """Nothing is known yet."""
    cdef DynamicStages made = DynamicStages.__new__(DynamicStages)
    cdef size_t stages = (c.graph.step_count + 1) * sizeof(DynamicStage)
    made.c = c
    made.memory = new_block(stages + c.graph.tensor_count * sizeof(SeenShape), 64)
    memset(made.memory.data, 0, made.memory.size)
    made.stages = <DynamicStage*>made.memory.data
    made.seen = <SeenShape*>(made.memory.data + stages)
    return made


cdef class DynamicStages:
    """See the module."""

    cdef int prepared_end(self, int step) noexcept:
        """The end of the stage that begins at a step, if it is prepared for these shapes; else 0."""
        return self.stages[step].end if self.stages[step].end > 0 and self.shapes_as_seen(step, False) else 0

    cdef int begin(self, int step) except -1:
        cdef DynamicStage* stage = &self.stages[step]
        cdef Compilation c = self.c
        self.forget(step)
        stage.begun = True
        stage.mark, stage.values_mark = c.allocator.mark(), c.constants.mark()
        stage.scratch = c.memory.scratch_count
        stage.blocks = <int>len(c.memory.stage_blocks)
        stage.strip_blocks, stage.strip_tensors = <int>len(c.strip_blocks), c.graph.strip_tensors
        stage.kept = <int>len(c.kept)
        stage.parallel_time = c.graph.parallel_time
        return 0

    cdef int complete(self, int step) noexcept:
        self.shapes_as_seen(step, True)
        self.stages[step].end = self.c.end
        return 0

    cdef bint shapes_as_seen(self, int step, bint note) noexcept:
        """True when the node in front of a stage gives the shapes that it gave when the stage was prepared; or note them."""
        cdef const Graph* graph = self.c.graph
        cdef const Node* node = &graph.nodes[graph.laid_out[step - 1].source]
        cdef const Tensor* tensor
        cdef SeenShape* shape
        cdef int i, d
        for i in range(node.output_count):
            if node.outputs[i] < 0:
                continue
            tensor = &graph.tensors[node.outputs[i]]
            shape = &self.seen[tensor.index]
            if note:
                shape.rank = tensor.rank
                for d in range(tensor.rank):
                    shape.dims[d] = tensor.dims[d]
            elif shape.rank != tensor.rank:
                return False
            for d in range(tensor.rank):
                if shape.dims[d] != tensor.dims[d]:
                    return False
        return True

    cdef int forget(self, int first) except -1:
        """What was prepared from a step on is void; its memory is free again."""
        cdef Compilation c = self.c
        cdef Graph* graph = c.graph
        cdef DynamicStage* stage = &self.stages[first]
        cdef Tensor* tensor
        cdef const Node* node
        cdef int step, i
        if stage.begun:
            c.allocator.rewind(stage.mark)
            c.constants.rewind(stage.values_mark)
            c.memory.scratch_count = c.memory.scratch_bound = stage.scratch
            del c.memory.stage_blocks[stage.blocks:]
            del c.strip_blocks[stage.strip_blocks:]
            graph.strip_tensors = stage.strip_tensors
            del c.kept[stage.kept:]
            graph.parallel_time = stage.parallel_time
        memcpy(graph.steps + first, graph.laid_out + first, (graph.step_count - first) * sizeof(Step))
        for step in range(first, graph.step_count):
            self.stages[step].begun = False
            self.stages[step].end = 0
            node = &graph.nodes[graph.laid_out[step].source]
            for i in range(node.output_count):
                if node.outputs[i] < 0:
                    continue
                tensor = &graph.tensors[node.outputs[i]]
                if tensor.type != STRING and tensor.allocation != VARIABLE and tensor.allocation != CONSTANT:
                    tensor.allocation = PLANNED
                    tensor.data = NULL
        return 0
