"""How threads share the matrices of a batched product: each as bands of its rows, so many that every thread has as much to do.

    op.bands = count_bands(matrices, rows, context.workers)       # units are bands of all matrices
    first = band_begin(rows, unit % op.bands, op.bands)           # of matrix unit / op.bands

Each band that another thread computes costs what is done once for a matrix, such as packing the other one: there are few of them, of many rows.
"""
from libc.stddef cimport ptrdiff_t

cdef enum:
    LEAST_ROWS = 32              # of a band
    MANY_MATRICES = 4            # for each thread, which need no bands


cdef inline ptrdiff_t count_bands(ptrdiff_t matrices, ptrdiff_t rows, int workers) noexcept nogil:
    cdef ptrdiff_t bands = 1
    if workers <= 1 or matrices >= MANY_MATRICES * workers:
        return 1
    while matrices * bands % workers != 0:
        bands += 1
    while bands > 1 and rows / bands < LEAST_ROWS:
        bands -= 1
    return bands


cdef inline ptrdiff_t band_begin(ptrdiff_t rows, ptrdiff_t band, ptrdiff_t bands) noexcept nogil:
    return rows * band / bands
