# tflm_cy: target=amx
"""The kernels for AVX-512 with AMX tiles: those of isa_avx512, and products of bytes on tiles where there is enough to multiply.

x is read where it lies, sixteen positions at a time with 64 bytes of their windows: a pointwise product needs no copy, a larger filter the
image with its padding around it. Weights are packed as the tiles want them, per step of 64 bytes of a window; a step that reaches behind a
stretch of the window multiplies what it finds there by 0.

uint8 weights are packed less their zero point wherever only a few of them leave the range of int8 by that: what they leave it by is multiplied in
extra steps of their panels. Else the zero point counts times the sum of a window's bytes, which takes a product of its own.

| output positions of a tile | |
| --- | --- |
| pointwise, stride 1 | sixteen in a row; the last tile overlaps the one before |
| windows of few bytes a row (first layers) | the same, of copies of whole windows |
| few channels, in and out, in both cases | the same, where a row of a tile is of two or four neighbours: they share its bytes and its columns |
| sixteen or more in an output row | the same within a row |
| fewer, or rows that end early in a tile; stride 1 | sixteen of the padded image; those between the rows are thrown away |
| fewer, pointwise with other strides | sixteen in a row of a copy of the pixels that are met; the last tile overlaps the one before |
| fewer, other strides | one output row |
"""
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from libc.math cimport fabs
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

cdef extern from *:
    "#define SIMD_ISA 512"

from tflm_cy.simd.conv_i8 cimport ConvI8, PackedPanel, PlanI8, TilesI8, x_size
from tflm_cy.simd.kernels cimport Kernels
from tflm_cy.simd.vector cimport *

include "conv_i8.pxi"
include "conv_i8_pack.pxi"

cdef extern from "amx.h" nogil:
    enum:
        CHUNK
        AMX_8
        AMX_F32
        AMX_I32
        ROUNDING_BITS
        CLAMPED
        WHOLE_RANGE
        MAGIC_BIAS
    ctypedef struct Positions:
        const uint8_t* x
        uint8_t* y
        uint8_t* rows[16]
        int32_t terms[16]
        float inverses[16]
    ctypedef struct Panel:
        int kind
        bint is_signed
        bint has_terms
        int limits
        bint even
        ptrdiff_t y_row
        ptrdiff_t x_row
        ptrdiff_t steps
        const int32_t* offsets
        const int8_t* w
        const int8_t* next
        ptrdiff_t next_bytes
        const int32_t* bias
        const float* scales
        const float* f_bias
        ptrdiff_t column
        ptrdiff_t n
        vb zero
        vb low
        vb high
        vb sign
        bint near_zero
        vi less
        float f_low
        float f_high
        bint keeps_nan
        int32_t* sums
        const Positions* first
        ptrdiff_t sum_row
    ctypedef struct Pipeline:
        int current
        int filled
        int tiles
    int amx_together(int tiles) noexcept
    void ready_tiles() noexcept
    void finish_waiting(const Panel* p, Pipeline* line) noexcept
    void multiply_panel(const Panel* p, int tiles, const Positions* m, ptrdiff_t count, Pipeline* line) noexcept
    void gather_windows(
        const uint8_t* x, ptrdiff_t x_row, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t bytes, ptrdiff_t n, uint8_t* y,
        ptrdiff_t y_row) noexcept
    void gather_clipped(
        const uint8_t* x, ptrdiff_t x_row, ptrdiff_t rows, ptrdiff_t first, ptrdiff_t end, ptrdiff_t bytes, ptrdiff_t before,
        ptrdiff_t valid, int zero, uint8_t* y) noexcept
    void window_sums(const Panel* p, const int8_t* ones, int32_t factor, Positions* m, ptrdiff_t count) noexcept

cdef extern from "peak.h" nogil:
    int64_t peak_tiles(int64_t rounds) noexcept

