"""Two values made one: what STABLEHLO's element-wise operators, scatters and window reductions do to each pair.

    y[i * y_step] = op(a[i * a_step], b[i * b_step]),  i < n

A step of 0 for both a and y folds the run b into one value. Whole numbers wrap; float16 goes through float32. `MAXIMUM` keeps the first of two values of
which neither is greater (a NaN among them), `GREATEST`, of the window reductions, takes the second then unless they are equal.

SHIFT_LEFT by a distance beyond the value's bits is what the machine makes of it, and differs between the vectors and the tail of TensorFlow's loop, so
that the values that are combined at once are all there are.

Source: LiteRT:tflite/kernels/{stablehlo_elementwise.h,stablehlo_scatter.cc,stablehlo_reduce_window.cc}.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from tflm_cy.arithmetic.half cimport eigen_half, halves_to_f32
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.nan_order cimport add_first, add_first_f64, add_runs, mul_first, mul_first_f64, mul_runs

cdef enum:
    HALVES = 256                 # float16 values that are widened at a time

cdef enum Combination:
    TAKE = 0                     # the second
    ADD = 1
    MULTIPLY = 2
    MAXIMUM = 3
    MINIMUM = 4
    GREATEST = 5
    LEAST = 6
    BITS_AND = 7                 # whole numbers only
    ALL = 8                      # 1 when neither is 0
    ANY = 9
    SHIFT_LEFT = 10              # int8, int16, int32; steps of 1

ctypedef void (*Combine)(int op, const void* a, ptrdiff_t a_step, const void* b, ptrdiff_t b_step, void* y, ptrdiff_t y_step, int64_t n) noexcept nogil

ctypedef fused Number:
    int8_t
    uint8_t
    int16_t
    uint16_t
    int32_t
    uint32_t
    int64_t
    uint64_t
    float
    double


cdef inline uint8_t shifted_byte(uint8_t a, uint8_t b) noexcept nogil:
    """a << (b & 7), by additions: machines have no vectors of bytes that are shifted, or multiplied."""
    cdef uint8_t twice = <uint8_t>(a + a)
    a = twice if b & 1 else a
    twice = <uint8_t>(a + a)
    twice = <uint8_t>(twice + twice)
    a = twice if b & 2 else a
    twice = <uint8_t>(a + a)
    twice = <uint8_t>(twice + twice)
    twice = <uint8_t>(twice + twice)
    twice = <uint8_t>(twice + twice)
    return twice if b & 4 else a


cdef inline uint16_t shifted_short(uint16_t a, uint16_t b) noexcept nogil:
    """a << (b & 31), bit by bit of b: machines have no vectors of short values that are shifted by values of their own."""
    a = <uint16_t>(a << 1) if b & 1 else a
    a = <uint16_t>(a << 2) if b & 2 else a
    a = <uint16_t>(a << 4) if b & 4 else a
    a = <uint16_t>(a << 8) if b & 8 else a
    return <uint16_t>0 if b & 16 else a


cdef inline Number shifted_left(Number a, Number b) noexcept nogil:
    """One by one: the distance counts modulo 32, the value has 32 bits."""
    if sizeof(Number) == 1:
        return <Number>(<uint8_t>0 if <uint8_t>b & 0x18 else shifted_byte(<uint8_t>a, <uint8_t>b))
    if sizeof(Number) == 2:
        return <Number>shifted_short(<uint16_t>a, <uint16_t>b)
    return <Number>(<uint32_t>a << (<uint32_t>b & 31))


cdef inline Number multiplied_left(Number a, Number b) noexcept nogil:
    """In vectors of words the value is multiplied by 2^b, a float32 whose exponent and sign (b + 127 in nine bits) are b's, as an int32.

    So 2^31 stands for all that an int32 does not hold, infinity included, 0 for fractions."""
    cdef uint32_t distance = <uint32_t><int64_t>b
    cdef uint16_t short_distance = <uint16_t>distance
    cdef uint16_t short_product
    cdef uint32_t product, sign
    if sizeof(Number) == 1:
        return <Number>(<uint8_t>0 if <uint8_t>b & 0xF8 else shifted_byte(<uint8_t>a, <uint8_t>b))
    if sizeof(Number) == 2:                      # in 16 bits throughout, for more lanes
        short_product = shifted_short(<uint16_t>a, short_distance)
        short_product = <uint16_t>0 if short_distance & 0xE0 else short_product
        short_product = <uint16_t>(0 - short_product) if short_distance & 256 else short_product
        return <Number>short_product
    product = (<uint32_t>a << min(distance & 255, <uint32_t>31)) & (0 - <uint32_t>((distance & 255) <= 128))
    sign = 0 - (distance >> 8 & 1)
    return <Number>((product ^ sign) - sign)


cdef inline Number shifted_either_way(Number a, Number b) noexcept nogil:
    """In aarch64's vectors (USHL): the distance is the lowest byte of b, signed; a negative one shifts to the right, and zeros follow."""
    cdef int32_t distance = <int8_t><int64_t>b
    cdef uint32_t value = <uint8_t>a if sizeof(Number) == 1 else <uint16_t>a if sizeof(Number) == 2 else <uint32_t>a
    cdef uint32_t left = value << (distance & 31)
    cdef uint32_t right = value >> (-distance & 31)
    return <Number>(0 if distance <= -32 or distance >= 32 else right if distance < 0 else left)


