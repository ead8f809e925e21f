# tflm_cy: optimize=size
"""RESHAPE, SQUEEZE, EXPAND_DIMS: the same bytes under another shape. Every type, strings included.

RESHAPE takes its shape from an int32 vector (second input) when there is one, else from its option; a second input that is
not constant makes the output dynamic, also where it is no such vector. A constant input is reshaped once, in prepare. An option of [0] is an old way
to write a scalar. One dimension may be -1:

    input [0, 3] to [-1, 0] gives [3, 0]        # the quotient of the products without their zeros

The default delegate reads shapes otherwise: a constant tensor of any rank is a vector, and a single 0 means what -1 does, so that the option
[0] makes a vector of everything.

    input [2, 6] to [0, 4] gives [3, 4]

Quantization parameters of input and output may differ: bytes are copied as they are. SQUEEZE takes up to 8
dimensions.

Source: LiteRT:tflite/kernels/reshape.cc, squeeze.cc, expand_dims.cc.
"""
from libc.stdint cimport int32_t, int64_t

from tflm_cy.arithmetic.strings cimport has_strings
from tflm_cy.graph.context cimport MICRO, XNNPACK, Context, Node, register
from tflm_cy.graph.tensor cimport (
    INT32, MAX_RANK, RESOURCE, STRING, Tensor, VARIANT, bytes_of, count, is_constant, shape_of, type_name,
)
from tflm_cy.ops.operand cimport (
    accept, adopt_type, computed_in_prepare, expect_arity_between, index_at, operand, result, want_index_type, want_one,
    want_same_quantization, want_symmetric,
)
from tflm_cy.platform.long_copy cimport copy_bytes
from tflm_cy.schema.option_slots cimport RESHAPE_NEW_SHAPE
from tflm_cy.schema.table cimport Vector, table_vector, vector_i32

cdef enum:
    SQUEEZE_RANK = 8
    LARGEST = 1 << 30

cdef struct Wanted:              # a shape as RESHAPE reads it: one entry may be -1
    int rank
    int32_t[MAX_RANK] dims


cdef const char* COUNTS = b"num_input_elements != num_output_elements"


