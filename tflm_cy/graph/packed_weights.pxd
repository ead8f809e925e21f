"""Weights as kernels want them, from one prepare to the next; told in `packed_weights.pyx`."""
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint8_t

from tflm_cy.graph.context cimport Node, Packing
from tflm_cy.graph.deferred_constants cimport DeferredConstants
from tflm_cy.memory.block cimport Block
from tflm_cy.memory.growing_arena cimport GrowingArena


cdef class PackedWeights:
    cdef DeferredConstants constants
    cdef GrowingArena arena          # of packings and what they hold; None: there are none
    cdef Block firsts                # per node: its first Packing
    cdef size_t unused               # bytes in the arena that no packing has any more
    cdef bint outdated               # a constant may have changed: all is packed anew when the nodes are prepared again
    cdef const Node* node            # the one that is being prepared
    cdef Packing** place             # its next packing
    cdef int constant                # 1: what it packs depends on constants alone, 0: it does not, -1: nobody has asked

    cdef int begin(self, const Node* node) except -1
    cdef Packing* find(self, const int32_t* layout, int words, size_t bytes) except NULL
    cdef int begin_again(self) except -1
    cdef int forget(self) except -1
    cdef int trim(self) noexcept
    cdef int expect_again(self, Packing* packing) except -1
    cdef int verify(self, Packing* packing) except -1