cdef enum:
    TILE = 16                    # positions, and columns
    STEP = 64                    # bytes of a window
    TILE_BYTES = 1024
    FEWEST_STEPS = 8             # of a panel of one tile of columns, for whose outputs there is time
    L1_WEIGHTS = 24576           # weights that leave room for x in the first cache
    L1_POSITIONS = 16384
    L2_SUMS = 262144             # waiting for `finish`
    MOST_GATHERED = 7            # rows of a window: copying them takes its time, too
    LARGEST_GATHERED = 32        # their bytes
    MOST_POSITIONS_PER_ROW = 4             # positions of a row of a tile
    FEWEST_WIDE_ROWS = 32          # rows
    SMALL = 20000                # multiplications below which tiles do not pay
    DEAREST_EXTRA = 4            # tiles of weights in extra steps, beyond those that sums of windows' bytes would take

cdef double TILE_TIME = 5.2      # ns: a product of tiles; and of vectors, four taps times 16 columns
cdef double VECTOR_TIME = 0.19

cdef Kernels table
cdef const Kernels* vectors

include "amx_plan.pxi"
include "amx_copies.pxi"


cdef struct Work:                # memory of a run
    Positions* positions
    Positions* other_half
    bint waits                   # what one chunk leaves is finished during the next: chunks are half as long
    Pipeline* line
    uint8_t* nowhere             # outputs thrown away
    uint8_t* copy
    uint8_t* windows             # gathered
    int32_t* sums                # finish


cdef Work work_of(const ConvI8* c, void* scratch) noexcept nogil:
    cdef Work k
    cdef uint8_t* at = <uint8_t*>scratch
    k.line = <Pipeline*>at
    at += round_up(sizeof(Pipeline), 64)
    k.positions = <Positions*>at
    k.other_half = k.positions + CHUNK / 2
    k.waits = may_wait(c) and not has_terms(c) and chunk_of(c) <= CHUNK / 2
    at += round_up(CHUNK * sizeof(Positions), 64)
    k.nowhere = at
    k.copy = at + round_up(c.y_size * columns_of(c), 64) + TAIL
    k.windows = <uint8_t*>scratch + c.tiles.windows_at
    k.sums = <int32_t*>(<uint8_t*>scratch + c.plan.sums_at)
    k.line.current = 0
    k.line.filled = 0
    k.line.tiles = 0
    return k


cdef Panel panel_of(const ConvI8* c) noexcept nogil:
    cdef Panel p
    cdef int32_t zero = c.out.zero_point - (0 if c.is_signed else 128)
    p.kind = AMX_I32 if c.finish != NULL else AMX_F32 if c.dynamic else AMX_8
    p.is_signed = c.is_signed or c.dynamic
    p.has_terms = has_terms(c)
    p.y_row = columns_of(c) * c.y_size
    p.even = c.finish == NULL and (
        c.plan.direct if c.plan.flat else c.shape.oh * c.shape.ow >= TILE * c.tiles.positions_per_row if c.tiles.gathered or c.tiles.sampled
        else not c.tiles.across and c.shape.ow >= TILE)
    p.x_row = c.shape.ic if c.tiles.sampled else c.shape.stride_w * c.shape.ic
    if c.plan.flat or c.tiles.gathered:
        p.x_row = STEP * c.tiles.steps if c.tiles.gathered else c.plan.row_bytes
    if c.finish != NULL:
        p.sum_row = TILE * c.tiles.columns * sizeof(int32_t)
    elif c.dynamic:
        p.f_low = c.scaling.low
        p.f_high = c.scaling.high
        p.keeps_nan = c.scaling.keeps_nan
    else:
        p.zero = vb_set1_16(zero)
        p.low = vb_set1(<int32_t>c.out.low + zero)
        p.high = vb_set1(<int32_t>c.out.high + zero)
        p.limits = MAGIC_BIAS if c.plan.magic_bias else CLAMPED if c.out.high - c.out.low < 255 else WHOLE_RANGE
        p.sign = vb_set1(0 if c.is_signed else 128)
        p.near_zero = c.packing.near_zero
        p.less = vi_set1(ROUNDING_BITS - zero)
    return p


