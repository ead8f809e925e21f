"""RANDOM_UNIFORM, RANDOM_STANDARD_NORMAL and MULTINOMIAL, from TensorFlow's generator and the seeds in the file; STABLEHLO_RNG_BIT_GENERATOR.

The generator starts anew in prepare and goes on from invoke to invoke. Of a seed only the lower 32 bits count, as a signed number; two
seeds of 0 mean seeds that nobody knows.
The first two: float32, of an int32 shape. MULTINOMIAL: int32 or int64 from float32 logits [batch, classes] and an int32 number
of samples; its output is dynamic unless both are constant.

STABLEHLO_RNG_BIT_GENERATOR: 32-bit or 64-bit whole numbers from a state that is fed, and the state behind them; Threefry (uint64[2]) or Philox (uint64[2] or
[3], the default).

Source: LiteRT:tflite/kernels/{random_ops,rng_bit_generator,rng_util}.cc.
"""
import os

from libc.math cimport exp
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.philox cimport DRAWS, Philox, box_muller, draw, draw_many, philox, skip, threefry, unit_f32, unit_f64
from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.tensor cimport (
    FLOAT32, INT32, INT64, MAX_RANK, Tensor, UINT32, UINT64, bytes_of, count, is_constant, same_shape, type_name,
)
from tflm_cy.ops.operand cimport accept, expect_arity_between, index_at, operand, result, want_one
from tflm_cy.schema.option_slots cimport RANDOM_SEED, RANDOM_SEED2, STABLEHLO_RNG_BIT_GENERATOR_ALGORITHM
from tflm_cy.schema.table cimport table_i8, table_i64

from tflm_cy.graph.refusal import LateRefusalError

cdef extern from "<math.h>" nogil:
    bint isfinite(double)

cdef enum:
    DEFAULT = 0
    PHILOX = 1
    THREEFRY = 2
    UNKNOWN = -1

cdef struct Source:
    Philox generator
    int32_t normal
    int32_t cumulated            # scratch of MULTINOMIAL
    int32_t dynamic


cdef Source* seeded(Context context, Node* node) except NULL:
    cdef Source* source = <Source*>context.persistent(sizeof(Source))
    cdef int64_t seed = <int32_t>table_i64(node.options, RANDOM_SEED, 0)
    cdef int64_t seed2 = <int32_t>table_i64(node.options, RANDOM_SEED2, 0)
    if seed == 0 and seed2 == 0:
        seed = int.from_bytes(os.urandom(8), "little", signed=True)
        seed2 = int.from_bytes(os.urandom(8), "little", signed=True)
    source.generator = philox(seed, seed2)
    node.data = source
    return source


# ---- RANDOM_UNIFORM, RANDOM_STANDARD_NORMAL
cdef int prepare_numbers(Context context, Node* node, bint normal) except -1:
    cdef int32_t[MAX_RANK] dims
    expect_arity_between(context, node, 1, 1, 1)
    cdef Tensor* shape = operand(context, node, 0)
    cdef Tensor* y = result(context, node, 0)
    if shape.type != INT32 or shape.rank != 1 or shape.dims[0] > MAX_RANK:
        raise ValueError(f"the shape of random numbers must be an INT32 vector of up to {MAX_RANK} dimensions")
    seeded(context, node).normal = normal
    if not is_constant(shape):
        context.set_dynamic(y)
        node.invoke = numbers_dynamic
    else:
        accept(read_shape(shape, dims))
        context.set_shape(y, shape.dims[0], dims)
        node.invoke = numbers
    if y.type != FLOAT32:
        name = "RandomStandardNormal" if normal else "RandomUniform"
        raise LateRefusalError(f"Unsupported output datatype for {name} op: {type_name(y.type)}")
    return 0


cdef const char* read_shape(const Tensor* shape, int32_t* dims) noexcept nogil:
    cdef int d
    for d in range(shape.dims[0]):
        dims[d] = <int32_t>index_at(INT32, shape.data, d)
        if dims[d] < 0:
            return b"a dimension of the shape is negative"
    if bytes_of(FLOAT32, shape.dims[0], dims) < 0:
        return b"the output has too many elements"
    return NULL


cdef int numbers_dynamic(Context context, Node* node) noexcept nogil:
    cdef int32_t[MAX_RANK] dims
    cdef const Tensor* shape = context.input(node, 0)
    cdef const char* refusal = read_shape(shape, dims)
    if refusal != NULL:
        return context.fail(refusal)
    if context.resize(context.output(node, 0), shape.dims[0], dims) != 0:
        return -1
    return numbers(context, node)


