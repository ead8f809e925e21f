"""Output sizes and paddings of sliding windows (convolutions and pools).

Source: LiteRT:tflite/kernels/padding.h.
"""
from libc.stdint cimport int32_t

cdef enum:                       # Padding
    SAME = 0
    VALID = 1


cdef inline int32_t window_size(int padding, int32_t size, int32_t kernel, int32_t stride, int32_t dilation) noexcept nogil:
    """Number of windows along one axis, none with a padding of another name; stride must not be 0 (checked in prepare)."""
    cdef int32_t effective = (kernel - 1) * dilation + 1
    if padding == SAME:
        return (size + stride - 1) / stride
    if padding != VALID:
        return 0
    return (size + stride - effective) / stride


cdef inline int32_t padding_before(int32_t size, int32_t kernel, int32_t stride, int32_t dilation, int32_t out) noexcept nogil:
    """Padding before the first element; an odd total has its extra element behind."""
    cdef int32_t total = (out - 1) * stride + (kernel - 1) * dilation + 1 - size
    return total / 2 if total > 0 else 0