cdef inline void shift_left(const Number* a, const Number* b, Number* y, int64_t n) noexcept nogil:
    """y may be a. TensorFlow's loop has vectors for as many whole blocks as there are."""
    cdef int64_t block = 16 if sizeof(Number) == 1 else 4 if sizeof(Number) == 2 else 32
    cdef int64_t body, i
    if AARCH64:
        block = 16 if sizeof(Number) == 2 else 8
    body = n - n % block
    for i in range(body):
        y[i] = shifted_either_way(a[i], b[i]) if AARCH64 else multiplied_left(a[i], b[i])
    for i in range(body, n):
        y[i] = shifted_left(a[i], b[i])


cdef inline Number combined(int op, Number a, Number b) noexcept nogil:
    if op == ADD:
        if Number is float:
            return add_first(a, b)
        elif Number is double:
            return add_first_f64(a, b)
        else:
            return <Number>(<uint64_t>a + <uint64_t>b)
    if op == MULTIPLY:
        if Number is float:
            return mul_first(a, b)
        elif Number is double:
            return mul_first_f64(a, b)
        else:
            return <Number>(<uint64_t>a * <uint64_t>b)
    if op == MAXIMUM:
        return b if a < b else a
    if op == MINIMUM:
        return b if b < a else a
    if op == GREATEST:
        return a if a >= b else b
    if op == LEAST:
        return a if a <= b else b
    if op == ALL:
        return <Number>((a != 0) & (b != 0))
    if op == ANY:
        return <Number>((a != 0) | (b != 0))
    if Number is not float and Number is not double:
        if op == BITS_AND:
            return <Number>(a & b)
    return b


cdef inline void combine_with(int op, const Number* a, ptrdiff_t a_step, const Number* b, ptrdiff_t b_step, Number* y, ptrdiff_t y_step,
                              int64_t n) noexcept nogil:
    """With a literal `op` the compiler leaves three loops: of neighbours, which it makes vectors of, in place and not, and of all others."""
    cdef int64_t i
    if a_step == 1 and b_step == 1 and y_step == 1:
        if Number is float:
            if op == ADD:
                add_runs(a, b, y, n)
                return
            if op == MULTIPLY:
                mul_runs(a, b, y, n)
                return
        if a == y:
            for i in range(n):
                y[i] = combined(op, y[i], b[i])
            return
        for i in range(n):
            y[i] = combined(op, a[i], b[i])
        return
    for i in range(n):
        y[i * y_step] = combined(op, a[i * a_step], b[i * b_step])


