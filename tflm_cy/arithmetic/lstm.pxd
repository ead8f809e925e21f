"""One step of a long short-term memory on float32 states: float32 weights, or int8 weights with inputs quantized step by step (hybrid).

    gate = act(W x + R h + p * c + b), or with layer normalisation act(norm(W x + R h + p * c) * coefficients + b)
    c = f * c + i * g (without input weights i = 1 - f), clipped;  h = o * act(c), projected and clipped

Gates come in the order input, forget, cell, output; the output gate sees the new cell. float32 products have Eigen's order of summation and
depend on how many batches go together (`batches` of the call). A step whose x is all zero leaves W x out; the hybrid form does so for h, too.
The bidirectional operator may have a second input (`aux`), whose product is added behind W x. R may be a diagonal, then R h is r * h.

Quirk: without an activation (ACT_NONE) the function that would apply one writes nothing. h is then o * g, without the cell, and g is what lies
in the gate's memory: products with float32 matrices are written there and into another buffer by turns, so after an odd number of them
(a product with zeros is none) the last product, what a diagonal adds and layer normalisation are missing.

Quirks of sparse weights in the hybrid form: no zero point is taken off, R h has the scales of x instead of h's, and when x is all zero those
which the last step has left: the projection's, else its own. On aarch64 rows without blocks may be left out (hybrid_neon.pxd).

Source: LiteRT:tflite/kernels/{lstm_eval.cc,internal/reference/portable_tensor_utils.cc}.
"""
from libc.math cimport sqrtf
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.eigen cimport activate, logistic_in_place, matrix_product_f32
from tflm_cy.arithmetic.fixed_point cimport ACT_NONE, clamp_f32
from tflm_cy.arithmetic.gate_order cimport CELL_GATE, FORGET_GATE, INPUT_GATE, OUTPUT_GATE
from tflm_cy.arithmetic.machine cimport AARCH64, fmaf
from tflm_cy.arithmetic.nan_order cimport add_first, add_runs, fused_first, mul_first, mul_runs
from tflm_cy.arithmetic.hybrid cimport DOTS, accumulate_stored_rows, all_zero, quantize_row_by
from tflm_cy.arithmetic.hybrid_neon cimport product_flags, sparse_flags
from tflm_cy.arithmetic.row_kernels cimport RowKernels, RowScale

cdef struct LstmShape:
    ptrdiff_t inputs, cells, outputs
    ptrdiff_t aux_inputs         # 0: no second input
    int32_t activation
    float cell_clip              # 0: none
    float proj_clip
    bint hybrid
    bint asymmetric
    bint dotprod                 # hybrid_neon.pxd
    ptrdiff_t top_block          # of Eigen's products
    const RowKernels* fast       # or NULL

cdef struct HybridMatrix:        # what a product with int8 weights needs to know of them
    float scale
    bint minimum                 # a weight is -128
    bint sparse                  # in the file: no zero points are taken off
    char* stored                 # of each row, whether the file has a block of it, where the others are left out; NULL: none is
    int32_t* row_sums

cdef struct LstmGate:            # float32 or, when hybrid, int8 weights
    const void* w                # [cells, inputs]; NULL: no such gate
    const void* aux              # [cells, aux_inputs]
    const void* r                # [cells, outputs], a diagonal: float32 [cells]
    bint diagonal
    const void* peephole         # [cells] or NULL
    const float* norm            # layer normalisation's coefficients or NULL
    const float* bias
    float peephole_scale
    HybridMatrix w_hybrid
    HybridMatrix aux_hybrid
    HybridMatrix r_hybrid

cdef struct LstmProjection:
    const void* w                # [outputs, cells]; NULL: none, outputs == cells
    const float* bias            # or NULL
    HybridMatrix hybrid

cdef struct LstmRoom:            # memory for one step; batches as in the call
    float* gates                 # 4 * batches * cells
    float* products              # batches * max(cells, outputs)
    ptrdiff_t all_batches        # that have a place in TensorFlow's gates,
    ptrdiff_t batch              # and where in them those of the call begin
    int16_t* x                   # hybrid: batches * inputs
    int16_t* aux                 # batches * aux_inputs
    int16_t* h                   # batches * max(cells, outputs)
    RowScale* x_scales           # batches
    RowScale* aux_scales
    RowScale* h_scales