cdef int numbers(Context context, Node* node) noexcept nogil:
    cdef Source* source = <Source*>node.data
    cdef Tensor* y = context.output(node, 0)
    cdef float* values = <float*>y.data
    cdef int64_t n = count(y)
    cdef uint32_t[4] bits
    cdef float[4] four
    cdef int64_t i
    cdef int j
    for i in range(0, n, 4):
        draw(&source.generator, bits)
        if source.normal:
            box_muller(bits[0], bits[1], &four[0], &four[1])
            box_muller(bits[2], bits[3], &four[2], &four[3])
        else:
            for j in range(4):
                four[j] = unit_f32(bits[j])
        for j in range(min(<int64_t>4, n - i)):
            values[i + j] = four[j]
    return 0


cdef int prepare_random_uniform(Context context, Node* node) except -1:
    return prepare_numbers(context, node, False)


cdef int prepare_random_standard_normal(Context context, Node* node) except -1:
    return prepare_numbers(context, node, True)


# ---- MULTINOMIAL
cdef int prepare_multinomial(Context context, Node* node) except -1:
    cdef int32_t[2] dims
    cdef Source* source
    expect_arity_between(context, node, 2, 2, 1)
    cdef Tensor* logits = operand(context, node, 0)
    cdef Tensor* samples = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    if logits.type != FLOAT32 or samples.type != INT32:
        raise ValueError("MULTINOMIAL wants FLOAT32 logits and an INT32 number of samples")
    source = seeded(context, node)
    source.dynamic = not (is_constant(logits) and is_constant(samples))
    if source.dynamic:
        context.set_dynamic(y)
    else:
        want_one(samples, "the number of samples of MULTINOMIAL")
        dims[0] = logits.dims[0] if logits.rank > 0 else 0
        dims[1] = <int32_t>index_at(INT32, samples.data, 0)
        if dims[1] < 0:
            raise ValueError("num_samples >= 0 was not true")
        context.set_shape(y, 2, dims)
    if logits.rank != 2 or samples.rank != 0:
        raise LateRefusalError("MULTINOMIAL: NumDimensions(logits) != 2, or a number of samples that is no scalar")
    if y.type != INT32 and y.type != INT64:
        raise LateRefusalError(f"Unsupported output datatype for Multinomial op: {type_name(y.type)}")
    source.cumulated = context.request_scratch(8 * <size_t>logits.dims[1])
    node.invoke = multinomial
    if logits.dims[1] < 1:
        raise LateRefusalError("num_classes > 0 was not true")
    return 0