cdef void multiply_chunk(const ConvI8* c, Panel* p, Work* k, ptrdiff_t count) noexcept nogil:
    """All columns for the described tiles of positions. What waits at the end, two units, refers to them: it is finished here, or during
    the next chunk, which is described in the other half of the memory then."""
    cdef ptrdiff_t size = 1 if c.finish == NULL and not c.dynamic else 4
    cdef ptrdiff_t first = c.tiles.first
    cdef ptrdiff_t tiles = 0
    cdef ptrdiff_t i
    cdef const PackedPanel* panel
    p.offsets, p.steps = c.packing.panels.offsets, c.tiles.steps
    p.sums = k.sums
    p.first = k.positions
    if p.has_terms:
        window_sums(p, c.packing.tile_ones, c.plan.row_factor, k.positions, count)
    while first < c.tiles.end:
        tiles = c.tiles.end - first if c.tiles.end - first < c.tiles.panel_columns else c.tiles.panel_columns
        panel = &c.packing.panels[first / c.tiles.panel_columns]
        p.offsets, p.w, p.steps = panel.offsets, <const int8_t*>panel.w, panel.steps
        p.next_bytes = 0
        if first + tiles < c.tiles.end:
            p.next = <const int8_t*>panel[1].w
            p.next_bytes = min(c.tiles.end - first - tiles, tiles) * panel[1].steps * TILE_BYTES
        p.bias = c.packing.bias + TILE * first
        p.scales = c.packing.scales + TILE * first
        p.f_bias = c.packing.float_bias + TILE * first
        p.column = TILE * first * size
        p.n = min(columns_of(c) - TILE * first, TILE * tiles)
        multiply_panel(p, <int>tiles, k.positions, count, k.line)
        first += tiles
    if k.waits and count >= 2 * amx_together(<int>tiles):
        k.positions, k.other_half = k.other_half, k.positions
        return
    finish_waiting(p, k.line)
    if c.finish != NULL:
        for i in range(count):
            finish_positions(c, k, &k.positions[i], k.sums + i * TILE * TILE * c.tiles.columns)


cdef void finish_positions(const ConvI8* c, const Work* k, const Positions* m, const int32_t* sums) noexcept nogil:
    """Outputs of the tile's sums, in stretches of positions that lie together."""
    cdef ptrdiff_t sum_row = TILE * c.tiles.columns
    cdef ptrdiff_t y_row = c.shape.oc * c.y_size
    cdef int r = 0
    cdef int end
    while r < TILE:
        end = r + 1
        if m.rows[r] != k.nowhere:
            while end < TILE and m.rows[end] == m.rows[end - 1] + y_row:
                end += 1
            c.finish(c.params, 0, 0, c.shape.oc, sums + r * sum_row, sum_row, end - r, m.rows[r], y_row)
        r = end


cdef void describe(
    Positions* m, const uint8_t* x, uint8_t* y, ptrdiff_t y_row, ptrdiff_t valid, uint8_t* nowhere, bint even,
) noexcept nogil:
    """Sixteen positions whose outputs lie in a row, the first `valid` of them wanted (even: all)."""
    cdef int r
    m.x = x
    m.y = y
    if even:
        return
    for r in range(TILE):
        m.rows[r] = y + r * y_row
    for r in range(valid, TILE):
        m.rows[r] = nowhere


cdef bint may_wait(const ConvI8* c) noexcept nogil:
    """What positions are described by need not be there any more when the next chunk begins."""
    return c.finish == NULL and not c.dynamic


cdef bint has_terms(const ConvI8* c) noexcept nogil:
    """The sums of windows' bytes count, for which tiles are needed that sums may wait on."""
    return c.plan.row_factor != 0 and not c.packing.zero_point_folded