cdef inline void accumulate_product(const float* w, const float* x, float* v, ptrdiff_t n, ptrdiff_t k, ptrdiff_t m, float* products,
                                    const LstmShape* s) noexcept nogil:
    """v += w x for m rows of x. The product is a fully connected layer, which clamps to the finite floats. Of two NaN the product's comes out; of
    several rows on aarch64, v's."""
    cdef float limit = <float>3.4028234663852886e38
    cdef ptrdiff_t i
    matrix_product_f32(w, x, products, n, k, m, s.top_block, s.fast)
    if m == 1:
        add_runs(products, v, v, n)
        for i in range(n):
            v[i] = clamp_f32(v[i], -limit, limit)
    else:
        for i in range(n * m):
            products[i] = clamp_f32(products[i], -limit, limit)
            v[i] = add_first(v[i], products[i]) if AARCH64 else add_first(products[i], v[i])


cdef inline void accumulate_hybrid(const int8_t* w, const HybridMatrix* matrix, const int16_t* x, const RowScale* scales, float* v,
                                   ptrdiff_t n, ptrdiff_t k, ptrdiff_t m, const LstmShape* s) noexcept nogil:
    """v += w x for m rows of x, which meet some rows of w while a cache has them."""
    cdef int flags = sparse_flags(k, s.dotprod) if matrix.sparse else product_flags(n, k, m, s.dotprod)
    cdef ptrdiff_t first = 0
    cdef ptrdiff_t count, b
    while first < n:
        count = min(<ptrdiff_t>DOTS, n - first)
        for b in range(m):
            accumulate_stored_rows(
                w + first * k, count, k, x + b * k, matrix.scale * scales[b].scale, NULL, 0 if matrix.sparse else scales[b].zero_point,
                matrix.row_sums + first, matrix.minimum, flags, s.fast, matrix.stored + first if matrix.stored != NULL else NULL, v + b * n + first)
        first += count


cdef inline void quantize_rows(const LstmShape* s, const float* x, ptrdiff_t m, ptrdiff_t k, int16_t* q, RowScale* scales) noexcept nogil:
    cdef ptrdiff_t b
    for b in range(m):
        quantize_row_by(s.fast, s.asymmetric, x + b * k, k, q + b * k, &scales[b])


cdef inline float plus_gate(float total, float a, float b) noexcept nogil:
    """total + a * b: one rounding on aarch64, where the total's NaN comes out before a's, and b's last; elsewhere a's, b's, the total's."""
    return fused_first(total, a, b) if AARCH64 else add_first(mul_first(a, b), total)


cdef inline void add_products(const float* a, const float* b, ptrdiff_t n, float* products, float* total) noexcept nogil:
    """plus_gate of n values."""
    cdef ptrdiff_t i
    if AARCH64:
        for i in range(n):
            total[i] = plus_gate(total[i], a[i], b[i])
        return
    mul_runs(a, b, products, n)
    add_runs(products, total, total, n)


cdef inline float sum_of_16(const float* v, ptrdiff_t n, float less, bint squares) noexcept nogil:
    """The sum of v - less, or of its squares, on aarch64: sixteen lanes, added in fours, then the tail."""
    cdef float[16] lanes
    cdef ptrdiff_t i
    cdef float d, total
    cdef int l
    for l in range(16):
        lanes[l] = 0
    for i in range(n - n % 16):
        d = v[i] - less
        lanes[i & 15] = fmaf(d, d, lanes[i & 15]) if squares else lanes[i & 15] + d
    for l in range(4):
        lanes[l] = (lanes[l] + lanes[8 + l]) + (lanes[4 + l] + lanes[12 + l])
    total = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
    for i in range(n - n % 16, n):
        d = v[i] - less
        total = fmaf(d, d, total) if squares else total + d
    return total


cdef inline void normalize_row(float* v, ptrdiff_t n, const float* coefficients, const float* bias) noexcept nogil:
    """To mean 0 and deviation 1, then coefficients and bias."""
    cdef float total = 0
    cdef float squares = 0
    cdef float mean, inverse, d
    cdef ptrdiff_t i
    if AARCH64:
        mean = sum_of_16(v, n, 0, False) / <float>n
        inverse = <float>1 / sqrtf(sum_of_16(v, n, mean, True) / <float>n + <float>1e-8)
        for i in range(n):
            v[i] = mul_first(inverse, v[i] - mean) * coefficients[i] + bias[i]
        return
    for i in range(n):
        total = add_first(total, v[i])
    mean = total / <float>n
    for i in range(n):
        d = v[i] - mean
        squares = add_first(squares, d * d)
    inverse = <float>1 / sqrtf(squares / <float>n + <float>1e-8)
    for i in range(n):
        v[i] = add_first(bias[i], mul_first((v[i] - mean) * inverse, coefficients[i]))