cdef int multinomial(Context context, Node* node) noexcept nogil:
    cdef Source* source = <Source*>node.data
    cdef Philox generator = source.generator
    cdef const Tensor* logits = context.input(node, 0)
    cdef Tensor* y = context.output(node, 0)
    cdef const float* row = <const float*>logits.data
    cdef double* cumulated = <double*>context.scratch(source.cumulated)
    cdef int32_t[2] dims
    cdef int64_t classes = logits.dims[1]
    cdef int64_t batch, i, place, out
    cdef uint32_t[4] bits
    cdef int used = 4
    cdef double total, wanted
    cdef float largest
    dims[0] = logits.dims[0]
    dims[1] = <int32_t>index_at(INT32, context.input(node, 1).data, 0)
    if dims[1] < 0:
        return context.fail(b"num_samples >= 0 was not true")
    if source.dynamic and context.resize(y, 2, dims) != 0:
        return -1
    skip(&source.generator, <uint64_t>dims[0] * ((<uint64_t>dims[1] + 3) // 4 * 4) * 2 * 256)
    for batch in range(dims[0]):
        largest = <float>-3.4028234663852886e38
        for i in range(classes):
            if isfinite(row[i]) and largest < row[i]:
                largest = row[i]
        total = 0
        for i in range(classes):
            if isfinite(row[i]):
                total += exp(<double>row[i] - <double>largest)
            cumulated[i] = total
        for i in range(dims[1]):
            if used == 4:
                draw(&generator, bits)
                used = 0
            wanted = unit_f64(bits[used], bits[used + 1]) * total
            used += 2
            place = above(cumulated, classes, wanted)
            out = batch * dims[1] + i
            if y.type == INT32:
                (<int32_t*>y.data)[out] = <int32_t>place
            else:
                (<int64_t*>y.data)[out] = place
        row += classes
    return 0


cdef int64_t above(const double* sorted, int64_t n, double x) noexcept nogil:
    """Where the first number above x is; n when there is none."""
    cdef int64_t first = 0
    cdef int64_t half
    while n > 0:
        half = n >> 1
        if x < sorted[first + half]:
            n = half
        else:
            first += half + 1
            n -= half + 1
    return first


# ---- STABLEHLO_RNG_BIT_GENERATOR
cdef int prepare_bits(Context context, Node* node) except -1:
    cdef int algorithm = table_i8(node.options, STABLEHLO_RNG_BIT_GENERATOR_ALGORITHM, 0) if node.options != NULL else UNKNOWN
    expect_arity_between(context, node, 1, 1, 2)
    cdef Tensor* state = operand(context, node, 0)
    cdef Tensor* state_after = result(context, node, 0)
    cdef Tensor* y = result(context, node, 1)
    if state.type != UINT64 or state.rank != 1 or state_after.type != UINT64 or not same_shape(state, state_after):
        raise ValueError("STABLEHLO_RNG_BIT_GENERATOR wants UINT64 vectors of one size as states")
    if y.type != INT32 and y.type != INT64 and y.type != UINT32 and y.type != UINT64:
        raise ValueError(f"Unsupported output data type: {type_name(y.type)}")
    context.set_shape(state_after, 1, state.dims)
    context.set_shape(y, y.rank, y.dims)
    if algorithm != DEFAULT and algorithm != PHILOX and algorithm != THREEFRY:
        raise LateRefusalError(f"Unknown RNG algorithm: {algorithm}")
    if state.dims[0] != 2 and (algorithm == THREEFRY or state.dims[0] != 3):
        raise LateRefusalError(f"SizeOfDimension(initial_state, 0): a state of {state.dims[0]} numbers is not one of this generator")
    node.invoke = threefry_bits if algorithm == THREEFRY else philox_bits
    return 0


cdef int philox_bits(Context context, Node* node) noexcept nogil:
    cdef const Tensor* state = context.input(node, 0)
    cdef uint32_t* state_after = <uint32_t*>context.output(node, 0).data
    cdef char* y = <char*>context.output(node, 1).data
    cdef int64_t left = <int64_t>context.output(node, 1).bytes
    cdef uint32_t[6] words
    cdef uint32_t[4 * DRAWS] bits
    cdef uint64_t counter
    cdef Philox g
    memcpy(words, state.data, state.bytes)
    g.key[0], g.key[1] = words[0], words[1]
    g.counter[0], g.counter[1] = words[2], words[3]
    if state.dims[0] == 2:
        words[4], words[5] = words[0], words[1]
    g.counter[2], g.counter[3] = words[4], words[5]          # the lower half counts without a carry
    while left > 0:
        draw_many(&g, bits)
        memcpy(y, bits, min(left, <int64_t>sizeof(bits)))
        counter = <uint64_t>g.counter[1] << 32 | g.counter[0]
        counter += <uint64_t>min((left + 15) // 16, <int64_t>DRAWS)
        g.counter[0], g.counter[1] = <uint32_t>counter, <uint32_t>(counter >> 32)
        y += sizeof(bits)
        left -= sizeof(bits)
    memcpy(state_after, state.data, state.bytes)
    state_after[2] = g.counter[0]
    state_after[3] = g.counter[1]
    return 0


cdef int threefry_bits(Context context, Node* node) noexcept nogil:
    cdef uint32_t* state_after = <uint32_t*>context.output(node, 0).data
    cdef char* y = <char*>context.output(node, 1).data
    cdef int64_t left = <int64_t>context.output(node, 1).bytes
    cdef uint32_t[4] words
    cdef uint32_t[2 * DRAWS] bits
    cdef uint64_t counter
    memcpy(words, context.input(node, 0).data, 16)
    counter = <uint64_t>words[3] << 32 | words[2]
    while left > 0:
        threefry(words, counter, bits)
        memcpy(y, bits, min(left, <int64_t>sizeof(bits)))
        counter += <uint64_t>min((left + 7) // 8, <int64_t>DRAWS)
        y += sizeof(bits)
        left -= sizeof(bits)
    words[2], words[3] = <uint32_t>counter, <uint32_t>(counter >> 32)
    memcpy(state_after, words, 16)
    return 0


OPERATORS = {
    "MULTINOMIAL": register(prepare_multinomial, version=1, reference_version=1),
    "RANDOM_STANDARD_NORMAL": register(prepare_random_standard_normal, version=1, reference_version=1),
    "RANDOM_UNIFORM": register(prepare_random_uniform, version=1, reference_version=1),
    "STABLEHLO_RNG_BIT_GENERATOR": register(prepare_bits, version=1, reference_version=1),
}
