# tflm_cy: optimize=speed
"""Where the memory of a subgraph comes from, but for what is planned.

| what | where |
| --- | --- |
| persistent data and computed outputs | the arena's tail, until the next prepare; what is large and need not be zero in an arena of its own |
| scratch buffers and planned tensors | the head, when the plan is known (`graph.memory_plan`) |
| dynamic and string tensors | blocks of their own, which only grow |

Before the mark that loading leaves (`loaded` of a subgraph) lie tensors and nodes; what prepare asks for lies behind it.
"""
cimport cython
from libc.stddef cimport size_t
from libc.stdint cimport uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from tflm_cy.memory.arena cimport KIND_OP_DATA, Arena
from tflm_cy.memory.block cimport Block, new_block
from tflm_cy.memory.growing_arena cimport GrowingArena

cdef enum:
    BULK_BYTES = 1 << 15


@cython.no_gc_clear          # __dealloc__ reads a table that lies in the arena
cdef class Allocator:
    """See the module.

    Parameters
    ----------
    arena : memory.arena.Arena
    alignment : int
        Of what operators get, in bytes.
    single_arena : bool
        Everything lies in this arena.
    """

    def __init__(self, Arena arena, size_t alignment, bint single_arena):
        self.arena = arena
        self.alignment = alignment
        self.single_arena = single_arena

    def __dealloc__(self):
        cdef int t
        if self.owned != NULL:
            for t in range(self.owned_count):
                free(self.owned[t])

    @property
    def used_bytes(self):
        """Bytes of the arena and of the bulk beside it that are in use."""
        return self.arena.used_bytes + (0 if self.bulk is None else self.bulk.used_bytes)

    cdef void* persistent(self, size_t bytes) except NULL:
        """Zeroed memory until the next prepare."""
        return self.arena.allocate_tail(bytes, self.alignment, KIND_OP_DATA)

    cdef void* unfilled(self, size_t bytes) except NULL:
        """As persistent, but with any bytes in it."""
        if bytes < BULK_BYTES or self.single_arena:
            return self.arena.allocate_unfilled(bytes, self.alignment, KIND_OP_DATA)
        if self.bulk is None:
            self.bulk = GrowingArena(self.alignment, SLACK)
        return self.bulk.allocate_unfilled(bytes, self.alignment, KIND_OP_DATA)

    cdef const uint8_t* same_bytes(self, uint8_t value, size_t bytes) except NULL:
        """A row of equal bytes, aligned to 64, until the graph is prepared from its beginning again."""
        cdef list rows
        cdef Block row
        if self.rows is None:
            self.rows = {}
        rows = self.rows.setdefault(value, [])
        for row in rows:
            if row.size >= bytes:
                return <const uint8_t*>row.data
        row = new_block(bytes + 1, 64)
        memset(row.data, value, row.size)
        rows.append(row)
        return <const uint8_t*>row.data

    cdef void* own(self, int index, size_t bytes) noexcept nogil:
        """Own memory of a tensor of at least so many bytes; NULL: there is none."""
        cdef void* data
        if self.owned[index] == NULL or self.owned_capacity[index] < bytes:
            data = realloc(self.owned[index], bytes + SLACK)
            if data == NULL:
                return NULL
            self.owned[index] = data
            self.owned_capacity[index] = bytes
        return self.owned[index]

    cdef Mark mark(self) except *:
        cdef Mark mark
        mark.tail = self.arena.mark()
        mark.bulk = 0 if self.bulk is None else self.bulk.mark()
        return mark

    cdef int rewind(self, Mark mark) except -1:
        """Give back what has been taken since the mark."""
        self.arena.rewind(mark.tail)
        if self.bulk is not None:
            self.bulk.rewind(mark.bulk)
        return 0

    cdef int trim(self) noexcept:
        """Nothing follows before the next mark is rewound: what the bulk holds in reserve is given back."""
        if self.bulk is not None:
            self.bulk.trim_tail()
        return 0
