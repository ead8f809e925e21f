"""float16 and bfloat16 as 16-bit patterns, to and from float32.

Both directions are written so that a compiler can vectorise them without F16C. float16 to float32 is exact; a signalling NaN becomes quiet
and keeps its payload (by Eigen on aarch64 it keeps all).
float32 to float16 rounds to nearest even; a NaN becomes quiet and keeps its sign and the upper bits of its payload.
Source: the IEEE 754 formats; bytes checked against TensorFlow 2.21.
"""
from libc.stdint cimport int64_t, uint16_t, uint32_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.machine cimport AARCH64


cdef inline float bits_f32(uint32_t bits) noexcept nogil:
    cdef float x
    memcpy(&x, &bits, 4)
    return x


cdef inline uint32_t f32_bits(float x) noexcept nogil:
    cdef uint32_t bits
    memcpy(&bits, &x, 4)
    return bits


cdef inline float half_to_f32(uint16_t h) noexcept nogil:
    cdef uint32_t sign = (<uint32_t>h & 0x8000) << 16
    cdef uint32_t magnitude = <uint32_t>h & 0x7FFF
    cdef uint32_t normal = (magnitude << 13) + (<uint32_t>112 << 23)
    cdef uint32_t special = (magnitude << 13) | 0x7F800000 | (0x400000 if magnitude > 0x7C00 else 0)
    # 2^-24 steps below the smallest normal number: counted above 0.5, whose last place is 2^-24
    cdef uint32_t small = f32_bits(bits_f32(magnitude + (<uint32_t>126 << 23)) - <float>0.5)
    cdef uint32_t bits = small if magnitude < 0x400 else normal
    bits = special if magnitude >= 0x7C00 else bits
    return bits_f32(bits | sign)


cdef inline uint16_t f32_to_half(float x) noexcept nogil:
    cdef uint32_t bits = f32_bits(x)
    cdef uint32_t sign = (bits >> 16) & 0x8000
    cdef uint32_t magnitude = bits & 0x7FFFFFFF
    cdef uint32_t normal = (magnitude + 0xFFF + ((magnitude >> 13) & 1) - (<uint32_t>112 << 23)) >> 13
    cdef uint32_t small = f32_bits(bits_f32(magnitude) + <float>0.5) - 0x3F000000        # steps of 2^-24, the adder rounds
    cdef uint32_t half = small if magnitude < 0x38800000 else normal                    # below 2^-14
    half = 0x7C00 if magnitude >= 0x477FF000 else half                                  # 65520 and more
    half = 0x7E00 | ((bits >> 13) & 0x3FF) if magnitude > 0x7F800000 else half
    return <uint16_t>(sign | half)


cdef inline uint16_t cast_to_half(float x) noexcept nogil:
    """As `f32_to_half`, but every NaN becomes sign | 0x7e00."""
    cdef uint16_t h = f32_to_half(x)
    return <uint16_t>((h & 0x8000) | 0x7E00) if (h & 0x7FFF) > 0x7C00 else h


cdef inline uint16_t eigen_half(float x) noexcept nogil:
    """As Eigen's float16: by the CPU's instruction, but on aarch64, where TensorFlow's build has none."""
    return cast_to_half(x) if AARCH64 else f32_to_half(x)


cdef inline float bfloat_to_f32(uint16_t b) noexcept nogil:
    return bits_f32(<uint32_t>b << 16)


cdef inline uint16_t f32_to_bfloat(float x) noexcept nogil:
    """To nearest even; every NaN becomes sign | 0x7fc0."""
    cdef uint32_t bits = f32_bits(x)
    if (bits & 0x7FFFFFFF) > 0x7F800000:
        return <uint16_t>(((bits >> 16) & 0x8000) | 0x7FC0)
    return <uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16)


cdef inline void halves_to_f32(const void* params, const uint16_t* x, float* y, int64_t n) noexcept nogil:
    """As Eigen converts: by the CPU's instruction, but on aarch64, where TensorFlow's build has none and signalling NaN stay as they are."""
    cdef uint32_t bits
    cdef int64_t i
    for i in range(n):
        bits = f32_bits(half_to_f32(x[i]))
        if AARCH64 and (x[i] & 0x7FFF) > 0x7C00:
            bits = bits & ~<uint32_t>0x400000 | <uint32_t>(x[i] & 0x200) << 13
        memcpy(&y[i], &bits, 4)
