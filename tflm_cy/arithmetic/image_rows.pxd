"""A range of output rows, counted over all images of a batch, image by image.

    while row < end:
        row = rows_at(height, row, end, &rows)               # rows.first .. rows.end - 1 of the image rows.image
"""
from libc.stdint cimport int64_t

cdef struct Rows:                # of one image
    int64_t image
    int64_t first
    int64_t end


cdef inline int64_t rows_at(int64_t height, int64_t row, int64_t end, Rows* rows) noexcept nogil:
    """Those of the image that a row lies in, which has `height` of them; returns the row behind them, `end` at most."""
    rows.image = row / height
    rows.first = row % height
    rows.end = min(rows.first + end - row, height)
    return row + rows.end - rows.first
