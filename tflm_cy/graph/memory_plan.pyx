# tflm_cy: optimize=speed
"""What the passes `plan` and `bind` work on: which buffers a stage needs, from when to when, and where they lie.

A row of the table says what a buffer of the problem is: a tensor, the scratch memory of a tile group, or a tensor that an earlier stage has
placed. Prepare leaves requests for scratch memory here; `plan` makes rows, problem and solution; `bind` turns offsets into addresses.
"""
from libc.stddef cimport size_t
from libc.stdlib cimport free, realloc

from tflm_cy.graph.allocator cimport HEAD_ALIGNMENT
from tflm_cy.memory.block cimport Block, new_block

cdef size_t LARGEST_SCRATCH = <size_t>1 << (46 if sizeof(size_t) == 8 else 30)


cdef class MemoryPlan:
    """See the module."""

    def __cinit__(self):
        self.stage_blocks = []

    def __dealloc__(self):
        free(self.scratch_requests)
        free(self.rows)

    cdef int request_scratch(self, size_t bytes, int step, int source) except -1:
        """The handle of a new request."""
        cdef Scratch* requests
        if bytes > LARGEST_SCRATCH:
            raise ValueError(f"a scratch buffer of {bytes} bytes is too large")
        if self.scratch_count == self.scratch_capacity:
            requests = <Scratch*>realloc(self.scratch_requests, (2 * self.scratch_capacity + 8) * sizeof(Scratch))
            if requests == NULL:
                raise MemoryError()
            self.scratch_requests = requests
            self.scratch_capacity = 2 * self.scratch_capacity + 8
        requests = &self.scratch_requests[self.scratch_count]
        requests.bytes = bytes
        requests.step = step
        requests.source = source
        self.scratch_count += 1
        return self.scratch_count - 1

    cdef int new_rows(self, int count) except -1:
        """An empty table with room for so many rows."""
        cdef Row* rows
        if count > self.row_capacity:
            rows = <Row*>realloc(self.rows, count * sizeof(Row))
            if rows == NULL:
                raise MemoryError()
            self.rows = rows
            self.row_capacity = count
        self.row_count = 0
        return 0

    cdef Block new_stage_block(self, size_t bytes):
        """Memory of a stage behind a dynamic output, of one that is forgotten if it is large enough."""
        cdef list blocks = self.stage_blocks
        cdef Block block, other
        cdef int count = self.block_count
        cdef int i
        self.block_count += 1
        for i in range(count, len(blocks)):
            block = blocks[i]
            if block.size >= bytes:
                other = blocks[count]
                blocks[count], blocks[i] = block, other
                return block
        block = new_block(bytes + bytes // 2, HEAD_ALIGNMENT)      # shapes that grow a little at each run need not a new one each time
        if count < len(blocks):
            blocks[count] = block
        else:
            blocks.append(block)
        return block

    cdef int add_row(self, int kind, int index) noexcept:
        """The number of a new row."""
        self.rows[self.row_count].kind = kind
        self.rows[self.row_count].index = index
        self.row_count += 1
        return self.row_count - 1
