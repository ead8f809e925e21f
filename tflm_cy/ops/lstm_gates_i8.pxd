"""LSTM's integer kernel with 8-bit products; told in `lstm_gates_i8.pyx`."""
from tflm_cy.graph.context cimport Context, Node
from tflm_cy.ops.lstm_layer cimport Lstm


cdef int prepare_gates8(Context context, Node* node, Lstm* s) except -1
