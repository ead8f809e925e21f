"""The last step of float32 transposed convolutions: a bias for each channel, then the clamp.

    finish_rows(bias, positions, channels, low, high, bias_first, y)     # in place
"""
from libc.stddef cimport ptrdiff_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.fixed_point cimport clamp_f32
from tflm_cy.arithmetic.nan_order cimport add_runs

cdef enum:
    ROW = 512                    # floats that are finished at a time, at least where there are fewer channels


cdef inline void finish_rows(
    const float* bias, ptrdiff_t positions, ptrdiff_t channels, float low, float high, bint bias_first, float* y,
) noexcept nogil:
    """bias: NULL when there is none. Of two NaN the bias's comes out, or the sum's."""
    cdef float[ROW] repeated
    cdef ptrdiff_t together = max(ROW / max(channels, <ptrdiff_t>1), <ptrdiff_t>1)
    cdef ptrdiff_t n, i
    if bias != NULL and together > 1:
        together = min(together, positions)
        for i in range(together):
            memcpy(repeated + i * channels, bias, channels * sizeof(float))
        bias = repeated
    while positions > 0:
        n = min(together, positions) * channels
        if bias != NULL and bias_first:
            add_runs(bias, y, y, n)
        elif bias != NULL:
            add_runs(y, bias, y, n)
        for i in range(n):
            y[i] = clamp_f32(y[i], low, high)
        y += n
        positions -= together
