"""What this CPU multiplies and adds at most, one thread, in registers: the yardstick of a profile.

    products = table.peak.s8(rounds)     # how many it did; whoever asks looks at the clock

NULL where the instruction set has no such kernels.
"""
from libc.stdint cimport int64_t

ctypedef int64_t (*PeakFunction)(int64_t rounds) noexcept nogil

cdef struct PeakKernels:
    PeakFunction f32
    PeakFunction s8