cdef ptrdiff_t chunk_of(const ConvI8* c) noexcept nogil:
    """Tiles of positions that go through all columns together: as many as the first cache holds, unless the weights are too many for it."""
    cdef ptrdiff_t most = L1_POSITIONS / (TILE * c.shape.stride_w * c.shape.stride_h * c.tiles.positions_per_row * c.shape.ic)
    cdef ptrdiff_t limit = CHUNK
    if c.tiles.gathered:
        most = L1_POSITIONS / (TILE * STEP * c.tiles.steps)
    if c.finish != NULL:
        limit = L2_SUMS / (4 * TILE * TILE * c.tiles.columns) / 4 * 4
        limit = 4 if limit < 4 else CHUNK if limit > CHUNK else limit
    if c.tiles.columns * c.tiles.steps * TILE_BYTES > L1_WEIGHTS:
        return limit
    most = 4 if most < 8 else most / 4 * 4
    if may_wait(c):
        limit = CHUNK / 2
    return limit if most > limit else most


cdef void run_flat_tiles(const ConvI8* c, const uint8_t* x, void* scratch, uint8_t* y) noexcept nogil:
    cdef ptrdiff_t positions = c.shape.batches * c.shape.oh * c.shape.ow / c.tiles.positions_per_row
    cdef ptrdiff_t y_row = columns_of(c) * c.y_size
    cdef ptrdiff_t most = chunk_of(c)
    cdef ptrdiff_t first = 0
    cdef ptrdiff_t at, count
    cdef Work k = work_of(c, scratch)
    cdef Panel p = panel_of(c)
    while first < positions:
        count = 0
        while count < most and first < positions:
            at = first
            if c.plan.direct and at + TILE > positions:
                at = positions - TILE
            if c.plan.direct:
                describe(&k.positions[count], x + at * c.plan.row_bytes, y + at * y_row, y_row, TILE, k.nowhere, p.even)
            else:
                describe(
                    &k.positions[count], k.copy + count * TILE * c.plan.row_bytes, y + at * y_row, y_row, positions - at, k.nowhere, False)
                copy_positions(c, x, at, positions, &k.positions[count])
            first = at + TILE
            count += 1
        multiply_chunk(c, &p, &k, count)
    finish_waiting(&p, k.line)


cdef void run_image_tiles(const ConvI8* c, const uint8_t* x, void* scratch, uint8_t* y) noexcept nogil:
    cdef const ConvShape* g = &c.shape
    cdef ptrdiff_t size = x_size(c)
    cdef const uint8_t* image
    cdef Work k = work_of(c, scratch)
    cdef Panel p = panel_of(c)
    cdef Steps8 steps
    cdef ptrdiff_t n, i, r
    for n in range(g.batches):
        image = x
        if not c.plan.direct:
            image = k.copy
            if c.dynamic:
                steps = steps_of_row(<const float*>x, g.ih * g.iw * g.ic, c.scaling.rows)
                for i in range(CHUNK):
                    for r in range(TILE):
                        k.positions[i].terms[r] = -steps.zero_point
                        k.positions[i].inverses[r] = steps.inverse
            if c.tiles.sampled:
                copy_pixels(c, x, k.copy)
            else:
                copy_image(c, x, &steps, k.copy)
        if c.tiles.gathered or c.tiles.sampled:
            run_copied(c, &p, &k, image, y)
        elif c.tiles.across:
            run_across(c, &p, &k, image, y)
        else:
            run_rows(c, &p, &k, image, y)
        x += g.ih * g.iw * g.ic * size
        y += g.oh * g.ow * g.oc * c.y_size
    finish_waiting(&p, k.line)


cdef void run_rows(const ConvI8* c, Panel* p, Work* k, const uint8_t* image, uint8_t* y) noexcept nogil:
    """Tiles within output rows."""
    cdef const ConvShape* g = &c.shape
    cdef ptrdiff_t y_row = g.oc * c.y_size
    cdef ptrdiff_t most = chunk_of(c)
    cdef ptrdiff_t count = 0
    cdef ptrdiff_t oy, ox, at
    for oy in range(g.oh):
        ox = 0
        while ox < g.ow:
            at = g.ow - TILE if ox + TILE > g.ow and g.ow >= TILE else ox
            describe(
                &k.positions[count], image + oy * g.stride_h * c.plan.row_bytes + at * g.stride_w * g.ic, y + (oy * g.ow + at) * y_row, y_row,
                g.ow - at, k.nowhere, p.even)
            ox = at + TILE
            count += 1
            if count == most:
                multiply_chunk(c, p, k, count)
                count = 0
    if count > 0:
        multiply_chunk(c, p, k, count)


