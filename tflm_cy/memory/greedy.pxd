from tflm_cy.memory.problem cimport Plan, Problem


cpdef Plan greedy(Problem problem)
