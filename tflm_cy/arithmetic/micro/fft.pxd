"""Fourier transforms of real numbers as TFLM's Signal library computes them: kiss_fft on int16, int32 or float32.

    fill_fft(&f, L, inverse, w, v)      # factors and twiddles for rows of L reals: L / 2 complex points, a power of two
    rfft(&f, x, buffer, y)               # L reals -> L / 2 + 1 complex numbers (re, im pairs)
    irfft(&f, x, buffer, y)              # and back; nothing is divided on float32

Fixed point: numbers are fractions of `largest` (2^15 - 1 or 2^31 - 1), a product is rounded to nearest, halves up; before a
butterfly of p operands each of them is multiplied by largest / p, so that nothing overflows. Sums wrap.
Twiddles are exp(-2 pi i k / n), in double, rounded by floor(x + 0.5).

Source: mborgerding/kissfft:kiss_fft.c, tools/kiss_fftr.c (version 1.3.0, the one that TFLM takes).
"""
from libc.math cimport cos, floor, sin
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint32_t, uint64_t

cdef enum:
    MAX_FACTORS = 32

ctypedef fused sample:
    int16_t
    int32_t
    float

cdef struct Fft:
    ptrdiff_t points             # complex
    bint inverse
    int32_t[MAX_FACTORS] radix   # 4 as long as it divides, then 2
    int32_t[MAX_FACTORS] rest    # points of each of the radix parts
    void* twiddles               # `points` pairs
    void* super_twiddles         # points / 2 pairs


cdef inline sample unit(double value, sample like) noexcept nogil:
    """A number of -1 .. 1 in the type's form; `like` only names the type."""
    if sample is float:
        return <float>value
    elif sample is int16_t:
        return <int16_t><int64_t>floor(0.5 + 32767 * value)
    else:
        return <int32_t><int64_t>floor(0.5 + 2147483647.0 * value)


cdef inline void fill_fft(Fft* f, ptrdiff_t length, bint inverse, sample* twiddles, sample* super_twiddles) noexcept nogil:
    """`length` reals; twiddles: `length` numbers, super twiddles: length / 2."""
    cdef double sign = 1 if inverse else -1
    cdef double pi = 3.141592653589793
    cdef double phase
    cdef ptrdiff_t i, left = length / 2
    cdef int level = 0
    f.points = left
    f.inverse = inverse
    f.twiddles = twiddles
    f.super_twiddles = super_twiddles
    while left > 1:
        f.radix[level] = 4 if left % 4 == 0 else 2
        left = left / f.radix[level]
        f.rest[level] = <int32_t>left
        level += 1
    for i in range(f.points):
        phase = sign * (2 * pi * i / f.points)
        twiddles[2 * i] = unit(cos(phase), <sample>0)
        twiddles[2 * i + 1] = unit(sin(phase), <sample>0)
    for i in range(f.points / 2):
        phase = sign * (pi * (<double>(i + 1) / f.points + 0.5))
        super_twiddles[2 * i] = unit(cos(phase), <sample>0)
        super_twiddles[2 * i + 1] = unit(sin(phase), <sample>0)


cdef inline sample total(sample a, sample b) noexcept nogil:
    if sample is float:
        return a + b
    elif sample is int16_t:
        return <int16_t><uint16_t>(a + b)
    else:
        return <int32_t>(<uint32_t>a + <uint32_t>b)


cdef inline sample less(sample a, sample b) noexcept nogil:
    if sample is float:
        return a - b
    elif sample is int16_t:
        return <int16_t><uint16_t>(a - b)
    else:
        return <int32_t>(<uint32_t>a - <uint32_t>b)


