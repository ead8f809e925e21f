"""TFLite_Detection_PostProcess: boxes of a single-shot detector, decoded from anchors and chosen by score and overlap.

Inputs: encodings [1, n, 4 ..], class scores [1, n, classes and backgrounds], anchors [n, 4]; float32, or uint8 with scales.
Outputs, float32: boxes [1, k, 4], classes [1, k], scores [1, k], count [1]; what is not used of them is 0 (TensorFlow leaves the rest
of the fast variant unwritten). The options are a flexbuffer. Among equal scores the first counts. With several threads TensorFlow's regular
variant leaves out a class (`regular`).

Source: LiteRT:tflite/kernels/detection_postprocess.cc, tflite-micro:tensorflow/lite/micro/kernels/detection_postprocess.cc.
"""
from libc.math cimport exp, fma
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from tflm_cy.arithmetic.arg_reduction cimport arg_row_f32
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.merge_sort cimport merge_sort
from tflm_cy.arithmetic.nan_order cimport add_first, add_first_f64, mul_first_f64
from tflm_cy.arithmetic.suppression cimport Box, box_between, greater, keep_box, overlap
from tflm_cy.graph.context cimport MICRO, Context, Node, register
from tflm_cy.graph.tensor cimport FLOAT32, Tensor, UINT8, count
from tflm_cy.ops.flex_options cimport options_of
from tflm_cy.ops.operand cimport adopt_type, expect_arity_between, operand, result
from tflm_cy.simd.reductions cimport ReductionKernels
from tflm_cy.simd.table cimport kernels

from tflm_cy.graph.refusal import LateRefusalError, OwnRefusalError

cdef struct Detection:
    int32_t boxes                # n
    int32_t most                 # max_detections
    int32_t categories           # max_classes_per_detection
    int32_t per_class            # detections_per_class
    int32_t classes
    int32_t columns              # of the class scores: classes and backgrounds
    int32_t regular
    int32_t refuses_empty        # TFLM: a box without area fails too
    float least_score
    float most_overlap
    double[4] scales             # y, x, h, w
    int32_t decoded              # scratch: float [n, 4]
    int32_t scores               # float [n, columns]
    int32_t column               # float [n]
    int32_t chosen               # int32 [most]
    int32_t keys                 # uint64 [n] twice: scores and boxes that are sorted
    int32_t sides                # float [5, n]: of the sorted boxes, top, left, bottom, right, area
    int32_t dropped              # int32 [n]
    int32_t merged               # Found [most + per_class] twice
    const ReductionKernels* reductions

cdef struct Found:
    float score
    int32_t box
    int32_t label


