# tflm_cy: again=avx2
"""CAST: float32, float64, float16, bfloat16, complex64 (its real part), bool, int8 to int64 and uint8 to uint32, each to each; int4 from
and to float32. REAL, IMAG, COMPLEX_ABS: complex64, complex128.

What happens to values that the new type does not hold is told in `arithmetic.cast`.

Source: LiteRT:tflite/kernels/{cast,complex_support}.cc.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t

from tflm_cy.arithmetic.cast cimport (
    CAST_BLOCK, Integral, LoadReal, LoadWhole, StoreReal, StoreWhole, complex_to_f32, f32_to_bool, f32_to_complex, f32_to_f16,
    f32_to_low_bits, f32_to_s16, f32_to_s16_tail, f32_to_s32, f32_to_s64, f32_to_s8, f32_to_u16, f32_to_u32, f32_to_u32_tail, f32_to_u8,
    f64_to_f32, load_4, load_bfloat, load_complex, load_f32, load_f64, load_half, load_whole, store_4, store_bfloat, store_bool, store_complex,
    store_f32, store_f64, store_half, store_s16, store_s32, store_s64, store_s8, store_u16, store_u32, store_u8, store_whole,
    store_whole_bfloat, store_whole_bool, store_whole_complex, store_whole_f32, store_whole_f64, store_whole_half, whole_to_bool,
    whole_to_f32, whole_to_whole,
)
from tflm_cy.arithmetic.cast_neon cimport f32_to_u16_neon, f32_to_u32_neon, store_low_bits, store_s64_neon, store_u32_neon
from tflm_cy.arithmetic.half cimport halves_to_f32
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.micro.cast cimport store_nearest_s16, store_nearest_s32, store_nearest_s8, store_nearest_u32
from tflm_cy.arithmetic.pointwise cimport complex_magnitude, every_second
from tflm_cy.arithmetic.signatures cimport UnaryKernel
from tflm_cy.arithmetic.truths cimport load_truths, truths_to_f32
from tflm_cy.graph.context cimport MICRO, Context, Node, register
from tflm_cy.graph.tensor cimport (
    BFLOAT16, BOOL, COMPLEX64, COMPLEX128, FLOAT16, FLOAT32, FLOAT64, INT4, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, Tensor, count, type_name,
    type_size,
)
from tflm_cy.ops.elementwise cimport Unary, prepare_unary
from tflm_cy.ops.operand cimport expect_arity, operand
from tflm_cy.ops.value_space cimport Values, share_single, values_of_units
from tflm_cy.platform.long_copy cimport copy_bytes
from tflm_cy.simd.table cimport kernels

ctypedef void (*Direct)(const void* x, void* y, int64_t n) noexcept nogil

cdef struct Cast:
    int64_t count
    int64_t whole                # values in whole vector blocks
    int32_t x_half_bytes         # of a value, times 2: int4 has 1
    int32_t y_half_bytes
    LoadWhole load_whole
    StoreWhole store_whole
    LoadReal load_real
    StoreReal store_real
    Direct direct                # whole vector blocks; NULL: by way of a block
    Direct tail                  # and what is left; NULL: `direct`, too


cdef LoadWhole load_whole_from(int type) noexcept nogil:
    if type == INT8:
        return <LoadWhole>load_whole[int8_t]
    if type == UINT8 or type == BOOL:
        return <LoadWhole>load_whole[uint8_t]
    if type == INT16:
        return <LoadWhole>load_whole[int16_t]
    if type == UINT16:
        return <LoadWhole>load_whole[uint16_t]
    if type == INT32:
        return <LoadWhole>load_whole[int32_t]
    if type == UINT32:
        return <LoadWhole>load_whole[uint32_t]
    if type == INT64:
        return <LoadWhole>load_whole[int64_t]
    return NULL


cdef LoadReal load_real_from(int type) noexcept nogil:
    if type == FLOAT32:
        return <LoadReal>load_f32
    if type == FLOAT64:
        return <LoadReal>load_f64
    if type == FLOAT16:
        return <LoadReal>load_half
    if type == BFLOAT16:
        return <LoadReal>load_bfloat
    if type == COMPLEX64:
        return <LoadReal>load_complex
    if type == INT4:
        return <LoadReal>load_4
    return NULL


cdef StoreWhole store_whole_as(int type) noexcept nogil:
    if type == INT8 or type == UINT8:
        return <StoreWhole>store_whole[uint8_t]
    if type == INT16 or type == UINT16:
        return <StoreWhole>store_whole[uint16_t]
    if type == INT32 or type == UINT32:
        return <StoreWhole>store_whole[uint32_t]
    if type == INT64:
        return <StoreWhole>store_whole[int64_t]
    if type == BOOL:
        return <StoreWhole>store_whole_bool
    if type == FLOAT32:
        return <StoreWhole>store_whole_f32
    if type == FLOAT64:
        return <StoreWhole>store_whole_f64
    if type == FLOAT16:
        return <StoreWhole>store_whole_half
    if type == BFLOAT16:
        return <StoreWhole>store_whole_bfloat
    if type == COMPLEX64:
        return <StoreWhole>store_whole_complex
    return NULL


cdef StoreReal store_real_neon(int type) noexcept nogil:
    """On aarch64, where that differs."""
    if type == INT8 or type == UINT8:
        return <StoreReal>store_low_bits[uint8_t]
    if type == INT16 or type == UINT16:
        return <StoreReal>store_low_bits[uint16_t]
    if type == INT32:
        return <StoreReal>store_low_bits[uint32_t]
    if type == UINT32:
        return <StoreReal>store_u32_neon
    return <StoreReal>store_s64_neon if type == INT64 else NULL


cdef StoreReal store_real_as(int type) noexcept nogil:
    if AARCH64 and store_real_neon(type) != NULL:
        return store_real_neon(type)
    if type == INT8:
        return <StoreReal>store_s8
    if type == UINT8:
        return <StoreReal>store_u8
    if type == INT16:
        return <StoreReal>store_s16
    if type == UINT16:
        return <StoreReal>store_u16
    if type == INT32:
        return <StoreReal>store_s32
    if type == UINT32:
        return <StoreReal>store_u32
    if type == INT64:
        return <StoreReal>store_s64
    if type == BOOL:
        return <StoreReal>store_bool
    if type == FLOAT32:
        return <StoreReal>store_f32
    if type == FLOAT64:
        return <StoreReal>store_f64
    if type == FLOAT16:
        return <StoreReal>store_half
    if type == BFLOAT16:
        return <StoreReal>store_bfloat
    if type == COMPLEX64:
        return <StoreReal>store_complex
    return NULL


cdef Direct whole_from(Integral* _source, int y) noexcept nogil:
    if y == INT8 or y == UINT8:
        return <Direct>whole_to_whole[Integral, uint8_t]
    if y == INT16 or y == UINT16:
        return <Direct>whole_to_whole[Integral, uint16_t]
    if y == INT32 or y == UINT32:
        return <Direct>whole_to_whole[Integral, uint32_t]
    if y == INT64:
        return <Direct>whole_to_whole[Integral, int64_t]
    if y == FLOAT32:
        return <Direct>whole_to_f32[Integral]
    return NULL


cdef Direct bool_from(int x) noexcept nogil:
    if type_size(x) == 1:
        return <Direct>whole_to_bool[uint8_t]
    if type_size(x) == 2:
        return <Direct>whole_to_bool[uint16_t]
    return <Direct>whole_to_bool[uint32_t] if type_size(x) == 4 else <Direct>whole_to_bool[int64_t]


cdef Direct direct_from_whole(int x, int y) noexcept nogil:
    if y == BOOL:
        return bool_from(x)
    if x == INT8:
        return whole_from(<int8_t*>NULL, y)
    if x == UINT8 or x == BOOL:
        return whole_from(<uint8_t*>NULL, y)
    if x == INT16:
        return whole_from(<int16_t*>NULL, y)
    if x == UINT16:
        return whole_from(<uint16_t*>NULL, y)
    if x == INT32:
        return whole_from(<int32_t*>NULL, y)
    return whole_from(<uint32_t*>NULL, y) if x == UINT32 else whole_from(<int64_t*>NULL, y)


cdef Direct direct_from_f32_neon(int y) noexcept nogil:
    """On aarch64, where that differs."""
    if y == INT8:
        return <Direct>f32_to_low_bits[uint8_t]
    if y == INT16:
        return <Direct>f32_to_s16_tail
    if y == UINT16:
        return <Direct>f32_to_u16_neon
    return <Direct>f32_to_u32_neon if y == UINT32 else NULL


cdef Direct direct_from_f32(int y) noexcept nogil:
    if AARCH64 and direct_from_f32_neon(y) != NULL:
        return direct_from_f32_neon(y)
    if y == INT8:
        return <Direct>f32_to_s8
    if y == UINT8:
        return <Direct>f32_to_u8
    if y == INT16:
        return <Direct>f32_to_s16
    if y == UINT16:
        return <Direct>f32_to_u16
    if y == INT32:
        return <Direct>f32_to_s32
    if y == UINT32:
        return <Direct>f32_to_u32
    if y == INT64:
        return <Direct>f32_to_s64
    if y == FLOAT64:
        return <Direct>load_f32
    if y == FLOAT16:
        return <Direct>f32_to_f16
    if y == BOOL:
        return <Direct>f32_to_bool
    return <Direct>f32_to_complex if y == COMPLEX64 else NULL


cdef Direct tail_from_f32(int y) noexcept nogil:
    """Where it is converted otherwise than whole blocks."""
    if AARCH64:
        return <Direct>f32_to_low_bits[uint16_t] if y == UINT16 else NULL
    if y == INT8:
        return <Direct>f32_to_low_bits[uint8_t]
    if y == UINT16:
        return <Direct>f32_to_low_bits[uint16_t]
    if y == INT16:
        return <Direct>f32_to_s16_tail
    return <Direct>f32_to_u32_tail if y == UINT32 else NULL


cdef UnaryKernel widen_halves = NULL


cdef void direct_halves(const void* x, void* y, int64_t n) noexcept nogil:
    if widen_halves != NULL:
        widen_halves(NULL, x, y, n)
    else:
        halves_to_f32(NULL, <const uint16_t*>x, <float*>y, n)


cdef Direct direct_from(int x, int y) except? NULL:
    """A loop of its own for what models do."""
    global widen_halves
    widen_halves = kernels().bytes.widen_halves
    if x == FLOAT32:
        return direct_from_f32(y)
    if load_whole_from(x) != NULL:
        return direct_from_whole(x, y)
    if x == COMPLEX64 and y == FLOAT32:
        return <Direct>complex_to_f32
    if x == FLOAT64 and y == FLOAT32:
        return <Direct>f64_to_f32
    if x == FLOAT16 and y == FLOAT32:
        return direct_halves
    return NULL


cdef int64_t values_in_blocks(int x, int y, int64_t n) noexcept nogil:
    """How many of n values TensorFlow's vector code converts: blocks of 32 from float32, of 16 from float64 and float16.

    On aarch64, where that shows: blocks of 16 to 16 bits, else of 8.
    """
    cdef int64_t block = 32 if x == FLOAT32 else 16
    cdef int64_t fewest = block
    if AARCH64:
        return 0 if x != FLOAT32 and x != FLOAT64 else n - n % 16 if type_size(y) == 2 else n - n % 8
    if x != FLOAT32 and x != FLOAT64 and x != FLOAT16:
        return 0
    if x != FLOAT32 and (y == INT8 or y == UINT8):
        fewest = 24
    elif x == FLOAT16 and y == UINT32:
        fewest = 28
    return n - n % block if n >= fewest else 0


cdef void use_nearest(Cast* cast, int source, int type) noexcept nogil:
    """TFLM's conversions of float32 to integers."""
    if source == FLOAT16:
        cast.direct = NULL
        return
    if type in (INT8, INT16, INT32, UINT32):
        cast.direct = NULL
    if type == INT8:
        cast.store_real = <StoreReal>store_nearest_s8
    elif type == INT16:
        cast.store_real = <StoreReal>store_nearest_s16
    elif type == UINT32:
        cast.store_real = <StoreReal>store_nearest_u32
    elif type == INT32:
        cast.store_real = <StoreReal>store_nearest_s32


