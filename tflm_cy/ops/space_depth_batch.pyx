"""SPACE_TO_DEPTH, DEPTH_TO_SPACE, SPACE_TO_BATCH_ND, BATCH_TO_SPACE_ND: pixels moved to channels or batches and back.

SPACE_TO_DEPTH and DEPTH_TO_SPACE: rank 4; float32, uint8, int8, int32, int64. The two others: rank 3 or 4; int16 as
well; 8 and 16 bit types want equal quantization, int16 zero points of 0; pixels of padding are the output's zero
point in 8 bit types, else 0. Negative paddings crop, as TensorFlow never asks; crops must not be negative. Blocks,
paddings or crops that are not constant make the output dynamic.

Source: LiteRT:tflite/kernels/space_to_depth.cc, depth_to_space.cc, space_to_batch_nd.cc, batch_to_space_nd.cc.
"""
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy, memset

from tflm_cy.arithmetic.walk cimport Walk, add_axis, begin_walk, copy_units, finish_walk, walk_copy
from tflm_cy.graph.context cimport MICRO, XNNPACK, Context, Node, register
from tflm_cy.graph.tensor cimport (
    FLOAT32, INT8, INT16, INT32, INT64, Tensor, UINT8, bytes_of, count, count_unsigned, is_constant, shape_of, type_name, type_size,
)
from tflm_cy.ops.copy_space cimport copy_time, share_walk
from tflm_cy.ops.operand cimport (
    accept, expect_arity_between, index_at, operand, result, want_bytes, want_same_quantization, want_symmetric, want_type_of,
)
from tflm_cy.ops.xnnpack.rank cimport read_sides, refuse_other_rank
from tflm_cy.schema.option_slots cimport SPACE_TO_DEPTH_BLOCK_SIZE
from tflm_cy.schema.table cimport table_i32

from tflm_cy.graph.refusal import LateRefusalError