cdef int prepare(Context context, Node* node) except -1:
    cdef int32_t[3] dims
    cdef Detection* op
    cdef int64_t n
    cdef int i
    expect_arity_between(context, node, 3, 3, 4)
    cdef Tensor* encodings = operand(context, node, 0)
    cdef Tensor* scores = operand(context, node, 1)
    cdef Tensor* anchors = operand(context, node, 2)
    options = options_of(node)
    if encodings.rank != 3 or scores.rank != 3 or anchors.rank != 2:
        raise ValueError("TFLite_Detection_PostProcess wants encodings [1, n, 4], scores [1, n, classes] and anchors [n, 4]")
    n = encodings.dims[1]
    for i in range(3):
        if operand(context, node, i).type != encodings.type:
            raise ValueError("TFLite_Detection_PostProcess takes inputs of one type")
    op = <Detection*>context.persistent(sizeof(Detection))
    op.reductions = &kernels().reductions
    op.boxes = <int32_t>n
    op.columns = scores.dims[2]
    op.most = number(options, "max_detections", 0)
    op.categories = number(options, "max_classes_per_detection", 0)
    op.per_class = min(number(options, "detections_per_class", 100), op.most)
    op.classes = number(options, "num_classes", 0)
    op.regular = bool(options.get("use_regular_nms", False))
    op.refuses_empty = node.arithmetic == MICRO
    op.least_score = options.get("nms_score_threshold", 0)
    op.most_overlap = options.get("nms_iou_threshold", 0)
    for i in range(4):
        op.scales[i] = <float>options.get(("y_scale", "x_scale", "h_scale", "w_scale")[i], 0)
    if not 0 < op.most_overlap <= 1:
        raise ValueError("(intersection_over_union_threshold > 0.0f) && (intersection_over_union_threshold <= 1.0f) was not true")
    if op.categories < 1 or (op.regular and op.per_class < 1):
        raise ValueError("TFLite_Detection_PostProcess wants at least one class per detection and one detection per class")
    dims[0] = 1
    dims[1] = op.most * op.categories
    dims[2] = 4
    for i in range(4):
        adopt_type(result(context, node, i), FLOAT32)
        context.set_shape(context.output(node, i), 3 if i == 0 else 2 if i < 3 else 1, dims)
    if encodings.dims[0] != 1 or encodings.dims[2] < 4:
        raise LateRefusalError("TFLite_Detection_PostProcess wants encodings [1, n, 4], scores [1, n, classes] and anchors [n, 4]")
    if scores.dims[0] != 1 or scores.dims[1] != n or anchors.dims[0] < n or anchors.dims[1] != 4:
        raise OwnRefusalError(f"TFLite_Detection_PostProcess: scores and anchors are not those of {n} boxes")
    if not 1 <= op.classes <= op.columns or op.columns - op.classes > 1:
        raise LateRefusalError(f"num_classes {op.classes} does not go with {op.columns} columns of scores")
    op.decoded = context.request_scratch(16 * n)
    op.scores = context.request_scratch(4 * n * op.columns if encodings.type != FLOAT32 else 0)
    op.column = context.request_scratch(4 * n)
    op.chosen = context.request_scratch(4 * <size_t>op.most)
    op.keys = context.request_scratch(16 * n)
    op.sides = context.request_scratch(5 * sizeof(float) * n)
    op.dropped = context.request_scratch(4 * n)
    op.merged = context.request_scratch(2 * sizeof(Found) * <size_t>(op.most + op.per_class))
    node.data = op
    node.invoke = detect
    if encodings.type != FLOAT32 and encodings.type != UINT8:
        raise LateRefusalError("TFLite_Detection_PostProcess takes FLOAT32 or UINT8 inputs")
    return 0


cdef int32_t number(dict options, str key, int32_t default) except? -1:
    """A size among the options, at most a million."""
    cdef object value = options.get(key, default)
    if not 0 <= value <= 1000000:
        raise ValueError(f"TFLite_Detection_PostProcess: {key} is {value}")
    return <int32_t>int(value)


cdef inline float value_at(const Tensor* x, int64_t i) noexcept nogil:
    if x.type == FLOAT32:
        return (<const float*>x.data)[i]
    return (<float>(<const uint8_t*>x.data)[i] - <float>x.zero_point) * x.scale


cdef inline double scale_and_move(double x, double scale, double offset) noexcept nogil:
    """On aarch64 with one rounding, and then of several NaN the offset's comes out, then the scale's."""
    if not AARCH64:
        return add_first_f64(mul_first_f64(x, scale), offset)
    return scale if scale != scale and offset == offset else fma(x, scale, offset)


cdef bint decode(Context context, const Node* node, const Detection* op, float* boxes) noexcept nogil:
    """The boxes as (top, left, bottom, right); False when one is inside out, or without area where `refuses_empty` is set."""
    cdef const Tensor* encodings = context.input(node, 0)
    cdef const Tensor* anchors = context.input(node, 2)
    cdef double[4] e
    cdef double[4] a
    cdef float y, x, h, w
    cdef int64_t i
    cdef int j
    for i in range(op.boxes):
        for j in range(4):
            e[j] = <double>value_at(encodings, i * encodings.dims[2] + j) / op.scales[j]
            a[j] = value_at(anchors, 4 * i + j)
        y = <float>scale_and_move(e[0], a[2], a[0])
        x = <float>scale_and_move(e[1], a[3], a[1])
        h = <float>mul_first_f64(0.5 * exp(e[2]), a[2])
        w = <float>mul_first_f64(0.5 * exp(e[3]), a[3])
        boxes[4 * i] = y - h
        boxes[4 * i + 1] = x - w
        boxes[4 * i + 2] = add_first(y, h)
        boxes[4 * i + 3] = add_first(x, w)
        if boxes[4 * i] > boxes[4 * i + 2] or boxes[4 * i + 1] > boxes[4 * i + 3]:
            return False
        if op.refuses_empty and (boxes[4 * i] == boxes[4 * i + 2] or boxes[4 * i + 1] == boxes[4 * i + 3]):
            return False
    return True


