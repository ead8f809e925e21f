"""What the kernels of LSTM and UNIDIRECTIONAL_SEQUENCE_LSTM share: the numbers of the inputs, a layer's sizes, and reading both."""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int32_t

from tflm_cy.arithmetic.gate_order cimport CELL_GATE, OUTPUT_GATE
from tflm_cy.arithmetic.row_kernels cimport RowScale
from tflm_cy.arithmetic.lstm cimport HybridMatrix, LstmShape
from tflm_cy.graph.context cimport Context, Node
from tflm_cy.graph.tensor cimport Tensor, type_name

cdef enum:                       # inputs, the four of a kind in the order input, forget, cell, output
    X = 0
    INPUT_WEIGHTS = 1
    RECURRENT_WEIGHTS = 5
    PEEPHOLES = 9                # input, forget, output
    BIASES = 12
    PROJECTION_WEIGHTS = 16
    PROJECTION_BIAS = 17
    OUTPUT_STATE = 18
    CELL_STATE = 19
    NORMS = 20

cdef struct Lstm:
    LstmShape shape
    ptrdiff_t batches
    ptrdiff_t steps
    bint time_major
    bint normed
    bint known_weights
    int32_t gates                # scratch handles
    int32_t products
    int32_t x
    int32_t h
    int32_t x_scales
    int32_t h_scales
    HybridMatrix[9] matrices     # hybrid: input weights, recurrent weights, projection
    int8_t* dense[9]               # of sparse constants; NULL: the tensor itself
    RowScale* kept_scales        # with sparse weights: what the last step has left
    void* integers               # what the integer kernels know (lstm_integer.pyx)


cdef inline int peephole_index(int gate) noexcept nogil:
    """-1 for the cell gate, which has none."""
    return -1 if gate == CELL_GATE else PEEPHOLES + (2 if gate == OUTPUT_GATE else gate)


cdef inline void* data_of(Tensor* tensor) noexcept nogil:
    return NULL if tensor == NULL else tensor.data


cdef inline Tensor* required(Context context, Node* node, int index, str what) except NULL:
    cdef Tensor* tensor = context.input(node, index)
    if tensor == NULL:
        raise ValueError(f"{context.operator_name(node)}: {what} (input {index}) is missing")
    return tensor


cdef inline int expect_type(const Tensor* tensor, int type, str what) except -1:
    if tensor.type != type:
        raise ValueError(f"LSTM: {what} of type {type_name(tensor.type)}, expected {type_name(type)}")
    return 0
