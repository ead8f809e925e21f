"""What the operators on single values share: checks of inputs and quantization, and the nodes `Binary` and `Unary`.

    cdef Binary* op = prepare_binary(context, node, "ADD")      # inputs checked, output shaped, the walk planned
    op.kernel = <BinaryKernel>add_f32
    op.params = &limits                                            # the kernel's own struct, from context.persistent
    node.invoke = invoke_binary
    share_values(context, node, op, 0.1)                        # threads may share it; 0.1 ns a value

Source: LiteRT:tflite/kernels/kernel_util.cc (CalculateShapeForBroadcast, CalculateActivationRange).
"""
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memset

from tflm_cy.arithmetic.broadcast cimport Broadcast
from tflm_cy.arithmetic.fixed_point cimport ACT_RELU, ACT_RELU6, ACT_RELU_N1_TO_1, Range32, Range64, quantize_multiplier
from tflm_cy.arithmetic.multipliers cimport Rescale
from tflm_cy.arithmetic.rescale cimport ready
from tflm_cy.arithmetic.signatures cimport BinaryKernel, UnaryKernel
from tflm_cy.graph.context cimport MICRO, Context, Node
from tflm_cy.graph.tensor cimport INT8, UINT8, Tensor, count


cdef struct Binary:
    Broadcast plan
    BinaryKernel kernel
    const void* params
    int32_t a_size           # bytes of a value
    int32_t b_size
    int32_t y_size
    int32_t swapped          # 1: the kernel takes the second input first


cdef struct Unary:
    UnaryKernel kernel
    const void* params
    int64_t count


cdef int check_zero_point_0(const Tensor* tensor, str name) except -1
cdef Rescale rescale_below_one(double real, str name) except *
cdef Rescale rescale_positive(double real, str name) except *
cdef Rescale rescale_shifting_right(double real, str name) except *
cdef bint second_first(const Node* node, const Tensor* a, const Tensor* b, bint product) noexcept nogil
cdef bint sums_as_reference(const Node* node, const Broadcast* plan) noexcept nogil
cdef Binary* prepare_binary(Context context, Node* node, str name, bint swapped=*) except NULL
cdef int invoke_binary(Context context, Node* node) noexcept nogil
cdef Unary* prepare_unary(Context context, Node* node) except NULL
cdef int invoke_unary(Context context, Node* node) noexcept nogil
cdef int use_lookup(const Node* node, Unary* op, const uint8_t* table) except -1
cdef int share_values(Context context, Node* node, const Binary* op, double time) except -1
cdef int share_function(Context context, Node* node, double time) except -1


cdef inline bint is_quantized(const Tensor* tensor) noexcept nogil:
    return tensor.scale_count > 0


cdef inline bint without_scales(const Node* node, const Tensor* x, const Tensor* y) noexcept nogil:
    """Integers that should be quantized and are not. TensorFlow computes with a scale of 0, which makes every product 0; TFLM does not."""
    return node.arithmetic != MICRO and x.scale_count == 0 and y.scale_count == 0


cdef inline int zero_output(Context context, Node* node) noexcept nogil:
    memset(context.output(node, 0).data, 0, context.output(node, 0).bytes)
    return 0


cdef inline bint gives_zeros(Node* node, const Tensor* x, const Tensor* y) noexcept:
    """True, and invoke written, for a function of integers without scales."""
    if not without_scales(node, x, y):
        return False
    node.invoke = zero_output
    return True


cdef inline Rescale rescale_of(double real) noexcept nogil:
    """A quotient of scales as a multiplier for inner loops, whatever it is."""
    return ready(quantize_multiplier(real))


cdef inline Range32 type_limits(int type) noexcept nogil:
    cdef Range32 r
    r.low = 0 if type == UINT8 else -128 if type == INT8 else -32768
    r.high = 255 if type == UINT8 else 127 if type == INT8 else 32767
    return r


cdef inline Range64 whole_range(int activation, int64_t low, int64_t high) noexcept nogil:
    """A fused activation on integers that are not quantized."""
    cdef Range64 r
    r.low = 0 if activation == ACT_RELU or activation == ACT_RELU6 else -1 if activation == ACT_RELU_N1_TO_1 else low
    r.high = 6 if activation == ACT_RELU6 else 1 if activation == ACT_RELU_N1_TO_1 else high
    return r
