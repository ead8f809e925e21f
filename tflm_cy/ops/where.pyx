"""WHERE and TOPK_V2: where the true elements are, and which are the largest.

WHERE: bool, float32, int8, uint8, int32, uint32, int64; rows of int64 coordinates, in order. NaN is true, -0.0 is
not. The output is dynamic unless the condition is constant. A scalar is refused.

TOPK_V2: float32, uint8, int8,
int16, int32, int64 along the last dimension, largest first, equal ones by index; k is int16 or int32; indices are
int32, or int16 when the file says so. NaN compares as equal to everything, so that results depend on the order of comparisons: it is that of
the C++ library's heap, and of its sort where k is the whole row.

Source: LiteRT:tflite/kernels/where.cc, topk_v2.cc.
"""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.half cimport f32_bits
from tflm_cy.arithmetic.merge_sort cimport insert, merge_sort
from tflm_cy.graph.context cimport MICRO, Context, Node, register
from tflm_cy.graph.tensor cimport (
    BOOL, FLOAT32, INT8, INT16, INT32, INT64, MAX_RANK, Tensor, UINT8, UINT32, count, count_range,
    is_constant, type_name,
)
from tflm_cy.ops.operand cimport adopt_type, expect_arity_between, index_at, operand, result, want_bytes, want_one, want_type_of

from tflm_cy.graph.refusal import LateRefusalError


cdef int prepare_where(Context context, Node* node) except -1:
    cdef int32_t[2] dims
    expect_arity_between(context, node, 1, 1, 1)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* y = result(context, node, 0)
    if x.type not in (BOOL, FLOAT32, INT8, UINT8, INT32, UINT32, INT64):
        raise ValueError(f"Condition tensor has unsupported type: '{type_name(x.type)}'.")
    if x.rank == 0:
        raise ValueError("Where op requires condition w/ rank > 0")
    want_bytes(x)
    adopt_type(y, INT64)
    if is_constant(x):
        if count_true(x) > 0x7FFFFFFF:
            raise ValueError("WHERE finds more elements than a dimension can count")
        dims[0] = <int32_t>count_true(x)
        dims[1] = x.rank
        context.set_shape(y, 2, dims)
        node.invoke = where
        return 0
    context.set_dynamic(y)
    node.invoke = where_dynamic
    return 0


cdef int where(Context context, Node* node) noexcept nogil:
    write_true(context.input(node, 0), <int64_t*>context.output(node, 0).data, context.output(node, 0).dims[0])
    return 0


cdef int where_dynamic(Context context, Node* node) noexcept nogil:
    cdef Tensor* x = context.input(node, 0)
    cdef int64_t n = count_true(x)
    cdef int32_t[2] dims
    if n > 0x7FFFFFFF:
        return context.fail(b"WHERE finds more elements than a dimension can count")
    dims[0] = <int32_t>n
    dims[1] = x.rank
    if context.resize(context.output(node, 0), 2, dims) != 0:
        return -1
    return where(context, node)


ctypedef fused Element:
    uint8_t
    int32_t
    int64_t
    float


cdef int64_t count_true(const Tensor* x) noexcept nogil:
    """How many elements are not zero."""
    if x.type == FLOAT32:
        return count_elements(<const float*>x.data, count(x))
    if x.type == INT64:
        return count_elements(<const int64_t*>x.data, count(x))
    if x.type == INT32 or x.type == UINT32:
        return count_elements(<const int32_t*>x.data, count(x))
    return count_elements(<const uint8_t*>x.data, count(x))


cdef inline int64_t count_elements(const Element* data, int64_t n) noexcept nogil:
    cdef int64_t found = 0
    cdef int64_t i
    for i in range(n):
        found += data[i] != 0
    return found


