"""TFLM_DECODE: what `tflite_micro.compression` puts in front of the readers of a compressed constant. TFLM only.

inputs: (encoded values, how they are encoded) per output, all constants. The second, `ancillary`, begins with 16 bytes:

| byte | |
| --- | --- |
| 0, 1 | method (0: look-up tables, 1: Huffman, 2: pruning), version 1 |
| 4 | version 1 of the method |
| 5 | look-up tables: bits 0-2 are the bits of an index; Huffman: bit 0 says 32-bit entries, bits 4-7 are the bits looked up first, less one |
| 6 | look-up tables: values from one channel's table to the next |

Look-up tables and pruning go by the output's scales: as many channels, along axis 0 or the last one. Byte 5 names an axis, too, which no
kernel of TFLM looks at: where the compressor made one table for a tensor with a scale per channel, TFLM reads the bytes behind it in the
file as the tables of the other channels, and so does this.

Source: tensorflow/tflite-micro:tensorflow/lite/micro/kernels/{decode,decode_state_lut,decode_state_prune,decode_state_huffman}.cc, and
what the tflite_micro package does.
"""
from libc.stddef cimport size_t
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from tflm_cy.arithmetic.micro.decode cimport SHORT_ENCODED, SHORT_TABLES, Channels, expand_codes, fill_in, look_up
from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.file_range cimport readable_from
from tflm_cy.graph.tensor cimport (
    BOOL, FLOAT32, INT8, INT16, INT32, INT64, Tensor, count, is_constant, shape_of, type_name, type_size,
)
from tflm_cy.ops.operand cimport operand, result

cdef enum:
    LOOK_UP_TABLES = 0
    HUFFMAN = 1
    PRUNING = 2
    HEADER = 16
    VERSION = 1
    UNSUPPORTED_TYPE = -3

cdef struct Constant:            # one output of a node
    int method
    int unit                     # bytes of a value; 0: TFLM fails when it runs
    Channels channels
    int width                    # of an index, or of what is looked up first
    bint wide                    # entries of 32 bits
    int64_t stride
    const uint8_t* encoded
    size_t encoded_bytes
    size_t encoded_readable
    const uint8_t* tables
    size_t table_bytes
    int32_t* zero_points


cdef int prepare(Context context, Node* node) except -1:
    cdef Constant* constants
    cdef int i
    if node.output_count == 0 or node.input_count != 2 * node.output_count:
        raise ValueError(f"TFLM_DECODE has {node.input_count} inputs for {node.output_count} outputs: two for each are wanted, one at least")
    constants = <Constant*>context.persistent(node.output_count * sizeof(Constant))
    for i in range(node.output_count):
        prepare_constant(context, node, i, &constants[i])
    node.data = constants
    node.invoke = decode
    return 0


cdef int prepare_constant(Context context, const Node* node, int i, Constant* c) except -1:
    cdef const Tensor* encoded = operand(context, node, 2 * i)
    cdef const Tensor* ancillary = operand(context, node, 2 * i + 1)
    cdef const Tensor* y = result(context, node, i)
    cdef const uint8_t* header = <const uint8_t*>ancillary.data
    cdef int64_t bits
    if not is_constant(encoded) or not is_constant(ancillary):
        raise ValueError(f"tensors {encoded.index} and {ancillary.index} must be constants: what is decoded lies in the file")
    if ancillary.bytes < HEADER:
        raise ValueError(f"tensor {ancillary.index} says in {ancillary.bytes} bytes how tensor {encoded.index} is encoded, {HEADER} are the least")
    if header[1] != VERSION or header[4] != VERSION:
        raise ValueError(f"tensor {ancillary.index} has version {header[1]} and its method version {header[4]}, both must be {VERSION}")
    c.method = header[0]
    c.encoded = <const uint8_t*>encoded.data
    c.encoded_bytes = encoded.bytes
    c.encoded_readable = readable_from(context, encoded)
    c.tables = header + HEADER
    c.table_bytes = ancillary.bytes - HEADER
    c.channels = Channels(count=count(y), channels=1, run=count(y))
    c.unit = type_size(y.type) if y.type in (BOOL, FLOAT32, INT8, INT16, INT32, INT64) else 0
    if c.method == LOOK_UP_TABLES:
        c.width = header[5] & 7
        c.stride = header[6]
        c.table_bytes = readable_from(context, ancillary) - HEADER
        bits = c.width * c.channels.count
        divide_channels(y, &c.channels)
    elif c.method == PRUNING:
        bits = c.channels.count
        divide_channels(y, &c.channels)
        prepare_zero_points(context, y, c)
    elif c.method == HUFFMAN:
        c.wide = header[5] & 1
        c.width = 1 + (header[5] >> 4)
        bits = 0                                  # its codes tell
        c.unit = c.unit if y.type == INT8 or y.type == INT16 else 0
        if not c.wide and y.type != INT8:
            raise ValueError(f"Huffman tables of 16-bit entries are for INT8, output {y.index} is {type_name(y.type)}")
    else:
        raise ValueError(f"tensor {ancillary.index} names method {c.method}: TFLM has 0 (look-up tables), 1 (Huffman) and 2 (pruning)")
    if (bits + 7) // 8 > <int64_t>c.encoded_bytes:
        raise ValueError(shortage(SHORT_ENCODED, encoded, ancillary, y))
    if c.channels.count // 8 <= <int64_t>c.encoded_bytes and c.unit:
        raise_shortage(expand(c, NULL), encoded, ancillary, y)
    return 0


