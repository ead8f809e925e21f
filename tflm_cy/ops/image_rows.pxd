"""Output rows of images as units that threads share: positions, whole rows.

    space = rows_of_images(batches, height, width)           # in prepare; `space.window` says more where a row sees few rows
    row, stop = row_range(width, first, end)                 # of a range first .. end - 1, counted over all images
"""
from libc.stdint cimport int64_t

from tflm_cy.graph.context cimport IterationSpace, position_space


cdef inline IterationSpace rows_of_images(int64_t batches, int64_t height, int64_t width) noexcept nogil:
    return position_space(batches * height * width, width, 0)


cdef inline (int64_t, int64_t) row_range(int64_t width, int64_t first, int64_t end) noexcept nogil:
    return first / width, (end + width - 1) / width
