"""Steps that are computed range by range; told in groups.pyx."""
from libc.stdint cimport int32_t, int64_t, uint8_t

from tflm_cy.graph.context cimport Node
from tflm_cy.graph.tensor cimport Tensor
from tflm_cy.threads.pool cimport Job


cdef enum:
    MOST_TOGETHER = 32           # nodes of a group
    MOST_READ = 8                # inputs of such a node, if it is not the first

cdef struct Program:             # where parts find everything
    void* context                # without an object: no counting of references while parts run
    Tensor* tensors
    Node* nodes
    const int32_t* plan          # per step its node

cdef inline Node* node_at(const Program* program, int step) noexcept nogil:
    return &program.nodes[program.plan[step]]

cdef struct Group:
    const Program* program
    int32_t first
    int32_t last                 # first == last: a step by itself
    int32_t parts                # 1: as a whole, by `invoke`
    int32_t place                # whose output's place this one has, if both roll: a node of the group, from its first one on; -1: it stays
    int64_t rolled               # bytes of the output that are in memory at once, if it does
    bint alone                   # range by range on one thread, too; else without other threads each node by itself
    int32_t bands                # in which it slides, each of which a thread may take
    Job job                      # for the threads
    Node* band_nodes             # all of its nodes for the second band, for the third, ...: they write to tensors of their own


cdef struct Steps:               # of a graph whose nodes are prepared
    const Program* program
    const uint8_t* flushes       # per step: denormals count as zeros; NULL: nowhere
    int hands                    # threads that may take part
    bint join                    # nodes may be computed together
    bint slide                   # also by several threads


cdef double group_steps(const Steps* s, Group* groups, int first, int end) noexcept
cdef bint engage_hands(int hands, double time) noexcept nogil
