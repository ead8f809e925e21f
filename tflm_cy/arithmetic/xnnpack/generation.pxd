"""The two generations of XNNPACK's float32 kernels, and what they take from the CPU (generation.h).

| | AVX2 | AVX512 |
| --- | --- | --- |
| lanes of a row's sum | 8, four accumulators | 16, two accumulators (four for squares) |
| sums of squares, scaled sums | product and sum round separately | fused |
| LOGISTIC, ELU | other tables and polynomials | |
| SQRT, RSQRT start from | RSQRTPS | VRSQRT14PS |
| LEAKY_RELU, PRELU take the slope | where the sign bit is set | where x < 0 |

All other float32 operators give the same bytes in both. The numbers leave room for those that only the quantized kernels tell apart.
"""
from libc.stddef cimport ptrdiff_t

cdef enum Generation:
    AVX2 = 2                     # with FMA
    AVX512 = 5                   # AVX-512 F

cdef extern from "generation.h" nogil:
    int cpu_has_avx2_fma "tflm_cy_cpu_has_avx2_fma"() noexcept
    int cpu_has_avx512f "tflm_cy_cpu_has_avx512f"() noexcept
    int cpu_has_avx512vnni "tflm_cy_cpu_has_avx512vnni"() noexcept
    int cpu_has_amx_int8 "tflm_cy_cpu_has_amx_int8"() noexcept
    void rsqrt14 "tflm_cy_rsqrt14"(const float* x, float* y, ptrdiff_t n) noexcept
    void rsqrtps "tflm_cy_rsqrtps"(const float* x, float* y, ptrdiff_t n) noexcept