cdef inline void clip(float* v, ptrdiff_t n, float limit) noexcept nogil:
    """NaN becomes the limit; on aarch64 it stays in whole blocks of four."""
    cdef ptrdiff_t blocks = n - n % 4 if AARCH64 else 0
    cdef ptrdiff_t i
    cdef float x
    for i in range(n):
        x = v[i] if v[i] < limit else limit
        x = -limit if x < -limit else x
        v[i] = v[i] + v[i] if i < blocks and v[i] != v[i] else x


cdef inline void lstm_gate(const LstmShape* s, const LstmGate* g, int which, ptrdiff_t batches, const float* x, bint x_zero, const float* aux,
                           bint aux_zero, const float* h, bint h_zero, const float* c, ptrdiff_t offset, const LstmRoom* room) noexcept nogil:
    """Into room.gates[which]. offset: of the gate in TensorFlow's memory (eigen.pxd's logistic_in_place)."""
    cdef float* v = room.gates + which * batches * s.cells
    cdef const float* p
    cdef const int8_t* q
    cdef const float* diagonal = <const float*>g.r
    cdef int products = (not x_zero) + (not aux_zero) + (not g.diagonal)
    cdef ptrdiff_t b, i
    for b in range(batches):
        for i in range(s.cells):
            v[b * s.cells + i] = <float>0 if g.norm != NULL else g.bias[i]
    if which == CELL_GATE and s.activation == ACT_NONE and not s.hybrid and products % 2:
        if products == 3:
            accumulate_product(<const float*>g.w, x, v, s.cells, s.inputs, batches, room.products, s)
            accumulate_product(<const float*>g.aux, aux, v, s.cells, s.aux_inputs, batches, room.products, s)
        return
    if s.hybrid:
        if not x_zero:
            accumulate_hybrid(<const int8_t*>g.w, &g.w_hybrid, room.x, room.x_scales, v, s.cells, s.inputs, batches, s)
        if not aux_zero:
            accumulate_hybrid(<const int8_t*>g.aux, &g.aux_hybrid, room.aux, room.aux_scales, v, s.cells, s.aux_inputs, batches, s)
        if not h_zero and not g.diagonal:
            accumulate_hybrid(
                <const int8_t*>g.r, &g.r_hybrid, room.h, room.x_scales if g.r_hybrid.sparse else room.h_scales, v, s.cells, s.outputs, batches, s)
    else:
        if not x_zero:
            accumulate_product(<const float*>g.w, x, v, s.cells, s.inputs, batches, room.products, s)
        if not aux_zero:
            accumulate_product(<const float*>g.aux, aux, v, s.cells, s.aux_inputs, batches, room.products, s)
        if not g.diagonal:
            accumulate_product(<const float*>g.r, h, v, s.cells, s.outputs, batches, room.products, s)
    if g.diagonal and not h_zero:
        for b in range(batches):
            if AARCH64:
                add_products(h + b * s.cells, diagonal, s.cells, room.products, v + b * s.cells)
            else:
                add_products(diagonal, h + b * s.cells, s.cells, room.products, v + b * s.cells)
    if g.peephole != NULL and which != CELL_GATE:
        p = <const float*>g.peephole
        q = <const int8_t*>g.peephole
        for b in range(batches):
            if not s.hybrid:
                add_products(c + b * s.cells, p, s.cells, room.products, v + b * s.cells)
                continue
            for i in range(s.cells):
                v[b * s.cells + i] = plus_gate(v[b * s.cells + i], c[b * s.cells + i], <float>q[i] * g.peephole_scale)
    if g.norm != NULL:
        for b in range(batches):
            normalize_row(v + b * s.cells, s.cells, g.norm, g.bias)
    if which == CELL_GATE:
        activate(v, batches * s.cells, s.activation, s.fast)
    else:
        logistic_in_place(v, batches * s.cells, s.fast, offset)