cdef const char* resolve(const Tensor* x, Wanted* wanted) noexcept nogil:
    """Replace -1 by what is left; the text of the refusal when the number of elements differs."""
    cdef int64_t old = 1
    cdef int64_t old_nonzero = 1
    cdef int64_t new = 1
    cdef int64_t new_nonzero = 1
    cdef int stretch = -1
    cdef int d
    for d in range(x.rank):
        old *= x.dims[d]
        old_nonzero *= x.dims[d] if x.dims[d] != 0 else 1
    for d in range(wanted.rank):
        if wanted.dims[d] == -1:
            if stretch != -1:
                return b"stretch_dim != -1: more than one dimension is -1"
            stretch = d
            continue
        if wanted.dims[d] < 0:
            return b"negative dimension in the shape"
        if wanted.dims[d] != 0:
            if new_nonzero > (<int64_t>LARGEST << 20) // wanted.dims[d]:
                return b"num_input_elements != num_output_elements: the shape is too large"
            new_nonzero *= wanted.dims[d]
        new *= wanted.dims[d]
    if stretch != -1:
        if old == 0 and new != 0:
            wanted.dims[stretch] = 0
        elif old_nonzero // new_nonzero > 0x7FFFFFFF:
            return b"num_input_elements != num_output_elements: a dimension is too large"
        else:
            wanted.dims[stretch] = <int32_t>(old_nonzero // new_nonzero)
        new *= wanted.dims[stretch]
    if old != new:
        return COUNTS
    return NULL


cdef int64_t elements(const Wanted* wanted) noexcept nogil:
    cdef int64_t n = 1
    cdef int d
    for d in range(wanted.rank):
        n *= wanted.dims[d]
    return n


cdef int want_same_bytes(const Tensor* x, const Tensor* y) except -1:
    """Refuse types that cannot share bytes; equal widths may (TensorFlow looks at neither type)."""
    cdef int64_t old = bytes_of(x.type, x.rank, x.dims)
    cdef int64_t new = bytes_of(y.type, x.rank, x.dims)
    if (x.type == STRING) != (y.type == STRING) or old != new or x.type == RESOURCE or x.type == VARIANT:
        raise ValueError(f"the bytes of {type_name(x.type)} cannot become {type_name(y.type)}")
    if x.type != STRING and <int64_t>x.bytes < old:
        raise ValueError(f"the input has {x.bytes} bytes instead of {old}")
    return 0


cdef int prepare_reshape(Context context, Node* node) except -1:
    cdef const char* refusal
    cdef int d
    cdef Wanted wanted
    expect_arity_between(context, node, 1, 2, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* y = result(context, node, 0)
    cdef Tensor* shape = context.input(node, 1)
    want_same_bytes(x, y)
    if node.arithmetic == XNNPACK:
        read_delegated(node, shape, &wanted)
    else:
        check_rank(node, shape)
        if shape != NULL and not is_constant(shape) and (is_vector(shape) or node.arithmetic != MICRO):
            context.set_dynamic(y)
            node.invoke = reshape_dynamic
            return 0
        read_shape(node, shape, &wanted)
    refusal = resolve(x, &wanted)
    if refusal == COUNTS:
        text = f"{refusal.decode()} ({count(x)} != {elements(&wanted)}): {shape_of(x)} cannot become {[wanted.dims[d] for d in range(wanted.rank)]}"
        raise ValueError(text)
    accept(refusal)
    context.set_shape(y, wanted.rank, wanted.dims)
    node.invoke = copy_strings if x.type == STRING else copy_values
    node.is_view = x.type != STRING
    if is_constant(x) and x.type != STRING:
        context.set_computed(y)
        copy_bytes(y.data, x.data, y.bytes)
        node.invoke = computed_in_prepare
    return 0


cdef bint is_vector(const Tensor* shape) noexcept nogil:
    return shape != NULL and shape.rank == 1 and shape.type == INT32


cdef int check_rank(const Node* node, const Tensor* shape) except -1:
    cdef int64_t rank = shape.dims[0] if is_vector(shape) else table_vector(node.options, RESHAPE_NEW_SHAPE).length
    if rank > MAX_RANK:
        raise ValueError(f"a shape of {rank} dimensions, at most {MAX_RANK} are possible")
    return 0


cdef void read_shape(const Node* node, const Tensor* shape, Wanted* wanted) noexcept nogil:
    """Of the vector, else the option's; an option of [0] means none."""
    cdef int d
    if not is_vector(shape):
        read_option(node, wanted)
        if wanted.rank == 1 and wanted.dims[0] == 0:
            wanted.rank = 0
        return
    wanted.rank = shape.dims[0]
    for d in range(wanted.rank):
        wanted.dims[d] = <int32_t>index_at(INT32, shape.data, d)


cdef void read_option(const Node* node, Wanted* wanted) noexcept nogil:
    cdef Vector option = table_vector(node.options, RESHAPE_NEW_SHAPE)
    cdef int d
    wanted.rank = option.length
    for d in range(wanted.rank):
        wanted.dims[d] = vector_i32(option, d)


cdef int read_delegated(const Node* node, const Tensor* shape, Wanted* wanted) except -1:
    cdef int64_t rank
    cdef int d
    if shape == NULL:
        check_rank(node, shape)
        read_option(node, wanted)
    else:
        rank = count(shape)
        if shape.type != INT32 or not is_constant(shape) or rank > MAX_RANK or <int64_t>shape.bytes < 4 * rank:
            raise ValueError(f"RESHAPE: a shape of {rank} values {type_name(shape.type)}, wanted are constant INT32, at most {MAX_RANK}")
        wanted.rank = <int>rank
        for d in range(wanted.rank):
            wanted.dims[d] = <int32_t>index_at(INT32, shape.data, d)
    for d in range(wanted.rank):
        if wanted.dims[d] == 0:
            wanted.dims[d] = -1
    return 0


cdef int prepare_squeeze(Context context, Node* node) except -1:
    cdef bint[SQUEEZE_RANK] squeezed
    cdef int32_t[MAX_RANK] dims
    cdef Vector option = table_vector(node.options, RESHAPE_NEW_SHAPE)
    cdef int64_t axis
    cdef int d
    cdef int rank = 0
    expect_arity_between(context, node, 1, 1, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* y = result(context, node, 0)
    want_same_bytes(x, y)
    if x.rank > SQUEEZE_RANK or option.length > SQUEEZE_RANK:
        raise ValueError(f"SQUEEZE: input_num_dims <= 8 was not true ({x.rank}, {option.length} to squeeze)")
    for d in range(x.rank):
        squeezed[d] = option.length == 0 and x.dims[d] == 1
    for d in range(<int>option.length):
        axis = vector_i32(option, d)
        if axis < 0:
            axis += x.rank
        if axis < 0 or axis >= x.rank or x.dims[axis] != 1:
            raise ValueError(f"dimension {vector_i32(option, d)} cannot be squeezed: it does not exist or is not 1")
        squeezed[axis] = True
    for d in range(x.rank):
        if not squeezed[d]:
            dims[rank] = x.dims[d]
            rank += 1
    if node.arithmetic == MICRO and count(y) == count(x):        # TFLM leaves the shape as it is, when it is no smaller
        for d in range(rank):
            if d >= y.rank or y.dims[d] < dims[d]:
                raise ValueError(f"SQUEEZE: dimension {d} of the output is smaller than {dims[d]}")
    else:
        context.set_shape(y, rank, dims)
    node.invoke = copy_strings if x.type == STRING else copy_values
    node.is_view = x.type != STRING
    return 0


cdef const char* expand(const Tensor* x, int64_t axis, Wanted* wanted) noexcept nogil:
    """The shape of x with a 1 put in at an axis."""
    cdef int d
    if axis < 0:
        axis += x.rank + 1
    if axis < 0 or axis > x.rank:
        return b"axis <= input_dims.size was not true: the axis of EXPAND_DIMS is out of range"
    if x.rank >= MAX_RANK:
        return b"EXPAND_DIMS: too many dimensions"
    for d in range(x.rank):
        wanted.dims[d + (1 if d >= axis else 0)] = x.dims[d]
    wanted.dims[axis] = 1
    wanted.rank = x.rank + 1
    return NULL


cdef int prepare_expand_dims(Context context, Node* node) except -1:
    cdef Wanted wanted
    expect_arity_between(context, node, 2, 2, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* axis = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    adopt_type(y, x.type)
    want_same_bytes(x, y)
    want_same_quantization(x, y)
    want_symmetric(x)
    want_index_type(axis, "the axis")
    want_one(axis, "the axis")
    if not is_constant(axis):
        context.set_dynamic(y)
        node.invoke = expand_dynamic
        return 0
    accept(expand(x, index_at(axis.type, axis.data, 0), &wanted))
    context.set_shape(y, wanted.rank, wanted.dims)
    node.invoke = copy_strings if x.type == STRING else copy_values
    node.is_view = x.type != STRING
    return 0


cdef int copy_values(Context context, Node* node) noexcept nogil:
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    if y.bytes > 0 and y.data != x.data:
        copy_bytes(y.data, x.data, y.bytes)
    return 0


cdef int copy_strings(Context context, Node* node) noexcept nogil:
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    if not has_strings(x.data, x.bytes, count(x)):
        return context.fail(b"the input does not hold the strings of its shape")
    if context.resize_bytes(y, x.bytes) != 0:
        return -1
    copy_bytes(y.data, x.data, x.bytes)
    return 0


cdef int reshape_dynamic(Context context, Node* node) noexcept nogil:
    cdef Tensor* x = context.input(node, 0)
    cdef Wanted wanted
    cdef const char* refusal
    read_shape(node, context.input(node, 1), &wanted)
    refusal = resolve(x, &wanted)
    return copy_shaped(context, node, &wanted, refusal)


cdef int expand_dynamic(Context context, Node* node) noexcept nogil:
    cdef Tensor* axis = context.input(node, 1)
    cdef Wanted wanted
    cdef const char* refusal = expand(context.input(node, 0), index_at(axis.type, axis.data, 0), &wanted)
    return copy_shaped(context, node, &wanted, refusal)


cdef int copy_shaped(Context context, Node* node, const Wanted* wanted, const char* refusal) noexcept nogil:
    """Shape the dynamic output and copy."""
    cdef Tensor* y = context.output(node, 0)
    if refusal == COUNTS:
        return context.fail_with(b"num_input_elements != num_output_elements (%ld != %ld). ", count(context.input(node, 0)), elements(wanted))
    if refusal != NULL:
        return context.fail(refusal)
    if context.resize(y, wanted.rank, wanted.dims) != 0:
        return -1
    if y.type == STRING:
        return copy_strings(context, node)
    return copy_values(context, node)


OPERATORS = {
    "RESHAPE": register(prepare_reshape, version=1, reference_version=1),
    "SQUEEZE": register(prepare_squeeze, version=2, reference_version=1),
    "EXPAND_DIMS": register(prepare_expand_dims, version=1, reference_version=1),
}
