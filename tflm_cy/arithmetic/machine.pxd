"""What the compiler knows of the machine it compiles for: where definitions differ from one to the next, `if AARCH64` costs nothing.

TensorFlow's compiler fuses a product and the sum that takes it where an expression says both, on machines that have a fused multiply-add
in their base: on aarch64, but not on x86-64. `plus_product` is such an expression.
"""

cdef extern from *:
    """
    #include <math.h>
    #ifdef __aarch64__
    enum { TFLM_CY_AARCH64 = 1 };
    #else
    enum { TFLM_CY_AARCH64 = 0 };
    #endif
    """
    const bint AARCH64 "TFLM_CY_AARCH64"
    float fmaf(float a, float b, float c) noexcept nogil


cdef inline float plus_product(float total, float a, float b) noexcept nogil:
    """total + a * b: one rounding on aarch64, two elsewhere."""
    return fmaf(a, b, total) if AARCH64 else total + a * b


cdef inline float product_plus(float a, float b, float c) noexcept nogil:
    """a * b + c likewise."""
    return fmaf(a, b, c) if AARCH64 else a * b + c


cdef inline float sum_of_products(float a, float b, float c, float d) noexcept nogil:
    """a * b + c * d: on aarch64 the first product is fused."""
    return fmaf(a, b, c * d) if AARCH64 else a * b + c * d
