"""Output rows of images as units that threads share: positions, whole rows.

    space = rows_of_images(batches, height, width)           # in prepare; `space.window` says more where a row sees few rows
    row = first / width                                      # then, of a range first .. end - 1
    while row * width < end:
        row = rows_at(height, row, (end + width - 1) / width, &rows)
"""
from libc.stdint cimport int64_t

from tflm_cy.graph.context cimport IterationSpace, position_space

cdef struct Rows:                # of one image
    int64_t image
    int64_t first
    int64_t end


cdef inline IterationSpace rows_of_images(int64_t batches, int64_t height, int64_t width) noexcept nogil:
    return position_space(batches * height * width, width, 0)


cdef inline int64_t rows_at(int64_t height, int64_t row, int64_t end, Rows* rows) noexcept nogil:
    """Those of the image that a row lies in, counted over all images; returns the row behind them, `end` at most."""
    rows.image = row / height
    rows.first = row % height
    rows.end = min(rows.first + end - row, height)
    return row + rows.end - rows.first
