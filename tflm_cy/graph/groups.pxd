"""Steps that are computed range by range; told in groups.pyx."""
from libc.stdint cimport int32_t, uint8_t

from tflm_cy.graph.context cimport Context, Node
from tflm_cy.graph.tensor cimport Tensor


cdef struct Group:
    int32_t first
    int32_t last                 # first == last: a step by itself
    int32_t parts                # 1: as a whole, by `invoke`
    bint alone                   # range by range on one thread, too; else without other threads each node by itself


cdef struct Steps:               # of a graph whose nodes are prepared
    const Tensor* tensors
    const Node* nodes
    const int32_t* plan          # per step its node
    const uint8_t* flushes       # per step: denormals count as zeros; NULL: nowhere
    int hands                    # threads that may take part
    bint join                    # nodes may be computed together


cdef double group_steps(const Steps* s, Group* groups, int first, int end) noexcept
cdef bint engage_hands(int hands, double time) noexcept nogil
cdef void run_group(Context context, Node* nodes, const int32_t* plan, const Group* group, bint engaged) noexcept nogil
