"""TFLM's operators that keep a history: SignalFramer, SignalDelay, SignalStacker, SignalOverlapAdd, CIRCULAR_BUFFER.

| operator | options | inputs -> outputs |
| --- | --- | --- |
| SignalFramer | frame_size, frame_step, prefill | int16 [.., n * step] -> int16 [.., n, size], bool: all frames were there |
| SignalDelay | delay_length | int16 [.., n] -> the same, later; zeros first |
| SignalStacker | num_channels c, stacker_left_context, stacker_right_context, stacker_step | int16 [c] -> int16 [c * (l + r + 1)], bool |
| SignalOverlapAdd | T, frame_step | T [.., frames, size] -> T [.., frames * step]; int16 saturates, float32 |
| CIRCULAR_BUFFER | cycles_max | int8 [1, 1, w, c] -> int8 [1, n, w, c]: the last n inputs |

A frame that is not complete is not written. The first frame of a stacker fills its left context as well. A circular buffer
stops the graph behind itself but for every cycles_max-th time; a reset restores its count, not its contents.

Source: tensorflow/tflite-micro:signal/src, signal/micro/kernels, tensorflow/lite/micro/kernels/circular_buffer.cc.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy, memmove, memset

from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.tensor cimport BOOL, FLOAT32, INT8, INT16, Tensor, count, shape_of, type_name, type_size
from tflm_cy.ops.flex_options cimport option, options_of
from tflm_cy.ops.operand cimport expect_arity_between, operand, result
from tflm_cy.ops.state cimport new_state, note_state

from tflm_cy.ops.stop import Stopped

cdef enum:
    LONGEST = 1 << 24

cdef struct Framer:
    ptrdiff_t rows, frames, size, step
    ptrdiff_t room               # samples per row of the history
    int16_t* history
    ptrdiff_t* held              # one number: samples in each row's history

cdef struct Delay:
    ptrdiff_t rows, length, delay
    int16_t* history             # `delay` samples a row, in the order of arrival

cdef struct Stacker:
    ptrdiff_t channels, size, step, left
    int16_t* history
    ptrdiff_t* held              # and whether there was a frame yet

cdef struct OverlapAdd:
    ptrdiff_t rows, frames, size, step
    void* sums                   # `size` numbers a row

cdef struct Circular:
    ptrdiff_t slots, depth
    int32_t cycles
    int32_t* left                # cycles until the graph goes on
    int8_t* history


cdef int want_type(Context context, const Node* node, const Tensor* tensor, int type) except -1:
    if tensor.type != type:
        raise ValueError(
            f"{context.operator_name(node)}: tensor {tensor.index} of type {type_name(tensor.type)}, expected {type_name(type)}")
    return 0


cdef int want_count(Context context, const Node* node, const Tensor* tensor, int64_t exactly) except -1:
    if count(tensor) != exactly:
        raise ValueError(f"{context.operator_name(node)}: tensor {tensor.index} of shape {shape_of(tensor)}, {exactly} elements are wanted")
    return 0


cdef inline ptrdiff_t last_dimension(const Tensor* x) noexcept nogil:
    return x.dims[x.rank - 1] if x.rank else 1


# ---------------------------------------------------------------- SignalFramer

cdef int prepare_framer(Context context, Node* node) except -1:
    cdef dict options = options_of(node)
    cdef const Tensor* x
    cdef Framer* op
    cdef bint prefill = option(options, "prefill", 0, 1)
    expect_arity_between(context, node, 1, 1, 2)
    x = operand(context, node, 0)
    want_type(context, node, x, INT16)
    want_type(context, node, result(context, node, 0), INT16)
    want_type(context, node, result(context, node, 1), BOOL)
    op = <Framer*>context.persistent(sizeof(Framer))
    op.size = option(options, "frame_size", 1, LONGEST)
    op.step = option(options, "frame_step", 1, op.size)
    if count(x) == 0 or last_dimension(x) % op.step:
        raise ValueError(f"SignalFramer: an input of shape {shape_of(x)} does not consist of steps of {op.step}")
    op.frames = last_dimension(x) / op.step
    op.rows = count(x) / last_dimension(x)
    want_count(context, node, result(context, node, 0), op.rows * op.frames * op.size)
    want_count(context, node, result(context, node, 1), 1)
    op.room = op.size + op.step
    op.history = <int16_t*>new_state(context, 2 * op.rows * op.room)
    op.held = <ptrdiff_t*>context.persistent(op.rows * sizeof(ptrdiff_t))
    for i in range(op.rows):
        op.held[<ptrdiff_t>i] = op.size - op.step if prefill else 0
    note_state(context, op.held, op.rows * sizeof(ptrdiff_t))
    node.data = op
    node.invoke = framer
    return 0


cdef int framer(Context context, Node* node) noexcept nogil:
    cdef Framer* op = <Framer*>node.data
    cdef const int16_t* x = <const int16_t*>context.input(node, 0).data
    cdef int16_t* y = <int16_t*>context.output(node, 0).data
    cdef int16_t* history
    cdef uint8_t valid = 1
    cdef ptrdiff_t row, frame
    for row in range(op.rows):
        history = op.history + row * op.room
        for frame in range(op.frames):
            memcpy(history + op.held[row], x, 2 * op.step)
            op.held[row] += op.step
            if op.held[row] >= op.size:
                memcpy(y, history, 2 * op.size)
                op.held[row] -= op.step
                memmove(history, history + op.step, 2 * op.held[row])
            else:
                valid = 0
            x += op.step
            y += op.size
    (<uint8_t*>context.output(node, 1).data)[0] = valid
    return 0


# ---------------------------------------------------------------- SignalDelay

cdef int prepare_delay(Context context, Node* node) except -1:
    cdef const Tensor* x
    cdef Delay* op
    expect_arity_between(context, node, 1, 1, 1)
    x = operand(context, node, 0)
    want_type(context, node, x, INT16)
    want_type(context, node, result(context, node, 0), INT16)
    op = <Delay*>context.persistent(sizeof(Delay))
    op.delay = option(options_of(node), "delay_length", 0, LONGEST)
    op.length = last_dimension(x)
    op.rows = count(x) / op.length if op.length else 0
    op.history = <int16_t*>new_state(context, 2 * op.rows * op.delay)
    context.set_shape(result(context, node, 0), x.rank, x.dims)
    node.data = op
    node.invoke = delay
    return 0


cdef int delay(Context context, Node* node) noexcept nogil:
    cdef const Delay* op = <const Delay*>node.data
    cdef const int16_t* x = <const int16_t*>context.input(node, 0).data
    cdef int16_t* y = <int16_t*>context.output(node, 0).data
    cdef int16_t* history = op.history
    cdef ptrdiff_t n = min(op.length, op.delay)
    cdef ptrdiff_t row
    for row in range(op.rows):
        memcpy(y, history, 2 * n)
        memcpy(y + n, x, 2 * (op.length - n))
        memmove(history, history + n, 2 * (op.delay - n))
        memcpy(history + op.delay - n, x + op.length - n, 2 * n)
        x += op.length
        y += op.length
        history += op.delay
    return 0


# ---------------------------------------------------------------- SignalStacker

cdef int prepare_stacker(Context context, Node* node) except -1:
    cdef dict options = options_of(node)
    cdef const Tensor* x
    cdef Stacker* op
    cdef int64_t right = option(options, "stacker_right_context", 0, LONGEST)
    expect_arity_between(context, node, 1, 1, 2)
    x = operand(context, node, 0)
    want_type(context, node, x, INT16)
    want_type(context, node, result(context, node, 0), INT16)
    want_type(context, node, result(context, node, 1), BOOL)
    op = <Stacker*>context.persistent(sizeof(Stacker))
    op.channels = option(options, "num_channels", 1, LONGEST)
    op.left = option(options, "stacker_left_context", 0, LONGEST)
    op.size = op.channels * (op.left + right + 1)
    op.step = op.channels * option(options, "stacker_step", 1, op.left + right + 1)
    want_count(context, node, x, op.channels)
    want_count(context, node, result(context, node, 0), op.size)
    want_count(context, node, result(context, node, 1), 1)
    op.history = <int16_t*>new_state(context, 2 * op.size)
    op.held = <ptrdiff_t*>new_state(context, 2 * sizeof(ptrdiff_t))
    node.data = op
    node.invoke = stacker
    return 0


cdef int stacker(Context context, Node* node) noexcept nogil:
    cdef Stacker* op = <Stacker*>node.data
    cdef const int16_t* x = <const int16_t*>context.input(node, 0).data
    cdef bint full
    cdef ptrdiff_t i
    for i in range(1 if op.held[1] else 1 + op.left):
        memcpy(op.history + op.held[0], x, 2 * op.channels)
        op.held[0] += op.channels
    op.held[1] = 1
    full = op.held[0] >= op.size
    if full:
        memcpy(context.output(node, 0).data, op.history, 2 * op.size)
        op.held[0] -= op.step
        memmove(op.history, op.history + op.step, 2 * op.held[0])
    (<uint8_t*>context.output(node, 1).data)[0] = full
    return 0


# ---------------------------------------------------------------- SignalOverlapAdd

cdef int prepare_overlap_add(Context context, Node* node) except -1:
    cdef dict options = options_of(node)
    cdef const Tensor* x
    cdef OverlapAdd* op
    expect_arity_between(context, node, 1, 1, 1)
    x = operand(context, node, 0)
    if x.type != INT16 and x.type != FLOAT32:
        raise ValueError(f"SignalOverlapAdd: type {type_name(x.type)} is not supported")
    want_type(context, node, x, <int>option(options, "T", 0, 20))
    want_type(context, node, result(context, node, 0), x.type)
    if x.rank < 2 or count(x) == 0:
        raise ValueError(f"SignalOverlapAdd: an input of shape {shape_of(x)} has no frames")
    op = <OverlapAdd*>context.persistent(sizeof(OverlapAdd))
    op.size = x.dims[x.rank - 1]
    op.frames = x.dims[x.rank - 2]
    op.rows = count(x) / (op.size * op.frames)
    op.step = option(options, "frame_step", 1, op.size)
    want_count(context, node, result(context, node, 0), op.rows * op.frames * op.step)
    op.sums = new_state(context, op.rows * op.size * type_size(x.type))
    node.data = op
    node.invoke = overlap_add_s16 if x.type == INT16 else overlap_add_f32
    return 0


cdef int overlap_add_s16(Context context, Node* node) noexcept nogil:
    cdef const OverlapAdd* op = <const OverlapAdd*>node.data
    cdef const int16_t* x = <const int16_t*>context.input(node, 0).data
    cdef int16_t* y = <int16_t*>context.output(node, 0).data
    cdef int16_t* sums = <int16_t*>op.sums
    cdef ptrdiff_t row, frame, i
    for row in range(op.rows):
        for frame in range(op.frames):
            for i in range(op.size):
                sums[i] = <int16_t>max(-32768, min(<int32_t>sums[i] + x[i], 32767))
            memcpy(y, sums, 2 * op.step)
            memmove(sums, sums + op.step, 2 * (op.size - op.step))
            memset(sums + op.size - op.step, 0, 2 * op.step)
            x += op.size
            y += op.step
        sums += op.size
    return 0


cdef int overlap_add_f32(Context context, Node* node) noexcept nogil:
    cdef const OverlapAdd* op = <const OverlapAdd*>node.data
    cdef const float* x = <const float*>context.input(node, 0).data
    cdef float* y = <float*>context.output(node, 0).data
    cdef float* sums = <float*>op.sums
    cdef ptrdiff_t row, frame, i
    for row in range(op.rows):
        for frame in range(op.frames):
            for i in range(op.size):
                sums[i] = sums[i] + x[i]
            memcpy(y, sums, 4 * op.step)
            memmove(sums, sums + op.step, 4 * (op.size - op.step))
            memset(sums + op.size - op.step, 0, 4 * op.step)
            x += op.size
            y += op.step
        sums += op.size
    return 0


# ---------------------------------------------------------------- CIRCULAR_BUFFER

cdef int prepare_circular(Context context, Node* node) except -1:
    cdef const Tensor* x
    cdef const Tensor* y
    cdef Circular* op
    expect_arity_between(context, node, 1, 1, 1)
    x, y = operand(context, node, 0), result(context, node, 0)
    want_type(context, node, x, INT8)
    want_type(context, node, y, INT8)
    if x.rank != 4 or y.rank != 4 or x.dims[0] != 1 or x.dims[1] != 1 or y.dims[0] != 1 or x.dims[2] != y.dims[2] or x.dims[3] != y.dims[3]:
        raise ValueError(f"CIRCULAR_BUFFER: shapes {shape_of(x)} and {shape_of(y)}, expected [1, 1, w, c] and [1, n, w, c]")
    op = <Circular*>context.persistent(sizeof(Circular))
    op.cycles = <int32_t>option(options_of(node), "cycles_max", 1, LONGEST)
    op.slots, op.depth = y.dims[1], count(x)
    op.history = <int8_t*>context.persistent(op.slots * op.depth)
    op.left = <int32_t*>context.persistent(sizeof(int32_t))
    op.left[0] = op.cycles
    note_state(context, op.left, sizeof(int32_t))
    node.data = op
    node.invoke = circular
    return 0


cdef int circular(Context context, Node* node) noexcept nogil:
    cdef Circular* op = <Circular*>node.data
    cdef ptrdiff_t before = max(op.slots - 1, 0) * op.depth
    if op.slots > 0:
        memmove(op.history, op.history + op.depth, before)
        memcpy(op.history + before, context.input(node, 0).data, op.depth)
        memcpy(context.output(node, 0).data, op.history, op.slots * op.depth)
    op.left[0] -= 1
    if op.left[0] != 0:
        with gil:
            return context.fail_because(Stopped())
    op.left[0] = op.cycles
    return 0


MICRO_OPERATORS = {
    "SignalFramer": register(prepare_framer, version=1),
    "SignalDelay": register(prepare_delay, version=1),
    "SignalStacker": register(prepare_stacker, version=1),
    "SignalOverlapAdd": register(prepare_overlap_add, version=1),
    "CIRCULAR_BUFFER": register(prepare_circular, version=1),
}