cdef inline sample products(sample a, sample b, sample c, sample d, bint negative) noexcept nogil:
    """a * b + c * d, or a * b - c * d."""
    cdef int64_t first, second
    if sample is float:
        return a * b - c * d if negative else a * b + c * d
    first = <int64_t>a * <int64_t>b
    second = <int64_t>c * <int64_t>d
    first = <int64_t>(<uint64_t>first - <uint64_t>second) if negative else <int64_t>(<uint64_t>first + <uint64_t>second)
    if sample is int16_t:
        return <int16_t><uint16_t>((<int32_t><uint32_t>first + (1 << 14)) >> 15)
    else:
        return <int32_t><uint32_t>(<int64_t>(<uint64_t>first + (<uint64_t>1 << 30)) >> 31)


cdef inline sample divided(sample x, int by) noexcept nogil:
    """Room for a sum of `by` operands."""
    if sample is float:
        return x
    elif sample is int16_t:
        return <int16_t><uint16_t>((<int32_t>x * (32767 / by) + (1 << 14)) >> 15)
    else:
        return <int32_t><uint32_t>((<int64_t>x * (2147483647 / by) + (<int64_t>1 << 30)) >> 31)


cdef inline sample half_of(sample a, sample b, bint negative) noexcept nogil:
    """Half of a sum or a difference."""
    if sample is float:
        return <float>((a - b if negative else a + b) * <float>0.5)
    elif sample is int16_t:
        return <int16_t><uint16_t>((a - b if negative else a + b) >> 1)
    else:
        return (less(a, b) if negative else total(a, b)) >> 1


cdef inline void transform(const Fft* f, const sample* x, sample* y, ptrdiff_t stride, int level) noexcept nogil:
    """`stride` complex numbers between the inputs; the outputs lie side by side."""
    cdef int p = f.radix[level]
    cdef ptrdiff_t m = f.rest[level]
    cdef ptrdiff_t k
    for k in range(p):
        if m == 1:
            y[2 * k] = x[2 * k * stride]
            y[2 * k + 1] = x[2 * k * stride + 1]
        else:
            transform(f, x + 2 * k * stride, y + 2 * k * m, stride * p, level + 1)
    if p == 2:
        butterfly_2(f, <const sample*>f.twiddles, y, m, stride)
    else:
        butterfly_4(f, <const sample*>f.twiddles, y, m, stride)


cdef inline void butterfly_2(const Fft* f, const sample* w, sample* y, ptrdiff_t m, ptrdiff_t stride) noexcept nogil:
    cdef sample* z = y + 2 * m
    cdef sample ar, ai, br, bi, re, im
    cdef ptrdiff_t k
    for k in range(m):
        ar, ai = divided(y[2 * k], 2), divided(y[2 * k + 1], 2)
        br, bi = divided(z[2 * k], 2), divided(z[2 * k + 1], 2)
        re = products(br, w[2 * k * stride], bi, w[2 * k * stride + 1], True)
        im = products(br, w[2 * k * stride + 1], bi, w[2 * k * stride], False)
        z[2 * k], z[2 * k + 1] = less(ar, re), less(ai, im)
        y[2 * k], y[2 * k + 1] = total(ar, re), total(ai, im)


