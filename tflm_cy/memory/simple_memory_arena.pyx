"""TensorFlow Lite's SimpleMemoryArena: one buffer, blocks with usage intervals, the best gap.

    >>> arena = SimpleMemoryArena()
    >>> [arena.allocate(size, first, last) for size, first, last in [(100, 0, 1), (80, 2, 3), (50, 1, 2)]]
    [0, 0, 100]
    >>> arena.high_water_mark
    150
    >>> arena.deallocate(0)
    >>> arena.allocate(30, 0, 3)
    150

A block is alive in the nodes first .. last, both inclusive; only blocks that it meets in time are in its way. Of the
gaps between them it takes the one that leaves least, the first of equal ones; if none is large enough, it goes behind
the last. The waste of a gap that becomes the best is measured from the end of the block before, not from the aligned
start, as TensorFlow 2.21 does. Starts are aligned, sizes are not rounded. The high water mark never falls.

Source: tensorflow/tensorflow:tensorflow/lite/simple_memory_arena.cc; ARENA_TFLM, section 8.
"""
from libc.stdint cimport int64_t

NEVER = (1 << 31) - 1       # the last node of what is never released
cdef int64_t LARGEST = <int64_t> 1 << 61


cdef class SimpleMemoryArena:
    """`SimpleMemoryArena(alignment=1)`; blocks are known by the number of their allocation."""

    cdef readonly int64_t alignment
    cdef readonly int64_t high_water_mark
    cdef readonly int64_t allocations
    cdef list active            # (offset, end, first, last, number) by offset, the earlier one first among equals

    def __init__(self, int64_t alignment=1):
        if alignment < 1:
            raise ValueError(f"alignment must be positive, not {alignment}")
        self.alignment = alignment
        self.clear()

    def clear(self):
        """Forget all blocks and the high water mark."""
        self.high_water_mark = self.allocations = 0
        self.active = []

    def allocate(self, int64_t size, int64_t first=0, int64_t last=NEVER):
        """The offset of a new block; 0 for an empty one, which takes no place."""
        cdef int64_t offset, end, block_first, block_last, aligned, at = 0, best = -1, waste = -1
        cdef Py_ssize_t place = 0
        if size < 0 or size > LARGEST or self.high_water_mark > LARGEST:
            raise ValueError(f"a block of {size} bytes")
        self.allocations += 1
        if size == 0:
            return 0
        for offset, end, block_first, block_last, _ in self.active:
            if block_last < first or block_first > last:
                continue
            aligned = up(at, self.alignment)
            if aligned + size <= offset and (waste < 0 or offset - aligned < waste):
                best, waste = aligned, offset - at
            at = max(at, end)
            if waste == 0:
                break
        if best < 0:
            best = up(at, self.alignment)
        self.high_water_mark = max(self.high_water_mark, best + size)
        while place < len(self.active) and self.active[place][0] <= best:
            place += 1
        self.active.insert(place, (best, best + size, first, last, self.allocations - 1))
        return best

    def deallocate(self, number):
        """Drop the block of the allocation with this number (0 is the first)."""
        self.keep(lambda block: block[4] != number)

    def purge_before(self, node):
        """Drop the blocks that died before a node."""
        self.keep(lambda block: block[3] >= node)

    def purge_after(self, node):
        """Drop the blocks that are born after a node."""
        self.keep(lambda block: block[2] <= node)

    def restore(self, blocks):
        """Replace the active blocks by these rows (offset, size, first, last)."""
        self.active = [(offset, offset + size, first, last, -1) for offset, size, first, last in sorted(blocks)]

    def keep(self, wanted):
        self.active = [block for block in self.active if wanted(block)]


cdef inline int64_t up(int64_t offset, int64_t alignment) noexcept nogil:
    return (offset + alignment - 1) // alignment * alignment
