from tflm_cy.memory.problem cimport Plan, Problem


cpdef object check(Problem problem, Plan plan, object reads=*)
