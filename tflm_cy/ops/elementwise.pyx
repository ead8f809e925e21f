# tflm_cy: again=avx2
"""The nodes of operators on single values: checks, shapes, walks; see elementwise.pxd."""
from libc.float cimport DBL_MAX
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from tflm_cy.arithmetic.broadcast cimport MAX_DIMS, Broadcast, plan_broadcast, walk
from tflm_cy.arithmetic.fixed_point cimport quantize_multiplier
from tflm_cy.arithmetic.lookup cimport lookup_8
from tflm_cy.arithmetic.multipliers cimport Rescale
from tflm_cy.arithmetic.optimized.addition cimport five_fold
from tflm_cy.arithmetic.rescale cimport ready_below_one
from tflm_cy.arithmetic.signatures cimport UnaryKernel
from tflm_cy.graph.context cimport MICRO, OPTIMIZED, REFERENCE, Context, IterationSpace, Node, iteration_space, position_space
from tflm_cy.graph.tensor cimport FLOAT32, Tensor, count, shape_of, type_name, type_size
from tflm_cy.ops.operand cimport expect_arity, operand
from tflm_cy.ops.value_space cimport Values, channels_of, share_single, value_space, values_of_units
from tflm_cy.simd.table cimport kernels


cdef int check_zero_point_0(const Tensor* tensor, str name) except -1:
    if tensor.zero_point != 0:
        raise ValueError(f"{name}: {type_name(tensor.type)} tensor {tensor.index} wants zero point 0, has {tensor.zero_point} "
                         f"(params.zero_point != 0)")
    return 0


cdef Rescale rescale_below_one(double real, str name) except *:
    """As `rescale_of`, for kernels whose multiplier must lie between 0 and 1: otherwise TensorFlow's process ends."""
    if not 0 < real < 1:
        raise ValueError(f"{name}: the scales' quotient {real} is out of range, it must lie between 0 and 1")
    return rescale_of(real)


cdef Rescale rescale_positive(double real, str name) except *:
    """As `rescale_below_one`, but what is above 1 multiplies."""
    if not 0 < real <= DBL_MAX:
        raise ValueError(f"{name}: the scales' quotient {real} is out of range, it must be positive")
    return rescale_of(real)


cdef Rescale rescale_shifting_right(double real, str name) except *:
    """As `rescale_of`, for kernels that multiply as if the quotient, which is positive and not 1, were below 1."""
    if not real > 0 or real == 1:
        raise ValueError(f"{name}: the scales' quotient {real} is out of range, it must be positive and not 1")
    return ready_below_one(quantize_multiplier(real))


cdef bint sums_as_reference(const Node* node, const Broadcast* plan) noexcept nogil:
    """Also by the optimized kernels, where their vector code does not take a broadcast."""
    return node.arithmetic == REFERENCE or (node.arithmetic == OPTIMIZED and not five_fold(plan))


cdef bint second_first(const Node* node, const Tensor* a, const Tensor* b, bint product) noexcept nogil:
    """Which operand of a float32 sum or product stands first, which shows where two NaN meet: the first's comes out. The optimized kernels
    begin with the one that is spread along the last axis where the shapes differ, the reference's sum with the second where the
    first is spread along the last axis that is longer than 1.
    """
    cdef Broadcast plan
    cdef int32_t[MAX_DIMS] dims
    cdef int32_t d, m, n
    cdef bint plain = node.arithmetic != OPTIMIZED
    if a.type != FLOAT32 or node.arithmetic == MICRO:
        return False
    if not plain:
        plain = plan_broadcast(&plan, a.rank, a.dims, b.rank, b.dims, dims) >= 0 and sums_as_reference(node, &plan)
    for d in range(1, max(a.rank, b.rank) + 1):
        m = a.dims[a.rank - d] if d <= a.rank else 1
        n = b.dims[b.rank - d] if d <= b.rank else 1
        if plain and m == 1 and n == 1:
            continue
        if plain:
            return not product and m == 1 and n != 1
        if m != n:
            return n == 1
    return False


cdef Binary* prepare_binary(Context context, Node* node, str name, bint swapped=False) except NULL:
    """Checks two inputs, shapes the output as numpy broadcasts, plans the walk; the value sizes are the tensors' own.

    They are 0 for strings and packed integers, which no kernel may be chosen for.
    """
    cdef Tensor* a
    cdef Tensor* b
    cdef Tensor* y
    cdef Binary* op
    cdef int32_t dims[16]
    cdef int rank
    expect_arity(context, node, 2, 1)
    a = operand(context, node, 1 if swapped else 0)
    b = operand(context, node, 0 if swapped else 1)
    y = context.output(node, 0)
    op = <Binary*>context.persistent(sizeof(Binary))
    op.swapped = swapped
    rank = plan_broadcast(&op.plan, a.rank, a.dims, b.rank, b.dims, dims)
    if rank < 0:
        raise ValueError(f"{name}: Given shapes, {shape_of(a)} and {shape_of(b)}, are not broadcastable.")
    op.a_size = type_size(a.type)
    op.b_size = type_size(b.type)
    op.y_size = type_size(y.type)
    context.set_shape(y, rank, dims)
    node.data = op
    node.invoke = invoke_binary
    return op


