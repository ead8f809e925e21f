"""TensorFlow's random numbers: the counter-based generator Philox 4x32-10, and what is made of its bits.

Threefry 2x32-20 is STABLEHLO's other generator: two counters, two keys, two numbers a draw.
A generator is four counters and two keys; each draw gives four 32-bit numbers and counts up by one.
Source: Salmon et al., Parallel random numbers: as easy as 1, 2, 3 (SC 2011);
xla:tsl/lib/random/{philox_random,random_distributions_utils}.h.
"""
from libc.math cimport cosf, logf, sinf, sqrtf
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    DRAWS = 16                   # at a time

cdef struct Philox:
    uint32_t counter[4]
    uint32_t key[2]


cdef inline Philox philox(int64_t seed, int64_t seed2) noexcept nogil:
    cdef Philox g
    g.key[0] = <uint32_t>seed
    g.key[1] = <uint32_t>(<uint64_t>seed >> 32)
    g.counter[0] = 0
    g.counter[1] = 0
    g.counter[2] = <uint32_t>seed2
    g.counter[3] = <uint32_t>(<uint64_t>seed2 >> 32)
    return g


cdef inline void skip(Philox* g, uint64_t draws) noexcept nogil:
    cdef uint64_t low = (<uint64_t>g.counter[1] << 32 | g.counter[0]) + draws
    cdef uint64_t high = <uint64_t>g.counter[3] << 32 | g.counter[2]
    high += 1 if low < draws else 0
    g.counter[0] = <uint32_t>low
    g.counter[1] = <uint32_t>(low >> 32)
    g.counter[2] = <uint32_t>high
    g.counter[3] = <uint32_t>(high >> 32)


cdef inline void mix(uint32_t* a, uint32_t* b, uint32_t* c, uint32_t* d, uint32_t key_0, uint32_t key_1) noexcept nogil:
    """One of the ten rounds."""
    cdef uint64_t first = <uint64_t>0xD2511F53 * a[0]
    cdef uint64_t second = <uint64_t>0xCD9E8D57 * c[0]
    a[0] = <uint32_t>(second >> 32) ^ b[0] ^ key_0
    b[0] = <uint32_t>second
    c[0] = <uint32_t>(first >> 32) ^ d[0] ^ key_1
    d[0] = <uint32_t>first


cdef inline void draw(Philox* g, uint32_t* out) noexcept nogil:
    cdef uint32_t[4] c
    cdef uint32_t key_0 = g.key[0]
    cdef uint32_t key_1 = g.key[1]
    cdef int _round
    memcpy(c, g.counter, 16)
    for _round in range(10):
        mix(&c[0], &c[1], &c[2], &c[3], key_0, key_1)
        key_0 += <uint32_t>0x9E3779B9
        key_1 += <uint32_t>0xBB67AE85
    memcpy(out, c, 16)
    skip(g, 1)


cdef inline void draw_many(const Philox* g, uint32_t* out) noexcept nogil:
    """DRAWS draws, 4 * DRAWS numbers, whose counters differ in the lower half; each round is made for all of them, as in `threefry`."""
    cdef uint32_t[4][DRAWS] c
    cdef uint64_t counter = <uint64_t>g.counter[1] << 32 | g.counter[0]
    cdef uint32_t key_0 = g.key[0]
    cdef uint32_t key_1 = g.key[1]
    cdef int _round, i
    for i in range(DRAWS):
        c[0][i] = <uint32_t>(counter + <uint64_t>i)
        c[1][i] = <uint32_t>((counter + <uint64_t>i) >> 32)
        c[2][i] = g.counter[2]
        c[3][i] = g.counter[3]
    for _round in range(10):
        for i in range(DRAWS):
            mix(&c[0][i], &c[1][i], &c[2][i], &c[3][i], key_0, key_1)
        key_0 += <uint32_t>0x9E3779B9
        key_1 += <uint32_t>0xBB67AE85
    for i in range(DRAWS):
        out[4 * i], out[4 * i + 1], out[4 * i + 2], out[4 * i + 3] = c[0][i], c[1][i], c[2][i], c[3][i]


cdef inline void threefry(const uint32_t* key, uint64_t counter, uint32_t* out) noexcept nogil:
    """DRAWS draws, from this counter on: 2 * DRAWS numbers. Each of the 20 steps is taken for all of them, so that the compiler makes vectors."""
    cdef uint32_t[DRAWS] a
    cdef uint32_t[DRAWS] b
    cdef uint32_t[3] keys
    cdef int[8] turns
    cdef int turn
    cdef int step, i
    keys[0], keys[1], keys[2] = key[0], key[1], key[0] ^ key[1] ^ <uint32_t>0x1BD11BDA
    turns[0], turns[1], turns[2], turns[3] = 13, 15, 26, 6
    turns[4], turns[5], turns[6], turns[7] = 17, 29, 16, 24
    for i in range(DRAWS):
        a[i] = <uint32_t>(counter + <uint64_t>i) + keys[0]
        b[i] = <uint32_t>((counter + <uint64_t>i) >> 32) + keys[1]
    for step in range(20):
        turn = turns[step & 7]
        for i in range(DRAWS):
            a[i] += b[i]
            b[i] = (b[i] << turn | b[i] >> (32 - turn)) ^ a[i]
        if step & 3 == 3:
            for i in range(DRAWS):
                a[i] += keys[(step // 4 + 1) % 3]
                b[i] += keys[(step // 4 + 2) % 3] + <uint32_t>(step // 4 + 1)
    for i in range(DRAWS):
        out[2 * i] = a[i]
        out[2 * i + 1] = b[i]


cdef inline float unit_f32(uint32_t bits) noexcept nogil:
    """0 <= x < 1 from 23 bits."""
    cdef float x
    bits = (bits & 0x7FFFFF) | 0x3F800000
    memcpy(&x, &bits, 4)
    return x - <float>1


cdef inline double unit_f64(uint32_t high, uint32_t low) noexcept nogil:
    """0 <= x < 1 from 52 bits."""
    cdef double x
    cdef uint64_t bits = (<uint64_t>(high & 0xFFFFF) << 32) | low | (<uint64_t>1023 << 52)
    memcpy(&x, &bits, 8)
    return x - 1.0


cdef inline void box_muller(uint32_t a, uint32_t b, float* x, float* y) noexcept nogil:
    """Two normal numbers from two uniform ones."""
    cdef float u = unit_f32(a)
    cdef float angle = <float>(<double>2 * 3.14159265358979323846 * <double>unit_f32(b))
    cdef float radius
    u = <float>1.0e-7 if u < <float>1.0e-7 else u
    radius = sqrtf(<float>-2 * logf(u))
    x[0] = sinf(angle) * radius
    y[0] = cosf(angle) * radius
