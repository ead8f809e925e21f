from libc.stdint cimport int64_t

from tflm_cy.memory.problem cimport Plan, Problem


cpdef Plan overlap(Problem problem, object keep_inputs=*, int64_t budget=*, double seconds=*)
