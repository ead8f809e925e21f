# tflm_cy: optimize=speed
"""The arena of a desktop: it takes memory as it is asked, so no size has to be guessed and nothing moves.

    >>> arena = GrowingArena()
    >>> address = arena.tail(100, alignment=64)
    >>> address % 64, arena.tail_used
    (0, 100)
    >>> head = arena.head(5000)
    >>> arena.head_block.address == head
    True

The tail grows in chunks: a small first one, so that a tiny model costs one allocation, then twice as much each time;
a request that is larger gets a chunk of its own size with room behind it. Behind the first LARGE_TAIL bytes a chunk has LARGE_STEP, on huge
pages: so much does not stay in the caches, and who reads it from end to end would wait for the addresses of small pages. What such a chunk
leaves unused is given back. The head is one block, taken when the plan
is known. `slack` bytes behind the head and each tail object may be read, so that a vector kernel may load a whole
register at a tensor's end. A mark is the number of bytes of the tail in use; chunks begun after it are freed by
`rewind`.
"""
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.stdint cimport uintptr_t
from libc.string cimport memset

from tflm_cy.memory.arena cimport Arena, check_alignment
from tflm_cy.memory.block cimport Block, end_huge_pages, give_back, new_mapped_block, prefer_huge_pages

cdef size_t FIRST_CHUNK = 4000          # with the header, the alignment and the slack about one page
cdef size_t LARGEST_STEP = 1 << 18
cdef size_t LARGE_TAIL = 1 << 21
cdef size_t LARGE_STEP = 1 << 24        # less than what the heap keeps when it is freed, for who loads model after model
cdef size_t LARGEST = <size_t> 1 << (60 if sizeof(size_t) == 8 else 30)


