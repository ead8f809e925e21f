"""What definitions and kernels agree on: what integers are rescaled by, and what rows of quantized floats are."""
from libc.stdint cimport int16_t, int32_t, int64_t

cdef struct Factor:              # a Multiplier taken apart: y = ((x << left) * value / 2^31 rounded) / 2^right rounded
    int32_t value
    int32_t left
    int32_t right
    int32_t half                 # 2^right / 2, 0 without a right shift
    int16_t away                 # -1 with a right shift whose halves round away from zero, 0 when they round up
    int16_t cut                  # -1: the product by value / 2^31 is not rounded

cdef struct Multiplier:          # real value = value * 2^(shift - 31), value in [2^30, 2^31)
    int32_t value
    int32_t shift

cdef struct Rescale:
    int64_t value
    int64_t half             # added before the right shift: 2^(right - 1), 0 when there is none
    int64_t ones             # added to negative values: -1, 0 when there is no right shift
    int32_t left
    int32_t right

cdef struct Requantize:
    const int32_t* bias          # one per channel
    const float* scales          # one per channel: scale_of
    float low                    # the output's limits less its zero point
    float high
    float wrap_below             # -2^31 where the quirk applies, else NaN
    int32_t zero_point

cdef struct Scaling:
    const float* scales          # of the weights, one per channel
    const float* bias            # one per channel, zeros without a bias
    float low                    # the fused activation
    float high
    int rows                     # of x: Rows
    unsigned char keeps_nan      # in the clamp, as the products of AVX-512 with VNNI but without AMX do
    unsigned char apart          # the scales are multiplied first, and nothing is fused
