# tflm_cy: optimize=speed
"""The XNNPACK datatype of a tensor, or none: here the values of scales and zero points are looked at.

| type | wants |
| --- | --- |
| int8, uint8 with one scale | a normal positive scale, a zero point inside of the type |
| int8, int4, int2 with several | as many as the quantized dimension is long, zero points 0 (int4: all 0 or 8) |
| int32 | scales along dimension 0, zero points 0 |
| int4 with blockwise scales | normal positive float16 scales, one per row and block |

Source: LiteRT:tflite/delegates/xnnpack/quantization_util.cc, xnnpack_delegate.cc.
"""
from libc.stdint cimport uint8_t, uint16_t
from libc.string cimport memcpy

from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport CONSTANT, FLOAT16, FLOAT32, INT2, INT4, INT8, INT32, UINT8, Tensor, count
from tflm_cy.schema.slots cimport (
    BLOCKWISE_BLOCK_SIZE, BLOCKWISE_SCALES, QUANTIZATION_DETAILS, QUANTIZATION_DETAILS_TYPE, SUBGRAPH_TENSORS, TENSOR_QUANTIZATION,
)
from tflm_cy.schema.table cimport table_i32, table_table, table_u8, table_vector, vector_table

cdef enum:
    BLOCKWISE = 2                # of the union QuantizationDetails


cdef const uint8_t* blockwise(Subgraph g, const Tensor* t) noexcept:
    """The table of blockwise scales, NULL when there is none."""
    cdef const uint8_t* table = table_table(vector_table(table_vector(g.table, SUBGRAPH_TENSORS), g.file_index(t.index)), TENSOR_QUANTIZATION)
    if table == NULL or table_u8(table, QUANTIZATION_DETAILS_TYPE, 0) != BLOCKWISE:
        return NULL
    return table_table(table, QUANTIZATION_DETAILS)


cdef bint has_blockwise(Subgraph g, const Tensor* t) except -1:
    return blockwise(g, t) != NULL


cdef int block_size(Subgraph g, const Tensor* t) except? -1:
    return table_i32(blockwise(g, t), BLOCKWISE_BLOCK_SIZE, 0)


cdef int zero_point_0(const Tensor* t) noexcept:
    return t.zero_points[0] if t.zero_point_count > 0 else 0


cdef float single_scale(const Tensor* t) noexcept:
    """The scale of a per-tensor quantization, 0 of any other."""
    return t.scale if t.scale_count == 1 else 0


cdef int single_zero_point(const Tensor* t) noexcept:
    return zero_point_0(t) if t.scale_count == 1 else 0


cdef bint same_parameters(const Tensor* a, const Tensor* b) noexcept:
    return single_scale(a) == single_scale(b) and single_zero_point(a) == single_zero_point(b)


cdef int blockwise_datatype(Subgraph g, const Tensor* t) except -1:
    cdef int scales = table_i32(blockwise(g, t), BLOCKWISE_SCALES, 0)
    cdef const Tensor* s
    cdef uint16_t bits
    cdef long i
    if t.type != INT4 or not 0 <= scales < g.tensor_count:
        return NO_DATATYPE
    s = &g.tensors[scales]
    if s.type != FLOAT16 or s.allocation != CONSTANT or count(s) <= 0 or count(t) // count(s) != block_size(g, t):
        return NO_DATATYPE
    for i in range(min(count(s), <long>(s.bytes // 2))):
        memcpy(&bits, <const char*>s.data + 2 * i, 2)
        if bits == 0 or bits >= 0x7C00:                # zero, infinite, NaN or negative; subnormal halves are normal floats
            return NO_DATATYPE
    return QBINT4


cdef int datatype(Subgraph g, const Tensor* t) except -1:
    """Datatype, NO_DATATYPE when XNNPACK would refuse the tensor."""
    cdef int i
    if t.type == FLOAT32:
        return FP32
    if t.type == FLOAT16:
        return FP16
    if t.type != UINT8 and t.type != INT8 and t.type != INT4 and t.type != INT2 and t.type != INT32:
        return NO_DATATYPE
    if has_blockwise(g, t):
        return blockwise_datatype(g, t)
    if t.scale_count < 1:
        return NO_DATATYPE
    for i in range(t.scale_count):
        if not (is_normal(t.scales[i]) and t.scales[i] > 0):
            return NO_DATATYPE
    if t.type == UINT8:
        return QUINT8 if t.scale_count == 1 and 0 <= zero_point_0(t) <= 255 else NO_DATATYPE
    if t.type == INT8 and t.scale_count == 1:
        return QINT8 if -128 <= zero_point_0(t) <= 127 else NO_DATATYPE
    for i in range(t.zero_point_count):
        if t.zero_points[i] != 0 and not (t.type == INT4 and t.zero_points[i] == 8):
            return NO_DATATYPE
    if t.type == INT32:
        if t.quantized_dimension != 0:
            return NO_DATATYPE
        if t.scale_count == 1:
            return QINT32
        return QCINT32 if t.rank >= 1 and t.scale_count == t.dims[0] else NO_DATATYPE
    if t.rank < 1 or not 0 <= t.quantized_dimension < t.rank or t.scale_count != t.dims[t.quantized_dimension]:
        return NO_DATATYPE
    return QCINT8 if t.type == INT8 else QCINT4 if t.type == INT4 else QCINT2
