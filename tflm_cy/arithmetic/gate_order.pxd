"""The order in which the gates of a long short-term memory stand."""

cdef enum:
    INPUT_GATE = 0
    FORGET_GATE = 1
    CELL_GATE = 2
    OUTPUT_GATE = 3
