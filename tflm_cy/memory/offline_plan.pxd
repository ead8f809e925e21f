from tflm_cy.memory.problem cimport Plan, Problem


cpdef Plan offline_plan(Problem problem, object offsets=*)