cdef inline uint64_t key_of(float score, int32_t box) noexcept nogil:
    """The greatest score first, of equal ones the first box. No NaN."""
    cdef float positive = score + <float>0           # -0 equals 0
    cdef uint32_t bits
    memcpy(&bits, &positive, 4)
    return <uint64_t>(bits if bits >> 31 else ~bits & <uint32_t>0x7FFFFFFF) << 32 | <uint32_t>box


cdef const uint64_t* sort_kept(const Detection* op, const float* scores, uint64_t* keys, int32_t* kept) noexcept nogil:
    """Of the boxes with the least score or more; the low half of a key is its box."""
    cdef int32_t i
    kept[0] = 0
    for i in range(op.boxes):
        keys[kept[0]] = key_of(scores[i], i)
        kept[0] += scores[i] >= op.least_score
    return merge_sort(False, keys, keys + op.boxes, NULL, NULL, kept[0])


cdef int32_t suppress(Context context, const Detection* op, const float* scores, int32_t most) noexcept nogil:
    """The boxes chosen by one score each, into `chosen`; returns how many."""
    cdef const float* boxes = <const float*>context.scratch(op.decoded)
    cdef const float* corners
    cdef float* sides = <float*>context.scratch(op.sides)
    cdef int32_t* chosen = <int32_t*>context.scratch(op.chosen)
    cdef int32_t* dropped = <int32_t*>context.scratch(op.dropped)
    cdef int32_t found = 0
    cdef int32_t kept, i, j
    cdef float most_overlap = op.most_overlap
    cdef Box box
    cdef const uint64_t* order = sort_kept(op, scores, <uint64_t*>context.scratch(op.keys), &kept)
    for i in range(kept):
        dropped[i] = 0
        corners = boxes + 4 * <int64_t><uint32_t>order[i]
        box = box_between(corners[0], corners[1], corners[2], corners[3])
        keep_box(&box, sides, kept, i)
    for i in range(kept):
        if found >= most:
            break
        if dropped[i]:
            continue
        chosen[found] = <int32_t><uint32_t>order[i]
        found += 1
        corners = boxes + 4 * <int64_t><uint32_t>order[i]
        box = box_between(corners[0], corners[1], corners[2], corners[3])
        for j in range(i + 1, kept):
            dropped[j] |= overlap(&box, sides, kept, j) > most_overlap
    return found


cdef int detect(Context context, Node* node) noexcept nogil:
    cdef const Detection* op = <const Detection*>node.data
    cdef const Tensor* given = context.input(node, 1)
    cdef float* scores = <float*>context.scratch(op.scores)
    cdef int64_t i
    cdef int k
    for k in range(4):
        if context.output(node, k).bytes > 0:
            memset(context.output(node, k).data, 0, context.output(node, k).bytes)
    if not decode(context, node, op, <float*>context.scratch(op.decoded)):
        return context.fail(b"ValidateBoxes(decoded_boxes, num_boxes) was not true")
    for i in range(count(given) if given.type != FLOAT32 else 0):
        scores[i] = (<float>(<const uint8_t*>given.data)[i] - <float>given.zero_point) * given.scale
    (<float*>context.output(node, 3).data)[0] = regular(context, node, op) if op.regular else fast(context, node, op)
    return 0


cdef const float* scores_of(Context context, const Node* node, const Detection* op) noexcept nogil:
    cdef const Tensor* given = context.input(node, 1)
    return <const float*>given.data if given.type == FLOAT32 else <const float*>context.scratch(op.scores)


