"""Runs of a prepared graph: on the threads that there are, stage after stage, timed or not.

    status = execution.run(context)           # -1: `failure` is set, or the context's message and `failed_step` are
    status = execution.run_recorded(context)  # the same with a clock

Steps that allocate has prepared run first; behind a dynamic output the next stage is prepared, or found as the last run prepared it.
"""
from libc.string cimport memset

from tflm_cy.graph.context cimport INVOKE, Node
from tflm_cy.platform.denormals cimport flush_denormals, restore_denormals
from tflm_cy.graph.dynamic_stages cimport new_stages
from tflm_cy.graph.passes.tiling cimport engage_workers
from tflm_cy.graph.tensor cimport PLANNED, Tensor
from tflm_cy.graph.tile_executor cimport run_group
from tflm_cy.memory.block cimport Block, new_block
from tflm_cy.platform.clock cimport nanoseconds
from tflm_cy.threads.pool cimport release
from tflm_cy.threads.thread_autotune cimport ThreadAutotune, ran_alone, ran_together, wants_threads


cdef class Execution:
    """See the module."""

    cdef int forget_trial(self) noexcept:
        """Whether threads help is found out anew."""
        memset(&self.trial, 0, sizeof(ThreadAutotune))
        return 0

    cdef int forget_stages(self) noexcept:
        """Those behind a dynamic output are found out anew."""
        if self.stages is not None:
            self.stages.restore_order()
        self.stages, self.staged = None, False
        return 0

    cdef int run(self, Context context) noexcept nogil:
        cdef Graph* graph = self.c.graph
        cdef bint may_share = graph.parallel_time > 0 and not self.shared.engaged
        cdef bint engaged = False
        cdef int status
        if may_share and wants_threads(&self.trial):
            engaged = engage_workers(graph.workers, graph.parallel_time)
            self.shared.engaged = engaged
        status = self.run_stages(context)
        if engaged:
            self.shared.engaged = False
            ran_together(&self.trial, release())
        elif may_share:
            ran_alone(&self.trial)
        return status

    cdef int run_stages(self, Context context) noexcept nogil:
        """The steps that allocate has prepared, then stage after stage."""
        cdef const Graph* graph = self.c.graph
        cdef int step = 0
        cdef int end = self.static_end
        cdef int status
        cdef bint anew = False           # the stage is prepared in this run
        while True:
            if self.clock == NULL:
                status = run_steps(context, graph, step, end, self.shared.engaged, &self.failed_step)
            else:
                status = run_timed_steps(context, graph, step, end, self.shared.engaged, &self.failed_step, self.clock)
            if status != 0 and anew:
                clear_unwritten(graph, self.failed_step, end)
            if status != 0 or end == graph.step_count:
                return status
            step = end
            end = self.stages.prepared_end(step) if self.staged else 0
            anew = end == 0
            if anew:
                end = self.next_stage(context, step)
            if end < 0:
                return -1

    cdef int next_stage(self, Context context, int step) noexcept with gil:
        """Prepare the stage behind a dynamic output; its end. -1: `failure` is set."""
        try:
            if self.stages is None:
                self.stages = new_stages(self.c)
                self.staged = True
            return self.stages.prepare(step)
        except BaseException as error:
            context.state = INVOKE
            self.failure = error
            return -1

    cdef int run_recorded(self, Context context) noexcept:
        """Run with a clock; a run that fails is not recorded."""
        cdef Block block
        cdef size_t bytes = 2 * self.c.graph.step_count * sizeof(int64_t)
        cdef int status
        try:
            block = new_block(bytes + 1, 16)
            self.clock = <int64_t*>block.data
            with nogil:
                status = self.run(context)
            self.clock = NULL
            if status == 0 and self.recorder is not None:
                self.recorder.append((self.subgraph, block.data[:bytes]))
        except BaseException as error:
            self.failure = error
            return -1
        return status


cdef void clear_unwritten(const Graph* graph, int first, int end) noexcept nogil:
    """Outputs of the graph that no step of a new stage has come to are 0: what lies there was another tensor's."""
    cdef const Node* node
    cdef const Tensor* tensor
    cdef int step, i, t
    for step in range(first, end):
        node = graph.steps[step].node
        for i in range(node.output_count):
            t = node.outputs[i]
            tensor = &graph.tensors[t] if t >= 0 and graph.last_use[t] == graph.step_count else NULL
            if tensor != NULL and tensor.allocation == PLANNED and tensor.data != NULL:
                memset(tensor.data, 0, tensor.bytes)


cdef int run_steps(Context context, const Graph* graph, int first, int end, bint engaged, int* failed) noexcept nogil:
    """The steps first .. end - 1; -1: `failed` is the one that has failed. `engaged`: the run has the pool of threads."""
    cdef int step = first
    cdef Node* node
    cdef bint flushing = False
    cdef unsigned long long mode = 0
    while step < end:
        node = graph.steps[step].node
        if graph.steps[step].flushes != flushing:
            flushing = not flushing
            if flushing:
                mode = flush_denormals()
            else:
                restore_denormals(mode)
        if graph.groups[step].tiles > 1 and (engaged or graph.groups[step].tiled_alone):
            run_group(&graph.groups[step], engaged)
            step = graph.groups[step].last
        elif node.invoke(context, node) != 0:
            failed[0] = step
            break
        step += 1
    if flushing:
        restore_denormals(mode)
    return 0 if step >= end else -1


cdef int run_timed_steps(Context context, const Graph* graph, int first, int end, bint engaged, int* failed, int64_t* clock) noexcept nogil:
    """As `run_steps`, with a look at the clock around each node: a loop of its own, so that the other does not even ask whether it is wanted."""
    cdef int step = first
    cdef int status, last
    cdef Node* node
    cdef unsigned long long mode = 0
    while step < end:
        node = graph.steps[step].node
        if graph.steps[step].flushes:
            mode = flush_denormals()
        status = 0
        last = step
        clock[2 * step] = nanoseconds()
        if graph.groups[step].tiles > 1 and (engaged or graph.groups[step].tiled_alone):
            run_group(&graph.groups[step], engaged)
            last = graph.groups[step].last
        else:
            status = node.invoke(context, node)
        clock[2 * step + 1] = nanoseconds()
        if graph.steps[step].flushes:
            restore_denormals(mode)
        if status != 0:
            failed[0] = step
            return -1
        while step < last:               # nodes that run together: the first one has their time
            step += 1
            clock[2 * step] = clock[2 * step + 1] = clock[2 * step - 1]
        step += 1
    return 0
