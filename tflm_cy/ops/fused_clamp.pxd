"""A fused activation of a quantized output: the values between which it clamps, or why there are none.

Where an edge divided by the scale is no 32-bit integer (a scale of 0 above all) TensorFlow's kernels refuse, or clamp to what lay in
memory; here that is always refused.

Source: LiteRT:tflite/kernels/kernel_util.cc.
"""
from libc.math cimport roundf

from tflm_cy.arithmetic.fixed_point cimport ACT_RELU, ACT_RELU6, ACT_RELU_N1_TO_1, Range32, activation_range
from tflm_cy.graph.tensor cimport INT8, UINT8, Tensor


cdef inline bint edge_fits(float edge, float scale) noexcept nogil:
    cdef float quantized = roundf(edge / scale)
    return quantized >= <float>-2147483648.0 and quantized <= <float>2147483648.0      # not NaN either


cdef inline bint clamp_exists(int activation, float scale) noexcept nogil:
    """Other activations than these three do not clamp."""
    if activation == ACT_RELU:
        return edge_fits(0, scale)
    if activation == ACT_RELU6:
        return edge_fits(0, scale) and edge_fits(6, scale)
    return activation != ACT_RELU_N1_TO_1 or edge_fits(-1, scale) and edge_fits(1, scale)


cdef inline str no_clamp_text(float scale):
    return f"no_integer_overflow_from_quantization was not true: an activation's edge divided by the output's scale {scale}"


cdef inline Range32 fused_clamp(int activation, const Tensor* y) except *:
    """For outputs of 8 or 16 bits."""
    if not clamp_exists(activation, y.scale):
        raise ValueError(no_clamp_text(y.scale))
    return activation_range(
        activation, y.scale, y.zero_point, 0 if y.type == UINT8 else -128 if y.type == INT8 else -32768,
        255 if y.type == UINT8 else 127 if y.type == INT8 else 32767)
