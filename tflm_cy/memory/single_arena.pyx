"""TFLM's arena: five pointers over one buffer of the caller.

    buffer_head ... head | temporaries ... | free | ... tail ... buffer_tail

    >>> arena = SingleArena(bytearray(1000))        # any writable buffer; pinned while in use
    >>> arena.alignment_loss < 16
    True
    >>> head = arena.head(400)
    >>> address = arena.tail(1000)
    Traceback (most recent call last):
        ...
    tflm_cy.memory.arena.ArenaExhausted: arena exhausted: 1000 bytes asked in the tail, ... has ... bytes
    >>> SingleArena(4096).size                      # a buffer of its own
    4096

The buffer's start is rounded up to `alignment`, its end is not rounded, so what the tail's first object uses depends
on the buffer's size modulo 16. The tail grows down: `(tail - size) & -alignment`. Temporaries grow up from the head.
The head starts at `buffer_head`; its size can be set again and again while there are no temporaries.

Two checks are added to TFLM's. The tail may not run into a temporary that is in use (TFLM compares with the head
only, and trusts the order of calls; released temporaries may be overwritten, as there). And a temporary that starts
behind the tail's start is refused.

Source of the rules: tensorflow/tflite-micro:tensorflow/lite/micro/arena_allocator/single_arena_buffer_allocator.cc.
"""
from libc.stdint cimport uintptr_t
from libc.string cimport memset

from tflm_cy.memory.arena cimport Arena, check_alignment
from tflm_cy.memory.block cimport block_over, new_block

from tflm_cy.memory.arena import ArenaExhausted


cdef class SingleArena(Arena):
    """`SingleArena(buffer, alignment=16)`, where `buffer` may be a size; see `Arena` for what it does."""

    def __cinit__(self, buffer, size_t alignment=16):
        check_alignment(alignment)
        self.block = new_block(buffer, alignment) if isinstance(buffer, int) else block_over(buffer)
        self.alignment = self.granularity = alignment
        self.buffer_tail = self.block.data + self.block.size
        self.buffer_head = up(self.block.data, alignment)
        if self.buffer_head > self.buffer_tail:
            raise ArenaExhausted("head", <size_t> (self.buffer_head - self.block.data), self.block.size,
                                 <size_t> (self.buffer_head - self.block.data))
        self.head_end = self.temp_end = self.buffer_head
        self.tail_start = self.buffer_tail

    @property
    def size(self):
        """Bytes of the whole buffer."""
        return self.block.size

    @property
    def alignment_loss(self):
        """Bytes lost before the first aligned one."""
        return <size_t> (self.buffer_head - self.block.data)

    @property
    def free_bytes(self):
        """Bytes between the temporaries and the tail."""
        return distance(self.temp_end, self.tail_start)

    cdef void* allocate_tail(self, size_t size, size_t alignment, int kind) except NULL:
        cdef char* floor = self.temp_end if self.temp_count else self.head_end
        cdef size_t left = distance(floor, self.tail_start)
        cdef size_t padding
        cdef char* start
        check_alignment(alignment)
        self.granularity = max(self.granularity, alignment)
        padding = (<uintptr_t> self.tail_start - size) & (alignment - 1)
        if size > left or padding > left - size:
            self.exhausted("tail", size, left, padding)
        start = self.tail_start - size - padding
        self.tail_start = start
        memset(start, 0, size)
        return start

    cdef void* allocate_temp(self, size_t size, size_t alignment) except NULL:
        cdef char* start
        cdef size_t left
        check_alignment(alignment)
        self.granularity = max(self.granularity, alignment)
        start = up(self.temp_end, alignment)
        left = distance(start, self.tail_start)
        if size > left or start > self.tail_start:
            self.exhausted("temp", size, left, distance(self.tail_start, start))
        self.temp_end = start + size
        self.note_temp(start)
        return start

    cpdef int reset_temp(self) except -1:
        """Give the memory of all temporaries back; RuntimeError if one is not released."""
        self.expect_no_temp("reset_temp")
        self.temp_end = self.head_end
        return 0

    cdef void* set_head(self, size_t size) except NULL:
        cdef size_t left = distance(self.buffer_head, self.tail_start)
        cdef char* end
        if self.temp_end != self.head_end:
            raise RuntimeError("the head's size is set before the temporaries are reset")
        if size > left:
            self.exhausted("head", size, left, 0)
        end = self.buffer_head + size
        if end > self.head_end:
            memset(self.head_end, 0, end - self.head_end)
        self.head_end = self.temp_end = end
        return self.buffer_head

    cpdef size_t mark(self) except? 0:
        """The tail as it is now, for `rewind`."""
        return self.tail_bytes()

    cpdef int rewind(self, size_t mark) except -1:
        """Return the tail to a mark and drop all temporaries."""
        if mark > self.tail_bytes():
            raise ValueError(f"mark {mark} lies behind the tail's {self.tail_bytes()} bytes")
        self.tail_start = self.buffer_tail - mark
        self.temp_end = self.head_end
        self.temp_count = 0
        self.temp_addresses = 0
        return 0

    cdef int exhausted(self, str section, size_t asked, size_t left, size_t padding) except -1:
        """Raise ArenaExhausted; `padding` bytes are lost to alignment besides what is asked."""
        cdef object missing = asked + <object> padding - left
        cdef object sufficient = self.block.size + -(-missing // self.granularity) * self.granularity
        raise ArenaExhausted(section, asked, left, sufficient)

    cdef char* head_start(self) noexcept:
        return self.buffer_head

    cdef size_t head_bytes(self) noexcept:
        return self.head_end - self.buffer_head

    cdef size_t tail_bytes(self) noexcept:
        return self.buffer_tail - self.tail_start

    cdef size_t temp_bytes(self) noexcept:
        return self.temp_end - self.head_end

    cdef object head_owner(self):
        return self.block


cdef SingleArena new_single_arena(object buffer, size_t alignment):
    return SingleArena.__new__(SingleArena, buffer, alignment)


cdef inline char* up(char* address, size_t alignment) noexcept nogil:
    return <char*> ((<uintptr_t> address + alignment - 1) & ~(<uintptr_t> alignment - 1))


cdef inline size_t distance(char* low, char* high) noexcept nogil:
    return <size_t> (high - low) if high > low else 0
