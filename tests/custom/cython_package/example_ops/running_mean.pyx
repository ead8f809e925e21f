"""ExampleRunningMean: y = the mean of this and all former inputs since the last prepare, times the gain in the options (4 bytes, float32).

Shows what an operator does: checks and shapes in prepare, memory that lasts (persistent) and that does not (scratch), a
kernel without the GIL, and an error of its own at run time. `tflm_cy/graph/context.pxd` is the page to read.
"""
from libc.math cimport isnan
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.tensor cimport FLOAT32, Tensor, count, type_name

cdef struct RunningMean:
    float gain
    int64_t runs
    double* sums             # persistent, one per element
    int means                # handle of a scratch buffer


cdef int prepare(Context context, Node* node) except -1:
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef RunningMean* op
    if x == NULL or y == NULL or x.type != FLOAT32 or y.type != FLOAT32:
        raise ValueError(f"ExampleRunningMean takes one FLOAT32, not {'nothing' if x == NULL else type_name(x.type)}")
    if node.custom_options_size != 4:
        raise ValueError("ExampleRunningMean: the options are the four bytes of a float32")
    op = <RunningMean*>context.persistent(sizeof(RunningMean))
    node.data = op
    memcpy(&op.gain, node.custom_options, 4)
    op.sums = <double*>context.persistent(count(x) * sizeof(double) + 1)
    op.means = context.request_scratch(count(x) * sizeof(double))
    context.set_shape(y, x.rank, x.dims)
    node.invoke = running_mean
    return 0


cdef int running_mean(Context context, Node* node) noexcept nogil:
    cdef RunningMean* op = <RunningMean*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef double* means = <double*>context.scratch(op.means)
    cdef int64_t i, n = count(context.input(node, 0))
    for i in range(n):
        if isnan(x[i]):
            return context.fail_with(b"element %ld of %ld is not a number", i, n)
    op.runs += 1
    for i in range(n):
        op.sums[i] += x[i]
        means[i] = op.sums[i] / op.runs
    for i in range(n):
        y[i] = <float>(means[i] * op.gain)
    return 0


OPERATORS = {
    "ExampleRunningMean": register(prepare, version=1),
}
