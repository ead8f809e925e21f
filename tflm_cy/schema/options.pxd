"""What TensorFlow refuses while it reads the options of an operator; told in `options.pyx`."""
from libc.stdint cimport uint8_t


cdef str options_problem(str operator, const uint8_t* options, bint micro)
