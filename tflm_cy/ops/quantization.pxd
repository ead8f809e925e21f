"""From quantized values to float32, for operators that do it on their way; told in `quantization.pyx`."""
from tflm_cy.graph.context cimport Context, Node
from tflm_cy.graph.tensor cimport Tensor
from tflm_cy.ops.elementwise cimport Unary


cdef int choose_dequantize(Context context, const Node* node, Unary* op, const Tensor* x) except -1
