"""When each tensor's memory is needed; the rules are told in `lifetimes.pyx`."""
from libc.stdint cimport int32_t

from tflm_cy.graph.context cimport Node
from tflm_cy.graph.tensor cimport Tensor


cdef void tflite_lifetimes(
    const Tensor* tensors, int tensor_count, const Node* nodes, const int32_t* plan, int plan_count, int first, int end,
    const int32_t* inputs, int input_count, const int32_t* outputs, int output_count, bint preserve_all,
    int32_t* first_use, int32_t* last_use) noexcept nogil
