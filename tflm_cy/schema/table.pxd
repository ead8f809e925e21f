"""Reading fields of a verified flatbuffer in place.

A table is the address of its first byte (NULL: an absent table, whose fields all have their defaults); a field is a
slot number, counted as in the schema's declaration. Nothing is checked here: `schema.verifier` has walked the whole
file before. Loads go through memcpy because content given by a caller may lie on any address.

    cdef int stride = table_i32(options, STRIDE_W, 0)
    cdef Vector axes = table_vector(options, AXES)          # axes.data, axes.length

Source of the format: google/flatbuffers:docs/source/internals.md.
"""
from libc.stddef cimport size_t
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy


cdef struct Vector:
    const uint8_t* data      # first element; NULL when the field is absent
    uint32_t length          # number of elements


cdef inline uint16_t load_u16(const uint8_t* at) noexcept nogil:
    cdef uint16_t value
    memcpy(&value, at, 2)
    return value


cdef inline int32_t load_i32(const uint8_t* at) noexcept nogil:
    cdef int32_t value
    memcpy(&value, at, 4)
    return value


cdef inline uint32_t load_u32(const uint8_t* at) noexcept nogil:
    cdef uint32_t value
    memcpy(&value, at, 4)
    return value


cdef inline int64_t load_i64(const uint8_t* at) noexcept nogil:
    cdef int64_t value
    memcpy(&value, at, 8)
    return value


cdef inline float load_f32(const uint8_t* at) noexcept nogil:
    cdef float value
    memcpy(&value, at, 4)
    return value


cdef inline const uint8_t* table_field(const uint8_t* table, int slot) noexcept nogil:
    """Address of an inline field, NULL when it is absent."""
    cdef const uint8_t* vtable
    cdef uint16_t offset
    if table == NULL:
        return NULL
    vtable = table - load_i32(table)
    if 4 + 2 * slot + 2 > load_u16(vtable):
        return NULL
    offset = load_u16(vtable + 4 + 2 * slot)
    if offset == 0:
        return NULL
    return table + offset


cdef inline int8_t table_i8(const uint8_t* table, int slot, int8_t default) noexcept nogil:
    cdef const uint8_t* at = table_field(table, slot)
    return default if at == NULL else (<const int8_t*>at)[0]


cdef inline uint8_t table_u8(const uint8_t* table, int slot, uint8_t default) noexcept nogil:
    cdef const uint8_t* at = table_field(table, slot)
    return default if at == NULL else at[0]


cdef inline bint table_bool(const uint8_t* table, int slot, bint default) noexcept nogil:
    cdef const uint8_t* at = table_field(table, slot)
    return default if at == NULL else at[0] != 0


cdef inline int32_t table_i32(const uint8_t* table, int slot, int32_t default) noexcept nogil:
    cdef const uint8_t* at = table_field(table, slot)
    return default if at == NULL else load_i32(at)


cdef inline uint32_t table_u32(const uint8_t* table, int slot, uint32_t default) noexcept nogil:
    cdef const uint8_t* at = table_field(table, slot)
    return default if at == NULL else load_u32(at)


cdef inline int64_t table_i64(const uint8_t* table, int slot, int64_t default) noexcept nogil:
    cdef const uint8_t* at = table_field(table, slot)
    return default if at == NULL else load_i64(at)


cdef inline float table_f32(const uint8_t* table, int slot, float default) noexcept nogil:
    cdef const uint8_t* at = table_field(table, slot)
    return default if at == NULL else load_f32(at)


cdef inline const uint8_t* follow(const uint8_t* at) noexcept nogil:
    """The object that the offset at `at` refers to; NULL stays NULL."""
    if at == NULL:
        return NULL
    return at + load_u32(at)


cdef inline const uint8_t* table_table(const uint8_t* table, int slot) noexcept nogil:
    """A child table (or a union's table), NULL when absent."""
    return follow(table_field(table, slot))


cdef inline Vector table_vector(const uint8_t* table, int slot) noexcept nogil:
    """A vector of scalars or offsets, or a string (length without the closing NUL)."""
    cdef Vector vector
    cdef const uint8_t* at = follow(table_field(table, slot))
    vector.data = NULL
    vector.length = 0
    if at != NULL:
        vector.length = load_u32(at)
        vector.data = at + 4
    return vector


cdef inline const uint8_t* vector_table(Vector vector, uint32_t index) noexcept nogil:
    """Element `index` of a vector of tables or strings."""
    return follow(vector.data + 4 * <size_t>index)


cdef inline int32_t vector_i32(Vector vector, uint32_t index) noexcept nogil:
    return load_i32(vector.data + 4 * <size_t>index)


cdef inline int64_t vector_i64(Vector vector, uint32_t index) noexcept nogil:
    return load_i64(vector.data + 8 * <size_t>index)


cdef inline bytes text_bytes(Vector text):
    """A string up to its first zero byte, as TensorFlow reads it."""
    return b"" if text.data == NULL else (<const char*>text.data)[:text.length].split(b"\0", 1)[0]
