"""The generations of XNNPACK's kernels, and what they take from the CPU (generation.h).

On x86-64 two, as far as float32 goes:

| | AVX2 | AVX512 |
| --- | --- | --- |
| lanes of a row's sum | 8, four accumulators | 16, two accumulators (four for squares) |
| sums of squares, scaled sums | product and sum round separately | fused |
| LOGISTIC, ELU | other tables and polynomials | |
| SQRT, RSQRT start from | RSQRTPS | VRSQRT14PS |
| LEAKY_RELU, PRELU take the slope | where the sign bit is set | where x < 0 |

All other float32 operators give the same bytes in both. The numbers leave room for those that only the quantized kernels tell apart.

On aarch64 four: NEON, then CPUs with dot products (SDOT), with matrix products of bytes (SMMLA), with SME. Their float32 kernels are the
same but for products, whose order follows the core (ProductRules in product_order.pxd).
"""
from libc.stddef cimport ptrdiff_t

cdef enum Generation:
    AVX2 = 2                     # with FMA
    AVX512 = 5                   # AVX-512 F
    NEON = 16                    # the first of aarch64's
    DOTPROD = 17
    I8MM = 18
    SME = 19

cdef extern from "generation.h" nogil:
    int cpu_has_avx2_fma "tflm_cy_cpu_has_avx2_fma"() noexcept
    int cpu_has_avx512f "tflm_cy_cpu_has_avx512f"() noexcept
    int cpu_has_avx512vnni "tflm_cy_cpu_has_avx512vnni"() noexcept
    int cpu_has_amx_int8 "tflm_cy_cpu_has_amx_int8"() noexcept
    float recpe "tflm_cy_recpe"(float x) noexcept
    float recps "tflm_cy_recps"(float a, float b) noexcept
    float rsqrte "tflm_cy_rsqrte"(float x) noexcept
    void rsqrt14 "tflm_cy_rsqrt14"(const float* x, float* y, ptrdiff_t n) noexcept
    void rsqrtps "tflm_cy_rsqrtps"(const float* x, float* y, ptrdiff_t n) noexcept