cdef void write_true(const Tensor* x, int64_t* rows, int64_t total) noexcept nogil:
    """The coordinates of `total` elements that are not zero."""
    if x.type == FLOAT32:
        write_elements(<const float*>x.data, x, rows, total)
    elif x.type == INT64:
        write_elements(<const int64_t*>x.data, x, rows, total)
    elif x.type == INT32 or x.type == UINT32:
        write_elements(<const int32_t*>x.data, x, rows, total)
    else:
        write_elements(<const uint8_t*>x.data, x, rows, total)


cdef inline int64_t* write_row(const Element* data, int64_t n, const int64_t* at, int outer, int64_t* rows, const int64_t* end) noexcept nogil:
    """Of one row of the condition. No branch is taken for an element: the coordinates of one that is zero are overwritten by the next."""
    cdef int64_t i = 0
    cdef int d
    while i < n and rows != end:
        for d in range(outer):
            rows[d] = at[d]
        rows[outer] = i
        rows += (outer + 1) & -<int64_t>(data[i] != 0)
        i += 1
    return rows


cdef inline void write_elements(const Element* data, const Tensor* x, int64_t* rows, int64_t total) noexcept nogil:
    cdef int64_t[MAX_RANK] at
    cdef const int64_t* end = rows + total * x.rank
    cdef int64_t n = x.dims[x.rank - 1]
    cdef int d
    for d in range(x.rank):
        at[d] = 0
    while rows != end:
        if x.rank == 1:                  # literals, for the compiler
            rows = write_row(data, n, at, 0, rows, end)
        elif x.rank == 2:
            rows = write_row(data, n, at, 1, rows, end)
        elif x.rank == 3:
            rows = write_row(data, n, at, 2, rows, end)
        elif x.rank == 4:
            rows = write_row(data, n, at, 3, rows, end)
        else:
            rows = write_row(data, n, at, x.rank - 1, rows, end)
        data += n
        d = x.rank - 2
        while d >= 0:
            at[d] += 1
            if at[d] < x.dims[d]:
                break
            at[d] = 0
            d -= 1


cdef int prepare_topk(Context context, Node* node) except -1:
    cdef int32_t[MAX_RANK] dims
    expect_arity_between(context, node, 2, 2, 2)
    cdef Tensor* x = operand(context, node, 0)
    cdef Tensor* k = operand(context, node, 1)
    cdef Tensor* values = result(context, node, 0)
    cdef Tensor* indices = result(context, node, 1)
    cdef int* sorting
    want_type_of(values, x)
    if k.type != INT32 and k.type != INT16:
        raise ValueError(f"Type {type_name(k.type)} is currently not supported k Type by TopK.")
    want_one(k, "k of TOPK_V2")
    if indices.type != INT32 and indices.type != INT16:
        raise ValueError(f"Output index type {type_name(indices.type)} is currently not supported by TopK.")
    if x.rank < 1:
        raise ValueError("TopK k input must have 1 or more dimensions.")
    want_bytes(x)
    if indices.type == INT16 and x.dims[x.rank - 1] > 32767:
        raise ValueError("TopK row size exceeds output index type range.")
    if not is_constant(k):
        context.set_dynamic(values)
        context.set_dynamic(indices)
        node.invoke = topk_dynamic
    else:
        if not topk_dims(x, k, dims):
            raise ValueError("TopK k is higher than the internal dimension.")
        context.set_shape(values, x.rank, dims)
        context.set_shape(indices, x.rank, dims)
        node.invoke = topk
    if x.type not in (FLOAT32, UINT8, INT8, INT16, INT32, INT64):
        raise LateRefusalError(f"Type {type_name(x.type)} is currently not supported by TopK.")
    if node.arithmetic != MICRO:
        sorting = <int*>context.persistent(sizeof(int))
        sorting[0] = context.request_scratch(
            SORTED_BYTES * (candidates(x.dims[x.rank - 1], dims[x.rank - 1]) if is_constant(k) else <int64_t>x.dims[x.rank - 1]))
        node.data = sorting
    return 0


