"""An arena over two buffers: what lives as long as the model in one, what is planned and temporary in the other.

    >>> arena = ArenaPair(bytearray(1024), 4096)    # a fast small memory and a slow large one, or the reverse
    >>> head = arena.head(4000)
    >>> tail = arena.tail(100)
    >>> arena.head_size, arena.persistent.head_size
    (4000, 0)
    >>> address = arena.tail(1000)
    Traceback (most recent call last):
        ...
    tflm_cy.memory.arena.ArenaExhausted: arena exhausted: 1000 bytes asked in the tail, ... left, ...

It is TFLM's MicroAllocator over a PersistentArenaBufferAllocator and a NonPersistentArenaBufferAllocator. Each part is
a SingleArena of which only one side is used; an exhausted one names its own sufficient size.

Source: tensorflow/tflite-micro:tensorflow/lite/micro/arena_allocator/.
"""
from tflm_cy.memory.arena cimport Arena
from tflm_cy.memory.single_arena cimport new_single_arena


cdef class ArenaPair(Arena):
    """`ArenaPair(persistent, non_persistent, alignment=16)`: two buffers or sizes; see `Arena` for what it does."""

    def __cinit__(self, persistent, non_persistent, size_t alignment=16):
        self.persistent = new_single_arena(persistent, alignment)
        self.non_persistent = new_single_arena(non_persistent, alignment)
        self.alignment = alignment

    @property
    def size(self):
        """Bytes of both buffers."""
        return self.persistent.size + self.non_persistent.size

    @property
    def alignment_loss(self):
        """Bytes lost before the head, the only part that grows up."""
        return self.non_persistent.alignment_loss

    cdef void* allocate_tail(self, size_t size, size_t alignment, int kind) except NULL:
        return self.persistent.allocate_tail(size, alignment, kind)

    cdef void* allocate_temp(self, size_t size, size_t alignment) except NULL:
        return self.non_persistent.allocate_temp(size, alignment)

    cdef int release_temp(self, void* address) except -1:
        return self.non_persistent.release_temp(address)

    cpdef int reset_temp(self) except -1:
        """Give the memory of all temporaries back; RuntimeError if one is not released."""
        return self.non_persistent.reset_temp()

    cdef void* set_head(self, size_t size) except NULL:
        return self.non_persistent.set_head(size)

    cpdef size_t mark(self) except? 0:
        """The tail as it is now, for `rewind`."""
        return self.persistent.mark()

    cpdef int rewind(self, size_t mark) except -1:
        """Return the tail to a mark and drop all temporaries."""
        self.persistent.rewind(mark)
        return self.non_persistent.rewind(self.non_persistent.mark())

    cdef char* head_start(self) noexcept:
        return self.non_persistent.head_start()

    cdef size_t head_bytes(self) noexcept:
        return self.non_persistent.head_bytes()

    cdef size_t tail_bytes(self) noexcept:
        return self.persistent.tail_bytes()

    cdef size_t temp_bytes(self) noexcept:
        return self.non_persistent.temp_bytes()

    cdef object head_owner(self):
        return self.non_persistent.head_owner()


cdef ArenaPair new_arena_pair(object persistent, object non_persistent, size_t alignment):
    return ArenaPair.__new__(ArenaPair, persistent, non_persistent, alignment)
