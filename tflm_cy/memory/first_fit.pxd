"""The search over orders of `overlap`; see `first_fit.pyx`."""
from libc.stdint cimport int64_t

from tflm_cy.memory.problem cimport Plan, Problem

cdef Plan first_fit(Problem problem, Plan incumbent, int64_t lower, int64_t budget)
