"""The orders in which the search of `branch_and_bound.pyx` ranks its buffers: what each sorts by, the largest first."""
from libc.math cimport pow
from libc.stdint cimport int32_t, int64_t, uint64_t

from tflm_cy.memory.branch_and_bound cimport Entry

cdef enum:
    STATIC_ORDERS = 5        # the first ones; the others are made from their number


cdef struct Key:        # what a static order sorts by, the largest first
    double a
    double b
    double c
    int32_t item
    int32_t position


cdef inline uint64_t mixed(uint64_t identity, int32_t low) noexcept nogil:
    """A hash of a buffer's state (the finalizer of splitmix64)."""
    cdef uint64_t x = identity * <uint64_t> 0x9E3779B97F4A7C15 + <uint64_t> (low + 1) * <uint64_t> 0xC2B2AE3D27D4EB4F
    x = (x ^ (x >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * <uint64_t> 0x94D049BB133111EB
    return x ^ (x >> 31)


cdef inline void set_key(Key* key, int order, const Entry* entry, double load, double life) noexcept nogil:
    """What the order `order` sorts by: load, life and area in turn, then products of powers.

    Every fourth is random. The others give the size less weight than the life, as most orders do that win where packings
    are rare; their powers cover that range evenly (an additive recurrence).
    """
    cdef double size = entry.size, area = size * life
    cdef uint64_t random
    key.b = key.c = 0
    if order == 0:
        key.a, key.b, key.c = load, life, area
    elif order == 1:
        key.a = area
    elif order == 2:
        key.a = size * (entry.end - entry.begin)
    elif order == 3:
        key.a, key.b, key.c = life, area, load
    elif order == 4:
        key.a, key.b, key.c = load, area, life
    elif order % 4:
        key.a = pow(size, 0.75 * fraction(order * 0.7548776662466927)) * life * pow(load, 2 * fraction(order * 0.5698402909980533))
    else:
        random = mixed(order, 0)
        key.a = pow(size, exponent(random)) * pow(life, exponent(random >> 20)) * pow(load, exponent(random >> 40))


cdef inline double fraction(double x) noexcept nogil:
    return x - <int64_t> x


cdef inline double exponent(uint64_t random) noexcept nogil:
    return (random & 1023) / 512.0


cdef inline int largest_first(const void* x, const void* y) noexcept nogil:
    """For qsort."""
    cdef const Key* a = <const Key*> x
    cdef const Key* b = <const Key*> y
    if a.a != b.a:
        return 1 if a.a < b.a else -1
    if a.b != b.b:
        return 1 if a.b < b.b else -1
    if a.c != b.c:
        return 1 if a.c < b.c else -1
    return 1 if a.item > b.item else -1
