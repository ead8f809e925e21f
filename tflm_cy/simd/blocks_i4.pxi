from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, uint8_t

from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.xnnpack.blockwise cimport FOUR_SUMS, ONE_SUM_VNNI, is_packed
from tflm_cy.simd.blocks_i4 cimport BlocksI4, BlocksI4Kernels

cdef extern from "blocks_i4.h" nogil:
    enum:
        COLUMNS4
        STEP4                    # values
        BLOCK4                   # what the values of a block are a multiple of
        CHUNK4                   # values of a chunk at most; 0: it is the block
        X_BYTES4
        SIGNED4
        PAIRED4                  # eight values of a row and of the next one lie in turn
        START_BYTES4
    ctypedef struct Row4:
        const uint8_t* x
        const uint8_t* starts
        float zero_point
        float inverse
    ctypedef struct Panel4:
        ptrdiff_t blocks
        ptrdiff_t chunks
        ptrdiff_t steps
        const float* sums
        const float* bias
        float low
        float high
        ptrdiff_t n
        ptrdiff_t y_row
        bint packed
    void spread_row4(const uint8_t* q, ptrdiff_t k, ptrdiff_t values, uint8_t* x, uint8_t* starts) noexcept
    void pack_step4(const int8_t* w, ptrdiff_t row, ptrdiff_t columns, uint8_t* to) noexcept
    void multiply_panel4(const Panel4* t, const Row4* rows, ptrdiff_t count, const uint8_t* w, float* y) noexcept

cdef enum:
    MOST_ROWS4 = 32              # that all panels meet before the next ones are quantized
    MOST_BLOCK4 = 32768          # values of a block, whose sums times 16 the definition has in an int32


cdef bint plan_blocks_i4(BlocksI4* b) noexcept nogil:
    cdef ptrdiff_t size = b.blocks.size
    if not AARCH64 and b.blocks.order != (ONE_SUM_VNNI if VL == 16 else FOUR_SUMS):
        return False
    if size % BLOCK4 != 0 or size > MOST_BLOCK4 or b.m * b.n * b.k == 0:
        return False
    b.pack = pack_blocks_i4
    b.run = run_blocks_i4
    b.values = size
    if CHUNK4 > 0:
        b.values = CHUNK4
        while size % b.values != 0:
            b.values = b.values / 2
    b.panels = (b.n + COLUMNS4 - 1) / COLUMNS4
    b.panel_bytes = b.k / size * COLUMNS4 * <ptrdiff_t>sizeof(float) + b.k * COLUMNS4 / 2
    b.row_bytes = round_up(X_BYTES4 * b.k, 64) + round_up(b.k / b.values * START_BYTES4, 64)
    b.packed_bytes = b.panels * b.panel_bytes
    b.scratch_bytes = round_up(min(b.m, <ptrdiff_t>MOST_ROWS4), 2 if PAIRED4 else 1) * b.row_bytes + b.k
    return True


cdef void pack_blocks_i4(BlocksI4* b, const int8_t* w, ptrdiff_t stride) noexcept nogil:
    cdef uint8_t* to = b.packed
    cdef ptrdiff_t blocks = b.k / b.blocks.size
    cdef ptrdiff_t panel, first, columns, block, c, at
    for panel in range(b.panels):
        first = panel * COLUMNS4
        columns = min(b.n - first, <ptrdiff_t>COLUMNS4)
        for block in range(blocks):
            for c in range(COLUMNS4):
                (<float*>to)[c] = b.blocks.scales[(first + c) * blocks + block] if c < columns else <float>0
            to += COLUMNS4 * sizeof(float)
            at = block * b.blocks.size
            while at < (block + 1) * b.blocks.size:
                pack_step4(w + first * stride + at, stride, columns, to)
                to += STEP4 * COLUMNS4 / 2
                at += STEP4


cdef void run_blocks_i4(const BlocksI4* b, const float* x, void* scratch, float* y, ptrdiff_t first, ptrdiff_t end) noexcept nogil:
    cdef Row4[MOST_ROWS4] rows
    cdef Panel4 t
    cdef ptrdiff_t row = 0
    cdef ptrdiff_t count, panel, r
    t.blocks, t.chunks, t.steps = b.k / b.blocks.size, b.blocks.size / b.values, b.values / STEP4
    t.low, t.high, t.y_row = b.scaling.low, b.scaling.high, b.n
    t.packed = is_packed(&b.blocks)
    while row < b.m:
        count = min(b.m - row, <ptrdiff_t>MOST_ROWS4)
        for r in range(count):
            quantize_row4(b, x + (row + r) * b.k, <uint8_t*>scratch, r, &rows[r])
        for panel in range(first, end):
            t.n = min(b.n - panel * COLUMNS4, <ptrdiff_t>COLUMNS4)
            t.sums, t.bias = b.blocks.sums + panel * COLUMNS4, b.scaling.bias + panel * COLUMNS4
            multiply_panel4(&t, rows, count, b.packed + panel * b.panel_bytes, y + row * b.n + panel * COLUMNS4)
        row += count


cdef void quantize_row4(const BlocksI4* b, const float* x, uint8_t* scratch, ptrdiff_t r, Row4* row) noexcept nogil:
    """The bytes of a row that are not as the kernel takes them lie at the end of the scratch memory first."""
    cdef Steps8 steps = steps_of_row(x, b.k, b.scaling.rows)
    cdef uint8_t* at = scratch + r * b.row_bytes
    cdef uint8_t* starts = at + round_up(X_BYTES4 * b.k, 64)
    cdef uint8_t* quantized = at if X_BYTES4 == 1 and not PAIRED4 else scratch + b.scratch_bytes - b.k
    if PAIRED4:
        at = scratch + (r - r % 2) * b.row_bytes + r % 2 * STEP4
    quantize_bytes(x, b.k, &steps, SIGNED4, quantized)
    spread_row4(quantized, b.k, b.values, at, starts)
    row.x, row.starts = at, starts
    row.inverse = steps.inverse
    row.zero_point = <float>(steps.zero_point + (0 if SIGNED4 else 128))


cdef void fill_blocks_i4(BlocksI4Kernels* table) noexcept:
    table.plan = plan_blocks_i4
