"""What follows a spectrum in TFLM's audio front end: channels of a filter bank, their noise, gain and logarithm. All integer, exact.

`bit_length(0)` is 32 here, as the instruction that counts leading zeros would have it after a subtraction.

Source: tensorflow/tflite-micro:signal/src/{filter_bank,filter_bank_log,filter_bank_spectral_subtraction,pcan_argc_fixed,square_root_64}.cc.
"""
from libc.math cimport log2
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t

cdef enum:
    LOG_SEGMENTS = 128
    LOG_TABLE = 130
    GAIN_TABLE = 125

cdef struct Subtraction:
    uint32_t smoothing           # channels 0, 2, ..
    uint32_t one_minus_smoothing
    uint32_t alternate_smoothing    # channels 1, 3, ..
    uint32_t alternate_one_minus_smoothing
    uint32_t least               # of a signal that must remain
    int32_t smoothing_bits
    int32_t bits
    bint clamping


cdef inline int32_t bit_length(uint32_t x) noexcept nogil:
    cdef int32_t n = 0
    if x == 0:
        return 32
    while n < 32 and x >> n:
        n += 1
    return n


cdef inline uint32_t rounded_root(uint64_t x) noexcept nogil:
    """The nearest integer, kept in 16 bits for 32-bit numbers, in 32 bits for others."""
    cdef uint64_t root = 0
    cdef uint64_t bit = <uint64_t>1 << 62
    cdef uint64_t rest = x
    cdef uint64_t limit = 0xFFFF if x >> 32 == 0 else 0xFFFFFFFF
    while bit > rest:
        bit >>= 2
    while bit:
        if rest >= root + bit:
            rest -= root + bit
            root = (root >> 1) + bit
        else:
            root >>= 1
        bit >>= 2
    if rest > root:
        root += 1
    return <uint32_t>min(root, limit)


cdef inline uint32_t subtract_noise(const Subtraction* s, uint32_t x, bint odd, uint32_t* noise) noexcept nogil:
    """The signal without its noise, whose estimate moves on."""
    cdef uint32_t up = x << s.smoothing_bits
    cdef uint64_t fast = s.alternate_smoothing if odd else s.smoothing
    cdef uint64_t slow = s.alternate_one_minus_smoothing if odd else s.one_minus_smoothing
    cdef uint32_t estimate = <uint32_t>((<uint64_t>up * fast + <uint64_t>noise[0] * slow) >> s.bits)
    cdef uint32_t floor = <uint32_t>((<uint64_t>x * s.least) >> s.bits)
    noise[0] = estimate
    if estimate > up:
        estimate = up
        if s.clamping:
            noise[0] = up
    return max((up - estimate) >> s.smoothing_bits, floor)


cdef inline int16_t gain_of(uint32_t noise, const int16_t* table) noexcept nogil:
    """A quadratic between the knots of a table with four entries per power of two."""
    cdef int32_t k = bit_length(noise)
    cdef int32_t part, r
    cdef const int16_t* at
    if noise <= 2:
        return table[noise]
    at = table + 4 * k - 6
    part = <int32_t>((noise << (11 - k) if k < 11 else noise >> (k - 11)) & 0x3FF)
    r = ((<int32_t>at[2] * part) >> 5) + <int32_t>(<uint32_t><int32_t>at[1] << 5)
    r = (r * part + (1 << 14)) >> 15
    return <int16_t><uint16_t><uint32_t>(r + at[0])


cdef inline uint32_t control_gain(uint32_t signal, uint32_t noise, const int16_t* table, int32_t shift) noexcept nogil:
    cdef uint32_t gain = <uint32_t><int32_t>gain_of(noise, table)
    cdef uint32_t snr = <uint32_t>((<uint64_t>signal * gain) >> shift)
    if snr < (2 << 12):
        return (snr * snr) >> 20
    return (snr >> 6) - 64


cdef inline void fill_log_table(int32_t* table) noexcept nogil:
    """2^16 (log2(1 + f) - f) for f in steps of 1 / 128."""
    cdef double f
    cdef int k
    for k in range(LOG_SEGMENTS + 1):
        f = <double>k / LOG_SEGMENTS
        table[k] = <int32_t>(65536 * (log2(1 + f) - f) + 0.5)
    table[LOG_TABLE - 1] = 0


cdef inline int16_t scaled_log(uint32_t x, int32_t correction_bits, uint32_t scale, const int32_t* table) noexcept nogil:
    """The natural logarithm times `scale`, the argument shifted left before."""
    cdef uint32_t up = x << correction_bits
    cdef int32_t whole, segment
    cdef int64_t part, log_two
    cdef uint32_t log_e, y
    if up <= 1:
        return 0
    whole = bit_length(up) - 1
    part = <int64_t>up - (<int64_t>1 << whole)
    part = part << (16 - whole) if whole < 16 else part >> (whole - 16)
    segment = <int32_t>(part >> 9)
    log_two = (<int64_t>whole << 16) + part + table[segment]
    log_two += (<int64_t>(table[segment + 1] - table[segment]) * (part - 512 * segment)) >> 16
    log_e = <uint32_t>((45426 * log_two + (1 << 15)) >> 16)
    y = (scale * log_e + (1 << 15)) >> 16
    return <int16_t>min(y, <uint32_t>32767)


cdef inline void filter_channels(const uint32_t* x, const int16_t* weights, const int16_t* unweights, const int16_t* starts,
                                 const int16_t* weight_starts, const int16_t* widths, ptrdiff_t channels, uint64_t* y) noexcept nogil:
    """The falling half of a channel is the rising half of the next; the first sum belongs to no channel."""
    cdef uint64_t sum, next_sum = 0
    cdef const uint32_t* at
    cdef ptrdiff_t i, j
    for i in range(channels + 1):
        sum = next_sum
        next_sum = 0
        at = x + starts[i]
        for j in range(widths[i]):
            sum += <uint64_t><int64_t>weights[weight_starts[i] + j] * at[j]
            next_sum += <uint64_t><int64_t>unweights[weight_starts[i] + j] * at[j]
        if i > 0:
            y[i - 1] = sum
