"""Byte ranges that a verified model refers to: constant data, custom options, options of builtin operators.

A model above 2 GB keeps its payloads behind the flatbuffer: a Buffer (or an operator's custom options) then holds an
offset and a size counted from the start of the file instead of a vector. Nothing is checked here: `schema.verifier`
has.

Source of the rules: google-ai-edge/LiteRT:tflite/core/interpreter_builder.cc.
"""
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from tflm_cy.schema.slots cimport (
    BUFFER_DATA, BUFFER_OFFSET, BUFFER_SIZE, CODE_BUILTIN, CODE_DEPRECATED_BUILTIN, MODEL_BUFFERS,
    OPERATOR_CUSTOM_OPTIONS, OPERATOR_LARGE_CUSTOM_OPTIONS_OFFSET, OPERATOR_LARGE_CUSTOM_OPTIONS_SIZE, TENSOR_BUFFER,
)
from tflm_cy.schema.table cimport Vector, table_i8, table_i32, table_i64, table_u32, table_vector, vector_table


cdef struct Span:
    const uint8_t* data      # NULL: there is none (an empty constant has an address)
    size_t size              # bytes


cdef inline Span far_span(const uint8_t* base, Vector near, uint64_t offset, uint64_t size) noexcept nogil:
    """The vector, else the range behind the flatbuffer; offsets 0 and 1 mean "none"."""
    cdef Span span
    span.data = near.data
    span.size = near.length
    if near.data == NULL and offset > 1:
        span.data = base + offset
        span.size = size
    return span


cdef inline Span buffer_span(const uint8_t* base, const uint8_t* buffer) noexcept nogil:
    """Contents of a Buffer table."""
    return far_span(base, table_vector(buffer, BUFFER_DATA), <uint64_t>table_i64(buffer, BUFFER_OFFSET, 0),
                    <uint64_t>table_i64(buffer, BUFFER_SIZE, 0))


cdef inline Span tensor_span(const uint8_t* base, const uint8_t* root, const uint8_t* tensor) noexcept nogil:
    """Constant data of a Tensor table; buffer 0 is nobody's, whatever it holds."""
    cdef uint32_t index = table_u32(tensor, TENSOR_BUFFER, 0)
    cdef Span none
    none.data = NULL
    none.size = 0
    return none if index == 0 else buffer_span(base, vector_table(table_vector(root, MODEL_BUFFERS), index))


cdef inline Span custom_options_span(const uint8_t* base, const uint8_t* operator) noexcept nogil:
    """What a custom operator gets as its initial data."""
    return far_span(base, table_vector(operator, OPERATOR_CUSTOM_OPTIONS),
                    <uint64_t>table_i64(operator, OPERATOR_LARGE_CUSTOM_OPTIONS_OFFSET, 0),
                    <uint64_t>table_i64(operator, OPERATOR_LARGE_CUSTOM_OPTIONS_SIZE, 0))


cdef inline int32_t builtin_code(const uint8_t* code) noexcept nogil:
    """Number of an OperatorCode's operator: old files have the one-byte field only, new ones both."""
    return max(table_i32(code, CODE_BUILTIN, 0), <int32_t>table_i8(code, CODE_DEPRECATED_BUILTIN, 0))
