from tflm_cy.memory.problem import Plan, Problem

NEVER: int

def tflite(problem: Problem) -> Plan: ...
