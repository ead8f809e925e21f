# tflm_cy: again=avx2
"""RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR (float32, int8, uint8, int16) of images NHWC, the size known before or while invoking.

Nothing is rescaled: input and output are taken to be quantized alike.

Source: LiteRT:tflite/kernels/{resize_bilinear,resize_nearest_neighbor}.cc.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t

from tflm_cy.arithmetic.optimized.resize cimport bilinear_weighted, double_f32, doubles
from tflm_cy.arithmetic.resize cimport bilinear_10, bilinear_f32, nearest_bytes
from tflm_cy.arithmetic.resize_runs cimport MANY_CHANNELS, bilinear_runs
from tflm_cy.arithmetic.shapes cimport Resize
from tflm_cy.graph.context cimport OPTIMIZED, Context, Node, register
from tflm_cy.graph.tensor cimport FLOAT32, INT8, INT16, INT32, UINT8, Tensor, is_constant, type_name, type_size
from tflm_cy.ops.operand cimport adopt_type, expect_arity
from tflm_cy.schema.option_slots cimport (
    RESIZE_BILINEAR_ALIGN_CORNERS, RESIZE_BILINEAR_HALF_PIXEL_CENTERS, RESIZE_NEAREST_NEIGHBOR_ALIGN_CORNERS,
    RESIZE_NEAREST_NEIGHBOR_HALF_PIXEL_CENTERS,
)
from tflm_cy.schema.table cimport table_bool
from tflm_cy.simd.loops cimport ResizeLoop
from tflm_cy.simd.table cimport kernels

from tflm_cy.graph.refusal import LateRefusalError, OwnRefusalError

cdef struct Resizing:
    Resize shape
    int32_t smallest             # size that is accepted
    bint known_size
    bint fixed_point             # nearest neighbours are found in fixed point
    ResizeLoop loop              # for an instruction set, NULL: the scalar definition
    ResizeLoop doubled           # where the size doubles


cdef Resizing* prepare_shapes(Context context, Node* node, int align_corners, int half_pixel_centers, int smallest) except NULL:
    cdef Tensor* x
    cdef Tensor* size
    cdef Tensor* y
    cdef Resizing* r
    cdef bint suits
    expect_arity(context, node, 2, 1)
    x, size, y = context.input(node, 0), context.input(node, 1), context.output(node, 0)
    if x.rank != 4:
        raise ValueError(f"NumDimensions(input) != 4 ({x.rank} != 4)")
    if size.rank != 1 or ((is_constant(size) or smallest == 0) and size.dims[0] != 2):
        raise ValueError("NumDimensions(size) != 1: the size is two numbers, height and width")
    if size.type != INT32:
        raise ValueError(f"size->type != kTfLiteInt32 ({type_name(size.type)} != INT32)")
    adopt_type(y, x.type)
    r = <Resizing*>context.persistent(sizeof(Resizing))
    node.data = r
    r.shape.align_corners = table_bool(node.options, align_corners, False)
    r.shape.half_pixel_centers = table_bool(node.options, half_pixel_centers, False)
    r.smallest = smallest
    r.known_size = is_constant(size)
    if r.known_size:
        suits = fill_shape(r, x, <const int32_t*>size.data)
        if min(r.shape.out_height, r.shape.out_width) < r.smallest:
            raise ValueError("size_data[0] > 0 was not true: an image cannot be resized to nothing")
        resize_output(context, node, r)
        if not suits and r.shape.batches * r.shape.depth > 0:
            raise OwnRefusalError("an image cannot be resized from nothing")
    else:
        context.set_dynamic(y)
        if size.dims[0] != 2:
            raise OwnRefusalError("NumDimensions(size) != 1: the size is two numbers, height and width")
    return r


cdef bint fill_shape(Resizing* r, const Tensor* x, const int32_t* size) noexcept nogil:
    r.shape.batches, r.shape.height, r.shape.width, r.shape.depth = x.dims[0], x.dims[1], x.dims[2], x.dims[3]
    r.shape.out_height, r.shape.out_width = size[0], size[1]
    return size[0] >= r.smallest and size[1] >= r.smallest and (x.dims[1] > 0 and x.dims[2] > 0 or size[0] == 0 or size[1] == 0)


cdef int resize_output(Context context, Node* node, const Resizing* r) except -1:
    cdef int32_t[4] dims
    dims[0], dims[1], dims[2], dims[3] = r.shape.batches, r.shape.out_height, r.shape.out_width, <int32_t>r.shape.depth
    return context.set_shape(context.output(node, 0), 4, dims)


cdef int read_size(Context context, Node* node) noexcept nogil:
    """At the start of invoke: a size that only becomes known now."""
    cdef Resizing* r = <Resizing*>node.data
    cdef int32_t[4] dims
    if r.known_size:
        return 0
    if not fill_shape(r, context.input(node, 0), <const int32_t*>context.input(node, 1).data):
        return context.fail(b"size_data[0] > 0 was not true: an image cannot be resized from or to nothing")
    dims[0], dims[1], dims[2], dims[3] = r.shape.batches, r.shape.out_height, r.shape.out_width, <int32_t>r.shape.depth
    return context.resize(context.output(node, 0), 4, dims)


cdef int want_kernel(const Tensor* x) except -1:
    """When all else is known: TensorFlow looks at the type when it computes."""
    if x.type not in (FLOAT32, INT8, UINT8, INT16):
        raise LateRefusalError(f"Output type is {type_name(x.type)}, requires float, uint8, int8 or int16.")
    return 0


cdef int prepare_bilinear(Context context, Node* node) except -1:
    cdef Resizing* r = prepare_shapes(context, node, RESIZE_BILINEAR_ALIGN_CORNERS, RESIZE_BILINEAR_HALF_PIXEL_CENTERS, 1)
    if r.known_size and r.shape.align_corners and r.shape.half_pixel_centers:
        raise ValueError("If half_pixel_centers is True, align_corners must be False.")
    node.invoke = bilinear_optimized if node.arithmetic == OPTIMIZED else bilinear
    choose_loop(r, context.input(node, 0).type, context.input(node, 0).dims[3], node.arithmetic == OPTIMIZED)
    return want_kernel(context.input(node, 0))


cdef void resize_s8(const Resize* shape, const void* x, void* y) noexcept nogil:
    bilinear_runs(shape, False, <const int8_t*>x, <int8_t*>y)


cdef void resize_u8(const Resize* shape, const void* x, void* y) noexcept nogil:
    bilinear_runs(shape, False, <const uint8_t*>x, <uint8_t*>y)


cdef void resize_u8_weighted(const Resize* shape, const void* x, void* y) noexcept nogil:
    bilinear_runs(shape, True, <const uint8_t*>x, <uint8_t*>y)


cdef void choose_loop(Resizing* r, int type, int64_t depth, bint optimized) noexcept:
    r.loop = r.doubled = NULL
    if kernels().loops.bilinear == NULL:
        return
    if (type == INT8 or type == UINT8) and depth >= MANY_CHANNELS:
        r.loop = NULL
    elif type == INT8:
        r.loop = resize_s8
    elif type == UINT8:
        r.loop = resize_u8_weighted if optimized else resize_u8
    elif type == FLOAT32:
        r.loop = kernels().loops.bilinear_optimized if optimized else kernels().loops.bilinear
    if type == FLOAT32 and optimized:
        r.doubled = kernels().loops.double_f32


cdef int prepare_nearest(Context context, Node* node) except -1:
    cdef Resizing* r = prepare_shapes(context, node, RESIZE_NEAREST_NEIGHBOR_ALIGN_CORNERS, RESIZE_NEAREST_NEIGHBOR_HALF_PIXEL_CENTERS, 0)
    cdef bint plain = not r.shape.align_corners and not r.shape.half_pixel_centers
    r.fixed_point = node.arithmetic == OPTIMIZED and context.input(node, 0).type == UINT8 and plain
    node.invoke = nearest_neighbor
    return want_kernel(context.input(node, 0))


cdef int bilinear(Context context, Node* node) noexcept nogil:
    cdef Resizing* r = <Resizing*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    if read_size(context, node):
        return -1
    if r.loop != NULL:
        r.loop(&r.shape, x.data, y.data)
        return 0
    if x.type == FLOAT32:
        bilinear_f32(&r.shape, <const float*>x.data, <float*>y.data)
    elif x.type == UINT8:
        bilinear_f32(&r.shape, <const uint8_t*>x.data, <uint8_t*>y.data)
    elif x.type == INT8:
        bilinear_10(&r.shape, <const int8_t*>x.data, <int8_t*>y.data)
    else:
        bilinear_10(&r.shape, <const int16_t*>x.data, <int16_t*>y.data)
    return 0


cdef int bilinear_optimized(Context context, Node* node) noexcept nogil:
    cdef Resizing* r = <Resizing*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    if x.type != FLOAT32 and x.type != UINT8:
        return bilinear(context, node)
    if read_size(context, node):
        return -1
    if r.doubled != NULL and doubles(&r.shape):
        r.doubled(&r.shape, x.data, y.data)
        return 0
    if r.loop != NULL:                   # with it goes a kernel for doubled float32 images
        r.loop(&r.shape, x.data, y.data)
        return 0
    if x.type == UINT8:
        bilinear_weighted(&r.shape, <const uint8_t*>x.data, <uint8_t*>y.data)
    elif doubles(&r.shape):
        double_f32(&r.shape, <const float*>x.data, <float*>y.data)
    else:
        bilinear_weighted(&r.shape, <const float*>x.data, <float*>y.data)
    return 0


cdef int nearest_neighbor(Context context, Node* node) noexcept nogil:
    cdef Resizing* r = <Resizing*>node.data
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    if read_size(context, node):
        return -1
    nearest_bytes(&r.shape, r.fixed_point, <const char*>x.data, <char*>y.data, r.shape.depth * type_size(x.type))
    return 0


OPERATORS = {
    "RESIZE_BILINEAR": register(prepare_bilinear, version=4, reference_version=4),
    "RESIZE_NEAREST_NEIGHBOR": register(prepare_nearest, version=4, reference_version=4),
}
