"""Output rows of images as units that threads share: positions of the only image, else rows of each."""
from libc.stdint cimport int64_t

from tflm_cy.graph.context cimport IterationSpace, iteration_space, position_space


cdef inline IterationSpace rows_of_images(int64_t batches, int64_t height, int64_t width) noexcept nogil:
    return position_space(height * width, width, 0) if batches == 1 else iteration_space(height, 1)
