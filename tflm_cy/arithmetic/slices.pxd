"""STABLEHLO's walks over slices and windows: PAD with values between, GATHER, SCATTER, REDUCE_WINDOW.

GATHER and SCATTER share their index arithmetic (`IndexedSlices`). An element of the side that is walked (GATHER: the result, SCATTER: the updates) has a
coordinate made of batch dimensions, which pick an index vector, and window dimensions, which are added to it:

    place[d] = index vector[k], where map[k] == d, else 0;  + window coordinate of d, 0 where d is collapsed

Source: LiteRT:tflite/kernels/{stablehlo_pad,stablehlo_gather,stablehlo_scatter,stablehlo_reduce_window}.cc, tensor_slice_util.cc.
"""
from libc.stdint cimport int32_t, int64_t

from tflm_cy.arithmetic.combine cimport ADD, MULTIPLY, Combine
from tflm_cy.arithmetic.copy_runs cimport copy_runs, fill
from tflm_cy.arithmetic.walk cimport Walk, add_axis, begin_walk, finish_walk, walk_copy
from tflm_cy.platform.long_copy cimport copy_bytes

cdef enum:
    MOST_DIMS = 16
    SPREAD = 128                 # windows whose elements are brought together at once
    KEPT = 32                    # elements of a window's run whose reach is computed once
    SHORT_RUN = 16               # outputs, below which another axis may make longer runs
    PIECE = 1024                 # outputs of a run whose values are no neighbours, between which the cache is left

cdef struct IndexedSlices:
    int rank                     # of the operand
    int64_t[MOST_DIMS] dims
    int64_t[MOST_DIMS] last      # GATHER: the highest place where a slice may begin
    int walked_rank
    int64_t[MOST_DIMS] walked    # sizes of the side that is walked
    int[MOST_DIMS] window_axis   # of a walked dimension: the operand's dimension, -1 for a batch dimension
    int64_t[MOST_DIMS] index_step  # of a walked batch dimension: step through the indices, in elements
    int64_t vector_step          # from one component of an index vector to the next
    int mapped                   # components in use
    int[MOST_DIMS] map           # of a component: the operand's dimension
    bint wide                    # int64 indices


cdef inline bint advance(int64_t* at, const int64_t* sizes, int rank) noexcept nogil:
    """The next coordinate in row-major order; False behind the last."""
    cdef int d = rank - 1
    while d >= 0:
        at[d] += 1
        if at[d] < sizes[d]:
            return True
        at[d] = 0
        d -= 1
    return False


cdef inline int64_t component(const IndexedSlices* s, const void* indices, int64_t at) noexcept nogil:
    if s.wide:
        return (<const int64_t*>indices)[at]
    return (<const int32_t*>indices)[at]


cdef inline void find_place(const IndexedSlices* s, const void* indices, const int64_t* at, bint clipped, int64_t* place) noexcept nogil:
    """The operand's coordinate of a walked one."""
    cdef int64_t start = 0
    cdef int d, k
    for d in range(s.rank):
        place[d] = 0
    for d in range(s.walked_rank):
        if s.window_axis[d] < 0:
            start += at[d] * s.index_step[d]
    for k in range(s.mapped):
        place[s.map[k]] = component(s, indices, start + k * s.vector_step)
    if clipped:
        for d in range(s.rank):
            place[d] = min(place[d], s.last[d])
    for d in range(s.walked_rank):
        if s.window_axis[d] >= 0:
            place[s.window_axis[d]] += at[d]


cdef inline int64_t offset_of(const int64_t* place, const int64_t* dims, int rank, int64_t elements) noexcept nogil:
    """The element at a coordinate; -1 where there is none. Single coordinates may be negative, as long as the sum is not."""
    cdef int64_t offset = 0
    cdef int d
    for d in range(rank):
        if place[d] > 0x7FFFFFFF or place[d] < -<int64_t>0x80000000 or offset > 0x7FFFFFFF or offset < -<int64_t>0x80000000:
            return -1
        offset = offset * dims[d] + place[d]
    return offset if 0 <= offset < elements else -1


