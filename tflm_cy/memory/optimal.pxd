from libc.stdint cimport int64_t

from tflm_cy.memory.problem cimport Plan, Problem


cpdef Plan optimal(Problem problem, int64_t budget=*, double seconds=*)
cpdef Plan fit(Problem problem, int64_t capacity, int64_t budget=*, double seconds=*)
