"""LSTM's basic kernel; told in `lstm_basic.pyx`."""
from tflm_cy.graph.context cimport Context, Node


cdef int prepare_basic(Context context, Node* node) except -1