cdef inline ptrdiff_t gate_offset(const LstmShape* s, const LstmGate* gates, int which, const LstmRoom* room) noexcept nogil:
    """The gates lie one behind the other, the input gate, unless there is none, before those of the cell, of forgetting and of the output."""
    cdef ptrdiff_t order = 2 if which == FORGET_GATE else 1 if which == CELL_GATE else which
    order = order if gates[INPUT_GATE].w != NULL else order - 1
    return (order * room.all_batches + room.batch) * s.cells


cdef inline void lstm_project(const LstmShape* s, const LstmProjection* p, ptrdiff_t batches, const float* v, float* h, const LstmRoom* room) noexcept nogil:
    cdef ptrdiff_t b, i
    for b in range(batches):
        for i in range(s.outputs):
            h[b * s.outputs + i] = <float>0 if p.bias == NULL else p.bias[i]
    if not s.hybrid:
        accumulate_product(<const float*>p.w, v, h, s.outputs, s.cells, batches, room.products, s)
    elif not all_zero(v, batches * s.cells):
        quantize_rows(s, v, batches, s.cells, room.h, room.h_scales)
        accumulate_hybrid(<const int8_t*>p.w, &p.hybrid, room.h, room.h_scales, h, s.outputs, s.cells, batches, s)
        if p.hybrid.sparse:
            memcpy(room.x_scales, room.h_scales, batches * sizeof(RowScale))
    if s.proj_clip > 0:
        clip(h, batches * s.outputs, s.proj_clip)


cdef inline void lstm_step(const LstmShape* s, const LstmGate* gates, const LstmProjection* projection, ptrdiff_t batches, const float* x,
                           const float* aux, float* h, float* c, float* y, ptrdiff_t y_step, const LstmRoom* room) noexcept nogil:
    """x [batches, inputs], aux NULL or [batches, aux_inputs], h [batches, outputs], c [batches, cells]; h and c are updated, y becomes a copy of h
    (its rows lie y_step apart)."""
    cdef ptrdiff_t n = batches * s.cells
    cdef float* i_gate = room.gates
    cdef float* f_gate = room.gates + n
    cdef float* g_gate = room.gates + 2 * n
    cdef float* o_gate = room.gates + 3 * n
    cdef bint x_zero = all_zero(x, batches * s.inputs)
    cdef bint aux_zero = aux == NULL or all_zero(aux, batches * s.aux_inputs)
    cdef bint h_zero = s.hybrid and all_zero(h, batches * s.outputs)
    cdef ptrdiff_t k
    cdef int which
    if s.hybrid and not x_zero:
        quantize_rows(s, x, batches, s.inputs, room.x, room.x_scales)
    if s.hybrid and not aux_zero:
        quantize_rows(s, aux, batches, s.aux_inputs, room.aux, room.aux_scales)
    if s.hybrid and not h_zero:
        quantize_rows(s, h, batches, s.outputs, room.h, room.h_scales)
    for which in range(OUTPUT_GATE):
        if gates[which].w != NULL:
            lstm_gate(s, &gates[which], which, batches, x, x_zero, aux, aux_zero, h, h_zero, c, gate_offset(s, gates, which, room), room)
    for k in range(n):
        c[k] = mul_first(f_gate[k], c[k])
        c[k] = plus_gate(c[k], g_gate[k], i_gate[k] if gates[INPUT_GATE].w != NULL else <float>1 - f_gate[k])
    if s.cell_clip > 0:
        clip(c, n, s.cell_clip)
    lstm_gate(s, &gates[OUTPUT_GATE], OUTPUT_GATE, batches, x, x_zero, aux, aux_zero, h, h_zero, c,
              gate_offset(s, gates, OUTPUT_GATE, room), room)
    if s.activation != ACT_NONE:
        memcpy(g_gate, c, n * sizeof(float))
        activate(g_gate, n, s.activation, s.fast)
    for k in range(n):
        g_gate[k] = mul_first(o_gate[k], g_gate[k])
    if projection.w != NULL:
        lstm_project(s, projection, batches, g_gate, h, room)
    else:
        memcpy(h, g_gate, n * sizeof(float))
    for k in range(batches):
        memcpy(y + k * y_step, h + k * s.outputs, s.outputs * sizeof(float))
