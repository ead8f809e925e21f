# What a few instructions compute is written in vectors of this instruction set (float32.h); the polynomials are the definition itself, compiled for it.
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t

from tflm_cy.arithmetic.broadcast cimport BinaryKernel
from tflm_cy.arithmetic.xnnpack.pool cimport GROUP, PoolShape, groups_of, near
from tflm_cy.arithmetic.xnnpack.unary cimport EXP2_32, Parameters, elu8_avx512, exp8, gelu8, gelu_tanh8, logistic8_avx512, map8, tanh8
from tflm_cy.simd.float32 cimport Float32Kernels, MapKernel, RowsKernel

cdef extern from "float32.h" nogil:
    void add_run32(const void* how, const void* a, const void* b, void* y, int64_t n) noexcept
    void sub_run32(const void* how, const void* a, const void* b, void* y, int64_t n) noexcept
    void mul_run32(const void* how, const void* a, const void* b, void* y, int64_t n) noexcept
    void prelu_run32(const void* how, const void* a, const void* b, void* y, int64_t n) noexcept
    void add_rows32(const void* how, const float* a, const float* b, float* y, int64_t rows, int64_t n) noexcept
    void sub_rows32(const void* how, const float* a, const float* b, float* y, int64_t rows, int64_t n) noexcept
    void mul_rows32(const void* how, const float* a, const float* b, float* y, int64_t rows, int64_t n) noexcept
    void prelu_rows32(const void* how, const float* a, const float* b, float* y, int64_t rows, int64_t n) noexcept
    void relu_run32(const void* how, const void* x, void* y, int64_t n) noexcept
    void leaky_run32(const void* how, const void* x, void* y, int64_t n) noexcept
    void hard_swish_run32(const void* how, const void* x, void* y, int64_t n) noexcept
    void (*logistic_vectors32)(const float* exp2, const float* x, float* y, int64_t n) noexcept
    void max_pixel32(const float** v, ptrdiff_t taps, ptrdiff_t groups, ptrdiff_t channels, float low, float high, float* y) noexcept


cdef void logistic_run32(const void* how, const void* x, void* y, int64_t n) noexcept nogil:
    if logistic_vectors32 != NULL:
        logistic_vectors32(<const float*>EXP2_32, <const float*>x, <float*>y, n)
    else:
        map8(logistic8_avx512, <const Parameters*>how, <const float*>x, <float*>y, n)


cdef void tanh_run32(const void* how, const void* x, void* y, int64_t n) noexcept nogil:
    map8(tanh8, <const Parameters*>how, <const float*>x, <float*>y, n)


cdef void exp_run32(const void* how, const void* x, void* y, int64_t n) noexcept nogil:
    map8(exp8, <const Parameters*>how, <const float*>x, <float*>y, n)


cdef void elu_run32(const void* how, const void* x, void* y, int64_t n) noexcept nogil:
    map8(elu8_avx512, <const Parameters*>how, <const float*>x, <float*>y, n)


cdef void gelu_run32(const void* how, const void* x, void* y, int64_t n) noexcept nogil:
    map8(gelu8, <const Parameters*>how, <const float*>x, <float*>y, n)


cdef void gelu_tanh_run32(const void* how, const void* x, void* y, int64_t n) noexcept nogil:
    map8(gelu_tanh8, <const Parameters*>how, <const float*>x, <float*>y, n)


cdef void max_pool32(const void* shape, const float* x, const float** at, float* y) noexcept nogil:
    """Windows inside of the image have their taps at fixed distances."""
    cdef const PoolShape* p = <const PoolShape*>shape
    cdef int64_t taps = groups_of(p) * GROUP
    cdef int64_t* distances = <int64_t*>(at + taps)
    cdef int64_t n, oy, ox, t, tap, top, left, ty, tx
    cdef bint inside
    for t in range(taps):
        tap = t if t < p.kh * p.kw else t / GROUP * GROUP
        distances[t] = (tap % p.kh * p.iw + tap / p.kh) * p.channels
    for n in range(p.batches):
        for oy in range(p.oh):
            top = oy * p.stride_h - p.pad_h
            for ox in range(p.ow):
                left = ox * p.stride_w - p.pad_w
                inside = top >= 0 and left >= 0 and top + p.kh <= p.ih and left + p.kw <= p.iw
                for t in range(taps):
                    if inside:
                        at[t] = x + (top * p.iw + left) * p.channels + distances[t]
                    else:
                        tap = t if t < p.kh * p.kw else t / GROUP * GROUP
                        ty = near(top + tap % p.kh, p.ih)
                        tx = near(left + tap / p.kh, p.iw)
                        at[t] = x + (ty * p.iw + tx) * p.channels
                max_pixel32(at, p.kh * p.kw, taps / GROUP, p.channels, p.low, p.high, y)
                y += p.channels
        x += p.ih * p.iw * p.channels


cdef void fill_float32(Float32Kernels* table) noexcept:
    table.add = add_run32
    table.sub = sub_run32
    table.mul = mul_run32
    table.prelu = prelu_run32
    table.add_rows = add_rows32
    table.sub_rows = sub_rows32
    table.mul_rows = mul_rows32
    table.prelu_rows = prelu_rows32
    table.relu = relu_run32
    table.leaky = leaky_run32
    table.hard_swish = hard_swish_run32
    table.logistic = logistic_run32
    table.tanh = tanh_run32
    table.exp = exp_run32
    table.elu = elu_run32
    table.gelu = gelu_run32
    table.gelu_tanh = gelu_tanh_run32
    table.max_pool = max_pool32
