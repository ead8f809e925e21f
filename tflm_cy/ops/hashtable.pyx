# tflm_cy: optimize=size
"""HASHTABLE, HASHTABLE_IMPORT, HASHTABLE_FIND, HASHTABLE_SIZE: tables from int64 to string or from string to int64.

HASHTABLE names a table that lives as long as the interpreter; the first HASHTABLE_IMPORT fills it, later ones do nothing. Of equal keys the first
one counts. None of these is in BUILTIN_REF.

Source: LiteRT:tflite/kernels/{hashtable,hashtable_find,hashtable_import,hashtable_size}.cc.
"""
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from tflm_cy.arithmetic.strings cimport (
    StringWriter, append_string, begin_strings, has_strings, same_string, string_length, string_offset, strings_head,
)
from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.resource cimport Resources
from tflm_cy.graph.tensor cimport INT32, INT64, RESOURCE, STRING, Tensor, count, type_name
from tflm_cy.ops.held cimport held
from tflm_cy.ops.operand cimport expect_arity_between, index_at, operand, result
from tflm_cy.schema.option_slots cimport HASHTABLE_KEY_DTYPE, HASHTABLE_TABLE_ID, HASHTABLE_VALUE_DTYPE
from tflm_cy.schema.table cimport table_i8, table_i32

cdef enum:
    SHORT_TEXT = 16              # bytes that are copied at once, also past the end of a string

cdef struct TableData:
    void* resources              # Resources, which live as long as the interpreter
    int32_t id
    int32_t key_type
    int32_t scratch              # HASHTABLE_FIND: which entry each key has found


cdef inline uint64_t hash_of(int32_t type, const void* data, int64_t i) noexcept nogil:
    """Of value i of a tensor of int64 or of strings."""
    cdef uint64_t mixed = <uint64_t>0x9E3779B97F4A7C15
    cdef uint64_t word
    cdef const char* text
    cdef int64_t length
    if type == INT64:
        mixed *= <uint64_t>(<const int64_t*>data)[i]
    else:
        text = <const char*>data + string_offset(data, i)
        length = string_length(data, i)
        mixed ^= <uint64_t>length
        while length > 0:
            word = 0
            memcpy(&word, text, min(length, <int64_t>8))
            mixed = (mixed ^ word) * <uint64_t>0xFF51AFD7ED558CCD
            mixed ^= mixed >> 32
            text += 8
            length -= 8
    return mixed ^ mixed >> 29


cdef inline bint is_same(int32_t type, const void* a, int64_t i, const void* b, int64_t j) noexcept nogil:
    return (<const int64_t*>a)[i] == (<const int64_t*>b)[j] if type == INT64 else same_string(a, i, b, j)


cdef class HashTable:
    """Keys and values as their tensors hold them; slots of entries, open addressing."""

    cdef int32_t key_type
    cdef bint filled
    cdef int64_t size                  # of different keys
    cdef void* keys
    cdef void* values
    cdef int32_t* slots                # 1 + the entry, 0: free
    cdef uint64_t mask

    def __cinit__(self, int32_t key_type):
        self.key_type = key_type

    def __dealloc__(self):
        free(self.keys)
        free(self.values)
        free(self.slots)

    cdef int fill(self, const Tensor* keys, const Tensor* values) except -1:
        """The tensors have as many values, and hold them."""
        cdef int64_t n = count(keys)
        cdef uint64_t capacity = 4
        cdef uint64_t slot
        cdef int64_t i
        while capacity < 2 * <uint64_t>n:
            capacity *= 2
        free(self.keys)
        free(self.values)
        free(self.slots)
        self.keys = malloc(keys.bytes + 1)
        self.values = malloc(values.bytes + SHORT_TEXT)
        self.slots = <int32_t*>calloc(capacity, sizeof(int32_t))
        if self.keys == NULL or self.values == NULL or self.slots == NULL:
            raise MemoryError(f"no memory for a table of {n} keys")
        if n > 0:
            memcpy(self.keys, keys.data, keys.bytes)
            memcpy(self.values, values.data, values.bytes)
        self.mask = capacity - 1
        for i in range(n):
            if self.find(self.keys, i, &slot) < 0:
                self.slots[slot] = <int32_t>(i + 1)
                self.size += 1
        self.filled = True
        return 0

    cdef inline int64_t find(self, const void* keys, int64_t i, uint64_t* slot) noexcept nogil:
        """The entry of a key, or -1, and then the slot that is free for it."""
        slot[0] = hash_of(self.key_type, keys, i) & self.mask
        while self.slots[slot[0]] != 0:
            if is_same(self.key_type, self.keys, self.slots[slot[0]] - 1, keys, i):
                return self.slots[slot[0]] - 1
            slot[0] = (slot[0] + 1) & self.mask
        return -1


