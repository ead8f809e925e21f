"""How operators with 8-bit weights use the vector kernels for bytes outside of XNNPACK's arithmetic: exact sums, then fixed-point multipliers.

    if ready_fixed(context, &op.fast, &op.requantize, &op.shape, x, w_zero_point, bytes, row, b, &op.rescale, &m):   # else: the scalar definition
    run_fixed(context, &op.fast, &op.requantize, x, y)

    parallelize_fixed(context, node, &op.fast, compute_range)                  # where threads share it
    run_fixed_range(context, &op.fast, &op.requantize, x, y, first, end, worker)

of a ConvI8 or DepthwiseI8 `fast`.

Weights and biases are constants, of at most 8 bits and of int32. They are packed at the first invoke, as TensorFlow's are in these modes; the
multipliers, which nothing has filled in yet, as well.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int32_t, int64_t, uint8_t

from tflm_cy.arithmetic.multipliers cimport Factor
from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.arithmetic.sum_rescale cimport Rescale
from tflm_cy.graph.context cimport Context, Node, Packing, WorkFunction
from tflm_cy.graph.tensor cimport INT8, INT32, UINT8, Tensor, count, is_constant
from tflm_cy.ops.quantized_weights cimport ROUND_ONCE, Multipliers, are_below, are_small, fill_factors, own_factors
from tflm_cy.ops.kernels.gemm_i8 cimport pack_conv_i8, pack_depthwise_i8, plan_conv_i8, plan_depthwise_i8
from tflm_cy.ops.kernels.once cimport begin_once, end_once
from tflm_cy.ops.kernels.packed cimport parallelize_packed, run_packed, run_packed_range
from tflm_cy.simd.conv_i8 cimport ConvI8
from tflm_cy.simd.depthwise_i8 cimport DepthwiseI8
from tflm_cy.simd.requantize_fixed cimport ROUNDS_AWAY, ROUNDS_MIXED, ROUNDS_UP, RequantizeFixed
from tflm_cy.simd.table cimport kernels

ctypedef fused Plan8:
    ConvI8
    DepthwiseI8

cdef struct LateRequantize:      # what becomes of the sums
    RequantizeFixed fixed        # its `pack` is NULL: other multipliers
    Multipliers late             # to be filled in before, unless it has no channels
    int waits                    # 1: weights and multipliers are still to be packed
    Packing* packing             # of the weights; NULL: they cannot be packed


cdef inline const int32_t* constant_bias(Context context, const Tensor* b, ptrdiff_t channels) except? NULL:
    """The file's values, which sums of int32 take as they are, or zeros; NULL when they are no constants."""
    if b == NULL:
        return <const int32_t*>context.persistent(4 * channels + 4)
    return <const int32_t*>b.data if is_constant(b) and b.type == INT32 and count(b) >= channels else NULL


cdef inline int rounding_of(const Multipliers* m) noexcept nogil:
    """Multipliers well below a half shift right."""
    return ROUNDS_UP if m.up >= m.channels or m.up == ROUND_ONCE else ROUNDS_AWAY if m.up == 0 and are_below(m, 0.49) else ROUNDS_MIXED


cdef inline bint ready_requantize_fixed(
    Context context, RequantizeFixed* f, ptrdiff_t groups, ptrdiff_t columns, ptrdiff_t depth, const Tensor* x, const int32_t* bias,
    const Rescale* out, const Multipliers* late,
) except -1:
    """The multipliers; `depth`: products of a sum; `late`: those that are still to come, and `are_small`, or NULL."""
    cdef ptrdiff_t i
    if kernels().requantize_fixed.plan == NULL or bias == NULL or out.wide or (x.type != INT8 and x.type != UINT8):
        return False
    f.groups = groups
    f.columns = columns
    f.factors = out.factors if late == NULL else NULL
    f.rounding = ROUNDS_UP if late == NULL else rounding_of(late)
    f.most = 0
    for i in range(groups * columns if late == NULL else 0):
        f.most = max(f.most, <double>bias[i] if bias[i] > 0 else -<double>bias[i])
    f.most += <double>depth * (255 * 255)
    f.is_signed = x.type == INT8
    f.zero_point = out.zero_point
    f.low = out.low
    f.high = out.high
    if not kernels().requantize_fixed.plan(f):
        return False
    f.packed = <int32_t*>context.unfilled(f.packed_bytes)
    f.factors = out.factors
    return True


