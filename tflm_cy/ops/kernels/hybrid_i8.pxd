"""How the hybrid operators (float32 values, 8-bit weights) use the vector kernels for bytes: a quantized image, exact sums, and floats of them.

    if ready_hybrid_i8(context, &op.fast, &shape, x, w, scales, how, bias, low, high):     # else: the scalar definition
    run_hybrid_i8(&op.fast, image, zero_point, scale, context.scratch(op.fast.narrow), context.scratch(op.fast.sums.scratch), y)

The plan is made for one image at a time. Weights and biases are constants, packed at the first invoke. The zero point becomes known when an
image is quantized: weights are packed for 0, and each sum loses the zero point times the sum of its weights.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, uint8_t

from tflm_cy.arithmetic.conv cimport ConvShape
from tflm_cy.arithmetic.fixed_point cimport clamp_f32
from tflm_cy.graph.context cimport Context
from tflm_cy.graph.tensor cimport Tensor
from tflm_cy.ops.kernels.gemm_i8 cimport GemmI8, pack_conv_i8, plan_conv_i8

cdef enum Scaling:               # of a sum
    BY_BOTH = 0                  # sum * (image scale * the filter's only scale)
    BY_FILTER_FIRST = 1          # (sum * filter scale) * image scale
    BY_PRODUCT = 2               # sum * (filter scale * image scale)

cdef struct HybridI8:
    GemmI8 sums
    int narrow                   # scratch: the image as bytes
    ptrdiff_t columns            # of a group
    ptrdiff_t size               # of an image
    int how                      # Scaling
    const float* scales
    const float* bias
    float low
    float high
    int32_t* w_sums
    bint waits                   # to be packed
    int32_t zero_point           # of the image
    float scale


cdef inline void finish_hybrid_i8(
    const void* at, ptrdiff_t group, const int32_t* sums, ptrdiff_t sum_row, ptrdiff_t rows, uint8_t* y, ptrdiff_t y_row,
) noexcept nogil:
    cdef const HybridI8* h = <const HybridI8*>at
    cdef const float* scales = h.scales + group * h.columns
    cdef const float* bias = h.bias + group * h.columns
    cdef const int32_t* w_sums = h.w_sums + group * h.columns
    cdef float both = h.scale * h.scales[0]
    cdef float* out
    cdef ptrdiff_t r, c
    for r in range(rows):
        out = <float*>y
        if h.how == BY_FILTER_FIRST:
            for c in range(h.columns):
                out[c] = clamp_f32(<float>(sums[c] - h.zero_point * w_sums[c]) * scales[c] * h.scale + bias[c], h.low, h.high)
        elif h.how == BY_PRODUCT:
            for c in range(h.columns):
                out[c] = clamp_f32(<float>(sums[c] - h.zero_point * w_sums[c]) * (scales[c] * h.scale) + bias[c], h.low, h.high)
        else:
            for c in range(h.columns):
                out[c] = clamp_f32(<float>(sums[c] - h.zero_point * w_sums[c]) * both + bias[c], h.low, h.high)
        sums += sum_row
        y += y_row


cdef inline bint ready_hybrid_i8(
    Context context, HybridI8* h, const ConvShape* g, const Tensor* x, const int8_t* w, const float* scales, int how, const float* bias,
    float low, float high,
) except -1:
    """g: of one image."""
    cdef ptrdiff_t depth = g.kh * g.kw * g.group_ic
    if w == NULL or bias == NULL or g.groups <= 0 or depth > 60000 or g.oc <= 0:
        return False
    h.columns = g.oc / g.groups
    h.size = g.ih * g.iw * g.ic
    h.how = how
    h.scales = scales
    h.bias = bias
    h.low = low
    h.high = high
    h.w_sums = <int32_t*>context.persistent(4 * g.oc + 4)
    h.sums.plan.shape = g[0]
    h.sums.plan.is_signed = True
    h.sums.plan.x_zero_point = 0
    h.sums.plan.out.bias = <int32_t*>context.persistent(4 * g.oc + 4)
    h.sums.plan.finish = finish_hybrid_i8
    h.sums.plan.how = h
    h.sums.plan.y_size = sizeof(float)
    if not plan_conv_i8(context, &h.sums, x, w, depth):
        return False
    h.waits = True
    h.narrow = context.request_scratch(h.size + 64)      # products may read behind the image
    return True


cdef inline void pack_hybrid_i8(HybridI8* h) noexcept nogil:
    cdef const int8_t* w = <const int8_t*>h.sums.plan.w
    cdef ptrdiff_t depth = h.sums.plan.w_row
    cdef ptrdiff_t c, k
    for c in range(h.sums.plan.shape.oc):
        for k in range(depth):
            h.w_sums[c] += w[c * depth + k]
    pack_conv_i8(&h.sums)
    h.waits = False


cdef inline void run_hybrid_i8(
    HybridI8* h, const int16_t* image, int32_t zero_point, float scale, void* narrow, void* scratch, float* y,
) noexcept nogil:
    cdef int8_t* bytes = <int8_t*>narrow
    cdef ptrdiff_t i
    if h.waits:
        pack_hybrid_i8(h)
    for i in range(h.size):
        bytes[i] = <int8_t>image[i]
    h.zero_point = zero_point
    h.scale = scale
    h.sums.plan.x_zero_point = zero_point                # what padding is
    h.sums.plan.run(&h.sums.plan, bytes, scratch, y)