cdef void write(Context context, const Node* node, const Detection* op, int64_t at, int32_t box, int32_t label) noexcept nogil:
    cdef const float* scores = scores_of(context, node, op)
    cdef const float* boxes = <const float*>context.scratch(op.decoded) + 4 * <int64_t>box
    cdef int j
    for j in range(4):
        (<float*>context.output(node, 0).data)[4 * at + j] = boxes[j]
    (<float*>context.output(node, 1).data)[at] = label
    (<float*>context.output(node, 2).data)[at] = scores[<int64_t>box * op.columns + op.columns - op.classes + label]


cdef int32_t best_class(const Detection* op, const float* row) noexcept nogil:
    """With NaN as ARG_MAX finds it, or 0 where TensorFlow reads beyond the row."""
    cdef int32_t label
    if op.reductions.arg_rows != NULL:
        op.reductions.arg_rows(row, 1, op.classes, True, False, &label)
    else:
        label = arg_row_f32(row, op.classes, True)
    return label if label < op.classes else 0


cdef int32_t fast(Context context, const Node* node, const Detection* op) noexcept nogil:
    """One suppression over the best class of each box; each box chosen has its best classes."""
    cdef const float* scores = scores_of(context, node, op) + (op.columns - op.classes)
    cdef float* best = <float*>context.scratch(op.column)
    cdef const int32_t* chosen = <const int32_t*>context.scratch(op.chosen)
    cdef const float* row
    cdef int32_t found, i, j, label, rank, before
    for i in range(op.boxes):
        row = scores + <int64_t>i * op.columns
        best[i] = row[best_class(op, row)] if op.categories == 1 else row[0]
        for j in range(1, op.classes if op.categories > 1 else 1):
            best[i] = greater(best[i], row[j])
    found = suppress(context, op, best, op.most)
    for i in range(found):
        row = scores + <int64_t>chosen[i] * op.columns
        if op.categories == 1:
            write(context, node, op, i, chosen[i], best_class(op, row))
            continue
        for label in range(op.classes):
            rank = 0
            for before in range(op.classes):
                rank += row[before] > row[label] or (before < label and row[before] == row[label])
                if rank >= op.categories:
                    break
            if rank < op.categories:
                write(context, node, op, <int64_t>i * op.categories + rank, chosen[i], label)
    return found


cdef int32_t regular(Context context, const Node* node, const Detection* op) noexcept nogil:
    """One suppression per class; the best of all are merged.

    With several threads TensorFlow leaves out the class whose number is theirs. Its threads take one class each, and who is ready first the
    next of the rest: here the first takes them all, which decides among equal scores only.
    """
    cdef const float* scores = scores_of(context, node, op) + (op.columns - op.classes)
    cdef float* column = <float*>context.scratch(op.column)
    cdef const int32_t* chosen = <const int32_t*>context.scratch(op.chosen)
    cdef Found* merged = <Found*>context.scratch(op.merged)
    cdef Found* room = merged + op.most + op.per_class
    cdef int32_t total = 0
    cdef int32_t threads = max(1, context.num_threads)
    cdef int32_t label, found, i, a, b, turn
    for turn in range(op.classes):
        label = turn
        if 1 < threads < op.classes:
            if turn == op.classes - 1:
                break                            # the one that is left out
            if turn > 0:
                label = turn + threads if turn < op.classes - threads else turn - (op.classes - threads) + 1
        for i in range(op.boxes):
            column[i] = scores[<int64_t>i * op.columns + label]
        found = suppress(context, op, column, op.per_class)
        a = 0
        b = 0
        for i in range(total + found):
            if a < total and (b >= found or not column[chosen[b]] > merged[a].score):
                room[i] = merged[a]
                a += 1
            else:
                room[i].score = column[chosen[b]]
                room[i].box = chosen[b]
                room[i].label = label
                b += 1
        total = min(total + found, op.most)
        for i in range(total):
            merged[i] = room[i]
    for i in range(total):
        write(context, node, op, i, merged[i].box, merged[i].label)
    return total


CUSTOM_OPERATORS = {
    "TFLite_Detection_PostProcess": register(prepare, version=1, reference_version=1),
}
