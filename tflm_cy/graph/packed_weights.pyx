# tflm_cy: optimize=speed
"""Weights as kernels want them. What a node has packed is there again when it is prepared anew, because an input or a loop's value has another shape.

    packing = context.packing(layout, words, bytes)      # in prepare: memory for packed weights, of this node's next packing
    if not packing.filled:                               # else: they lie in packing.data as they were packed for the same layout
        ...                                              # now or in the first invoke
        packing.filled = True

`layout` is all of a kernel's plan that packed weights depend on and that shapes, threads or the environment may change. What else they depend on are
constants: a node that packs something else packs it each time. A packing whose layout is another one than before is filled anew, in the same memory if
it has room. What no packing needs any more is given back when it is more than what they do.

`check_packings(True)`, or TFLM_CY_DEBUG=1, lets everything be packed each time and compares it with what was there.
"""
import os

from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcmp, memcpy, memset

from tflm_cy.graph.allocator cimport SLACK
from tflm_cy.graph.context cimport LAYOUT_WORDS
from tflm_cy.memory.arena cimport KIND_OP_DATA
from tflm_cy.memory.block cimport new_block
from tflm_cy.memory.growing_arena cimport new_growing_arena

cdef bint CHECKS = os.environ.get("TFLM_CY_DEBUG", "") not in ("", "0")


def check_packings(bint on):
    """Pack all weights in each prepare, and refuse the node where they are not the bytes that were there. Returns the former choice."""
    global CHECKS
    former = CHECKS
    CHECKS = on
    return former


cdef class PackedWeights:
    """See the module; `constants` is to be set."""

    @property
    def used_bytes(self):
        """Bytes of packed weights and of what is noted of them."""
        return 0 if self.arena is None else self.arena.tail_bytes()

    cdef int begin(self, const Node* node) except -1:
        """This node is being prepared from now on."""
        cdef size_t bytes = self.constants.graph.node_count * sizeof(Packing*)
        if self.firsts is None or self.firsts.size < bytes:
            self.forget()
            self.firsts = new_block(bytes, 16)
        self.node = node
        self.place = &(<Packing**>self.firsts.data)[node.index]
        self.constant = -1
        return 0

    cdef Packing* find(self, const int32_t* layout, int words, size_t bytes) except NULL:
        """The node's next packing."""
        cdef Packing* packing = self.place[0]
        if packing == NULL:
            if self.arena is None:
                self.arena = new_growing_arena(self.constants.allocator.alignment, SLACK)
            packing = <Packing*>self.arena.allocate_tail(sizeof(Packing), 8, KIND_OP_DATA)
            self.place[0] = packing
        self.place = &packing.next
        if self.constant < 0:
            self.constant = self.constants.are_fixed(self.node)
        if packing.unverified:
            self.verify(packing)
        if packing.filled and self.constant and packing.words == words and memcmp(packing.layout, layout, words * sizeof(int32_t)) == 0:
            if CHECKS:
                self.expect_again(packing)
            return packing
        packing.filled = False
        if packing.capacity < bytes or packing.data == NULL:
            self.unused += packing.capacity
            packing.capacity = 0
            packing.expected = NULL
            packing.data = <uint8_t*>self.arena.allocate_unfilled(bytes, self.arena.alignment, KIND_OP_DATA)
            packing.capacity = bytes
        packing.words = min(words, LAYOUT_WORDS)
        memcpy(packing.layout, layout, packing.words * sizeof(int32_t))
        return packing

    cdef int begin_again(self) except -1:
        """All nodes are going to be prepared."""
        if self.arena is not None and (self.outdated or 2 * self.unused > self.arena.tail_bytes()):
            self.forget()
        return 0

    cdef int forget(self) except -1:
        """As if nothing had been packed: nothing may run before it is prepared again."""
        self.outdated = False
        if self.arena is not None:
            self.arena.rewind(0)
        if self.firsts is not None:
            memset(self.firsts.data, 0, self.firsts.size)
        self.unused = 0
        return 0

    cdef int trim(self) noexcept:
        if self.arena is not None:
            self.arena.trim_tail()
        return 0

    cdef int expect_again(self, Packing* packing) except -1:
        """It is to be filled again; what it holds now is kept for `verify`."""
        if packing.expected == NULL:
            packing.expected = <uint8_t*>self.arena.allocate_unfilled(packing.capacity, 8, KIND_OP_DATA)
        memcpy(packing.expected, packing.data, packing.capacity)
        packing.unverified = True
        packing.filled = False
        return 0

    cdef int verify(self, Packing* packing) except -1:
        """An error if what was packed again has other bytes than before."""
        cdef bint other = packing.filled and memcmp(packing.data, packing.expected, packing.capacity) != 0
        packing.unverified = False
        if other:
            raise SystemError(f"weights of {packing.capacity} bytes would have been taken for others")
        return 0
