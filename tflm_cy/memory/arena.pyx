"""The interface of every arena: head for planned buffers, temporaries, tail for what lives as long as the model.

    >>> from tflm_cy.memory.single_arena import SingleArena
    >>> arena = SingleArena(1024)
    >>> node = arena.tail(40, alignment=8)          # persistent, zeroed, grows down from the end
    >>> loaded = arena.mark()
    >>> op_data = arena.tail(100, alignment=16)
    >>> scratch = arena.temp(64)                    # a temporary: released, then all of them reset
    >>> arena.release(scratch)
    >>> arena.reset_temp()
    0
    >>> head = arena.head(256)                      # the plan's size; planned buffers lie at head + offset
    >>> arena.head_size, arena.tail_used, arena.used_bytes
    (256, 144, 400)
    >>> arena.rewind(loaded)                        # a new prepare starts where loading had stopped
    0
    >>> arena.tail_used
    40

Rules that hold for every arena (they are TFLM's; `MicroAllocator` follows the same order):
- The tail is zeroed by the arena (`allocate_unfilled` may leave that out, for who writes every byte); every request carries
  a kind, which costs nothing unless `recording` is wrapped around.
- Temporaries hold arbitrary bytes. All must be released before `reset_temp`, and reset before the head's size is set.
- The head's memory is zeroed when it is new; bytes that lie within the old and the new size stay as they are.
- `mark` is an opaque number of the arena that gave it. `rewind` returns the tail to it and drops all temporaries, so
  it also cleans up behind a prepare that failed. What was allocated after the mark must not be used any more.
- A request for zero bytes gives a valid address.
- `head_block` is the Python object that owns the head's memory: views take it as their base. A head that must grow is
  a new block, and the old one dies with its last view. Views of the tail take the arena itself as their base.

The methods for C (`allocate_tail`, ...) take and give pointers; `tail`, `temp`, `release` and `head` are the same for
Python.
"""

KIND_NAMES = (
    "subgraph",
    "tensor",
    "node",
    "op data",
    "persistent buffer",
    "variable",
    "packed weights",
    "quantization",
    "other",
)


class ArenaExhausted(MemoryError):
    """A request that does not fit.

    `section` ("head", "temp" or "tail"); `asked` and `left` in bytes; `sufficient`: the least size of the arena with
    which this request fits after the same requests before it, or None where the arena cannot tell. Sizes are compared
    in steps of the largest alignment asked so far, since what the tail's objects lose depends on where it ends.
    """

    def __init__(self, section, asked, left, sufficient=None):
        hint = "" if sufficient is None else f"; the smallest sufficient arena has {sufficient} bytes"
        # with room for the bytes and not for the alignment, nothing of the request itself is missing
        missing = f", {asked - left} missing" if asked > left else " before alignment"
        super().__init__(f"arena exhausted: {asked} bytes asked in the {section}, {left} left{missing}{hint}")
        self.section = section
        self.asked = asked
        self.left = left
        self.sufficient = sufficient

    def __reduce__(self):
        return (ArenaExhausted, (self.section, self.asked, self.left, self.sufficient))


cdef class Arena:
    """See the module. Abstract: use `GrowingArena` or `SingleArena`."""

    cdef void* allocate_tail(self, size_t size, size_t alignment, int kind) except NULL:
        raise NotImplementedError

    cdef void* allocate_unfilled(self, size_t size, size_t alignment, int kind) except NULL:
        return self.allocate_tail(size, alignment, kind)

    cdef void* allocate_temp(self, size_t size, size_t alignment) except NULL:
        raise NotImplementedError

    cdef int release_temp(self, void* address) except -1:
        return self.forget_temp(address)

    cpdef int reset_temp(self) except -1:
        """Give the memory of all temporaries back; RuntimeError if one is not released."""
        raise NotImplementedError

    cdef void* set_head(self, size_t size) except NULL:
        raise NotImplementedError

    cpdef size_t mark(self) except? 0:
        """The tail as it is now, for `rewind`."""
        raise NotImplementedError

    cpdef int rewind(self, size_t mark) except -1:
        """Return the tail to a mark and drop all temporaries."""
        raise NotImplementedError

    cdef char* head_start(self) noexcept:
        return NULL

    cdef size_t head_bytes(self) noexcept:
        return 0

    cdef size_t tail_bytes(self) noexcept:
        return 0

    cdef size_t temp_bytes(self) noexcept:
        return 0

    cdef object head_owner(self):
        return None

    def tail(self, size_t size, size_t alignment=16, int kind=KIND_OTHER):
        """The address of `size` zeroed bytes in the tail. Raises ArenaExhausted or MemoryError."""
        return <uintptr_t> self.allocate_tail(size, alignment, kind)

    def temp(self, size_t size, size_t alignment=16):
        """The address of a temporary of `size` bytes, which must be released."""
        return <uintptr_t> self.allocate_temp(size, alignment)

    def release(self, uintptr_t address):
        """Release one temporary (its memory comes back with `reset_temp`)."""
        self.release_temp(<void*> address)

    def head(self, size_t size):
        """Set the size of the head; gives its address."""
        return <uintptr_t> self.set_head(size)

    @property
    def head_address(self):
        """Where the head starts; 0 before it was set."""
        return <uintptr_t> self.head_start()

    @property
    def head_size(self):
        return self.head_bytes()

    @property
    def tail_used(self):
        """Bytes of the tail, padding included."""
        return self.tail_bytes()

    @property
    def temp_used(self):
        """Bytes between the head and the end of the last temporary since the last reset."""
        return self.temp_bytes()

    @property
    def used_bytes(self):
        """Head, temporaries and tail together."""
        return self.head_bytes() + self.temp_bytes() + self.tail_bytes()

    @property
    def head_block(self):
        """The object that owns the head's memory (None before it was set)."""
        return self.head_owner()

    # A count and an exclusive or find what is missing or foreign without a list (as in TFLM).

    cdef int note_temp(self, void* address) noexcept:
        self.temp_count += 1
        self.temp_addresses ^= <uintptr_t> address
        return 0

    cdef int forget_temp(self, void* address) except -1:
        if self.temp_count == 0:
            raise RuntimeError("a temporary is released, but none is in use")
        self.temp_count -= 1
        self.temp_addresses ^= <uintptr_t> address
        return 0

    cdef int expect_no_temp(self, str what) except -1:
        if self.temp_count:
            raise RuntimeError(f"{what}: {self.temp_count} temporaries are not released")
        if self.temp_addresses:
            raise RuntimeError(f"{what}: an address was released that was no temporary in use")
        return 0


cdef int check_alignment(size_t alignment) except -1:
    if alignment == 0 or alignment & (alignment - 1) or alignment > <size_t> 1 << 30:
        raise ValueError(f"alignment must be a power of two up to 2**30, not {alignment}")
    return 0