cdef int expect_values(const Tensor* x) except -1:
    if x.type == STRING and (x.data == NULL or not has_strings(x.data, x.bytes, count(x))):
        raise ValueError(f"tensor {x.index} does not hold the strings of its shape")
    return 0


cdef TableData* table_data(Context context, Node* node) except NULL:
    cdef TableData* data = <TableData*>context.persistent(sizeof(TableData))
    cdef Resources resources = context.resources()
    data.resources = <void*>resources
    node.data = data
    return data


cdef int prepare_hashtable(Context context, Node* node) except -1:
    cdef int32_t[1] one
    cdef int32_t value_type = table_i8(node.options, HASHTABLE_VALUE_DTYPE, 0)
    cdef TableData* data
    expect_arity_between(context, node, 0, 0, 1)
    cdef Tensor* y = result(context, node, 0)
    data = table_data(context, node)
    data.id = table_i32(node.options, HASHTABLE_TABLE_ID, 0)
    data.key_type = table_i8(node.options, HASHTABLE_KEY_DTYPE, 0)
    if not ((data.key_type == INT64 and value_type == STRING) or (data.key_type == STRING and value_type == INT64)):
        raise ValueError(f"HASHTABLE from {type_name(data.key_type)} to {type_name(value_type)} is not supported")
    if y.type != RESOURCE:
        raise ValueError(f"resource_handle_tensor->type != kTfLiteResource ({type_name(y.type)})")
    one[0] = 1
    context.set_shape(y, 1, one)
    if y.bytes < 4:
        raise ValueError("the handle of a table takes 4 bytes")
    context.set_computed(y)
    (<int32_t*>y.data)[0] = data.id
    node.invoke = create
    return 0


cdef int create(Context context, Node* node) noexcept nogil:
    return held(context, node, create_table)


cdef int create_table(Context context, Node* node) except -1:
    cdef const TableData* data = <const TableData*>node.data
    cdef dict tables = (<Resources>data.resources).tables
    if data.id not in tables:
        tables[data.id] = HashTable(data.key_type)
    return 0


cdef const Tensor* handle_of(Context context, Node* node) except NULL:
    cdef Tensor* handle = operand(context, node, 0)
    if handle.type != RESOURCE or handle.rank != 1 or handle.dims[0] != 1 or handle.bytes < 4:
        raise ValueError(f"input_resource_id_tensor->type != kTfLiteResource ({type_name(handle.type)}), or not one handle")
    return handle


cdef int expect_pair(const Tensor* key, const Tensor* value) except -1:
    if not ((key.type == INT64 and value.type == STRING) or (key.type == STRING and value.type == INT64)):
        raise ValueError(f"a table from {type_name(key.type)} to {type_name(value.type)} is not supported")
    return 0


cdef HashTable find_table(Context context, Node* node, const Tensor* key):
    """The table that the node's handle names."""
    cdef const TableData* data = <const TableData*>node.data
    cdef int64_t number = index_at(INT32, context.input(node, 0).data, 0)
    cdef HashTable table = (<Resources>data.resources).tables.get(number)
    if table is None:
        raise ValueError(f"lookup != nullptr was not true: there is no table {number}")
    if key != NULL and table.key_type != key.type:
        raise ValueError(f"keys->type != key_type_: the keys of table {number} are {type_name(table.key_type)}")
    return table


cdef int prepare_import(Context context, Node* node) except -1:
    cdef int d
    expect_arity_between(context, node, 3, 3, 0)
    cdef Tensor* key = operand(context, node, 1)
    cdef Tensor* value = operand(context, node, 2)
    handle_of(context, node)
    expect_pair(key, value)
    if key.rank != value.rank or any([key.dims[d] != value.dims[d] for d in range(key.rank)]):
        raise ValueError("HaveSameShapes(key_tensor, value_tensor) was not true")
    table_data(context, node)
    node.invoke = fill
    return 0


cdef int fill(Context context, Node* node) noexcept nogil:
    return held(context, node, fill_table)


