"""Rows that are looked up, and words: HASHTABLE_LOOKUP, LSH_PROJECTION, SKIP_GRAM.

HASHTABLE_LOOKUP searches sorted int32 keys: rows of a table, zeros or "" where a key is not found, and a uint8 hit for each.
SKIP_GRAM joins words of the first string; its output is a vector of strings.

Source: LiteRT:tflite/kernels/{hashtable_lookup,lsh_projection,skip_gram}.cc.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from tflm_cy.arithmetic.fingerprint cimport project_item
from tflm_cy.arithmetic.strings cimport has_strings
from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.tensor cimport FLOAT32, INT32, MAX_RANK, STRING, Tensor, UINT8, bytes_of, count, type_name
from tflm_cy.ops.held cimport held
from tflm_cy.ops.operand cimport expect_arity_between, operand, result
from tflm_cy.platform.long_copy cimport copy_bytes
from tflm_cy.schema.option_slots cimport (
    LSH_PROJECTION_TYPE, SKIP_GRAM_INCLUDE_ALL_NGRAMS,
    SKIP_GRAM_MAX_SKIP_SIZE, SKIP_GRAM_NGRAM_SIZE,
)
from tflm_cy.schema.table cimport table_bool, table_i8, table_i32

from tflm_cy.graph.refusal import LateRefusalError

cdef enum:
    SPARSE = 1                   # LSH_PROJECTION
    DENSE = 2

# ---------------------------------------------------------------- strings

cdef list strings_of(const Tensor* x):
    """The byte strings of a tensor."""
    cdef const char* start = <const char*>x.data
    cdef const int32_t* edges = <const int32_t*>x.data
    cdef int64_t i
    if x.data == NULL or not has_strings(x.data, x.bytes, count(x)):
        raise ValueError(f"tensor {x.index} does not hold the strings of its shape")
    return [start[edges[i + 1]:edges[i + 2]] for i in range(count(x))]


cdef int write_strings(Context context, Tensor* y, list items) except -1:
    cdef bytes body = b"".join(items)
    cdef int64_t total = 4 * (<int64_t>len(items) + 2) + len(body)
    cdef int32_t at = 4 * (<int32_t>len(items) + 2)
    cdef int32_t* head
    cdef int i
    if total > INT32_MAX:
        raise ValueError("a string tensor holds at most 2 GiB")
    if context.resize_bytes(y, total) != 0:
        raise MemoryError(f"no memory for {total} bytes of strings")
    head = <int32_t*>y.data
    head[0] = <int32_t>len(items)
    for i in range(len(items)):
        head[i + 1] = at
        at += <int32_t>len(items[i])
    head[len(items) + 1] = at
    memcpy(<char*>y.data + 4 * (<int64_t>len(items) + 2), <const char*>body, len(body))
    return 0


# ---------------------------------------------------------------- HASHTABLE_LOOKUP

cdef int prepare_lookup(Context context, Node* node) except -1:
    cdef int32_t[MAX_RANK] dims
    cdef int d
    expect_arity_between(context, node, 3, 3, 2)
    cdef Tensor* lookup = operand(context, node, 0)
    cdef Tensor* key = operand(context, node, 1)
    cdef Tensor* value = operand(context, node, 2)
    cdef Tensor* y = result(context, node, 0)
    cdef Tensor* hits = result(context, node, 1)
    if lookup.rank != 1 or lookup.type != INT32 or key.rank != 1 or key.type != INT32:
        raise ValueError("NumDimensions(lookup) != 1: HASHTABLE_LOOKUP wants INT32 vectors to look up and of keys")
    if value.rank < 1 or value.dims[0] != key.dims[0] or (value.type == STRING and value.rank != 1):
        raise ValueError("SizeOfDimension(key, 0) != SizeOfDimension(value, 0), or values without rows")
    if hits.type != UINT8 or y.type != value.type:
        raise ValueError(f"hits must be UINT8, not {type_name(hits.type)}; values {type_name(value.type)}, not {type_name(y.type)}")
    for d in range(value.rank):
        dims[d] = value.dims[d]
    dims[0] = lookup.dims[0]
    context.set_shape(hits, 1, dims)
    context.set_shape(y, value.rank, dims)
    if value.type != STRING and <int64_t>value.bytes != bytes_of(value.type, value.rank, value.dims):
        raise ValueError("the values hold less than their shape says")
    node.invoke = lookup_strings if value.type == STRING else lookup_rows
    if value.dims[0] == 0:
        raise LateRefusalError("num_rows != 0 was not true")
    return 0


cdef int32_t row_of(int32_t wanted, const int32_t* keys, int32_t n) noexcept nogil:
    """A bisection as C's; -1 when the key is not met."""
    cdef int32_t low = 0
    cdef int32_t middle
    while low < n:
        middle = <int32_t>((<int64_t>low + n) // 2)
        if keys[middle] == wanted:
            return middle
        if wanted < keys[middle]:
            n = middle
        else:
            low = middle + 1
    return -1


cdef int lookup_rows(Context context, Node* node) noexcept nogil:
    cdef const Tensor* lookup = context.input(node, 0)
    cdef const Tensor* key = context.input(node, 1)
    cdef const Tensor* value = context.input(node, 2)
    cdef char* y = <char*>context.output(node, 0).data
    cdef uint8_t* hits = <uint8_t*>context.output(node, 1).data
    cdef int64_t size = value.bytes // value.dims[0]
    cdef int32_t i, row
    for i in range(lookup.dims[0]):
        row = row_of((<const int32_t*>lookup.data)[i], <const int32_t*>key.data, key.dims[0])
        hits[i] = row >= 0
        if size > 0 and row >= 0:
            copy_bytes(y + i * size, <const char*>value.data + row * size, size)
        elif size > 0:
            memset(y + i * size, 0, size)
    return 0


cdef int lookup_strings(Context context, Node* node) noexcept nogil:
    return held(context, node, find_strings)


cdef int find_strings(Context context, Node* node) except -1:
    cdef const Tensor* lookup = context.input(node, 0)
    cdef const Tensor* key = context.input(node, 1)
    cdef uint8_t* hits = <uint8_t*>context.output(node, 1).data
    cdef list values = strings_of(context.input(node, 2))
    cdef list found = []
    cdef int32_t i, row
    for i in range(lookup.dims[0]):
        row = row_of((<const int32_t*>lookup.data)[i], <const int32_t*>key.data, key.dims[0])
        hits[i] = row >= 0
        found.append(values[row] if row >= 0 else b"")
    return write_strings(context, context.output(node, 0), found)


# ---------------------------------------------------------------- LSH_PROJECTION

cdef int prepare_projection(Context context, Node* node) except -1:
    cdef int type = table_i8(node.options, LSH_PROJECTION_TYPE, 0)
    cdef int32_t[1] dims
    cdef Tensor* weight
    expect_arity_between(context, node, 2, 3, 1)
    cdef Tensor* hash = operand(context, node, 0)
    cdef Tensor* x = operand(context, node, 1)
    cdef Tensor* y = result(context, node, 0)
    if hash.rank != 2 or hash.dims[1] > 32 or hash.type != FLOAT32:
        raise ValueError("SizeOfDimension(hash, 1) <= 32 was not true: LSH_PROJECTION wants FLOAT32 seeds [hashes, bits], at most 32 bits")
    if x.rank < 1 or x.dims[0] < 1:
        raise ValueError("SizeOfDimension(input, 0) >= 1 was not true")
    if node.input_count == 3:
        weight = operand(context, node, 2)
        if weight.rank != 1 or weight.dims[0] != x.dims[0] or weight.type != FLOAT32:
            raise ValueError("SizeOfDimension(weight, 0) != SizeOfDimension(input, 0), or weights that are not FLOAT32")
    if type != SPARSE and type != DENSE:
        raise ValueError(f"LSH_PROJECTION: unknown type {type}")
    if y.type != INT32 or <int64_t>hash.dims[0] * hash.dims[1] > INT32_MAX:
        raise ValueError(f"LSH_PROJECTION gives INT32, not {type_name(y.type)}")
    dims[0] = hash.dims[0] * (hash.dims[1] if type == DENSE else 1)
    context.set_shape(y, 1, dims)
    node.invoke = project_densely if type == DENSE else project_sparsely
    return 0


cdef int project_sparsely(Context context, Node* node) noexcept nogil:
    return project(context, node, False)


cdef int project_densely(Context context, Node* node) noexcept nogil:
    return project(context, node, True)


cdef int project(Context context, Node* node, bint dense) noexcept nogil:
    cdef const Tensor* hash = context.input(node, 0)
    cdef const Tensor* x = context.input(node, 1)
    cdef Tensor* weight = context.input(node, 2)
    cdef const float* weights = NULL if weight == NULL else <float*>weight.data
    cdef int32_t* y = <int32_t*>context.output(node, 0).data
    cdef const float* seeds = <const float*>hash.data
    cdef ptrdiff_t item = x.bytes // x.dims[0]
    cdef int32_t bits = hash.dims[1]
    cdef size_t room = <size_t>hash.dims[0] * bits * sizeof(double)
    cdef double* sums
    cdef uint8_t* key
    cdef uint32_t signature, bit
    cdef int32_t i, j
    if x.data == NULL:
        return context.fail(b"LSH_PROJECTION: the input was never set")
    sums = <double*>malloc(room + item + 4)
    if sums == NULL:
        return context.fail(b"no memory for a key")
    key = <uint8_t*>sums + room
    memset(sums, 0, room)
    for i in range(x.dims[0]):
        memcpy(key + 4, <const char*>x.data + i * item, item)
        project_item(seeds, hash.dims[0] * bits, 1 if weights == NULL else weights[i], key, item, sums)
    for i in range(hash.dims[0]):
        signature = 0
        for j in range(bits):
            bit = sums[i * bits + j] > 0
            signature = signature << 1 | bit
            if dense:
                y[i * bits + j] = <int32_t>bit
        if not dense:
            y[i] = <int32_t>(signature + <uint32_t>i * (<uint32_t>1 << (bits & 31)))
    free(sums)
    return 0


# ---------------------------------------------------------------- SKIP_GRAM

cdef int prepare_skip_gram(Context context, Node* node) except -1:
    expect_arity_between(context, node, 1, 1, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* y = result(context, node, 0)
    if x.type != STRING or y.type != STRING:
        raise ValueError(f"input_tensor->type != kTfLiteString ({type_name(x.type)}, {type_name(y.type)})")
    context.set_dynamic(y)
    node.invoke = skip_gram
    return 0


cdef list words_of(bytes text):
    """Split at white space; the first character always belongs to the first word, unless a space follows it."""
    cdef list words = []
    cdef Py_ssize_t first = 0
    cdef Py_ssize_t i
    for i in range(1, len(text)):
        if text[i:i + 1].isspace():
            if i > first and not text[first:first + 1].isspace():
                words.append(text[first:i])
            first = i + 1
    if len(text) > first:
        words.append(text[first:])
    return words


cdef list grams_of(list words, int size, int most_skipped, bint shorter):
    """Joined words in the order of a depth-first walk; `shorter`: those of fewer words, too."""
    cdef list grams = []
    cdef int64_t total = 0
    cdef int depth = 1
    if size < 0 or len(words) < size:
        return grams
    at = [0] * size
    while depth >= 0:
        if depth < size and at[depth] + 1 < len(words) and (depth == 0 or at[depth] - at[depth - 1] <= most_skipped):
            at[depth] += 1
            depth += 1
            if depth < size:
                at[depth] = at[depth - 1]
            continue
        if depth > 0 and (depth == size or (shorter and depth < size)):
            grams.append(b" ".join([words[i] for i in at[:depth]]))
            total += len(grams[len(grams) - 1]) + 4
            if total > INT32_MAX:
                raise ValueError("a string tensor holds at most 2 GiB")
        depth -= 1
    return grams


cdef int skip_gram(Context context, Node* node) noexcept nogil:
    return held(context, node, write_grams)


cdef int write_grams(Context context, Node* node) except -1:
    cdef Tensor* y = context.output(node, 0)
    cdef list texts = strings_of(context.input(node, 0))
    cdef list grams
    cdef int32_t[1] dims
    if not texts:
        raise ValueError("SKIP_GRAM: there is no string")
    grams = grams_of(words_of(texts[0]), table_i32(node.options, SKIP_GRAM_NGRAM_SIZE, 0), table_i32(node.options, SKIP_GRAM_MAX_SKIP_SIZE, 0),
                     table_bool(node.options, SKIP_GRAM_INCLUDE_ALL_NGRAMS, False))
    dims[0] = <int32_t>len(grams)
    if context.resize(y, 1, dims) != 0:
        raise ValueError("SKIP_GRAM: the output cannot be shaped")
    return write_strings(context, y, grams)


OPERATORS = {
    "HASHTABLE_LOOKUP": register(prepare_lookup, version=1, reference_version=1),
    "LSH_PROJECTION": register(prepare_projection, version=1, reference_version=1),
    "SKIP_GRAM": register(prepare_skip_gram, version=1, reference_version=1),
}
