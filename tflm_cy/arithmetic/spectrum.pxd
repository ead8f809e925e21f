"""Spectra in float64: Fourier transforms of powers of two, mel filter banks, cosine transforms, and the Walsh-Hadamard transform in float32.

    fill_turns(turns, n)                        # n / 2 factors e^(2 pi i k / n)

TensorFlow's transforms (fft2d's split radix) add up in another order; both are exact to float64's last places, and results are rounded to float32. They
can differ where terms cancel to less than 1e-8 of the largest.

Source: LiteRT:tflite/kernels/{rfft2d,hadamard_rotation}.cc, internal/{spectrogram,mfcc,mfcc_dct,mfcc_mel_filterbank}.cc.
"""
from libc.math cimport cos, fma, log, log1p, sin, sqrt
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from tflm_cy.arithmetic.fourier cimport LANES, next_reversed, transform_lanes
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.nan_order cimport add_first

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #include "x86.h"
    typedef float tflm_cy_eight __attribute__((vector_size(32)));
    typedef int32_t tflm_cy_eight_bits __attribute__((vector_size(32)));
    #ifdef __clang__
    #define TFLM_CY_SWAP(V, ...) __builtin_shufflevector(V, V, __VA_ARGS__)
    #else
    #define TFLM_CY_SWAP(V, ...) __builtin_shuffle(V, (tflm_cy_eight_bits){__VA_ARGS__})
    #endif
    #define TFLM_CY_LOAD(V, P) memcpy(&V, P, sizeof V)
    #define TFLM_CY_STORE(P, V) memcpy(P, &V, sizeof V)
    /* Sums where the sign is kept, differences where it is turned: of values and those that they are swapped with. */
    #define TFLM_CY_STEP(V, SIGNS, ...) V = TFLM_CY_SWAP(V, __VA_ARGS__) + (tflm_cy_eight)((tflm_cy_eight_bits)(V) ^ (SIGNS))
    /* n values, a power of two from 8 on: steps over distances of 1, 2 and 4 in a vector, then two at a time. */
    X86_TWICE(tflm_cy_hadamard, (const float *x, float *y, int64_t n, float factor, int *has_nan), (x, y, n, factor, has_nan), {
      const int32_t sign = INT32_MIN;
      const tflm_cy_eight_bits ones = {0, sign, 0, sign, 0, sign, 0, sign};
      const tflm_cy_eight_bits twos = {0, 0, sign, sign, 0, 0, sign, sign};
      const tflm_cy_eight_bits fours = {0, 0, 0, 0, sign, sign, sign, sign};
      tflm_cy_eight_bits found = {0};
      int64_t bits[4];
      int64_t half = 8;
      tflm_cy_eight a, b, c, d, e, f;
      for (int64_t i = 0; i < n; i += 8) {
        TFLM_CY_LOAD(a, x + i);
        TFLM_CY_STEP(a, ones, 1, 0, 3, 2, 5, 4, 7, 6);
        TFLM_CY_STEP(a, twos, 2, 3, 0, 1, 6, 7, 4, 5);
        TFLM_CY_STEP(a, fours, 4, 5, 6, 7, 0, 1, 2, 3);
        TFLM_CY_STORE(y + i, a);
      }
      for (; 4 * half <= n; half *= 4)
        for (int64_t i = 0; i < n; i += 4 * half)
          for (int64_t j = i; j < i + half; j += 8) {
            TFLM_CY_LOAD(a, y + j);
            TFLM_CY_LOAD(b, y + j + half);
            TFLM_CY_LOAD(c, y + j + 2 * half);
            TFLM_CY_LOAD(d, y + j + 3 * half);
            e = a + b, f = c + d, b = a - b, d = c - d;
            a = e + f, c = e - f;
            TFLM_CY_STORE(y + j, a);
            TFLM_CY_STORE(y + j + 2 * half, c);
            a = b + d, c = b - d;
            TFLM_CY_STORE(y + j + half, a);
            TFLM_CY_STORE(y + j + 3 * half, c);
          }
      for (int64_t j = 0; 2 * half == n && j < half; j += 8) {
        TFLM_CY_LOAD(a, y + j);
        TFLM_CY_LOAD(b, y + j + half);
        c = a + b, d = a - b;
        TFLM_CY_STORE(y + j, c);
        TFLM_CY_STORE(y + j + half, d);
      }
      for (int64_t i = 0; i < n; i += 8) {
        TFLM_CY_LOAD(a, y + i);
        a *= factor;
        found |= a != a;
        TFLM_CY_STORE(y + i, a);
      }
      memcpy(bits, &found, sizeof bits);
      *has_nan = (bits[0] | bits[1] | bits[2] | bits[3]) != 0;
    })
    #undef TFLM_CY_STEP
    #undef TFLM_CY_STORE
    #undef TFLM_CY_LOAD
    #undef TFLM_CY_SWAP
    """
    void hadamard_without_nan "tflm_cy_hadamard"(const float* x, float* y, int64_t n, float factor, int* has_nan) noexcept nogil


cdef inline void fill_turns(double* turns, ptrdiff_t n) noexcept nogil:
    """By eighths, so that symmetric factors are equal to the bit."""
    cdef double step = 6.283185307179586476925286766559 / <double>n
    cdef ptrdiff_t k, eighth
    cdef double c, s
    for k in range(n // 2):
        eighth = 8 * k // n
        if 8 * k <= n:
            c, s = cos(step * <double>k), sin(step * <double>k)
        elif eighth == 1 or 4 * k == n:
            c, s = sin(step * <double>(n // 4 - k)), cos(step * <double>(n // 4 - k))
        elif 8 * k <= 3 * n:
            c, s = -sin(step * <double>(k - n // 4)), cos(step * <double>(k - n // 4))
        else:
            c, s = -cos(step * <double>(n // 2 - k)), sin(step * <double>(n // 2 - k))
        turns[2 * k] = c
        turns[2 * k + 1] = s


cdef enum:
    FEWEST_LANES = 3             # with data in them, for which the others are computed, too

cdef struct Plane:               # RFFT2D of one slice
    ptrdiff_t in_height, in_width
    ptrdiff_t height, width      # of the transform: cut or filled with zeros
    double* turns                # of the rows, then of the columns
    double* lanes                # 2 * LANES * max(width / 2, height)
    double* rows                 # height * (width / 2 + 1) complex numbers; LANES * bins, if height is 1


cdef inline void rfft2d_narrow(const Plane* p, const float* x, float* y) noexcept nogil:
    """A width of 1, for which fft2d transforms no column: it takes rows apart that it never put together, and the first row's imaginary
    part is its real one."""
    cdef ptrdiff_t i, other
    cdef double re, im, above, below
    for i in range(p.height):
        other = (p.height - i) % p.height
        re = im = narrow_value(p, x, i)
        if i == other:
            im = im if i == 0 else 0.0
        elif i > 0:
            above = narrow_value(p, x, min(i, other))
            below = narrow_value(p, x, max(i, other))
            re = (above + 0.0) - 0.5 * ((above + 0.0) - (below + 0.0))
            im = 0.5 * (above + below) if i < other else -(0.5 * (above + below))
        y[2 * i] = <float>(re + 0.0)
        y[2 * i + 1] = <float>-im


cdef inline double narrow_value(const Plane* p, const float* x, ptrdiff_t i) noexcept nogil:
    return <double>x[i * p.in_width] if i < p.in_height and p.in_width > 0 else 0.0


cdef inline double* lanes_of(const Plane* p, bint imaginary, int64_t i, int lanes) noexcept nogil:
    """Of the points i that are transformed together."""
    return p.lanes + (LANES * max(p.width // 2, p.height) if imaginary else 0) + i * lanes


cdef inline void rfft_rows(const Plane* p, const float** rows, int lanes, double** y) noexcept nogil:
    """y: width / 2 + 1 complex numbers of each row. Two neighbouring values are one complex number of a transform of half the length."""
    cdef int64_t half = p.width // 2
    cdef int64_t whole = min(p.width, p.in_width)
    cdef int64_t at = 0
    cdef int64_t j, k
    cdef const double* a
    cdef const double* b
    cdef const double* c
    cdef const double* d
    cdef double odd_re, odd_im, cosine, sine
    cdef int l
    for k in range(half):
        for l in range(lanes):
            lanes_of(p, False, at, lanes)[l] = <double>rows[l][2 * k] if rows[l] != NULL and 2 * k < whole else 0.0
            lanes_of(p, True, at, lanes)[l] = <double>rows[l][2 * k + 1] if rows[l] != NULL and 2 * k + 1 < whole else 0.0
        at = next_reversed(at, half)
    transform_lanes(lanes_of(p, False, 0, lanes), lanes_of(p, True, 0, lanes), half, p.turns, 2, lanes)
    for j in range(half + 1):
        k = (half - j) % half
        a, b = lanes_of(p, False, j % half, lanes), lanes_of(p, True, j % half, lanes)
        c, d = lanes_of(p, False, k, lanes), lanes_of(p, True, k, lanes)
        cosine, sine = (-1.0, 0.0) if j == half else (p.turns[2 * j], p.turns[2 * j + 1])
        for l in range(lanes):
            odd_re, odd_im = 0.5 * (b[l] + d[l]), 0.5 * (c[l] - a[l])
            if y[l] != NULL:
                y[l][2 * j] = 0.5 * (a[l] + c[l]) + (cosine * odd_re - sine * odd_im)
                y[l][2 * j + 1] = 0.5 * (b[l] - d[l]) + (cosine * odd_im + sine * odd_re)


cdef inline void rfft2d_single_rows(const Plane* p, const float* x, int count, float* y) noexcept nogil:
    """Up to LANES slices of one row."""
    cdef const float* rows[LANES]
    cdef double* out[LANES]
    cdef ptrdiff_t bins = p.width // 2 + 1
    cdef int lanes = 1 if count == 1 else LANES
    cdef ptrdiff_t j
    cdef int l
    for l in range(lanes):
        rows[l] = x + l * p.in_height * p.in_width if l < count and p.in_height > 0 else NULL
        out[l] = p.rows + 2 * l * bins if l < count else NULL
    rfft_rows(p, rows, lanes, out)
    for l in range(count):
        for j in range(bins):
            y[2 * (l * bins + j)] = <float>out[l][2 * j]
            y[2 * (l * bins + j) + 1] = <float>-(0.0 if j == 0 or 2 * j == p.width else out[l][2 * j + 1])


cdef inline void rfft2d(const Plane* p, const float* x, float* y) noexcept nogil:
    """y: height * (width / 2 + 1) complex numbers, sums with e^(-2 pi i ...)."""
    cdef const float* rows[LANES]
    cdef double* out[LANES]
    cdef ptrdiff_t bins = p.width // 2 + 1
    cdef ptrdiff_t first = 0
    cdef ptrdiff_t i
    cdef int l
    while first < p.height:
        for l in range(LANES):
            i = first + l
            rows[l] = x + i * p.in_width if i < min(p.height, p.in_height) else NULL
            out[l] = p.rows + 2 * i * bins if i < p.height else NULL
        rfft_rows(p, rows, LANES, out)
        first += LANES
    first = 0
    while first < bins:
        l = <int>min(bins - first, <ptrdiff_t>LANES)
        l = l if l >= FEWEST_LANES else 1
        transform_columns(p, first, l, 1 if l == 1 else LANES, y)
        first += l


cdef inline void transform_columns(const Plane* p, ptrdiff_t first, int count, int lanes, float* y) noexcept nogil:
    cdef ptrdiff_t bins = p.width // 2 + 1
    cdef int64_t at = 0
    cdef ptrdiff_t i, j, other
    cdef const double* from_rows
    cdef double re, im
    cdef int l
    for i in range(p.height):
        from_rows = p.rows + 2 * (i * bins + first)
        for l in range(lanes):
            lanes_of(p, False, at, lanes)[l] = from_rows[2 * l] if l < count else 0.0
            lanes_of(p, True, at, lanes)[l] = from_rows[2 * l + 1] if l < count else 0.0
        at = next_reversed(at, p.height)
    transform_lanes(
        lanes_of(p, False, 0, lanes), lanes_of(p, True, 0, lanes), p.height, p.turns + (p.width & ~<ptrdiff_t>1), 1, lanes)
    for i in range(p.height):
        for l in range(count):
            j = first + l
            re, im = lanes_of(p, False, i, lanes)[l], lanes_of(p, True, i, lanes)[l]
            if 2 * j == p.width or j == 0:
                # of real numbers: rows mirror each other exactly; in the last column those above the middle follow, else those below
                other = p.height - i
                if i == 0 or 2 * i == p.height:
                    im = 0.0
                elif (2 * i > p.height) == (j == 0):
                    re, im = lanes_of(p, False, other, lanes)[l], -lanes_of(p, True, other, lanes)[l]
            y[2 * (i * bins + j)] = <float>re
            y[2 * (i * bins + j) + 1] = <float>-im


cdef inline void squared_spectra(
    const float* x, ptrdiff_t stride, ptrdiff_t hop, ptrdiff_t windows, int lanes, const double* window, ptrdiff_t length, ptrdiff_t n,
    const double* turns, double* points, bint squared, float* y,
) noexcept nogil:
    """n / 2 + 1 squared magnitudes of each of at most `lanes` windows (LANES or 1), or their roots. points: room for n complex numbers a lane."""
    cdef double* turned = points + n * lanes
    cdef ptrdiff_t i, l
    cdef int64_t at = 0
    cdef double re, im
    cdef float power
    memset(points, 0, 2 * n * lanes * sizeof(double))
    for i in range(n):
        for l in range(windows if i < length else 0):
            points[at * lanes + l] = <double>x[l * hop + i * stride] * window[i]
        at = next_reversed(at, n)
    transform_lanes(points, turned, n, turns, 1, lanes)
    for l in range(windows):
        for i in range(n // 2 + 1):
            re = points[i * lanes + l]
            im = 0.0 if i == 0 or 2 * i == n else turned[i * lanes + l]
            power = <float>(fma(re, re, im * im) if AARCH64 else re * re + im * im)
            y[i] = power if squared else <float>sqrt(<double>power)
        y += n // 2 + 1


cdef inline double plus_product_f64(double total, double a, double b) noexcept nogil:
    """total + a * b: one rounding on aarch64, two elsewhere."""
    return fma(a, b, total) if AARCH64 else total + a * b


cdef inline double mel(double frequency) noexcept nogil:
    return 1127.0 * log1p(frequency / 700.0)


cdef struct MelBank:
    ptrdiff_t bins               # of a spectrum
    int32_t bands
    ptrdiff_t first, last        # bins in use
    int32_t* band                # of a bin: whose falling side it lies on, -1: below all
    double* weight
    double* centre               # bands + 1


cdef inline void design_bank(MelBank* b, double rate, double low, double high) noexcept nogil:
    cdef double mel_low = mel(low)
    cdef double spacing = (mel(high) - mel_low) / <double>(b.bands + 1)
    cdef double bin_width = 0.5 * rate / <double>(b.bins - 1)
    cdef double at
    cdef int32_t band = 0
    cdef ptrdiff_t i
    for i in range(b.bands + 1):
        b.centre[i] = plus_product_f64(mel_low, spacing, <double>(i + 1))
    b.first = b.last = b.bins
    if low / bin_width < <double>b.bins and high / bin_width < <double>b.bins:
        b.first = <ptrdiff_t>(1.5 + low / bin_width)
        b.last = <ptrdiff_t>(high / bin_width)
    for i in range(b.bins):
        b.weight[i] = 0
        b.band[i] = -2
        if i < b.first or i > b.last:
            continue
        at = mel(<double>i * bin_width)
        while band < b.bands and b.centre[band] < at:
            band += 1
        b.band[i] = band - 1
        if band >= 1:
            b.weight[i] = (b.centre[band] - at) / (b.centre[band] - b.centre[band - 1])
        else:
            b.weight[i] = (b.centre[0] - at) / (b.centre[0] - mel_low)


cdef inline bint mel_logarithms(const MelBank* b, const float* spectrum, double* y) noexcept nogil:
    """Logarithms of the bands' sums; False when the spectrum is too short for the bank."""
    cdef ptrdiff_t i
    cdef int32_t band
    cdef double magnitude, part
    if b.last >= b.bins:
        return False
    for band in range(b.bands):
        y[band] = 0
    for i in range(b.first, b.last + 1):
        magnitude = sqrt(<double>spectrum[i])
        part = magnitude * b.weight[i]
        band = b.band[i]
        if band >= 0:
            y[band] += part
        if band + 1 < b.bands:
            y[band + 1] += magnitude - part
    for band in range(b.bands):
        y[band] = log(1e-12 if y[band] < 1e-12 else y[band])
    return True