cdef inline bint gather_slices(const IndexedSlices* s, const char* x, int64_t elements, const void* indices, char* y, int64_t results,
                               int64_t size) noexcept nogil:
    """False when a slice lies outside."""
    cdef int64_t[MOST_DIMS] at
    cdef int64_t[MOST_DIMS] place
    cdef int64_t i, offset
    cdef int d
    for d in range(s.walked_rank):
        at[d] = 0
    for i in range(results):
        find_place(s, indices, at, True, place)
        offset = offset_of(place, s.dims, s.rank, elements)
        if offset < 0:
            return False
        copy_bytes(y + i * size, x + offset * size, size)
        advance(at, s.walked, s.walked_rank)
    return True


cdef inline bint scatter_slices(const IndexedSlices* s, int op, Combine combine, const void* indices, const char* updates, int64_t count, char* y,
                                int64_t elements, int64_t size) noexcept nogil:
    """Updates beyond a dimension's end are left out; False when one lies before the beginning.

    Of two NaN a sum or product keeps the update's, but for float16, which goes through float32."""
    cdef int64_t[MOST_DIMS] at
    cdef int64_t[MOST_DIMS] place
    cdef int64_t i, offset
    cdef bint inside
    cdef int d
    for d in range(s.walked_rank):
        at[d] = 0
    for i in range(count):
        find_place(s, indices, at, False, place)
        inside = True
        for d in range(s.rank):
            inside = inside and place[d] < s.dims[d]
        if inside:
            offset = offset_of(place, s.dims, s.rank, elements)
            if offset < 0:
                return False
            if (op == ADD or op == MULTIPLY) and size > 2:
                combine(op, updates + i * size, 0, y + offset * size, 0, y + offset * size, 0, 1)
            else:
                combine(op, y + offset * size, 0, updates + i * size, 0, y + offset * size, 0, 1)
        advance(at, s.walked, s.walked_rank)
    return True


cdef struct Spread:              # PAD
    int rank
    int64_t[MOST_DIMS] dims
    int64_t[MOST_DIMS] low       # elements in front; negative: cut off
    int64_t[MOST_DIMS] step      # from one element to the next in the output
    int64_t[MOST_DIMS] out_dims


