"""A block of memory that a Python object owns: aligned, zeroed, seen through the buffer protocol.

    >>> block = Block(100, alignment=64)
    >>> block.size, block.address % 64, bytes(block) == bytes(100)
    (100, 0, True)
    >>> view = memoryview(block)
    >>> block.exports
    1

Whoever shows this memory (a numpy array, a memoryview) holds the block, so memory that somebody sees is never freed
or moved; `exports` counts these views. Pages of a large block are not touched here: they cost nothing until they are
written. `Block.over(buffer)` pins a caller's writable buffer instead (a bytearray cannot be resized until the block
dies).
"""
cimport cython
from cpython.buffer cimport PyBUF_WRITABLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.stdint cimport uintptr_t

from tflm_cy.platform.pages cimport forget_pages, map_pages, page_size, unmap_pages, want_huge_pages, want_small_pages

cdef extern from "Python.h":
    int PyTraceMalloc_Track(unsigned int domain, uintptr_t pointer, size_t size)
    int PyTraceMalloc_Untrack(unsigned int domain, uintptr_t pointer)

cdef size_t LARGEST = (<size_t> -1 >> 2) + 1
cdef size_t HUGE_PAGE = 1 << 21
cdef size_t SMALLEST_MAPPING = 1 << 17
cdef size_t SMALLEST_HUGE = 1 << 23       # in pages of 2 MiB (where the system has them): what is read from end to end misses fewer of them


cdef class Block:
    """`Block(size, alignment=64)`: `size` zeroed bytes that start on a multiple of `alignment` (a power of two)."""

    def __init__(self, size_t size, size_t alignment=64):
        if self.data != NULL:
            raise RuntimeError("a block keeps its memory: make a new one")
        reserve(self, size, alignment)

    def __dealloc__(self):
        if self._pinned:
            PyBuffer_Release(&self._view)
        if self._mapped:
            PyTraceMalloc_Untrack(0, <uintptr_t> self._memory)
            unmap_pages(self._memory, self._mapped)
        else:
            PyMem_RawFree(self._memory)

    @staticmethod
    def over(buffer):
        """The block that shows a caller's writable, contiguous buffer and keeps it alive and in place."""
        return block_over(buffer)

    @property
    def address(self):
        return <uintptr_t> self.data

    def __len__(self):
        return self.size

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self.data, <Py_ssize_t> self.size, 0, flags)
        with cython.critical_section(self):      # matters without a GIL only
            self.exports += 1

    def __releasebuffer__(self, Py_buffer* view):
        with cython.critical_section(self):
            self.exports -= 1

    def __repr__(self):
        return f"<Block of {self.size} bytes at 0x{self.address:x}, {self.exports} views>"


cdef Block new_block(size_t size, size_t alignment):
    cdef Block block = Block.__new__(Block)
    reserve(block, size, alignment)
    return block


cdef Block new_mapped_block(size_t size, size_t alignment):
    """A block for what may stay unused: a large one is not touched even where the heap would clear recycled memory for it."""
    cdef Block block = Block.__new__(Block)
    cdef void* memory
    if SMALLEST_MAPPING <= size < LARGEST and alignment <= 4096:          # what a page's start has anyway
        memory = map_pages(size)
        if memory != NULL:
            block._memory = memory
            block._mapped = block.size = size
            block.data = <char*> memory
            if size >= SMALLEST_HUGE:
                want_huge_pages(memory, size)
            PyTraceMalloc_Track(0, <uintptr_t> memory, size)
            return block
    reserve(block, size, alignment)
    return block


cdef void prefer_huge_pages(char* start, char* end) noexcept:
    """For the whole huge pages of a stretch of memory, as far as they are not in use yet."""
    start += -<uintptr_t> start & (HUGE_PAGE - 1)
    end -= <uintptr_t> end & (HUGE_PAGE - 1)
    if start < end:
        want_huge_pages(start, end - start)


cdef void end_huge_pages(char* start, char* used, char* end) noexcept:
    """For a stretch of memory that is used up to `used`, keep the huge pages that are used to their ends: one that is begun takes memory as a whole."""
    used -= <uintptr_t> used & (HUGE_PAGE - 1)
    start += -<uintptr_t> start & (HUGE_PAGE - 1)
    end -= <uintptr_t> end & (HUGE_PAGE - 1)
    start = max(start, used)
    if start < end:
        want_small_pages(start, end - start)


cdef void give_back(char* start, char* end) noexcept nogil:
    """Whole pages within memory of one's own, of which nobody needs what they hold."""
    cdef size_t page = page_size()
    start += -<uintptr_t> start & (page - 1)
    end -= <uintptr_t> end & (page - 1)
    if start < end:
        forget_pages(start, end - start)


cdef Block block_over(object buffer):
    cdef Block block = Block.__new__(Block)
    PyObject_GetBuffer(buffer, &block._view, PyBUF_WRITABLE)
    block._pinned = True
    block.data = <char*> block._view.buf
    block.size = <size_t> block._view.len
    return block


cdef int reserve(Block block, size_t size, size_t alignment) except -1:
    cdef uintptr_t start
    if alignment == 0 or alignment & (alignment - 1) or alignment > <size_t> 1 << 30:
        raise ValueError(f"alignment must be a power of two up to 2**30, not {alignment}")
    if size < LARGEST:
        block._memory = PyMem_RawCalloc(1, size + alignment)
    if block._memory == NULL:
        raise MemoryError(f"no memory for a block of {size} bytes")
    start = (<uintptr_t> block._memory + alignment - 1) & ~(<uintptr_t> alignment - 1)
    block.data = <char*> start
    block.size = size
    return 0
