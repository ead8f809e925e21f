"""FarmHash's 64-bit fingerprint, and the random projections that LSH_PROJECTION makes of it.

A projection's bit is the sign of a sum over the items of an input: the fingerprint of (seed, item) as a signed number, times the item's weight.

Source: google/farmhash:src/farmhash.cc (Fingerprint64), LiteRT:tflite/kernels/lsh_projection.cc.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    LONG = 64

cdef struct Pair64:
    uint64_t first, second


cdef inline uint64_t k0() noexcept nogil:
    return <uint64_t>0xC3A5C85C97CB3127


cdef inline uint64_t k1() noexcept nogil:
    return <uint64_t>0xB492B66FBE98F273


cdef inline uint64_t k2() noexcept nogil:
    return <uint64_t>0x9AE16A3B2F90404F


cdef inline uint64_t word(const uint8_t* s) noexcept nogil:
    cdef uint64_t value
    memcpy(&value, s, 8)
    return value


cdef inline uint64_t short_word(const uint8_t* s) noexcept nogil:
    cdef uint32_t value
    memcpy(&value, s, 4)
    return value


cdef inline uint64_t turned(uint64_t x, int bits) noexcept nogil:
    return x >> bits | x << (64 - bits)


cdef inline uint64_t mixed(uint64_t x) noexcept nogil:
    return x ^ x >> 47


cdef inline uint64_t joined(uint64_t u, uint64_t v, uint64_t factor) noexcept nogil:
    return mixed((v ^ mixed((u ^ v) * factor)) * factor) * factor


cdef inline uint64_t up_to_16(const uint8_t* s, ptrdiff_t n) noexcept nogil:
    cdef uint64_t factor = k2() + <uint64_t>n * 2
    cdef uint64_t a, b
    if n >= 8:
        a = word(s) + k2()
        b = word(s + n - 8)
        return joined(turned(b, 37) * factor + a, (turned(a, 25) + b) * factor, factor)
    if n >= 4:
        return joined(<uint64_t>n + (short_word(s) << 3), short_word(s + n - 4), factor)
    if n > 0:
        a = <uint64_t>s[0] + (<uint64_t>s[n >> 1] << 8)
        b = <uint64_t>n + (<uint64_t>s[n - 1] << 2)
        return mixed(a * k2() ^ b * k0()) * k2()
    return k2()


cdef inline uint64_t up_to_32(const uint8_t* s, ptrdiff_t n) noexcept nogil:
    cdef uint64_t factor = k2() + <uint64_t>n * 2
    cdef uint64_t a = word(s) * k1()
    cdef uint64_t b = word(s + 8)
    cdef uint64_t c = word(s + n - 8) * factor
    cdef uint64_t d = word(s + n - 16) * k2()
    return joined(turned(a + b, 43) + turned(c, 30) + d, a + turned(b + k2(), 18) + c, factor)


cdef inline uint64_t up_to_64(const uint8_t* s, ptrdiff_t n) noexcept nogil:
    cdef uint64_t factor = k2() + <uint64_t>n * 2
    cdef uint64_t a = word(s) * k2()
    cdef uint64_t b = word(s + 8)
    cdef uint64_t c = word(s + n - 8) * factor
    cdef uint64_t d = word(s + n - 16) * k2()
    cdef uint64_t y = turned(a + b, 43) + turned(c, 30) + d
    cdef uint64_t z = joined(y, a + turned(b + k2(), 18) + c, factor)
    cdef uint64_t e = word(s + 16) * factor
    cdef uint64_t f = word(s + 24)
    cdef uint64_t g = (y + word(s + n - 32)) * factor
    cdef uint64_t h = (z + word(s + n - 24)) * factor
    return joined(turned(e + f, 43) + turned(g, 30) + h, e + turned(f + a, 18) + g, factor)


cdef inline Pair64 weak(const uint8_t* s, uint64_t a, uint64_t b) noexcept nogil:
    """32 bytes and two seeds."""
    cdef Pair64 pair
    cdef uint64_t start
    a += word(s)
    b = turned(b + a + word(s + 24), 21)
    start = a
    a += word(s + 8)
    a += word(s + 16)
    b += turned(a, 44)
    pair.first = a + word(s + 24)
    pair.second = b + start
    return pair


cdef struct HashState:           # of a long text's fingerprint
    uint64_t x, y, z
    Pair64 v, w


cdef inline HashState absorb(HashState t, const uint8_t* s, uint64_t factor, uint64_t times) noexcept nogil:
    """64 bytes more. times: a literal, 9 for the last ones, else 1."""
    cdef HashState next
    cdef uint64_t x = turned(t.x + t.y + t.v.first + word(s + 8), 37) * factor ^ t.w.second * times
    next.y = turned(t.y + t.v.second + word(s + 48), 42) * factor + t.v.first * times + word(s + 40)
    next.x = turned(t.z + t.w.first, 33) * factor
    next.z = x
    next.v = weak(s, t.v.second * factor, x + t.w.first)
    next.w = weak(s + 32, next.x + t.w.second, next.y + word(s + 16))
    return next


cdef inline uint64_t fingerprint(const uint8_t* s, ptrdiff_t n) noexcept nogil:
    cdef HashState t
    cdef uint64_t factor
    cdef ptrdiff_t blocks = (n - 1) // LONG
    cdef ptrdiff_t i
    if n <= 16:
        return up_to_16(s, n)
    if n <= 32:
        return up_to_32(s, n)
    if n <= LONG:
        return up_to_64(s, n)
    t.y = 81 * k1() + 113
    t.z = mixed(t.y * k2() + 113) * k2()
    t.v.first = t.v.second = t.w.first = t.w.second = 0
    t.x = 81 * k2() + word(s)
    for i in range(blocks):
        t = absorb(t, s, k1(), 1)
        s += LONG
    factor = k1() + ((t.z & 0xFF) << 1)
    t.w.first += <uint64_t>((n - 1) & 63)
    t.v.first += t.w.first
    t.w.first += t.v.first
    t = absorb(t, s + ((n - 1) & 63) - 63, factor, 9)        # the last 64 bytes, whatever of them has been seen before
    return joined(
        joined(t.v.first, t.w.first, factor) + mixed(t.y) * k0() + t.z, joined(t.v.second, t.w.second, factor) + t.x, factor)


cdef inline void project_item(const float* seeds, ptrdiff_t count, float weight, uint8_t* key, ptrdiff_t item, double* sums) noexcept nogil:
    """Add what an item gives to the sum of each seed. key: room for 4 bytes, and behind them the item."""
    cdef ptrdiff_t i
    for i in range(count):
        memcpy(key, &seeds[i], 4)
        sums[i] += <double>weight * <double><int64_t>fingerprint(key, 4 + item)