cdef inline void spread(const Spread* s, const char* x, const char* value, char* y, int64_t bytes, int64_t size) noexcept nogil:
    """`bytes` of output; size: of an element."""
    cdef Walk walk
    cdef int64_t[MOST_DIMS] first
    cdef int64_t[MOST_DIMS] extent
    cdef int64_t dst = size
    cdef int64_t src = size
    cdef int d
    fill(y, bytes, value, size)
    for d in range(s.rank):                      # the elements that lie inside
        first[d] = (-s.low[d] + s.step[d] - 1) // s.step[d] if s.low[d] < 0 else 0
        extent[d] = min(s.dims[d], (s.out_dims[d] - s.low[d] + s.step[d] - 1) // s.step[d] if s.out_dims[d] > s.low[d] else 0) - first[d]
        if extent[d] <= 0:
            return
    for d in range(s.rank - 1, -1, -1):
        y += (s.low[d] + first[d] * s.step[d]) * dst
        x += first[d] * src
        dst *= s.out_dims[d]
        src *= s.dims[d]
    begin_walk(&walk, size)
    for d in range(s.rank):
        dst //= s.out_dims[d]
        src //= s.dims[d]
        add_axis(&walk, extent[d], s.step[d] * dst, src)
    finish_walk(&walk)
    walk_copy(&walk, y, x)


cdef struct Windows:             # REDUCE_WINDOW
    int rank
    int64_t[MOST_DIMS] dims
    int64_t[MOST_DIMS] window
    int64_t[MOST_DIMS] stride
    int64_t[MOST_DIMS] dilation  # of the window
    int64_t[MOST_DIMS] base      # of the input: 1 where its elements are neighbours
    int64_t[MOST_DIMS] low       # padding in front
    int64_t[MOST_DIMS] out_dims
    int64_t[MOST_DIMS] step      # elements from one to the next
    int64_t[MOST_DIMS] out_step
    int run_axis                 # along which outputs are made together, see `choose_run`
    int64_t every                # of its windows so many lie between two that one tap finds elements for, see `distance`


cdef inline int64_t distance(int64_t stride, int64_t base) noexcept nogil:
    """The smallest number of windows that is a multiple of `base` input steps."""
    cdef int64_t a = stride
    cdef int64_t b = base
    while b:
        a, b = b, a % b
    return base // a


cdef inline int join_last_axes(Windows* s) noexcept nogil:
    """Where windows have one element along the last axis, as along the channels of an image, it joins the axis in front, and rows are longer."""
    cdef int last = s.rank - 1
    cdef int64_t n
    while last > 0:
        n = s.dims[last]
        if s.window[last] != 1 or s.stride[last] != 1 or s.base[last] != 1 or s.low[last] != 0 or s.out_dims[last] != n:
            break
        if s.stride[last - 1] != 1 or s.base[last - 1] != 1:
            break
        last -= 1
        s.dims[last] *= n
        s.out_dims[last] *= n
        s.dilation[last] *= n
        s.low[last] *= n
    s.rank = last + 1
    return 0


cdef inline int choose_run(Windows* s) noexcept nogil:
    """The last axis, whose elements are neighbours, unless it is short: then the longest one."""
    cdef int64_t step = 1
    cdef int64_t out_step = 1
    cdef int d
    s.run_axis = s.rank - 1
    for d in range(s.rank - 1, -1, -1):
        s.step[d], s.out_step[d] = step, out_step
        step *= s.dims[d]
        out_step *= s.out_dims[d]
        if s.out_dims[s.rank - 1] < SHORT_RUN and s.out_dims[d] > s.out_dims[s.run_axis]:
            s.run_axis = d
    s.every = distance(s.stride[s.run_axis], s.base[s.run_axis])
    return 0


cdef inline int64_t window_runs(const Windows* s) noexcept nogil:
    """Runs of the output."""
    cdef int64_t runs = 1
    cdef int d
    for d in range(s.rank):
        if d != s.run_axis:
            runs *= s.out_dims[d]
    return runs


cdef struct Reach:               # of an element of the windows of a run: the windows in which it lies on the input
    int64_t begin
    int64_t end

cdef struct Piece:               # of a run
    int64_t begin
    int64_t end
    char* y                      # of its first output
    int64_t y_step


cdef inline Reach reach_of(const Windows* s, int64_t tap) noexcept nogil:
    cdef Reach reach
    cdef int64_t n = s.out_dims[s.run_axis]
    cdef int64_t stride = s.stride[s.run_axis]
    cdef int64_t start = tap * s.dilation[s.run_axis] - s.low[s.run_axis]                 # where the first window's element lies
    reach.begin = min(n, (-start + stride - 1) // stride) if start < 0 else 0
    reach.end = max(reach.begin, min(n, (s.dims[s.run_axis] - start + stride - 1) // stride if s.dims[s.run_axis] > start else 0))
    return reach


cdef inline void reduce_windows(const Windows* s, int op, Combine combine, const char* x, const char* first, char* y, int64_t first_run,
                                int64_t end_run, int64_t size) noexcept nogil:
    """Runs `first_run` to `end_run` of the output. Padding and the gaps of a dilated input count as the first value.

    A run's outputs meet their windows' elements in the order of memory, all of them one element after the other.
    """
    cdef int64_t[MOST_DIMS] runs             # of each axis
    cdef int64_t[MOST_DIMS] at
    cdef int64_t[SPREAD] firsts
    cdef Reach[KEPT] reaches                 # divisions take as long as a run
    cdef Piece piece
    cdef int64_t run, left, out, tap
    cdef int64_t n = s.out_dims[s.run_axis]
    cdef int64_t most = n if s.out_step[s.run_axis] == 1 else PIECE
    cdef int d
    left = first_run
    for d in range(s.rank - 1, -1, -1):
        runs[d] = 1 if d == s.run_axis else s.out_dims[d]
        at[d] = left % runs[d]
        left //= runs[d]
    fill(<char*>firsts, SPREAD * size, first, size)
    for tap in range(min(s.window[s.run_axis], <int64_t>KEPT)):
        reaches[tap] = reach_of(s, tap)
    piece.y_step = s.out_step[s.run_axis]
    for run in range(first_run, end_run):
        out = 0
        for d in range(s.rank):
            out += at[d] * s.out_step[d]
        piece.begin = 0
        while piece.begin < n:
            piece.end = min(n, piece.begin + most)
            piece.y = y + (out + piece.begin * piece.y_step) * size
            reduce_piece(s, op, combine, x, <const char*>firsts, at, reaches, &piece, size)
            piece.begin = piece.end
        advance(at, runs, s.rank)


cdef inline void reduce_piece(const Windows* s, int op, Combine combine, const char* x, const char* firsts, const int64_t* at,
                              const Reach* reaches, const Piece* piece, int64_t size) noexcept nogil:
    """firsts: the first value, SPREAD times."""
    cdef int64_t[MOST_DIMS] tap
    cdef int64_t t, p, offset
    cdef int64_t taps = 1
    cdef bint inside
    cdef int d
    copy_runs(piece.y, piece.y_step * size, firsts, 0, size, piece.end - piece.begin)
    for d in range(s.rank):
        tap[d] = 0
        taps *= s.window[d]
    for t in range(taps):
        offset = 0
        inside = True
        for d in range(s.rank):
            if d == s.run_axis:
                continue
            p = at[d] * s.stride[d] + tap[d] * s.dilation[d] - s.low[d]
            if s.base[d] != 1:       # divisions are slow
                inside = inside and p % s.base[d] == 0
                p = p // s.base[d] if p >= 0 else p
            inside = inside and 0 <= p < s.dims[d]
            offset += p * s.step[d] if inside else 0
        combine_piece(s, op, combine, x + offset * size if inside else NULL, firsts, tap[s.run_axis],
                      reaches[tap[s.run_axis]] if tap[s.run_axis] < KEPT else reach_of(s, tap[s.run_axis]), piece, size)
        advance(tap, s.window, s.rank)


cdef inline void combine_piece(const Windows* s, int op, Combine combine, const char* x, const char* firsts, int64_t tap, Reach reach,
                               const Piece* piece, int64_t size) noexcept nogil:
    """One element of each window of a piece; x: the input's run, NULL where there is none."""
    cdef int64_t start = tap * s.dilation[s.run_axis] - s.low[s.run_axis]                 # where the first window's element lies
    cdef int64_t step = s.stride[s.run_axis] * s.step[s.run_axis]
    cdef int64_t y_step = piece.y_step
    cdef int64_t begin, end
    cdef char* y
    if x == NULL:
        combine_first(op, combine, firsts, piece.y, y_step, piece.end - piece.begin, size)
        return
    if s.base[s.run_axis] != 1:
        begin = piece.begin
        while begin < piece.end:
            end = min(piece.end, begin + SPREAD)
            combine_spread(s, op, combine, x, firsts, start, begin, end, piece.y + (begin - piece.begin) * y_step * size, y_step, size)
            begin = end
        return
    begin = min(max(reach.begin, piece.begin), piece.end)
    end = min(max(reach.end, begin), piece.end)
    combine_first(op, combine, firsts, piece.y, y_step, begin - piece.begin, size)
    if begin < end:
        y = piece.y + (begin - piece.begin) * y_step * size
        combine(op, y, y_step, x + (start * s.step[s.run_axis] + begin * step) * size, step, y, y_step, end - begin)
    combine_first(op, combine, firsts, piece.y + (end - piece.begin) * y_step * size, y_step, piece.end - end, size)


cdef inline void combine_first(int op, Combine combine, const char* firsts, char* y, int64_t y_step, int64_t n, int64_t size) noexcept nogil:
    """n outputs with the first value, of which there are SPREAD: neighbours are combined in vectors."""
    cdef int64_t done = 0
    cdef int64_t now
    while done < n:
        now = min(n - done, <int64_t>SPREAD)
        combine(op, y + done * y_step * size, y_step, firsts, 1, y + done * y_step * size, y_step, now)
        done += now


cdef inline void combine_spread(const Windows* s, int op, Combine combine, const char* x, const char* firsts, int64_t start, int64_t begin,
                                int64_t end, char* y, int64_t y_step, int64_t size) noexcept nogil:
    """Windows begin .. end - 1 of a run, SPREAD at most: what their elements are lies in a row of its own, where they become neighbours."""
    cdef int64_t stride = s.stride[s.run_axis]
    cdef int64_t base = s.base[s.run_axis]
    cdef int64_t[SPREAD] row                     # 8 bytes for each
    cdef char* to = <char*>row
    cdef int64_t at = max(begin, (-start + stride - 1) // stride if start < 0 else 0)
    cdef int64_t step = s.every * stride // base
    cdef int64_t found, count
    copy_bytes(to, firsts, (end - begin) * size)
    while at < end and (start + at * stride) % base != 0:
        at += 1
    if at < end:
        found = (start + at * stride) // base
        count = min((end - at + s.every - 1) // s.every, (s.dims[s.run_axis] - found + step - 1) // step if s.dims[s.run_axis] > found else 0)
        copy_runs(to + (at - begin) * size, s.every * size, x + found * s.step[s.run_axis] * size, step * s.step[s.run_axis] * size, size, count)
    combine(op, y, y_step, to, 1, y, y_step, end - begin)


# ---- windows whose elements have no order: axis after axis, each value meets the window of one axis only
cdef inline void reduce_axis(const Windows* s, int d, int op, Combine combine, const char* x, int64_t rows, int64_t inner, char* y,
                             int64_t size) noexcept nogil:
    """Axis d of x, which is rows x dims[d] x inner: to rows x out_dims[d] x inner. Of the last axis (inner = 1) a row's outputs are made at once."""
    cdef int64_t step = s.stride[d] if inner == 1 else 1
    cdef int64_t n = s.out_dims[d] if inner == 1 else inner
    cdef int64_t tap = s.dilation[d] * inner * size
    cdef int64_t i, o, t
    cdef const char* at
    for i in range(rows):
        for o in range(1 if inner == 1 else s.out_dims[d]):
            at = x + (i * s.dims[d] + o * s.stride[d]) * inner * size
            if s.window[d] == 1:
                copy_runs(y, size, at, step * size, size, n)
            else:
                combine(op, at, step, at + tap, step, y, 1, n)
            for t in range(2, s.window[d]):
                combine(op, y, 1, at + t * tap, step, y, 1, n)
            y += n * size


cdef inline void reduce_windows_by_axes(const Windows* s, int op, Combine combine, const char* x, const char* first, char* y, char* from_,
                                        char* to, int64_t begin, int64_t end, int64_t size) noexcept nogil:
    """Outputs `begin` to `end` along the first axis, as reduce_windows gives them, of operators that mind neither order nor grouping; without
    padding and gaps. `from_`, `to`: room for these outputs times the other dimensions of the input.
    """
    cdef Windows band = s[0]
    cdef int64_t[SPREAD] firsts
    cdef int64_t inner = 1
    cdef int64_t rows = 1
    cdef int d
    for d in range(1, s.rank):
        inner *= s.dims[d]
    x += begin * s.stride[0] * inner * size
    band.out_dims[0] = end - begin
    for d in range(s.rank):
        if d == s.rank - 1:
            to = y
        reduce_axis(&band, d, op, combine, x, rows, inner, to, size)
        x = to
        from_, to = to, from_
        rows *= band.out_dims[d]
        inner //= s.dims[d + 1] if d + 1 < s.rank else 1
    fill(<char*>firsts, SPREAD * size, first, size)
    combine_first(op, combine, <const char*>firsts, y, 1, rows, size)
