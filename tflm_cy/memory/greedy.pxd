from tflm_cy.memory.problem cimport Plan, Problem


cpdef Plan greedy(Problem problem)
cpdef Plan greedy_by_area(Problem problem)