cdef bint topk_dims(const Tensor* x, const Tensor* k_tensor, int32_t* dims) noexcept nogil:
    cdef int64_t k = index_at(k_tensor.type, k_tensor.data, 0)
    cdef int d
    for d in range(x.rank):
        dims[d] = x.dims[d]
    dims[x.rank - 1] = <int32_t>k
    return 0 <= k <= x.dims[x.rank - 1]


cdef int topk_dynamic(Context context, Node* node) noexcept nogil:
    cdef int32_t[MAX_RANK] dims
    cdef Tensor* x = context.input(node, 0)
    if not topk_dims(x, context.input(node, 1), dims):
        return context.fail(b"TopK k is higher than the internal dimension.")
    if context.resize(context.output(node, 0), x.rank, dims) != 0:
        return -1
    if context.resize(context.output(node, 1), x.rank, dims) != 0:
        return -1
    return topk(context, node)


cdef enum:
    SORTED_BYTES = 24            # scratch of a candidate: two keys and two indices
    FEW_CANDIDATES = 64
    INSERTED_BEST = 32           # of so many a candidate takes its place at once
    INSERTED = 16                # so many are sorted by insertion
    STACKED = 64                 # ranges that wait to be sorted: no more than twice the bits of a length


ctypedef fused Rankable:
    float
    uint8_t
    int8_t
    int16_t
    int32_t
    int64_t

ctypedef fused Index:
    int32_t
    int16_t


cdef int topk(Context context, Node* node) noexcept nogil:
    cdef Tensor* x = context.input(node, 0)
    cdef Tensor* values = context.output(node, 0)
    cdef Tensor* indices = context.output(node, 1)
    cdef void* room = context.scratch((<int*>node.data)[0]) if node.data != NULL else NULL
    if x.type == FLOAT32:
        topk_indices(<const float*>x.data, <float*>values.data, x, indices, room)
    elif x.type == UINT8:
        topk_indices(<const uint8_t*>x.data, <uint8_t*>values.data, x, indices, room)
    elif x.type == INT8:
        topk_indices(<const int8_t*>x.data, <int8_t*>values.data, x, indices, room)
    elif x.type == INT16:
        topk_indices(<const int16_t*>x.data, <int16_t*>values.data, x, indices, room)
    elif x.type == INT32:
        topk_indices(<const int32_t*>x.data, <int32_t*>values.data, x, indices, room)
    else:
        topk_indices(<const int64_t*>x.data, <int64_t*>values.data, x, indices, room)
    return 0


cdef inline void topk_indices(const Rankable* x, Rankable* values, const Tensor* shape, Tensor* indices, void* room) noexcept nogil:
    cdef int32_t k = indices.dims[indices.rank - 1]
    cdef int32_t n = shape.dims[shape.rank - 1]
    cdef int64_t row
    if k == 0:
        return
    for row in range(count_range(shape, 0, shape.rank - 1)):
        if indices.type == INT32:
            topk_row(x + row * n, values + row * k, <int32_t*>indices.data + row * k, n, k, room)
        else:
            topk_row(x + row * n, values + row * k, <int16_t*>indices.data + row * k, n, k, room)


cdef inline int64_t candidates(int64_t n, int64_t k) noexcept nogil:
    """How many of a row's n elements are sorted at once, to keep the best k of them."""
    return min(n, max(2 * k, <int64_t>FEW_CANDIDATES))


cdef inline uint64_t key_of(Rankable value, int32_t i) noexcept nogil:
    """It rises where values fall; of up to 32 bits it holds their index, too."""
    cdef uint32_t bits
    if Rankable is int64_t:
        return ~(<uint64_t>value ^ <uint64_t>1 << 63)
    elif Rankable is float:
        bits = f32_bits(value + <float>0)        # both zeros are one
        bits ^= <uint32_t>(<int32_t>bits >> 31) | <uint32_t>1 << 31
        return <uint64_t>(~bits) << 32 | <uint64_t>i
    else:
        return <uint64_t>(~(<uint32_t><int32_t>value ^ <uint32_t>1 << 31)) << 32 | <uint64_t>i