cdef class GrowingArena(Arena):
    """`GrowingArena(alignment=64, slack=64)`; see `Arena` for what it does."""

    def __cinit__(self, size_t alignment=64, size_t slack=64):
        check_alignment(alignment)
        if slack > 1 << 20:
            raise ValueError(f"slack of {slack} bytes is more than 2**20")
        self.alignment = alignment
        self.slack = slack
        self.next_capacity = FIRST_CHUNK

    def __dealloc__(self):
        while self.tail_chunk != NULL:
            pop(&self.tail_chunk)
        while self.temp_chunk != NULL:
            pop(&self.temp_chunk)

    cdef void* allocate_tail(self, size_t size, size_t alignment, int kind) except NULL:
        return memset(self.allocate_unfilled(size, alignment, kind), 0, size)

    cdef void* allocate_unfilled(self, size_t size, size_t alignment, int kind) except NULL:
        """Chunks are not cleared: large ones are mostly packed weights, which are written whole."""
        cdef size_t padding
        cdef char* address
        check_alignment(alignment)
        if self.tail_chunk == NULL or not fits(self.tail_chunk, size, alignment):
            self.push(&self.tail_chunk, self.next_capacity, size, alignment)
            self.next_capacity = min(2 * self.next_capacity, LARGEST_STEP)
        padding = padding_of(self.tail_chunk, alignment)
        address = self.tail_chunk.start + self.tail_chunk.used + padding
        self.tail_chunk.used += padding + size
        return address

    cdef void* allocate_temp(self, size_t size, size_t alignment) except NULL:
        cdef size_t padding
        cdef char* address
        check_alignment(alignment)
        if self.temp_chunk == NULL or not fits(self.temp_chunk, size, alignment):
            self.push(&self.temp_chunk, FIRST_CHUNK, size, alignment)
        padding = padding_of(self.temp_chunk, alignment)
        address = self.temp_chunk.start + self.temp_chunk.used + padding
        self.temp_chunk.used += padding + size
        self.note_temp(address)
        return address

    cpdef int reset_temp(self) except -1:
        """Give the memory of all temporaries back; RuntimeError if one is not released."""
        self.expect_no_temp("reset_temp")
        self.drop_temps()
        return 0

    cdef void* set_head(self, size_t size) except NULL:
        cdef Block block
        if self.temp_bytes():
            raise RuntimeError("the head's size is set before the temporaries are reset")
        if size > LARGEST:
            raise MemoryError(f"no memory for a head of {size} bytes")
        if self.block is None or self.block.size < size + self.slack:
            # the old block is given up only when there is a new one: pointers to it stay valid if this raises
            block = new_mapped_block(size + self.slack, self.alignment)
            self.block = block
        self.head_used = size
        self.trim_tail()
        return self.block.data

    cpdef size_t mark(self) except? 0:
        """The tail as it is now, for `rewind`."""
        return self.tail_bytes()

    cpdef int rewind(self, size_t mark) except -1:
        """Return the tail to a mark and drop all temporaries."""
        cdef Chunk* chunk
        cdef size_t kept
        if mark > self.tail_bytes():
            raise ValueError(f"mark {mark} lies behind the tail's {self.tail_bytes()} bytes")
        self.drop_temps()
        while self.tail_chunk != NULL and self.tail_chunk.base > mark:
            self.next_capacity = self.tail_chunk.step       # a repeated prepare takes the same chunks again
            pop(&self.tail_chunk)
        chunk = self.tail_chunk
        if chunk != NULL:
            kept = mark - chunk.base
            chunk.used = min(chunk.used, kept)
        return 0

    cdef char* head_start(self) noexcept:
        return NULL if self.block is None else self.block.data

    cdef size_t head_bytes(self) noexcept:
        return self.head_used

    cdef size_t tail_bytes(self) noexcept:
        return 0 if self.tail_chunk == NULL else self.tail_chunk.base + self.tail_chunk.used

    cdef size_t temp_bytes(self) noexcept:
        return 0 if self.temp_chunk == NULL else self.temp_chunk.base + self.temp_chunk.used

    cdef object head_owner(self):
        return self.block

    cdef int push(self, Chunk** top, size_t capacity, size_t size, size_t alignment) except -1:
        """Begin a chunk of `capacity` bytes, or more if `size` bytes have no room in it."""
        cdef size_t step = capacity, aligned = max(alignment, self.alignment)
        cdef Chunk* chunk = NULL
        if top[0] != NULL and top[0].base + top[0].used >= LARGE_TAIL:
            trim(top[0])
            capacity = LARGE_STEP
        if size > capacity:
            capacity += size if size < LARGEST else LARGEST
        if size < LARGEST:
            chunk = <Chunk*> PyMem_RawMalloc(sizeof(Chunk) + aligned + capacity + self.slack)
        if chunk == NULL:
            raise MemoryError(f"no memory for {size} bytes in the arena, which holds {self.used_bytes} bytes")
        chunk.start = <char*> ((<uintptr_t> chunk + sizeof(Chunk) + aligned - 1) & ~(<uintptr_t> aligned - 1))
        chunk.used = 0
        chunk.capacity = capacity
        if capacity >= LARGE_STEP:
            prefer_huge_pages(chunk.start, chunk.start + capacity)
        chunk.step = step
        chunk.previous = top[0]
        chunk.base = 0 if top[0] == NULL else top[0].base + top[0].used
        top[0] = chunk
        return 0

    cdef void trim_tail(self) noexcept:
        """What a large chunk has not used costs nothing until it is."""
        if self.tail_chunk != NULL:
            trim(self.tail_chunk)

    cdef int drop_temps(self) noexcept:
        """All temporaries go; the last chunk, the largest usually, stays for the next node."""
        while self.temp_chunk != NULL and self.temp_chunk.previous != NULL:
            drop_below(self.temp_chunk)
        if self.temp_chunk != NULL:
            self.temp_chunk.used = 0
            self.temp_chunk.base = 0
        self.temp_count = 0
        self.temp_addresses = 0
        return 0


cdef GrowingArena new_growing_arena(size_t alignment, size_t slack):
    return GrowingArena.__new__(GrowingArena, alignment, slack)


cdef inline size_t padding_of(Chunk* chunk, size_t alignment) noexcept nogil:
    return -(<uintptr_t> chunk.start + chunk.used) & (alignment - 1)


cdef inline bint fits(Chunk* chunk, size_t size, size_t alignment) noexcept nogil:
    cdef size_t left = chunk.capacity - chunk.used
    cdef size_t padding = padding_of(chunk, alignment)
    return padding <= left and size <= left - padding


cdef void pop(Chunk** top) noexcept:
    cdef Chunk* chunk = top[0]
    top[0] = chunk.previous
    PyMem_RawFree(chunk)


cdef void drop_below(Chunk* chunk) noexcept:
    cdef Chunk* below = chunk.previous
    chunk.previous = below.previous
    PyMem_RawFree(below)


cdef void trim(const Chunk* chunk) noexcept:
    if chunk.capacity >= LARGE_STEP:
        end_huge_pages(chunk.start, chunk.start + chunk.used, chunk.start + chunk.capacity)
        give_back(chunk.start + chunk.used, chunk.start + chunk.capacity)
