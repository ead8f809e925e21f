"""One arena for several models that do not run at the same time: one head for all, a tail that adds up.

    >>> from tflm_cy.memory.single_arena import SingleArena
    >>> shared = SharedArena(SingleArena(4096))
    >>> first, second = shared.tenant(), shared.tenant()
    >>> tail, head = first.tail(96), first.head(1000)
    >>> tail = second.tail(32)
    >>> second.head(500) == head                    # the head is that of the largest plan
    True
    >>> first.head_size, second.head_size, shared.head_size, shared.tail_used
    (1000, 500, 1000, 128)

Each model gets a `Tenant`, which is an Arena. All heads start at the same address, so a model that runs destroys what
the others have left in theirs, inputs and outputs included; variables live in the tail and stay. Temporaries lie above
the largest head, as in TFLM, where models share a MicroAllocator.

The tail is a stack: a tenant can be rewound only as long as no other one has allocated behind its mark.
"""
from tflm_cy.memory.arena cimport Arena


cdef class SharedArena:
    """`SharedArena(inner)`; from now on use its tenants instead of `inner`."""

    def __cinit__(self, Arena inner not None):
        self.inner = inner
        self.entries = []

    def tenant(self):
        """An arena for one more model."""
        return new_tenant(self)

    @property
    def tail_used(self):
        """Bytes of all tenants' tails."""
        return self.inner.tail_bytes()

    @property
    def used_bytes(self):
        """The head, temporaries and all tails."""
        return self.inner.head_bytes() + self.inner.temp_bytes() + self.inner.tail_bytes()


cdef class Tenant(Arena):
    """`Tenant(shared)` or `shared.tenant()`; its sizes and marks are its own."""

    def __cinit__(self, SharedArena shared not None):
        self.shared = shared
        self.inner = shared.inner
        self.alignment = shared.inner.alignment
        self.slack = shared.inner.slack
        self.number = shared.tenants
        shared.tenants += 1

    cdef void* allocate_tail(self, size_t size, size_t alignment, int kind) except NULL:
        cdef size_t mark = self.inner.mark(), before = self.inner.tail_bytes()
        cdef void* address = self.inner.allocate_tail(size, alignment, kind)
        self.shared.entries.append((self.number, mark, self.inner.tail_bytes() - before))
        self.own_tail += self.inner.tail_bytes() - before
        self.own_requests += 1
        return address

    cdef void* allocate_temp(self, size_t size, size_t alignment) except NULL:
        return self.inner.allocate_temp(size, alignment)

    cdef int release_temp(self, void* address) except -1:
        return self.inner.release_temp(address)

    cpdef int reset_temp(self) except -1:
        """Give the memory of all temporaries back; RuntimeError if one is not released."""
        return self.inner.reset_temp()

    cdef void* set_head(self, size_t size) except NULL:
        cdef size_t largest = max(size, self.shared.head_size)
        cdef void* address = self.inner.set_head(largest)
        self.shared.head_size = largest
        self.own_head = size
        return address

    cpdef size_t mark(self) except? 0:
        """This tenant's tail as it is now, for `rewind`: the number of its requests."""
        return self.own_requests

    cpdef int rewind(self, size_t mark) except -1:
        """Return this tenant's tail to a mark and drop all temporaries.

        RuntimeError if another tenant has allocated behind the mark.
        """
        cdef list entries = self.shared.entries
        cdef size_t keep = len(entries), left = self.own_requests
        if mark > self.own_requests:
            raise ValueError(f"mark {mark} lies behind the {self.own_requests} requests")
        while left > mark:
            if entries[keep - 1][0] != self.number:
                raise RuntimeError(
                    "another model of the shared arena has allocated behind the mark: its memory would be lost"
                )
            keep -= 1
            left -= 1
        self.inner.rewind(entries[keep][1] if keep < <size_t> len(entries) else self.inner.mark())
        for _, _, used in entries[keep:]:
            self.own_tail -= used
        del entries[keep:]
        self.own_requests = mark
        return 0

    cdef char* head_start(self) noexcept:
        return self.inner.head_start()

    cdef size_t head_bytes(self) noexcept:
        return self.own_head

    cdef size_t tail_bytes(self) noexcept:
        return self.own_tail

    cdef size_t temp_bytes(self) noexcept:
        return self.inner.temp_bytes()

    cdef object head_owner(self):
        return self.inner.head_owner()


cdef SharedArena new_shared_arena(Arena inner):
    return SharedArena.__new__(SharedArena, inner)


cdef Tenant new_tenant(SharedArena shared):
    return Tenant.__new__(Tenant, shared)
