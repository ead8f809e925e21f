"""Activation functions: float32 loops, the value-by-value definitions from which 8-bit tables are filled, and int16 loops.

A quantized activation other than LOGISTIC, TANH and GELU is two rescalings at most, chosen by the side of the zero point on which x lies.
Source: LiteRT:tflite/kernels/activations.cc and internal/reference/{hard_swish,leaky_relu,prelu,logistic,gelu}.h, integer_ops/{logistic,
tanh}.h; the bits of Eigen's tanh: numerics of TensorFlow 2.21, AVX without FMA.
"""
from libc.math cimport erfcf, exp, expf, expm1f, floor, tanhf
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t

from tflm_cy.arithmetic.eigen cimport eigen_tanh
from tflm_cy.arithmetic.fixed_point cimport clamp32, clamp_f32
from tflm_cy.arithmetic.half cimport eigen_half, half_to_f32
from tflm_cy.arithmetic.multipliers cimport Rescale
from tflm_cy.arithmetic.nan_order cimport mul_runs
from tflm_cy.arithmetic.rescale cimport rescale

cdef struct TwoSided:            # y = rescale(v) + y_zero_point on each side of v = x - x_zero_point = 0, clamped
    Rescale side[2]              # of v >= 0, of v < 0: chosen by index, for signs are hard to predict
    int32_t x_zero_point
    int32_t alpha_zero_point     # PRELU
    int32_t y_zero_point
    int32_t low
    int32_t high

cdef struct HardSwish:
    int32_t x_zero_point
    int32_t y_zero_point
    int32_t out_value            # 16-bit multipliers
    int32_t out_shift            # to the right
    int32_t relu_value
    int32_t relu_exponent        # positive: to the left
    int32_t low
    int32_t high

cdef struct Sigmoid16:
    int32_t multiplier
    int32_t shift
    uint32_t[256] steps          # round(65536 / (1 + exp(-i / 24))), nudged as the shipped table; in the upper half the distance to the next


# ---- float32, one value
cdef inline float relu_f32(float x, float parameter) noexcept nogil:
    return 0 if x < 0 else x


cdef inline float elu_f32(float x, float parameter) noexcept nogil:
    return expm1f(x) if x < 0 else x


cdef inline float logistic_f32(float x) noexcept nogil:
    if x > <float>16.619047164916992188:
        return 1
    if x < <float>-9.0:
        return expf(x)
    return <float>1.0 / (<float>1.0 + expf(-x))


cdef inline float hard_swish_f32(float x) noexcept nogil:
    cdef float gate = x + <float>3.0
    gate = gate if <float>0.0 < gate else <float>0.0
    gate = gate if gate < <float>6.0 else <float>6.0
    return x * gate / <float>6.0


cdef inline float gelu_approximate_f32(float x) noexcept nogil:
    cdef float inner = <float>0.7978845608028654 * (x + <float>0.044715 * (x * x * x))
    return <float>0.5 * x * (<float>1.0 + eigen_tanh(inner))


# ---- float32, for tables: Function of lookup.pxd
cdef inline float table_logistic(float x, float parameter) noexcept nogil:
    return <float>1.0 / (<float>1.0 + expf(-x))


cdef inline float table_tanh(float x, float parameter) noexcept nogil:
    return tanhf(x)


cdef inline float table_gelu(float x, float parameter) noexcept nogil:
    return <float>0.5 * x * erfcf(x * <float>-0.7071067811865476)


cdef inline float table_gelu_approximate(float x, float parameter) noexcept nogil:
    return <float>0.5 * x * (<float>1.0 + tanhf(<float>0.7978845608028654 * (x + <float>0.044715 * x * x * x)))