cdef bint keeps_bits(int x, int y) noexcept nogil:
    """The same type, or integers as long as each other; bool only as the source."""
    if (x == INT8 or x == UINT8 or x == BOOL) and (y == INT8 or y == UINT8):
        return True
    if (x == INT16 or x == UINT16) and (y == INT16 or y == UINT16):
        return True
    if (x == INT32 or x == UINT32) and (y == INT32 or y == UINT32):
        return True
    return x == y


cdef int prepare(Context context, Node* node) except -1:
    cdef Tensor* x
    cdef Tensor* y
    cdef Cast* cast
    expect_arity(context, node, 1, 1)
    x = operand(context, node, 0)
    y = context.output(node, 0)
    context.set_shape(y, x.rank, x.dims)
    cast = <Cast*>context.persistent(sizeof(Cast))
    cast.count = count(x)
    cast.whole = values_in_blocks(x.type, y.type, cast.count)
    cast.x_half_bytes = 2 * type_size(x.type) if x.type != INT4 else 1
    cast.y_half_bytes = 2 * type_size(y.type) if y.type != INT4 else 1
    cast.load_whole = load_whole_from(x.type)
    cast.load_real = load_real_from(x.type)
    cast.store_whole = store_whole_as(y.type)
    cast.store_real = store_real_as(y.type)
    cast.direct = direct_from(x.type, y.type)
    if x.type == BOOL and node.arithmetic != MICRO and y.type in (FLOAT16, FLOAT32, FLOAT64, BFLOAT16, COMPLEX64):
        cast.load_whole = <LoadWhole>load_truths
        cast.direct = <Direct>truths_to_f32 if y.type == FLOAT32 else NULL
    cast.tail = tail_from_f32(y.type) if x.type == FLOAT32 else NULL
    if node.arithmetic == MICRO and (x.type == FLOAT32 or x.type == FLOAT16):     # vector kernels may not write over the input
        use_nearest(cast, x.type, y.type)
    node.data = cast
    if keeps_bits(x.type, y.type) and (cast.load_whole != NULL or cast.load_real != NULL) and x.type != INT4 and x.type != FLOAT16:
        node.invoke = copy
    elif cast.direct != NULL:
        node.invoke = convert_directly
        share_single(context, node, 0, convert_range, 0.1)
    elif cast.load_whole != NULL and cast.store_whole != NULL:
        node.invoke = convert_whole
    elif x.type == FLOAT32 and y.type == INT4:
        cast.store_real = <StoreReal>store_4
        node.invoke = convert_real
    elif cast.load_real != NULL and cast.store_real != NULL and (x.type != INT4 or y.type == FLOAT32):
        node.invoke = convert_real
    else:
        raise ValueError(f"Type {type_name(y.type if cast.load_whole or cast.load_real else x.type)} is unsupported by op Cast.")
    return 0


