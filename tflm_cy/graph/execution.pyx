"""The loop over the steps first .. end - 1 of a stage.

Both return 0, or -1 and the step that has failed; its message is the context's. `engaged`: the run has the pool of threads.
"""
from tflm_cy.graph.context cimport Node
from tflm_cy.graph.denormals cimport flush_denormals, restore_denormals
from tflm_cy.graph.tile_executor cimport run_group
from tflm_cy.threads.clock cimport nanoseconds


cdef int run_steps(Context context, const Graph* graph, int first, int end, bint engaged, int* failed) noexcept nogil:
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
    """With a look at the clock around each node: a loop of its own, so that the other does not even ask whether it is wanted."""
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