cdef int fill_table(Context context, Node* node) except -1:
    cdef const Tensor* keys = context.input(node, 1)
    cdef const Tensor* values = context.input(node, 2)
    cdef HashTable table = find_table(context, node, keys)
    if not table.filled:
        expect_values(keys)
        expect_values(values)
        table.fill(keys, values)
    return 0


cdef int prepare_find(Context context, Node* node) except -1:
    cdef TableData* data
    expect_arity_between(context, node, 3, 3, 1)
    cdef Tensor* key = operand(context, node, 1)
    cdef Tensor* default = operand(context, node, 2)
    cdef Tensor* y = result(context, node, 0)
    handle_of(context, node)
    if default.type != y.type or count(default) < 1:
        raise ValueError(f"default_value_tensor->type != output_tensor->type ({type_name(default.type)} and {type_name(y.type)}), or no value")
    expect_pair(key, y)
    context.set_shape(y, key.rank, key.dims)
    data = table_data(context, node)
    data.scratch = context.request_scratch((count(key) + 1) * sizeof(int32_t))
    node.invoke = find
    return 0


cdef int find(Context context, Node* node) noexcept nogil:
    return held(context, node, find_values)


cdef int find_values(Context context, Node* node) except -1:
    cdef const Tensor* keys = context.input(node, 1)
    cdef const Tensor* default = context.input(node, 2)
    cdef Tensor* y = context.output(node, 0)
    cdef HashTable table = find_table(context, node, keys)
    cdef int32_t* found = <int32_t*>context.scratch((<const TableData*>node.data).scratch)
    cdef int64_t n = count(keys)
    cdef uint64_t slot
    cdef int64_t i
    if not table.filled:
        raise ValueError("hashtable need to be initialized before using")
    expect_values(default)
    expect_values(keys)
    for i in range(n):
        found[i] = <int32_t>table.find(keys.data, i, &slot)
    if y.type == STRING:
        return write_found(context, y, table.values, default.data, found, n)
    for i in range(n):
        (<int64_t*>y.data)[i] = (<const int64_t*>(table.values if found[i] >= 0 else default.data))[max(found[i], 0)]
    return 0


cdef int write_found(Context context, Tensor* y, const void* values, const void* default, const int32_t* found, int64_t n) except -1:
    """The strings of these entries; the default's first for -1."""
    cdef int64_t total = strings_head(n)
    cdef StringWriter writer
    cdef int64_t i
    for i in range(n):
        total += string_length(values, found[i]) if found[i] >= 0 else string_length(default, 0)
    if total > INT32_MAX:
        raise ValueError("a string tensor holds at most 2 GiB")
    if context.resize_bytes(y, total) != 0:
        raise MemoryError(f"no memory for {total} bytes of strings")
    begin_strings(&writer, y.data, <int32_t>n)
    for i in range(n):
        if found[i] < 0:
            append_string(&writer, default, 0)
        elif string_length(values, found[i]) > SHORT_TEXT or writer.end + SHORT_TEXT > total:
            append_string(&writer, values, found[i])
        else:
            memcpy(writer.data + writer.end, <const char*>values + string_offset(values, found[i]), SHORT_TEXT)
            writer.end += <int32_t>string_length(values, found[i])
            writer.next += 1
            memcpy(writer.data + 4 * (writer.next + 1), &writer.end, 4)
    return 0


cdef int prepare_size(Context context, Node* node) except -1:
    cdef int32_t[1] one
    expect_arity_between(context, node, 1, 1, 1)
    cdef Tensor* y = result(context, node, 0)
    handle_of(context, node)
    if y.type != INT64:
        raise ValueError(f"output_tensor->type != kTfLiteInt64 ({type_name(y.type)})")
    one[0] = 1
    context.set_shape(y, 1, one)
    table_data(context, node)
    node.invoke = size
    return 0


cdef int size(Context context, Node* node) noexcept nogil:
    return held(context, node, size_of_table)


cdef int size_of_table(Context context, Node* node) except -1:
    (<int64_t*>context.output(node, 0).data)[0] = find_table(context, node, NULL).size
    return 0


OPERATORS = {
    "HASHTABLE": register(prepare_hashtable, version=1, reference_version=0),
    "HASHTABLE_FIND": register(prepare_find, version=1, reference_version=0),
    "HASHTABLE_IMPORT": register(prepare_import, version=1, reference_version=0),
    "HASHTABLE_SIZE": register(prepare_size, version=1, reference_version=0),
}