cdef int copy(Context context, Node* node) noexcept nogil:
    cdef const Cast* cast = <const Cast*>node.data
    if cast.count > 0:
        copy_bytes(context.output(node, 0).data, context.input(node, 0).data, cast.count * cast.x_half_bytes / 2)
    return 0


cdef int convert_directly(Context context, Node* node) noexcept nogil:
    cdef const Cast* cast = <const Cast*>node.data
    convert(cast, <const char*>context.input(node, 0).data, <char*>context.output(node, 0).data, 0, cast.count)
    return 0


cdef inline void convert(const Cast* cast, const char* x, char* y, int64_t first, int64_t end) noexcept nogil:
    cdef int64_t body = end if cast.tail == NULL else max(first, min(end, cast.whole))
    x += first * (cast.x_half_bytes / 2)
    y += first * (cast.y_half_bytes / 2)
    cast.direct(x, y, body - first)
    if body < end:
        cast.tail(x + (body - first) * (cast.x_half_bytes / 2), y + (body - first) * (cast.y_half_bytes / 2), end - body)


cdef void convert_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef Values values = values_of_units(context.output(node, 0), first, end)
    convert(
        <const Cast*>node.data, <const char*>context.input(node, 0).data, <char*>context.output(node, 0).data, values.first,
        values.first + values.count)


