from tflm_cy.memory.problem cimport Plan, Problem


cpdef Plan given(Problem problem, object offsets=*)