cdef inline int fill_requantize_fixed(
    Plan8* plan, const RequantizeFixed* f, const ConvShape* g, const Tensor* x, int32_t w_zero_point, const int32_t* bias,
) except -1:
    """What the plan of exact sums is told."""
    plan.shape = g[0]
    plan.is_signed = x.type == INT8
    plan.x_zero_point = x.zero_point
    plan.w_zero_point = w_zero_point
    plan.out.bias = bias
    plan.finish = kernels().requantize_fixed.finish
    plan.params = f
    plan.y_size = 1
    return 0


cdef inline int set_late(Context context, Multipliers* late, Multipliers* m, Rescale* out) except -1:
    """Those that may be filled in later; the others are filled in now, and there are none left."""
    if m.factors != NULL or not are_small(m):
        own_factors(context, m, out)
    late[0] = m[0]
    if m.factors != NULL:
        late.channels = 0
    return 0


cdef inline int place_late(Context context, LateRequantize* v, void* packed, ptrdiff_t packed_bytes) except -1:
    """Those to be filled in later lie where the packed weights will, if these are still to be written, when nobody reads multipliers any more."""
    cdef ptrdiff_t bytes = v.late.channels * <ptrdiff_t>sizeof(Factor)
    if v.late.channels > 0:
        v.late.factors = <Factor*>(packed if bytes <= packed_bytes and not v.packing.filled else context.unfilled(bytes))
        v.fixed.factors = v.late.factors
    return 0


cdef inline bint ready_fixed(
    Context context, Plan8* plan, LateRequantize* v, const ConvShape* g, const Tensor* x, int32_t w_zero_point, const void* w, ptrdiff_t row,
    const Tensor* b, Rescale* out, Multipliers* m,
) except -1:
    """True when run_fixed serves. A convolution's filters have `row` values each, their taps in front; depthwise ones are [kh, kw, oc]."""
    cdef const int32_t* bias = constant_bias(context, b, g.oc)
    cdef ptrdiff_t groups = g.groups if Plan8 is ConvI8 else 1
    set_late(context, &v.late, m, out)
    if w == NULL or groups <= 0 or not ready_requantize_fixed(
            context, &v.fixed, groups, g.oc / groups, g.kh * g.kw * (g.group_ic if Plan8 is ConvI8 else 1), x, bias, out,
            &v.late if v.late.channels > 0 else NULL):
        return False
    fill_requantize_fixed(plan, &v.fixed, g, x, w_zero_point, bias)
    if Plan8 is ConvI8:
        v.packing = plan_conv_i8(context, plan, x, w, row)
    else:
        plan.w = <const uint8_t*>w
        v.packing = plan_depthwise_i8(context, plan)
    v.waits = v.packing != NULL
    if v.waits:
        place_late(context, v, plan.packed, plan.packed_bytes)
    return v.waits


cdef inline void pack_fixed(Plan8* plan, LateRequantize* v) noexcept nogil:
    """Once: whoever comes first."""
    if not begin_once(&v.waits):
        return
    if v.fixed.pack != NULL:
        fill_factors(&v.late)
        v.fixed.pack(&v.fixed)
    if Plan8 is ConvI8:
        pack_conv_i8(plan, v.packing)
    else:
        pack_depthwise_i8(plan, v.packing)
    end_once(&v.waits)


cdef inline void run_fixed(Context context, Plan8* plan, LateRequantize* v, const void* x, void* y) noexcept nogil:
    pack_fixed(plan, v)
    run_packed(context, plan, x, y)


cdef inline void run_fixed_range(
    Context context, Plan8* plan, LateRequantize* v, const void* x, void* y, int64_t first, int64_t end, int worker,
) noexcept nogil:
    pack_fixed(plan, v)
    run_packed_range(context, plan, x, y, first, end, worker)


cdef inline int parallelize_fixed(Context context, Node* node, const Plan8* plan, WorkFunction work) except -1:
    return parallelize_packed(context, node, plan, work)