cdef int convert_whole(Context context, Node* node) noexcept nogil:
    cdef const Cast* cast = <const Cast*>node.data
    cdef int64_t block[CAST_BLOCK]
    cdef const char* x = <const char*>context.input(node, 0).data
    cdef char* y = <char*>context.output(node, 0).data
    cdef int64_t done = 0
    cdef int64_t n
    while done < cast.count:
        n = min(cast.count - done, <int64_t>CAST_BLOCK)
        cast.load_whole(x + done * cast.x_half_bytes / 2, block, n)
        cast.store_whole(block, y + done * cast.y_half_bytes / 2, n)
        done += n
    return 0


cdef int convert_real(Context context, Node* node) noexcept nogil:
    cdef const Cast* cast = <const Cast*>node.data
    cdef double block[CAST_BLOCK]
    cdef const char* x = <const char*>context.input(node, 0).data
    cdef char* y = <char*>context.output(node, 0).data
    cdef int64_t done = 0
    cdef int64_t n, whole
    while done < cast.count:
        n = min(cast.count - done, <int64_t>CAST_BLOCK)
        whole = max(<int64_t>0, min(n, cast.whole - done))
        cast.load_real(x + done * cast.x_half_bytes / 2, block, n)
        cast.store_real(block, y + done * cast.y_half_bytes / 2, n, whole)
        done += n
    return 0


