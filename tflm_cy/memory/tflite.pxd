from tflm_cy.memory.problem cimport Plan, Problem


cpdef Plan tflite(Problem problem)
