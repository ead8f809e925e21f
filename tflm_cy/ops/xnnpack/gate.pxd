"""MUL of x with LOGISTIC of x in 8 bits: one function of one value. Node.fusion = FUSED_GATE; the inputs are x and LOGISTIC's output, which nobody writes.

What makes two tables one is a delegate's rewrite; no byte changes by it.
"""

cdef enum:
    FUSED_GATE = 4               # the next number of graph.context's Fusion
