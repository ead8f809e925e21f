"""An arena that counts: wrap it around another one, and every request in the tail is recorded by kind.

    >>> from tflm_cy.memory.single_arena import SingleArena
    >>> arena = RecordingArena(SingleArena(1024))
    >>> address = arena.tail(20, alignment=8, kind=KINDS.index("node"))
    >>> address = arena.tail(20, alignment=8, kind=KINDS.index("node"))
    >>> arena.records["node"]
    {'requested': 40, 'used': 48, 'count': 2}
    >>> head = arena.head(96)
    >>> print(arena.table())
    kind                requested       used  count
    node                       40         48      2
    tail                       40         48      2
    head                       96         96
    total                     136        144

"requested" sums the sizes, "used" is what the tail moved, padding included. The wrapper is an Arena; without it
nothing is counted and nothing is paid. A rewind forgets what came after the mark.
"""
from tflm_cy.memory.arena cimport KIND_COUNT, KIND_OTHER, Arena

from tflm_cy.memory.arena import KIND_NAMES

KINDS = KIND_NAMES


cdef class RecordingArena(Arena):
    """`RecordingArena(inner)`; from now on use it instead of `inner`. Its marks are its own."""

    def __cinit__(self, Arena inner not None):
        self.inner = inner
        self.alignment = inner.alignment
        self.slack = inner.slack
        self.entries = []

    @property
    def records(self):
        """{kind: {"requested": bytes, "used": bytes, "count": n}} of the kinds that occurred, in KIND_NAMES' order."""
        cdef dict records = {name: {"requested": 0, "used": 0, "count": 0} for name in KIND_NAMES}
        for _, kind, requested, used in self.entries:
            record = records[KIND_NAMES[kind]]
            record["requested"] += requested
            record["used"] += used
            record["count"] += 1
        return {name: record for name, record in records.items() if record["count"]}

    def table(self):
        """The records, the tail, the head and their total as text."""
        records = self.records
        tail = {key: sum([record[key] for record in records.values()]) for key in ("requested", "used", "count")}
        lines = [f"{'kind':<18} {'requested':>10} {'used':>10} {'count':>6}"]
        for name, record in [*records.items(), ("tail", tail)]:
            lines.append(f"{name:<18} {record['requested']:>10} {record['used']:>10} {record['count']:>6}")
        lines.append(f"{'head':<18} {self.head_size:>10} {self.head_size:>10}")
        lines.append(f"{'total':<18} {tail['requested'] + self.head_size:>10} {tail['used'] + self.head_size:>10}")
        return "\n".join(lines)

    cdef void* allocate_tail(self, size_t size, size_t alignment, int kind) except NULL:
        cdef size_t mark = self.inner.mark(), before = self.inner.tail_bytes()
        cdef void* address = self.inner.allocate_tail(size, alignment, kind)
        if not 0 <= kind < KIND_COUNT:
            kind = KIND_OTHER
        self.entries.append((mark, kind, size, self.inner.tail_bytes() - before))
        return address

    cdef void* allocate_temp(self, size_t size, size_t alignment) except NULL:
        cdef void* address = self.inner.allocate_temp(size, alignment)
        self.temp_peak = max(self.temp_peak, self.inner.temp_bytes())
        return address

    cdef int release_temp(self, void* address) except -1:
        return self.inner.release_temp(address)

    cpdef int reset_temp(self) except -1:
        """Give the memory of all temporaries back; RuntimeError if one is not released."""
        return self.inner.reset_temp()

    cdef void* set_head(self, size_t size) except NULL:
        return self.inner.set_head(size)

    cpdef size_t mark(self) except? 0:
        """The tail as it is now, for `rewind`: here the number of requests."""
        return len(self.entries)

    cpdef int rewind(self, size_t mark) except -1:
        """Return the tail to a mark, forget what was recorded after it, and drop all temporaries."""
        if mark > <size_t> len(self.entries):
            raise ValueError(f"mark {mark} lies behind the {len(self.entries)} requests")
        self.inner.rewind(self.entries[mark][0] if mark < <size_t> len(self.entries) else self.inner.mark())
        del self.entries[mark:]
        return 0

    cdef char* head_start(self) noexcept:
        return self.inner.head_start()

    cdef size_t head_bytes(self) noexcept:
        return self.inner.head_bytes()

    cdef size_t tail_bytes(self) noexcept:
        return self.inner.tail_bytes()

    cdef size_t temp_bytes(self) noexcept:
        return self.inner.temp_bytes()

    cdef object head_owner(self):
        return self.inner.head_owner()


cdef RecordingArena new_recording_arena(Arena inner):
    return RecordingArena.__new__(RecordingArena, inner)