cdef inline bint topk_sorted(const Rankable* x, Rankable* values, Index* indices, int32_t n, int32_t k, void* room) noexcept nogil:
    """What follows k candidates is one only if it is better than the last of the best k. A few are kept sorted; more are sorted whenever the
    room is full. False where there is a NaN, which has no place."""
    cdef int64_t most = candidates(n, k)
    cdef uint64_t* keys = <uint64_t*>room
    cdef int32_t* ids = <int32_t*>(keys + 2 * most)
    cdef uint64_t key
    cdef uint64_t worst = 0
    cdef bint begun = False                      # there is a worst one
    cdef bint numbers = True
    cdef int64_t held = 0
    cdef int64_t j
    cdef int32_t i
    for i in range(n):
        if Rankable is float:
            numbers &= x[i] == x[i]
        key = key_of(x[i], i)
        if begun and key >= worst:
            continue
        if k <= INSERTED_BEST:
            held = insert(Rankable is int64_t, keys, ids, held, k, key, i)
            worst = keys[held - 1]
            begun = held == k
            continue
        keys[held] = key
        if Rankable is int64_t:
            ids[held] = i
        held += 1
        if held == most or i == n - 1:
            held = keep_best(Rankable is int64_t, keys, ids, most, held, k)
            worst = keys[held - 1]
            begun = held == k
    if not numbers:
        return False
    if held > k:
        keep_best(Rankable is int64_t, keys, ids, most, held, k)
    for j in range(k):
        indices[j] = <Index>(ids[j] if Rankable is int64_t else <int32_t>keys[j])
        values[j] = x[indices[j]]
    return True


cdef inline int64_t keep_best(bint with_ids, uint64_t* keys, int32_t* ids, int64_t most, int64_t held, int64_t k) noexcept nogil:
    """Sort those that are held; how many are left, at the beginning."""
    cdef uint64_t* ordered = merge_sort(with_ids, keys, keys + most, ids, ids + most, held)
    cdef int64_t kept = min(held, k)
    if ordered != keys:
        memcpy(keys, ordered, kept * sizeof(uint64_t))
        if with_ids:
            memcpy(ids, ids + most, kept * sizeof(int32_t))
    return kept


cdef inline bint goes_before(const Rankable* x, int32_t a, int32_t b) noexcept nogil:
    return x[b] < x[a] or (not x[b] > x[a] and a < b)