# ---- complex numbers
cdef Unary* prepare_complex(Context context, Node* node, str name) except NULL:
    cdef Tensor* x = operand(context, node, 0)
    cdef Unary* op = prepare_unary(context, node)
    if x.type != COMPLEX64 and x.type != COMPLEX128:
        raise ValueError(f"Type {type_name(x.type)} is not supported by {name}.")
    if context.output(node, 0).type != (FLOAT32 if x.type == COMPLEX64 else FLOAT64):
        raise ValueError(f"{name}: output->type of {type_name(x.type)} cannot be {type_name(context.output(node, 0).type)}")
    return op


cdef int prepare_real(Context context, Node* node) except -1:
    cdef Unary* op = prepare_complex(context, node, "Real")
    op.kernel = <UnaryKernel>every_second[float] if context.input(node, 0).type == COMPLEX64 else <UnaryKernel>every_second[double]
    return 0


cdef int prepare_imag(Context context, Node* node) except -1:
    prepare_real(context, node)
    node.invoke = imaginary
    return 0


cdef int imaginary(Context context, Node* node) noexcept nogil:
    cdef const Unary* op = <const Unary*>node.data
    cdef const Tensor* x = context.input(node, 0)
    if op.count > 0:
        op.kernel(NULL, <const char*>x.data + type_size(x.type) // 2, context.output(node, 0).data, op.count)
    return 0


cdef int prepare_complex_abs(Context context, Node* node) except -1:
    cdef Unary* op = prepare_complex(context, node, "ComplexAbs")
    if context.input(node, 0).type == COMPLEX64:
        op.kernel = <UnaryKernel>complex_magnitude[float]
    else:
        op.kernel = <UnaryKernel>complex_magnitude[double]
    return 0


OPERATORS = {
    "CAST": register(prepare, version=8),
    "COMPLEX_ABS": register(prepare_complex_abs, version=1, reference_version=1),
    "IMAG": register(prepare_imag, version=1, reference_version=1),
    "REAL": register(prepare_real, version=1, reference_version=1),
}