cdef int divide_channels(const Tensor* y, Channels* c) except -1:
    """By the scales of the output."""
    if y.scale_count == 0 or y.zero_point_count == 0:
        return 0
    c.channels = y.scale_count
    c.run = c.count // c.channels
    if y.quantized_dimension == y.rank - 1 and c.channels > 1:
        c.run = 1
    elif y.quantized_dimension != 0:
        raise ValueError(f"output {y.index} of shape {shape_of(y)} is quantized along axis {y.quantized_dimension}: TFLM decodes along the first or last")
    if c.count % c.channels:
        raise ValueError(f"output {y.index} of shape {shape_of(y)} cannot be divided into {c.channels} channels")
    return 0


cdef int prepare_zero_points(Context context, const Tensor* y, Constant* c) except -1:
    cdef int i
    if y.scale_count == 0 or y.zero_point_count == 0:
        return 0
    c.zero_points = <int32_t*>context.persistent(c.channels.channels * sizeof(int32_t))
    for i in range(min(y.scale_count, y.zero_point_count)):
        if y.type != INT8 and y.zero_points[i] != 0:
            raise ValueError(f"output {y.index} of type {type_name(y.type)} has zero point {y.zero_points[i]}: all zero-points must be zero")
        c.zero_points[i] = <int8_t>y.zero_points[i]
    return 0


cdef str shortage(int why, const Tensor* encoded, const Tensor* ancillary, const Tensor* y):
    if why == SHORT_ENCODED:
        return f"the {encoded.bytes} bytes of tensor {encoded.index} end before the {count(y)} values of output {y.index} are decoded: the file is damaged"
    return f"tensor {encoded.index} leads behind the tables in tensor {ancillary.index} of {ancillary.bytes} bytes: the file is damaged"


cdef int raise_shortage(int why, const Tensor* encoded, const Tensor* ancillary, const Tensor* y) except -1:
    if why != 0:
        raise ValueError(shortage(why, encoded, ancillary, y))
    return 0


cdef int expand(const Constant* c, void* y) noexcept nogil:
    """All values; y == NULL: whether it can be done."""
    if c.unit == 0:
        return UNSUPPORTED_TYPE
    if c.unit == 1:
        return expand_words[uint8_t](c, <uint8_t*>y)
    if c.unit == 2:
        return expand_words[uint16_t](c, <uint16_t*>y)
    if c.unit == 4:
        return expand_words[uint32_t](c, <uint32_t*>y)
    return expand_words[uint64_t](c, <uint64_t*>y)


ctypedef fused Value:
    uint8_t
    uint16_t
    uint32_t
    uint64_t


cdef int expand_words(const Constant* c, Value* y) noexcept nogil:
    if c.method == LOOK_UP_TABLES:
        return look_up(&c.channels, c.encoded, c.width, c.stride, c.tables, c.table_bytes, y)
    if c.method == PRUNING:
        return fill_in(&c.channels, c.encoded, c.zero_points, c.tables, c.table_bytes, y)
    return expand_codes(
        c.channels.count, c.encoded, c.encoded_bytes, c.encoded_readable, c.width, c.wide, c.tables, c.table_bytes, y)


cdef int decode(Context context, Node* node) noexcept nogil:
    cdef const Constant* constants = <const Constant*>node.data
    cdef int i, why
    for i in range(node.output_count):
        why = expand(&constants[i], context.output(node, i).data)
        if why == UNSUPPORTED_TYPE:
            return context.fail(b"TFLM_DECODE: TFLM does not decode values of this type.")
        if why == SHORT_ENCODED:
            return context.fail(b"TFLM_DECODE: the encoded tensor ends before all values are decoded: the file is damaged.")
        if why == SHORT_TABLES:
            return context.fail(b"TFLM_DECODE: the encoded tensor leads behind the tables: the file is damaged.")
    return 0


MICRO_OPERATORS = {
    "TFLM_DECODE": register(prepare, version=1),
}
