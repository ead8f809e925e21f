"""The integer kernels of LSTM and UNIDIRECTIONAL_SEQUENCE_LSTM; told in `lstm_integer.pyx`."""
from tflm_cy.graph.context cimport Context, Node
from tflm_cy.ops.lstm_layer cimport Lstm


cdef int prepare_integer(Context context, Node* node, Lstm* s) except -1