cdef inline void topk_row(const Rankable* x, Rankable* values, Index* heap, int32_t n, int32_t k, void* room) noexcept nogil:
    """A heap of the k best so far with the worst at its root, in the output of indices; then sorted in place. It begins with one more."""
    cdef int32_t i
    cdef Index last
    cdef Index extra = <Index>k
    if room != NULL and topk_sorted(x, values, heap, n, k, room):
        return
    for i in range(k):
        heap[i] = <Index>i
    if n == k:
        sort_all(x, heap, k)
    else:
        for i in range((k + 1) // 2 - 1, -1, -1):
            place(x, heap, k, &extra, i, k + 1, slot(heap, k, &extra, i)[0])
        place(x, heap, k, &extra, 0, k, extra)
        for i in range(k + 1, n):
            if goes_before(x, i, heap[0]):
                if k > 1:
                    place(x, heap, k, &extra, 0, k - 1, heap[k - 1])
                raise_item(x, heap, k, &extra, k - 1, 0, <Index>i)
        for i in range(k - 1, 0, -1):
            last = heap[i]
            heap[i] = heap[0]
            place(x, heap, k, &extra, 0, i, last)
    for i in range(k):
        values[i] = x[heap[i]]


cdef inline void sort_all(const Rankable* x, Index* order, int32_t n) noexcept nogil:
    """std::sort of libstdc++ (bits/stl_algo.h). Where there is a NaN its comparisons decide what comes where: with NaN no order is consistent,
    but of two indices one always goes before the other, so that no step leaves the range."""
    cdef int32_t[STACKED] firsts
    cdef int32_t[STACKED] lasts
    cdef int32_t[STACKED] depths
    cdef int32_t first, last, depth, i, to
    cdef int32_t held = 1
    cdef Index item
    firsts[0], lasts[0], depths[0] = 0, n, 0
    while n >> depths[0] > 1:
        depths[0] += 1
    depths[0] *= 2
    while held > 0:
        held -= 1
        first, last, depth = firsts[held], lasts[held], depths[held]
        while last - first > INSERTED:
            if depth == 0:
                sort_by_heap(x, order + first, last - first)
                break
            depth -= 1
            i = partition(x, order, first, last)
            firsts[held], lasts[held], depths[held] = i, last, depth
            held += 1
            last = i
    for i in range(1, n):
        item = order[i]
        to = i
        while to > 0 and ((i < INSERTED and goes_before(x, item, order[0])) or goes_before(x, item, order[to - 1])):
            order[to] = order[to - 1]
            to -= 1
        order[to] = item


cdef inline int32_t partition(const Rankable* x, Index* order, int32_t first, int32_t last) noexcept nogil:
    """Around the middle one of three, which comes to the front: where those begin that do not go before it."""
    cdef int32_t a = first + 1
    cdef int32_t b = first + (last - first) // 2
    cdef int32_t c = last - 1
    cdef int32_t pivot, middle
    if goes_before(x, order[a], order[b]):
        middle = b if goes_before(x, order[b], order[c]) else c if goes_before(x, order[a], order[c]) else a
    else:
        middle = a if goes_before(x, order[a], order[c]) else c if goes_before(x, order[b], order[c]) else b
    order[first], order[middle] = order[middle], order[first]
    pivot = order[first]
    first += 1
    while True:
        while goes_before(x, order[first], pivot):
            first += 1
        last -= 1
        while goes_before(x, pivot, order[last]):
            last -= 1
        if first >= last:
            return first
        order[first], order[last] = order[last], order[first]
        first += 1


cdef inline void sort_by_heap(const Rankable* x, Index* heap, int32_t n) noexcept nogil:
    cdef int32_t i
    cdef Index last
    for i in range(n // 2 - 1, -1, -1):
        place(x, heap, n, NULL, i, n, heap[i])
    for i in range(n - 1, 0, -1):
        last = heap[i]
        heap[i] = heap[0]
        place(x, heap, n, NULL, 0, i, last)


cdef inline Index* slot(Index* heap, int32_t k, Index* extra, int64_t i) noexcept nogil:
    return heap + i if i < k else extra


cdef inline void place(const Rankable* x, Index* heap, int32_t k, Index* extra, int32_t root, int32_t n, Index item) noexcept nogil:
    """Into the heap of n below `root`: the hole first goes down to a leaf, then the item rises from there. Entry k is `extra`."""
    cdef int32_t hole = root
    cdef int64_t child = 2 * <int64_t>root + 2
    while child < n:
        if goes_before(x, slot(heap, k, extra, child)[0], slot(heap, k, extra, child - 1)[0]):
            child -= 1
        slot(heap, k, extra, hole)[0] = slot(heap, k, extra, child)[0]
        hole = <int32_t>child
        child = 2 * child + 2
    if child == n:
        slot(heap, k, extra, hole)[0] = slot(heap, k, extra, child - 1)[0]
        hole = <int32_t>(child - 1)
    raise_item(x, heap, k, extra, hole, root, item)


cdef inline void raise_item(const Rankable* x, Index* heap, int32_t k, Index* extra, int32_t hole, int32_t root, Index item) noexcept nogil:
    cdef int32_t parent
    while hole > root:
        parent = (hole - 1) // 2
        if not goes_before(x, slot(heap, k, extra, parent)[0], item):
            break
        slot(heap, k, extra, hole)[0] = slot(heap, k, extra, parent)[0]
        hole = parent
    slot(heap, k, extra, hole)[0] = item


OPERATORS = {
    "WHERE": register(prepare_where, version=2, reference_version=2),
    "TOPK_V2": register(prepare_topk, version=3, reference_version=3),
}