cdef inline void combine_run(int op, const Number* a, ptrdiff_t a_step, const Number* b, ptrdiff_t b_step, Number* y, ptrdiff_t y_step,
                             int64_t n) noexcept nogil:
    if op == ADD:
        combine_with(ADD, a, a_step, b, b_step, y, y_step, n)
    elif op == MULTIPLY:
        combine_with(MULTIPLY, a, a_step, b, b_step, y, y_step, n)
    elif op == MAXIMUM:
        combine_with(MAXIMUM, a, a_step, b, b_step, y, y_step, n)
    elif op == MINIMUM:
        combine_with(MINIMUM, a, a_step, b, b_step, y, y_step, n)
    elif op == GREATEST:
        combine_with(GREATEST, a, a_step, b, b_step, y, y_step, n)
    elif op == LEAST:
        combine_with(LEAST, a, a_step, b, b_step, y, y_step, n)
    elif op == ALL:
        combine_with(ALL, a, a_step, b, b_step, y, y_step, n)
    elif op == ANY:
        combine_with(ANY, a, a_step, b, b_step, y, y_step, n)
    elif op == BITS_AND:
        combine_with(BITS_AND, a, a_step, b, b_step, y, y_step, n)
    elif op == SHIFT_LEFT:
        if Number is int8_t or Number is int16_t or Number is int32_t:
            shift_left(a, b, y, n)
    else:
        combine_with(TAKE, a, a_step, b, b_step, y, y_step, n)


cdef inline bint is_less_half(uint16_t a, uint16_t b) noexcept nogil:
    """Of the bits alone, in words of 16 bits, of which a vector holds most; False for NaN."""
    cdef int16_t a_magnitude = <int16_t>(a & 0x7FFF)
    cdef int16_t b_magnitude = <int16_t>(b & 0x7FFF)
    cdef int16_t a_sign = -<int16_t>(a >> 15)
    cdef int16_t b_sign = -<int16_t>(b >> 15)
    cdef int16_t first = <int16_t>((a_magnitude ^ a_sign) - a_sign)
    cdef int16_t second = <int16_t>((b_magnitude ^ b_sign) - b_sign)
    return (first < second) & (a_magnitude <= 0x7C00) & (b_magnitude <= 0x7C00)


cdef inline void combine_neighbouring_halves(int op, const uint16_t* a, const uint16_t* b, uint16_t* y, int64_t n) noexcept nogil:
    cdef float[HALVES] first
    cdef float[HALVES] second
    cdef int64_t i, m
    if op == MAXIMUM:                                      # as they are: a signalling NaN stays one
        for i in range(n):
            y[i] = b[i] if is_less_half(a[i], b[i]) else a[i]
        return
    if op == MINIMUM:
        for i in range(n):
            y[i] = b[i] if is_less_half(b[i], a[i]) else a[i]
        return
    while n > 0:
        m = min(n, <int64_t>HALVES)
        halves_to_f32(NULL, a, first, m)
        halves_to_f32(NULL, b, second, m)
        combine_run(op, first, 1, second, 1, first, 1, m)
        for i in range(m):
            y[i] = eigen_half(first[i])
        a, b, y, n = a + m, b + m, y + m, n - m


cdef inline void combine_halves(int op, const uint16_t* a, ptrdiff_t a_step, const uint16_t* b, ptrdiff_t b_step, uint16_t* y, ptrdiff_t y_step,
                                int64_t n) noexcept nogil:
    cdef int64_t i
    if op == TAKE:
        for i in range(n):
            y[i * y_step] = b[i * b_step]
    elif a_step == 1 and b_step == 1 and y_step == 1:
        combine_neighbouring_halves(op, a, b, y, n)
    else:
        for i in range(n):
            combine_neighbouring_halves(op, a + i * a_step, b + i * b_step, y + i * y_step, 1)
