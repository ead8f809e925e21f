"""What is known of the stages behind dynamic outputs, from one invoke to the next.

    end = stages.prepared_end(step)       # while running: the stage that begins here, as the last invoke prepared it; 0: prepare it ...
    end = stages.prepare(step)            # ... which forgets what was prepared from here on

A node whose output's shape is known only while invoking ends a *stage*. The nodes behind it are prepared when they are reached, and their
tensors lie in a block of the stage's own, so that nothing that is alive moves.

| stage | nodes | prepared again |
| --- | --- | --- |
| the first one | up to the first dynamic output | by `allocate` |
| the second one | those behind that do not wait for it, moved to the front | by `allocate`, too: it depends on no dynamic output |
| later ones | all that the shapes in front suffice for | when one of these shapes is another one than it was |

A stage that is prepared again and has little to do is prepared lightly (`Compilation.light`): in loops whose slices grow from turn to turn, what
is prepared in each turn is the few nodes that read them.
"""
from libc.string cimport memcpy, memset

from tflm_cy.graph.context cimport Node
from tflm_cy.graph.graph cimport Graph
from tflm_cy.graph.passes.pipeline cimport run_passes
from tflm_cy.graph.tensor cimport CONSTANT, DYNAMIC, PLANNED, STRING, VARIABLE, Tensor
from tflm_cy.memory.block cimport new_block


cdef DynamicStages new_stages(Compilation c):
    """Nothing is known yet."""
    cdef DynamicStages made = DynamicStages.__new__(DynamicStages)
    cdef const Graph* graph = c.graph
    cdef size_t stages = (graph.step_count + 1) * sizeof(DynamicStage)
    cdef size_t steps = graph.step_count * sizeof(Step)
    cdef size_t seen = graph.tensor_count * sizeof(SeenShape)
    made.c = c
    made.memory = new_block(stages + steps + seen + graph.tensor_count * sizeof(int32_t), 64)
    memset(made.memory.data, 0, made.memory.size)
    made.stages = <DynamicStage*>made.memory.data
    made.listed = <Step*>(made.memory.data + stages)
    made.seen = <SeenShape*>(made.memory.data + stages + steps)
    made.watched = <int32_t*>(made.memory.data + stages + steps + seen)
    memcpy(made.listed, graph.laid_out, steps)
    return made


cdef class DynamicStages:
    """See the module."""

    cdef int prepared_end(self, int step) noexcept nogil:
        """The end of the stage that begins at a step, if it is prepared for these shapes; else 0."""
        return self.stages[step].end if self.stages[step].end > 0 and self.shapes_as_seen(step) else 0

    cdef int prepare(self, int step) except -1:
        """Prepare a stage for the shapes in front; its end."""
        cdef Compilation c = self.c
        if self.looked_at == 0 and not c.put_off:        # the first one behind what `allocate` has prepared
            self.begin(step, True)
            if c.end > step:
                self.stages[step].end = c.end
                return c.end
        self.begin(step, False)
        self.note_shapes(step)
        self.stages[step].end = c.end
        return c.end

    cdef int begin(self, int step, bint ready_only) except -1:
        """Run the passes over a stage, all memory of which can be given back."""
        cdef DynamicStage* stage = &self.stages[step]
        cdef Compilation c = self.c
        self.forget(step)
        self.watch(step, ready_only)
        stage.begun = True
        stage.mark, stage.values_mark = c.allocator.mark(), c.constants.mark()
        stage.scratch = c.memory.scratch_count
        stage.blocks = c.memory.block_count
        stage.strip_blocks, stage.strip_tensors = <int>len(c.strip_blocks), c.graph.strip_tensors
        stage.kept = <int>len(c.kept)
        stage.parallel_time = c.graph.parallel_time
        c.first = step
        c.ready_only, c.light = ready_only, stage.shaped
        stage.shaped = not ready_only
        try:
            run_passes(c)
        finally:
            c.ready_only = c.light = False
        return 0

    cdef int watch(self, int step, bint ready_only) noexcept:
        """Note the dynamic outputs of the steps in front that are not noted yet; those which the stage that begins here depends on."""
        cdef const Graph* graph = self.c.graph
        cdef const Node* node
        cdef int i, t
        cdef DynamicStage* stage = &self.stages[step]
        while self.looked_at < step:
            node = &graph.nodes[graph.laid_out[self.looked_at].source]
            for i in range(node.output_count):
                t = node.outputs[i]
                if t >= 0 and graph.tensors[t].allocation == DYNAMIC:
                    self.watched[self.watched_count] = t
                    self.watched_count += 1
            self.looked_at += 1
        stage.watched = self.watched_count
        stage.first_watched = stage.end_watched = self.depended
        if not ready_only:
            stage.end_watched = self.depended = self.watched_count
        return 0

    cdef bint shapes_as_seen(self, int step) noexcept nogil:
        """True when the dynamic outputs in front of a stage have the shapes that they had when it was prepared."""
        cdef const Tensor* tensor
        cdef const SeenShape* shape
        cdef int i, d
        for i in range(self.stages[step].first_watched, self.stages[step].end_watched):
            tensor = &self.c.graph.tensors[self.watched[i]]
            shape = &self.seen[self.watched[i]]
            if shape.rank != tensor.rank:
                return False
            for d in range(tensor.rank):
                if shape.dims[d] != tensor.dims[d]:
                    return False
        return True

    cdef int note_shapes(self, int step) noexcept:
        cdef const Tensor* tensor
        cdef SeenShape* shape
        cdef int i, d
        for i in range(self.stages[step].first_watched, self.stages[step].end_watched):
            tensor = &self.c.graph.tensors[self.watched[i]]
            shape = &self.seen[self.watched[i]]
            shape.rank = tensor.rank
            for d in range(tensor.rank):
                shape.dims[d] = tensor.dims[d]
        return 0

    cdef int forget(self, int first) except -1:
        """What was prepared from a step on is void; its memory is free again."""
        cdef Compilation c = self.c
        cdef Graph* graph = c.graph
        cdef DynamicStage* stage = &self.stages[first]
        cdef Tensor* tensor
        cdef const Node* node
        cdef int step, i
        if stage.begun:
            self.depended, self.watched_count, self.looked_at = stage.first_watched, stage.watched, first
            c.allocator.rewind(stage.mark)
            c.constants.rewind(stage.values_mark)
            c.memory.scratch_count = c.memory.scratch_bound = stage.scratch
            c.memory.block_count = stage.blocks
            if len(c.strip_blocks) > stage.strip_blocks:
                del c.strip_blocks[stage.strip_blocks:]
            graph.strip_tensors = stage.strip_tensors
            if len(c.kept) > stage.kept:
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

    cdef int restore_order(self) noexcept:
        """Steps as they were laid out."""
        memcpy(self.c.graph.laid_out, self.listed, self.c.graph.step_count * sizeof(Step))
        return 0
