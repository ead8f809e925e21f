"""Output rows of images as units that threads share: positions of the only image, else rows of each."""
from libc.stdint cimport int64_t

from tflm_cy.graph.context cimport Extent, extent_of, spanning


cdef inline Extent rows_of_images(int64_t batches, int64_t height, int64_t width) noexcept nogil:
    return spanning(height * width, width, 0) if batches == 1 else extent_of(height, 1)