cdef int invoke_binary(Context context, Node* node) noexcept nogil:
    cdef Binary* op = <Binary*>node.data
    cdef const Tensor* a = context.input(node, op.swapped)
    cdef const Tensor* b = context.input(node, 1 - op.swapped)
    walk(&op.plan, op.kernel, op.params, a.data, op.a_size, b.data, op.b_size, context.output(node, 0).data, op.y_size)
    return 0


cdef Unary* prepare_unary(Context context, Node* node) except NULL:
    """Checks one input and shapes the output like it."""
    cdef Tensor* x
    cdef Tensor* y
    cdef Unary* op
    expect_arity(context, node, 1, 1)
    x = operand(context, node, 0)
    y = context.output(node, 0)
    op = <Unary*>context.persistent(sizeof(Unary))
    op.count = count(x)
    context.set_shape(y, x.rank, x.dims)
    node.data = op
    node.invoke = invoke_unary
    return op


cdef int invoke_unary(Context context, Node* node) noexcept nogil:
    cdef Unary* op = <Unary*>node.data
    op.kernel(op.params, context.input(node, 0).data, context.output(node, 0).data, op.count)
    return 0


cdef int use_lookup(const Node* node, Unary* op, const uint8_t* table) except -1:
    """A function of bytes as its 256 results. By TFLM's rules the output may lie over the input: ops/overlaps.py."""
    op.params = table
    op.kernel = <UnaryKernel>lookup_8
    if node.arithmetic != MICRO and kernels().bytes.lookup != NULL:
        op.kernel = kernels().bytes.lookup
    return 0


cdef int share_values(Context context, Node* node, const Binary* op, double time) except -1:
    """Threads may share the walk; the output may lie over an operand of its shape."""
    cdef const Tensor* y = context.output(node, 0)
    cdef const Tensor* x
    cdef IterationSpace space
    cdef uint32_t alike = 0
    cdef int i
    for i in range(2):
        x = context.input(node, i)
        if count(x) == count(y):
            alike |= 1 << i
            if x.type == y.type:
                node.in_place |= 1 << i
    if count(y) == 0:
        return 0
    if op.plan.loops == 0:
        space = value_space(y, alike)
    else:
        space = iteration_space(op.plan.count[0], 1)
        if op.plan.loops == 1 and op.plan.inner == channels_of(y):
            space = position_space(space.units, 1, alike)
    return context.parallelize(node, compute_binary, space, time * count(y))


cdef void compute_binary(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    """A range of the outermost loop, or of the only run."""
    cdef const Binary* op = <const Binary*>node.data
    cdef const char* a = <const char*>context.input(node, op.swapped).data
    cdef const char* b = <const char*>context.input(node, 1 - op.swapped).data
    cdef char* y = <char*>context.output(node, 0).data
    cdef Broadcast some = op.plan
    cdef int64_t y_step = op.plan.inner
    cdef Values values
    cdef int d
    if some.loops == 0:
        values = values_of_units(context.output(node, 0), first, end)
        some.inner = values.count
        walk(
            &some, op.kernel, op.params, a + (0 if some.a_repeats else values.first * op.a_size), op.a_size,
            b + (0 if some.b_repeats else values.first * op.b_size), op.b_size, y + values.first * op.y_size, op.y_size)
        return
    for d in range(1, some.loops):
        y_step *= some.count[d]
    some.count[0] = end - first
    walk(
        &some, op.kernel, op.params, a + first * some.a_step[0] * op.a_size, op.a_size, b + first * some.b_step[0] * op.b_size, op.b_size,
        y + first * y_step * op.y_size, op.y_size)


cdef int share_function(Context context, Node* node, double time) except -1:
    """As share_values, for the kernel of a Unary."""
    return share_single(context, node, 0, compute_unary, time)


cdef void compute_unary(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef const Unary* op = <const Unary*>node.data
    cdef const Tensor* x = context.input(node, 0)
    cdef const Tensor* y = context.output(node, 0)
    cdef Values values = values_of_units(y, first, end)
    op.kernel(
        op.params, <const char*>x.data + values.first * type_size(x.type), <char*>y.data + values.first * type_size(y.type), values.count)