# ---- float32 loops; how: float[2], the limits or alpha
cdef inline void relu_run(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = relu_f32(x[i], 0)


cdef inline void clip_run(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    cdef float low = (<const float*>params)[0]
    cdef float high = (<const float*>params)[1]
    cdef int64_t i
    for i in range(n):
        y[i] = clamp_f32(x[i], low, high)


cdef inline void leaky_relu_run(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    cdef float alpha = (<const float*>params)[0]
    cdef int64_t i
    for i in range(n):
        y[i] = x[i] if x[i] > 0 else x[i] * alpha


cdef inline void elu_run(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = elu_f32(x[i], 0)


cdef inline void prelu_f32(const void* params, const float* x, const float* alpha, float* y, int64_t n) noexcept nogil:
    """Of two NaN alpha's comes out; x's, as in the optimized kernel, where `params` is not NULL."""
    cdef float[64] products
    cdef int64_t i, j, block
    for i in range(0, n, 64):
        block = min(n - i, <int64_t>64)
        if params == NULL:
            mul_runs(alpha + i, x + i, products, block)
        else:
            mul_runs(x + i, alpha + i, products, block)
        for j in range(block):
            y[i + j] = x[i + j] if x[i + j] >= 0 else products[j]


cdef inline void hard_swish_run(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = hard_swish_f32(x[i])


cdef inline void logistic_run(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = logistic_f32(x[i])


cdef inline void tanh_run(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = tanhf(x[i])


cdef inline void gelu_approximate_run(const void* params, const float* x, float* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = gelu_approximate_f32(x[i])


cdef inline void logistic_half_run(const void* params, const uint16_t* x, uint16_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = eigen_half(logistic_f32(half_to_f32(x[i])))


cdef inline void tanh_half_run(const void* params, const uint16_t* x, uint16_t* y, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        y[i] = eigen_half(tanhf(half_to_f32(x[i])))


# ---- quantized, one value
cdef inline int32_t two_sided(int32_t x, const TwoSided* t) noexcept nogil:
    """RELU and its kin (both sides alike), LEAKY_RELU."""
    cdef int32_t v = <int32_t>(<uint32_t>x - <uint32_t>t.x_zero_point)
    cdef int32_t r = rescale(v, t.side[<uint32_t>v >> 31])
    return clamp32(<int32_t>(<uint32_t>r + <uint32_t>t.y_zero_point), t.low, t.high)


cdef inline int32_t prelu(int32_t x, int32_t alpha, const TwoSided* t) noexcept nogil:
    cdef int32_t v = <int32_t>(<uint32_t>x - <uint32_t>t.x_zero_point)
    cdef uint32_t below = 0 - (<uint32_t>v >> 31)                          # all ones, or 0
    cdef uint32_t factor = 1 + ((<uint32_t>alpha - <uint32_t>t.alpha_zero_point - 1) & below)
    cdef int32_t r = rescale(<int32_t>(<uint32_t>v * factor), t.side[below & 1])
    return clamp32(<int32_t>(<uint32_t>r + <uint32_t>t.y_zero_point), t.low, t.high)


cdef inline int16_t high_product_16(int16_t a, int16_t b) noexcept nogil:
    """Rounded a * b / 2^15, saturating."""
    cdef int32_t ab = <int32_t>a * <int32_t>b
    if a == -32768 and b == -32768:
        return 32767
    return <int16_t>((ab + (16384 if ab >= 0 else 1 - 16384)) / 32768)


cdef inline int16_t round_shift_16(int16_t x, int n) noexcept nogil:
    """RoundingDivideByPOT on int16, whose mask is int16 too."""
    cdef int16_t mask = <int16_t>((<uint32_t>1 << n) - 1)
    cdef int16_t rest = x & mask
    return <int16_t>((x >> n) + (1 if rest > (mask >> 1) + (1 if x < 0 else 0) else 0))


cdef inline int16_t shift_left_16(int16_t x, int n) noexcept nogil:
    """Saturating; the factor is an int32, by mod 32 as x86 shifts."""
    return <int16_t>max(-32768, min(32767, <int64_t>x * <int64_t><int32_t>(<uint32_t>1 << (n & 31))))


cdef inline int32_t hard_swish(int32_t x, const HardSwish* h) noexcept nogil:
    """x * relu6(x + 3) / 6 on 16-bit fixed point; 7 spare bits; the gate saturates at [-1, 1] before it moves to [0, 1]."""
    cdef int16_t wide = <int16_t><uint32_t>(<uint32_t><int16_t>(<uint32_t>x - <uint32_t>h.x_zero_point) * 128)
    cdef int16_t out = high_product_16(wide, <int16_t>h.out_value)
    cdef int16_t gate = wide
    cdef int16_t product
    if h.relu_exponent > 0:
        gate = shift_left_16(gate, h.relu_exponent - 1)
    gate = high_product_16(gate, <int16_t>h.relu_value)
    if h.relu_exponent > 0:
        gate = shift_left_16(gate, 1)
    if h.relu_exponent < 0:
        gate = round_shift_16(gate, -h.relu_exponent)
    gate = <int16_t>((<int32_t>gate + 32768) >> 1)
    product = <int16_t>((<int32_t>gate * <int32_t>out) / 32768)
    product = round_shift_16(product, h.out_shift)
    return clamp32(<int16_t>(product + h.y_zero_point), h.low, h.high)


# ---- quantized loops
cdef inline void two_sided_s16(const void* params, const int16_t* x, int16_t* y, int64_t n) noexcept nogil:
    cdef TwoSided t = (<const TwoSided*>params)[0]
    cdef int64_t i
    for i in range(n):
        y[i] = <int16_t>two_sided(x[i], &t)


cdef inline void prelu_s8(const void* params, const uint8_t* x, const uint8_t* alpha, uint8_t* y, int64_t n) noexcept nogil:
    cdef TwoSided t = (<const TwoSided*>params)[0]
    cdef int64_t i
    for i in range(n):
        y[i] = <uint8_t>prelu(<int32_t>x[i] - ((x[i] & 128) << 1), <int32_t>alpha[i] - ((alpha[i] & 128) << 1), &t)


cdef inline void prelu_u8(const void* params, const uint8_t* x, const uint8_t* alpha, uint8_t* y, int64_t n) noexcept nogil:
    cdef TwoSided t = (<const TwoSided*>params)[0]
    cdef int64_t i
    for i in range(n):
        y[i] = <uint8_t>prelu(x[i], alpha[i], &t)


cdef inline void prelu_s16(const void* params, const int16_t* x, const uint8_t* alpha, int16_t* y, int64_t n) noexcept nogil:
    """alpha is int8."""
    cdef TwoSided t = (<const TwoSided*>params)[0]
    cdef int64_t i
    for i in range(n):
        y[i] = <int16_t>prelu(x[i], <int32_t>alpha[i] - ((alpha[i] & 128) << 1), &t)


cdef inline void fill_sigmoid_table(uint16_t* table) noexcept nogil:
    cdef uint8_t* nudged = [
        4, 8, 12, 14, 15, 16, 17, 19, 20, 21, 22, 25, 27, 28, 29, 30, 31, 33, 34, 35, 37, 39, 40, 41, 43, 44, 45, 46, 49, 50, 54, 62, 63,
        64, 66, 82, 86, 93, 100, 103, 112, 116, 135, 255,
    ]
    cdef int i
    for i in range(256):
        table[i] = <uint16_t>floor(65536.0 / (1.0 + exp(-i / 24.0)) + 0.5)
    for i in range(44):
        table[nudged[i]] += 1


cdef inline void fill_sigmoid(Sigmoid16* s) noexcept nogil:
    """Entries with their distances to the next ones, so that one load fetches both."""
    cdef uint16_t[256] table
    cdef int i
    fill_sigmoid_table(table)
    for i in range(255):
        s.steps[i] = <uint32_t>table[i] | <uint32_t>(table[i + 1] - table[i]) << 16


cdef inline void logistic_s16(const void* params, const int16_t* x, int16_t* y, int64_t n) noexcept nogil:
    """Linear between the table's entries, 9 bits apart; the left half by symmetry. Products wrap; x is in units of 1 / (3 * 4096) then."""
    cdef const uint32_t* steps = (<const Sigmoid16*>params).steps
    cdef uint32_t multiplier = <uint32_t>(<const Sigmoid16*>params).multiplier
    cdef int32_t shift = (<const Sigmoid16*>params).shift
    cdef uint32_t half = <uint32_t>1 << (shift - 1) if shift > 0 else 0
    cdef int32_t v
    cdef uint32_t sign, magnitude, step, r
    cdef int64_t i
    for i in range(n):
        v = <int32_t>(<uint32_t>x[i] * multiplier + half) >> shift
        sign = <uint32_t>(v >> 31)                             # all ones below 0
        magnitude = (<uint32_t>v ^ sign) - sign
        step = steps[min(magnitude >> 9, <uint32_t>254)]
        r = ((step & 0xFFFF) << 9) + (magnitude & 0x1FF) * (step >> 16)
        r = r if magnitude >> 9 < 255 else <uint32_t>0x7FFF << 10
        r = ((r ^ sign) - sign) + (((<uint32_t>1 << 25) - 1) & sign) + (1 << 9)
        y[i] = <int16_t>(r >> 10)


cdef inline void tanh_s16(const void* params, const int16_t* x, int16_t* y, int64_t n) noexcept nogil:
    """2 * logistic(2x) - 1 with the same table, 8 bits apart."""
    cdef const uint32_t* steps = (<const Sigmoid16*>params).steps
    cdef uint32_t multiplier = <uint32_t>(<const Sigmoid16*>params).multiplier
    cdef int32_t shift = (<const Sigmoid16*>params).shift
    cdef uint32_t half = <uint32_t>1 << (shift - 1) if shift > 0 else 0
    cdef int32_t v, r
    cdef uint32_t sign, magnitude, step
    cdef int64_t i
    for i in range(n):
        v = <int32_t>(<uint32_t>x[i] * multiplier + half) >> shift
        sign = <uint32_t>(v >> 31)                             # all ones below 0
        magnitude = (<uint32_t>v ^ sign) - sign
        step = steps[min(magnitude >> 8, <uint32_t>254)]
        r = <int32_t>(((step & 0xFFFF) << 8) + (magnitude & 0xFF) * (step >> 16))
        r = r if magnitude >> 8 < 255 else 0xFFFF << 8
        r = <int32_t>((<uint32_t>(r - (1 << 23)) ^ sign) + (1 << 7))
        y[i] = <int16_t>(r >> 8)