cdef int want_image(Context context, Node* node, str name, int32_t* sides) except -1:
    """Check what SPACE_TO_DEPTH and DEPTH_TO_SPACE have in common; returns the block size. sides: of the image."""
    cdef int block = table_i32(node.options, SPACE_TO_DEPTH_BLOCK_SIZE, 0)
    expect_arity_between(context, node, 1, 1, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* y = result(context, node, 0)
    if node.arithmetic == XNNPACK:
        read_sides(context, x, sides)
    elif x.rank == 4:
        memcpy(sides, x.dims, 4 * sizeof(int32_t))
    else:
        raise ValueError(f"NumDimensions(input) != 4: {x.rank}")
    if y.type not in (FLOAT32, UINT8, INT8, INT32, INT64):
        raise ValueError(f"Type '{type_name(y.type)}' not currently supported by {name}.")
    want_type_of(y, x)
    want_bytes(x)
    if block <= 0:
        raise ValueError(f"block_size > 0 was not true: {block}")
    if node.arithmetic == XNNPACK and (sides[1] == 0 or sides[2] == 0 or sides[3] == 0):
        raise ValueError(f"{name}: an image without pixels or channels: {shape_of(x)}")
    return block


cdef int prepare_space_to_depth(Context context, Node* node) except -1:
    cdef int32_t[4] sides
    cdef int64_t block = want_image(context, node, "SPACE_TO_DEPTH", sides)
    cdef Tensor* x = context.input(node, 0)
    cdef int64_t w = sides[2]
    cdef int64_t pixel = sides[3] * type_size(x.type)
    cdef int64_t depth = sides[3] * min(block * block, <int64_t>1 << 31)
    cdef int32_t[4] dims
    if sides[1] % block != 0 or w % block != 0:
        raise ValueError(f"input_height != output_height * block_size: {sides[1]} x {w} pixels in blocks of {block}")
    if depth > 0x7FFFFFFF:
        raise ValueError(f"the output of SPACE_TO_DEPTH becomes too deep: {depth}")
    dims[0] = sides[0]
    dims[1] = <int32_t>(sides[1] // block)
    dims[2] = <int32_t>(w // block)
    dims[3] = <int32_t>depth
    context.set_shape(context.output(node, 0), 4, dims)
    refuse_other_rank(x, 4, context.operator_name(node))
    cdef Walk* plan = <Walk*>context.persistent(sizeof(Walk))
    begin_walk(plan, pixel)
    add_axis(plan, sides[0], sides[1] * w * pixel, sides[1] * w * pixel)
    add_axis(plan, dims[1], block * w * pixel, block * w * pixel)
    add_axis(plan, dims[2], block * block * pixel, block * pixel)
    add_axis(plan, block, block * pixel, w * pixel)
    add_axis(plan, block, pixel, pixel)
    finish_walk(plan)
    node.data = plan
    node.invoke = walk
    return share_walk(context, node, walk_range, plan, copy_time(<int64_t>x.bytes))


cdef int prepare_depth_to_space(Context context, Node* node) except -1:
    cdef int32_t[4] sides
    cdef int64_t block = want_image(context, node, "DEPTH_TO_SPACE", sides)
    cdef Tensor* x = context.input(node, 0)
    cdef int64_t w = sides[2]
    cdef int64_t deep = sides[3] * type_size(x.type)
    cdef int64_t depth = sides[3] // block // block
    cdef int64_t pixel = depth * type_size(x.type)
    cdef int32_t[4] dims
    if depth * block * block != sides[3]:
        raise ValueError(
            f"input_channels != output_channels * block_size * block_size: {sides[3]} in blocks of {block}")
    if sides[1] * block > 0x7FFFFFFF or w * block > 0x7FFFFFFF:
        raise ValueError(
            f"the output of DEPTH_TO_SPACE becomes too large: {sides[1]} x {w} pixels in blocks of {block}")
    dims[0] = sides[0]
    dims[1] = <int32_t>(sides[1] * block)
    dims[2] = <int32_t>(w * block)
    dims[3] = <int32_t>depth
    context.set_shape(context.output(node, 0), 4, dims)
    refuse_other_rank(x, 4, context.operator_name(node))
    cdef Walk* plan = <Walk*>context.persistent(sizeof(Walk))
    begin_walk(plan, pixel)
    add_axis(plan, sides[0], sides[1] * w * deep, sides[1] * w * deep)
    add_axis(plan, sides[1], w * deep, w * deep)
    add_axis(plan, block, w * block * pixel, block * pixel)
    add_axis(plan, w, block * pixel, deep)
    add_axis(plan, block, pixel, pixel)
    finish_walk(plan)
    node.data = plan
    node.invoke = walk
    return share_walk(context, node, walk_range, plan, copy_time(<int64_t>x.bytes))


cdef void walk_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    copy_units(
        <const Walk*>node.data, first, end, <char*>context.output(node, 0).data, <const char*>context.input(node, 0).data)


cdef int walk(Context context, Node* node) noexcept nogil:
    walk_copy(<const Walk*>node.data, <char*>context.output(node, 0).data, <const char*>context.input(node, 0).data)
    return 0


cdef struct Blocks:              # a rank 3 tensor has a width of 1
    int64_t block_h, block_w
    int64_t top, left            # padding or crop before
    int64_t bottom, right


cdef int want_blocks(Context context, Node* node) except -1:
    """Check what SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND have in common."""
    expect_arity_between(context, node, 3, 3, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* block = operand(context, node, 1)
    cdef Tensor* edges = operand(context, node, 2)
    cdef Tensor* y = result(context, node, 0)
    if not 3 <= x.rank <= 4:
        raise ValueError(
            f"NumDimensions(op_context.input) >= kInputMinDimensionNum was not true: rank {x.rank}, not 3 or 4")
    want_type_of(y, x)
    want_bytes(x)
    if x.type == UINT8 or x.type == INT8 or x.type == INT16:
        want_same_quantization(x, y)
        want_symmetric(x)
    if block.type != INT32 or edges.type != INT32:
        raise ValueError(f"the block shape and paddings or crops must be INT32, not {type_name(block.type)} and {type_name(edges.type)}")
    text = None
    if block.rank != 1 or block.dims[0] != x.rank - 2:
        text = f"the block shape must be an INT32 vector of {x.rank - 2} elements: spatial_dims_num"
    elif edges.rank != 2 or edges.dims[0] != x.rank - 2 or edges.dims[1] != 2:
        text = f"paddings and crops must be INT32 of shape [{x.rank - 2}, 2]: spatial_dims_num"
    if text is None:
        return 0
    if is_constant(block) and is_constant(edges):
        raise ValueError(text)
    context.set_dynamic(y)
    raise LateRefusalError(text)


cdef int want_kernel(const Tensor* x, str name) except -1:
    """When all else is known: TensorFlow looks at the type when it computes."""
    if x.type not in (FLOAT32, UINT8, INT8, INT16, INT32, INT64):
        raise LateRefusalError(f"Type {type_name(x.type)} is currently not supported by {name}.")
    return 0


cdef void read_blocks(Blocks* blocks, const Tensor* block, const Tensor* edges) noexcept nogil:
    blocks.block_h = index_at(INT32, block.data, 0)
    blocks.top = index_at(INT32, edges.data, 0)
    blocks.bottom = index_at(INT32, edges.data, 1)
    blocks.block_w = 1
    blocks.left = 0
    blocks.right = 0
    if block.dims[0] == 2:
        blocks.block_w = index_at(INT32, block.data, 1)
        blocks.left = index_at(INT32, edges.data, 2)
        blocks.right = index_at(INT32, edges.data, 3)


cdef int64_t width(const Tensor* tensor) noexcept nogil:
    return tensor.dims[2] if tensor.rank == 4 else 1


cdef bint make_shape(const Tensor* x, int64_t batch, int64_t h, int64_t w, bint counts, int32_t* dims) noexcept nogil:
    """False when a dimension does not fit. `counts`: there may be fewer than no rows or columns as long as TensorFlow's number of bytes
    does not overflow; these are none, then."""
    cdef uint64_t n = 1
    if counts and count_unsigned(&n, batch) and count_unsigned(&n, h) and count_unsigned(&n, w) and (
            count_unsigned(&n, x.dims[x.rank - 1]) and count_unsigned(&n, type_size(x.type))):
        h, w = max(h, 0), max(w, 0)
    if not (0 <= batch <= 0x7FFFFFFF and 0 <= h <= 0x7FFFFFFF and 0 <= w <= 0x7FFFFFFF):
        return False
    dims[0] = <int32_t>batch
    dims[1] = <int32_t>h
    if x.rank == 4:
        dims[2] = <int32_t>w
    dims[x.rank - 1] = x.dims[x.rank - 1]
    return bytes_of(x.type, x.rank, dims) >= 0


cdef const char* plan_space_to_batch(Blocks* blocks, const Tensor* x, int32_t* dims) noexcept nogil:
    cdef int64_t h = x.dims[1] + blocks.top + blocks.bottom
    cdef int64_t w = width(x) + blocks.left + blocks.right
    if blocks.block_h <= 0 or blocks.block_w <= 0:
        return b"block_shape[dim] != 0 was not true, or it is negative"
    if h % blocks.block_h != 0 or w % blocks.block_w != 0:
        return b"final_dim_size % block_shape[dim] != 0"
    if blocks.block_h * blocks.block_w > 0x7FFFFFFF or not make_shape(
            x, x.dims[0] * blocks.block_h * blocks.block_w, h // blocks.block_h, w // blocks.block_w, False, dims):
        return b"a dimension of the output of SPACE_TO_BATCH_ND is negative or too large"
    return NULL


cdef const char* plan_batch_to_space(Blocks* blocks, const Tensor* x, bint counts, int32_t* dims) noexcept nogil:
    cdef int64_t h, w
    if blocks.top < 0 or blocks.bottom < 0 or blocks.left < 0 or blocks.right < 0:
        return b"crops[i] >= 0 was not true"
    if blocks.block_h <= 0 or blocks.block_w <= 0:
        return b"block_shape[dim] != 0 was not true, or it is negative"
    if x.dims[0] % blocks.block_h != 0 or x.dims[0] // blocks.block_h % blocks.block_w != 0:
        return b"output_batch_size % block_shape[dim] != 0"
    h = x.dims[1] * blocks.block_h - blocks.top - blocks.bottom
    w = width(x) * blocks.block_w - blocks.left - blocks.right
    if not make_shape(x, x.dims[0] // blocks.block_h // blocks.block_w, h, w, counts, dims):
        return b"a dimension of the output of BATCH_TO_SPACE_ND is negative or too large"
    return NULL


cdef int prepare_space_to_batch(Context context, Node* node) except -1:
    cdef Blocks* blocks = <Blocks*>context.persistent(sizeof(Blocks))
    cdef int32_t[4] dims
    want_blocks(context, node)
    node.data = blocks
    if not is_constant(context.input(node, 1)) or not is_constant(context.input(node, 2)):
        context.set_dynamic(context.output(node, 0))
        node.invoke = space_to_batch_dynamic
        return want_kernel(context.input(node, 0), "SpaceToBatch")
    read_blocks(blocks, context.input(node, 1), context.input(node, 2))
    accept(plan_space_to_batch(blocks, context.input(node, 0), dims))
    context.set_shape(context.output(node, 0), context.input(node, 0).rank, dims)
    node.invoke = space_to_batch
    return want_kernel(context.input(node, 0), "SpaceToBatch")


cdef int prepare_batch_to_space(Context context, Node* node) except -1:
    cdef Blocks* blocks = <Blocks*>context.persistent(sizeof(Blocks))
    cdef int32_t[4] dims
    want_blocks(context, node)
    node.data = blocks
    if not is_constant(context.input(node, 1)) or not is_constant(context.input(node, 2)):
        context.set_dynamic(context.output(node, 0))
        node.invoke = batch_to_space_dynamic
        return want_kernel(context.input(node, 0), "BatchToSpace")
    read_blocks(blocks, context.input(node, 1), context.input(node, 2))
    accept(plan_batch_to_space(blocks, context.input(node, 0), node.arithmetic != MICRO, dims))
    context.set_shape(context.output(node, 0), context.input(node, 0).rank, dims)
    node.invoke = batch_to_space
    return want_kernel(context.input(node, 0), "BatchToSpace")


cdef int space_to_batch_dynamic(Context context, Node* node) noexcept nogil:
    cdef Blocks* blocks = <Blocks*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef int32_t[4] dims
    cdef const char* refusal
    read_blocks(blocks, context.input(node, 1), context.input(node, 2))
    refusal = plan_space_to_batch(blocks, x, dims)
    if refusal != NULL:
        return context.fail(refusal)
    if context.resize(context.output(node, 0), x.rank, dims) != 0:
        return -1
    return space_to_batch(context, node)


cdef int batch_to_space_dynamic(Context context, Node* node) noexcept nogil:
    cdef Blocks* blocks = <Blocks*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef int32_t[4] dims
    cdef const char* refusal
    read_blocks(blocks, context.input(node, 1), context.input(node, 2))
    refusal = plan_batch_to_space(blocks, x, False, dims)
    if refusal != NULL:
        return context.fail(refusal)
    if context.resize(context.output(node, 0), x.rank, dims) != 0:
        return -1
    return batch_to_space(context, node)


cdef int space_to_batch(Context context, Node* node) noexcept nogil:
    cdef Tensor* y = context.output(node, 0)
    cdef int value = y.zero_point if y.scale_count == 1 and type_size(y.type) == 1 and node.arithmetic != MICRO else 0
    if count(y) == 0:
        return 0
    move_blocks(<const Blocks*>node.data, y, context.input(node, 0), True, value)
    return 0


cdef int batch_to_space(Context context, Node* node) noexcept nogil:
    cdef Tensor* y = context.output(node, 0)
    if count(y) > 0:
        move_blocks(<const Blocks*>node.data, context.input(node, 0), y, False, 0)
    return 0


cdef int64_t first_inside(int64_t edge, int64_t shift, int64_t block) noexcept nogil:
    """The least i >= 0 with i * block + shift >= edge."""
    return (edge - shift + block - 1) // block if edge > shift else 0


cdef struct Rectangle:           # pixels of an image
    int64_t h
    int64_t h_end
    int64_t w
    int64_t w_end


cdef void fill_outside(char* image, const Rectangle* inside, int64_t rows, int64_t columns, int64_t pixel, int value) noexcept nogil:
    """All pixels of an image but those of a rectangle."""
    cdef char* at = image
    cdef char* start
    cdef int64_t h
    if inside.h < inside.h_end and inside.w < inside.w_end:
        for h in range(inside.h, inside.h_end):
            start = image + (h * columns + inside.w) * pixel
            memset(at, value, start - at)
            at = start + (inside.w_end - inside.w) * pixel
    memset(at, value, image + rows * columns * pixel - at)


cdef void move_blocks(const Blocks* blocks, Tensor* batches, Tensor* space, bint to_batches, int value) noexcept nogil:
    """Copy pixel h * block_h + shift_h - top (w alike) of `space` to or from pixel h of batch shift * N + n, whose other pixels get the value."""
    cdef int64_t pixel = space.dims[space.rank - 1] * type_size(space.type)
    cdef int64_t n = space.dims[0]
    cdef int64_t space_h = space.dims[1]
    cdef int64_t space_w = width(space)
    cdef int64_t batch_w = width(batches)
    cdef int64_t batch_bytes = batches.dims[1] * batch_w * pixel
    cdef int64_t shift_h, shift_w, image, near, far
    cdef Rectangle r
    cdef Walk plan
    for shift_h in range(blocks.block_h):
        r.h = first_inside(blocks.top, shift_h, blocks.block_h)
        r.h_end = min(first_inside(blocks.top + space_h, shift_h, blocks.block_h), <int64_t>batches.dims[1])
        for shift_w in range(blocks.block_w):
            r.w = first_inside(blocks.left, shift_w, blocks.block_w)
            r.w_end = min(first_inside(blocks.left + space_w, shift_w, blocks.block_w), batch_w)
            near = (shift_h * blocks.block_w + shift_w) * n * batch_bytes
            for image in range(n if to_batches else 0):
                fill_outside(<char*>batches.data + near + image * batch_bytes, &r, batches.dims[1], batch_w, pixel, value)
            if r.h >= r.h_end or r.w >= r.w_end:
                continue
            near += (r.h * batch_w + r.w) * pixel
            far = ((r.h * blocks.block_h + shift_h - blocks.top) * space_w
                   + r.w * blocks.block_w + shift_w - blocks.left) * pixel
            begin_walk(&plan, pixel)
            if to_batches:
                add_axis(&plan, n, batch_bytes, space_h * space_w * pixel)
                add_axis(&plan, r.h_end - r.h, batch_w * pixel, blocks.block_h * space_w * pixel)
                add_axis(&plan, r.w_end - r.w, pixel, blocks.block_w * pixel)
                finish_walk(&plan)
                walk_copy(&plan, <char*>batches.data + near, <const char*>space.data + far)
            else:
                add_axis(&plan, n, space_h * space_w * pixel, batch_bytes)
                add_axis(&plan, r.h_end - r.h, blocks.block_h * space_w * pixel, batch_w * pixel)
                add_axis(&plan, r.w_end - r.w, blocks.block_w * pixel, pixel)
                finish_walk(&plan)
                walk_copy(&plan, <char*>space.data + far, <const char*>batches.data + near)


OPERATORS = {
    "SPACE_TO_DEPTH": register(prepare_space_to_depth, version=2, reference_version=2),
    "DEPTH_TO_SPACE": register(prepare_depth_to_space, version=2, reference_version=1),
    "SPACE_TO_BATCH_ND": register(prepare_space_to_batch, version=4, reference_version=4),
    "BATCH_TO_SPACE_ND": register(prepare_batch_to_space, version=4, reference_version=4),
}