cdef inline void butterfly_4(const Fft* f, const sample* w, sample* y, ptrdiff_t m, ptrdiff_t stride) noexcept nogil:
    cdef sample[4] re
    cdef sample[4] im
    cdef sample plus_r, plus_i, minus_r, minus_i, base_r, base_i, far_r, far_i, br, bi, wr, wi
    cdef ptrdiff_t k
    cdef int j
    for k in range(m):
        re[0], im[0] = divided(y[2 * k], 4), divided(y[2 * k + 1], 4)
        for j in range(1, 4):
            br, bi = divided(y[2 * (k + j * m)], 4), divided(y[2 * (k + j * m) + 1], 4)
            wr, wi = w[2 * k * j * stride], w[2 * k * j * stride + 1]
            re[j] = products(br, wr, bi, wi, True)
            im[j] = products(br, wi, bi, wr, False)
        far_r, far_i = less(re[0], re[2]), less(im[0], im[2])
        base_r, base_i = total(re[0], re[2]), total(im[0], im[2])
        plus_r, plus_i = total(re[1], re[3]), total(im[1], im[3])
        minus_r, minus_i = less(re[1], re[3]), less(im[1], im[3])
        y[2 * (k + 2 * m)], y[2 * (k + 2 * m) + 1] = less(base_r, plus_r), less(base_i, plus_i)
        y[2 * k], y[2 * k + 1] = total(base_r, plus_r), total(base_i, plus_i)
        if f.inverse:
            y[2 * (k + m)], y[2 * (k + m) + 1] = less(far_r, minus_i), total(far_i, minus_r)
            y[2 * (k + 3 * m)], y[2 * (k + 3 * m) + 1] = total(far_r, minus_i), less(far_i, minus_r)
        else:
            y[2 * (k + m)], y[2 * (k + m) + 1] = total(far_r, minus_i), less(far_i, minus_r)
            y[2 * (k + 3 * m)], y[2 * (k + 3 * m) + 1] = less(far_r, minus_i), total(far_i, minus_r)


cdef inline void rfft(const Fft* f, const sample* x, sample* t, sample* y) noexcept nogil:
    """t: as many numbers as x."""
    cdef const sample* w = <const sample*>f.super_twiddles
    cdef ptrdiff_t n = f.points
    cdef ptrdiff_t k, m
    cdef sample ar, ai, br, bi, sr, si, dr, di, re, im
    if n == 1:
        t[0], t[1] = x[0], x[1]
    else:
        transform(f, x, t, 1, 0)
    ar, ai = divided(t[0], 2), divided(t[1], 2)
    y[0], y[1] = total(ar, ai), 0
    y[2 * n], y[2 * n + 1] = less(ar, ai), 0
    for k in range(1, n / 2 + 1):
        m = n - k
        ar, ai = divided(t[2 * k], 2), divided(t[2 * k + 1], 2)
        br, bi = divided(t[2 * m], 2), divided(less(<sample>0, t[2 * m + 1]), 2)
        sr, si = total(ar, br), total(ai, bi)
        dr, di = less(ar, br), less(ai, bi)
        re = products(dr, w[2 * (k - 1)], di, w[2 * (k - 1) + 1], True)
        im = products(dr, w[2 * (k - 1) + 1], di, w[2 * (k - 1)], False)
        y[2 * k], y[2 * k + 1] = half_of(sr, re, False), half_of(si, im, False)
        y[2 * m], y[2 * m + 1] = half_of(sr, re, True), half_of(im, si, True)


cdef inline void irfft(const Fft* f, const sample* x, sample* t, sample* y) noexcept nogil:
    """t: as many numbers as y."""
    cdef const sample* w = <const sample*>f.super_twiddles
    cdef ptrdiff_t n = f.points
    cdef ptrdiff_t k, m
    cdef sample ar, ai, br, bi, er, ei, dr, di, re, im
    t[0] = divided(total(x[0], x[2 * n]), 2)
    t[1] = divided(less(x[0], x[2 * n]), 2)
    for k in range(1, n / 2 + 1):
        m = n - k
        ar, ai = divided(x[2 * k], 2), divided(x[2 * k + 1], 2)
        br, bi = divided(x[2 * m], 2), divided(less(<sample>0, x[2 * m + 1]), 2)
        er, ei = total(ar, br), total(ai, bi)
        dr, di = less(ar, br), less(ai, bi)
        re = products(dr, w[2 * (k - 1)], di, w[2 * (k - 1) + 1], True)
        im = products(dr, w[2 * (k - 1) + 1], di, w[2 * (k - 1)], False)
        t[2 * k], t[2 * k + 1] = total(er, re), total(ei, im)
        t[2 * m], t[2 * m + 1] = less(er, re), less(<sample>0, less(ei, im))
    if n == 1:
        y[0], y[1] = t[0], t[1]
    else:
        transform(f, t, y, 1, 0)