cdef void run_copied(const ConvI8* c, Panel* p, Work* k, const uint8_t* image, uint8_t* y) noexcept nogil:
    """Tiles of positions in a row, from output row to output row: their windows are gathered, or their pixels have been copied."""
    cdef const ConvShape* g = &c.shape
    cdef ptrdiff_t y_row = columns_of(c) * c.y_size
    cdef ptrdiff_t positions = g.oh * g.ow / c.tiles.positions_per_row
    cdef ptrdiff_t most = chunk_of(c)
    cdef ptrdiff_t count = 0
    cdef ptrdiff_t first = 0
    cdef ptrdiff_t at
    cdef uint8_t* windows
    while first < positions:
        at = positions - TILE if p.even and first + TILE > positions else first
        windows = k.copy + at * p.x_row if c.tiles.sampled else k.windows + count * TILE * p.x_row
        describe(&k.positions[count], windows, y + at * y_row, y_row, positions - at, k.nowhere, p.even)
        if c.tiles.gathered:
            gather(c, image, at, min(<ptrdiff_t>TILE, positions - at), windows)
        first = at + TILE
        count += 1
        if count == most or first >= positions:
            multiply_chunk(c, p, k, count)
            count = 0


cdef void run_across(const ConvI8* c, Panel* p, Work* k, const uint8_t* image, uint8_t* y) noexcept nogil:
    """Tiles over the padded image, from row to row."""
    cdef const ConvShape* g = &c.shape
    cdef ptrdiff_t y_row = g.oc * c.y_size
    cdef ptrdiff_t width = c.plan.row_bytes / g.ic
    cdef ptrdiff_t most = chunk_of(c)
    cdef ptrdiff_t total = (g.oh - 1) * width + g.ow
    cdef ptrdiff_t count = 0
    cdef ptrdiff_t first = 0
    cdef ptrdiff_t oy = 0
    cdef ptrdiff_t ox = 0
    cdef Positions* m
    cdef int r
    while first < total:
        m = &k.positions[count]
        m.x = image + first * g.ic
        for r in range(TILE):
            m.rows[r] = y + (oy * g.ow + ox) * y_row if ox < g.ow and oy < g.oh else k.nowhere
            ox += 1
            if ox == width:
                ox = 0
                oy += 1
        first += TILE
        count += 1
        if count == most:
            multiply_chunk(c, p, k, count)
            count = 0
    if count > 0:
        multiply_chunk(c, p, k, count)


cdef void run_tiles(const ConvI8* c, const void* x, void* scratch, void* y) noexcept nogil:
    ready_tiles()
    if c.plan.flat:
        run_flat_tiles(c, <const uint8_t*>x, scratch, <uint8_t*>y)
    else:
        run_image_tiles(c, <const uint8_t*>x, scratch, <uint8_t*>y)


cdef int64_t peak_of_tiles(int64_t rounds) noexcept nogil:
    ready_tiles()
    return peak_tiles(rounds)


def capsule():
    """Return the table as a PyCapsule of the name "tflm_cy.simd.Kernels"."""
    global table, vectors
    cdef Kernels made
    from tflm_cy.simd import isa_avx512

    vectors = <const Kernels*>PyCapsule_GetPointer(isa_avx512.capsule(), "tflm_cy.simd.Kernels")
    made = vectors[0]
    made.conv_i8.plan = plan_tiles
    made.peak.s8 = peak_of_tiles
    table = made             # at once: another thread may use it already
    return PyCapsule_New(&table, "tflm_cy.simd.Kernels", NULL)