cdef inline void fill_cosines(double* cosines, int32_t coefficients, int32_t n) noexcept nogil:
    cdef double scale = sqrt(2.0 / n)
    cdef double angle = 3.14159265358979323846 / n
    cdef int32_t i, j
    for i in range(coefficients):
        for j in range(n):
            cosines[<ptrdiff_t>i * n + j] = scale * cos(<double>i * angle * (<double>j + 0.5))


cdef inline double cosine_sum(const double* cosines, const double* x, ptrdiff_t n) noexcept nogil:
    """In order; on aarch64 the last n % 4 products are fused with their sum."""
    cdef ptrdiff_t body = n - n % 4
    cdef double total = 0
    cdef ptrdiff_t i
    for i in range(body):
        total += cosines[i] * x[i]
    for i in range(body, n):
        total = plus_product_f64(total, cosines[i], x[i])
    return total


cdef inline bint second_first(ptrdiff_t j, ptrdiff_t n) noexcept nogil:
    """Which of two NaN comes out of TensorFlow's sums over a distance of 2, but on aarch64: it transforms 64 at once, all but 8 of them alike."""
    return not AARCH64 and n >= 64 and j % 64 < 56 and (j % 4 == 1 or j % 8 == 4)


cdef inline void ordered_butterflies(float* x, ptrdiff_t half, ptrdiff_t at, ptrdiff_t n) noexcept nogil:
    """Those of values `at` and further of n, with the NaN that TensorFlow keeps."""
    cdef ptrdiff_t j
    cdef float a, b
    for j in range(half):
        a = x[j]
        b = x[j + half]
        x[j] = add_first(b, a) if half == 2 and second_first(at + j, n) else add_first(a, b)
        x[j + half] = a - b


cdef inline void hadamard(const float* x, float* y, ptrdiff_t n) noexcept nogil:
    """n is a power of two. The vectors subtract by adding what has the other sign, which changes a NaN: where one comes out, of a NaN or of infinities,
    the run is computed again, with the NaN that TensorFlow keeps."""
    cdef float factor = <float>(1.0 / sqrt(<double>n))
    cdef ptrdiff_t half = 1
    cdef ptrdiff_t i
    cdef int has_nan = 1
    if n >= 8:
        hadamard_without_nan(x, y, n, factor, &has_nan)
    if not has_nan:
        return
    memcpy(y, x, n * sizeof(float))
    while half < n:
        i = 0
        while i < n:
            ordered_butterflies(y + i, half, i, n)
            i += 2 * half
        half *= 2
    for i in range(n):
        y[i] = y[i] * factor
