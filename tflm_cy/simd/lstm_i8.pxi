from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from tflm_cy.arithmetic.gate_order cimport CELL_GATE
from tflm_cy.simd.lstm_i8 cimport LstmI8, LstmI8Kernels

cdef extern from "lstm_i8.h" nogil:
    void multiply_16(const uint8_t* w, const int32_t* bias, const uint8_t* x, ptrdiff_t steps, int32_t* y) noexcept
    void add_products_16(
        const int32_t* a, int32_t a_value, int32_t a_shift, const int32_t* b, int32_t b_value, int32_t b_shift, int16_t* v) noexcept
    void logistic_16(const int16_t* x, int16_t* y) noexcept
    void tanh_16(const int16_t* x, int bits, int16_t* y) noexcept
    void tanh_of_raised_16(const int16_t* x, int left, int16_t* y) noexcept
    void update_cell_16(
        const int16_t* i_gate, const int16_t* f_gate, const int16_t* g_gate, int right, int32_t low, int32_t high, int16_t* c) noexcept
    void leave_cell_16(const int16_t* gate, const int16_t* hidden, int32_t value, int32_t shift, int32_t zero_point, int8_t* y) noexcept

cdef enum:
    LANES = 16
    TAPS = 64                    # bytes of a row of weights that are packed at once


cdef struct LstmRoom8:
    uint8_t* x
    uint8_t* h
    int32_t* from_x              # sums of a gate's sixteen cells
    int32_t* from_h
    int16_t* gates               # 4 * lanes
    int16_t* c
    int16_t* hidden
    int8_t* y


cdef void plan_lstm_i8(LstmI8* s) noexcept nogil:
    s.lanes = round_up(s.cells, LANES)
    s.x_steps = round_up(s.inputs, 4) / 4
    s.h_steps = round_up(s.cells, 4) / 4
    s.packed_bytes = 4 * s.lanes * 4 * (s.x_steps + s.h_steps + 2) + TAIL
    s.scratch_bytes = row_bytes_of_lstm(s.x_steps) + row_bytes_of_lstm(s.h_steps) + s.lanes * (4 + 4 + 4 * 2 + 2 + 2 + 1) + TAIL


cdef ptrdiff_t row_bytes_of_lstm(ptrdiff_t steps) noexcept nogil:
    """Of the copy of a row."""
    return round_up(4 * PARTS8 * steps, 64)


cdef void pack_lstm_i8(LstmI8* s, int gate, const int8_t* w, const int8_t* r, const int32_t* bias) noexcept nogil:
    cdef ptrdiff_t x_bytes = s.lanes * 4 * s.x_steps
    cdef ptrdiff_t h_bytes = s.lanes * 4 * s.h_steps
    cdef uint8_t* at = s.packed + gate * (x_bytes + h_bytes + 8 * s.lanes)
    cdef int32_t* from_x = <int32_t*>(at + x_bytes + h_bytes)
    cdef int32_t* from_h = from_x + s.lanes
    cdef int64_t sum
    cdef ptrdiff_t c
    s.w[gate], s.r[gate], s.w_bias[gate], s.r_bias[gate] = at, at + x_bytes, from_x, from_h
    pack_rows_of_lstm(<const uint8_t*>w, s.cells, s.inputs, s.x_steps, at)
    pack_rows_of_lstm(<const uint8_t*>r, s.cells, s.cells, s.h_steps, at + x_bytes)
    for c in range(s.cells):
        sum = sum_taps(<const uint8_t*>w + c * s.inputs, s.inputs, 128)
        from_x[c] = <int32_t>(<uint32_t>bias[c] - <uint32_t>((s.x_zero_point + value_offset(True)) * sum))
        sum = sum_taps(<const uint8_t*>r + c * s.cells, s.cells, 128)
        from_h[c] = <int32_t>(-<uint32_t>((s.h_zero_point + value_offset(True)) * sum))


cdef void pack_rows_of_lstm(const uint8_t* w, ptrdiff_t rows, ptrdiff_t n, ptrdiff_t steps, uint8_t* packed) noexcept nogil:
    """Sixteen rows at a time, dwords of four taps."""
    cdef ptrdiff_t row = 0
    cdef ptrdiff_t at
    while row < rows:
        at = 0
        while at < n:
            turn_taps(
                w + row * n + at, n, rows - row if rows - row < LANES else LANES, n - at if n - at < TAPS else TAPS, 0, 0,
                packed + 16 * at, 4 * LANES)
            at += TAPS
        part_taps8(packed, 4 * LANES * steps)
        packed += 4 * LANES * steps
        row += LANES


cdef void step_lstm_i8(const LstmI8* s, const int8_t* x, int8_t* h, int16_t* c, int8_t* y, void* scratch) noexcept nogil:
    cdef LstmRoom8 room
    cdef uint8_t* at = <uint8_t*>scratch
    cdef ptrdiff_t first = 0
    cdef int gate
    room.x = at
    room.h = at + row_bytes_of_lstm(s.x_steps)
    room.from_x = <int32_t*>(room.h + row_bytes_of_lstm(s.h_steps))
    room.from_h = room.from_x + s.lanes
    room.gates = <int16_t*>(room.from_h + s.lanes)
    room.c = room.gates + 4 * s.lanes
    room.hidden = room.c + s.lanes
    room.y = <int8_t*>(room.hidden + s.lanes)
    copy_values8(<const uint8_t*>x, value_flip(True), s.inputs, room.x)
    copy_values8(<const uint8_t*>h, value_flip(True), s.cells, room.h)
    memset(room.c + s.lanes - LANES, 0, 2 * LANES)
    memcpy(room.c, c, 2 * s.cells)
    for gate in range(4):
        open_gate(s, gate, &room)
    while first < s.lanes:
        update_cell_16(
            room.gates + first, room.gates + s.lanes + first, room.gates + 2 * s.lanes + first, 30 + s.cell_log2,
            -s.cell_clip if s.cell_clip > 0 else -32768, s.cell_clip if s.cell_clip > 0 else 32767, room.c + first)
        tanh_16(room.c + first, 15 + s.cell_log2, room.hidden + first)
        leave_cell_16(
            room.gates + 3 * s.lanes + first, room.hidden + first, s.hidden_scale.value, s.hidden_scale.shift, s.hidden_zero_point,
            room.y + first)
        first += LANES
    memcpy(c, room.c, 2 * s.cells)
    memcpy(h, room.y, s.cells)
    memcpy(y, room.y, s.cells)


cdef void open_gate(const LstmI8* s, int gate, const LstmRoom8* room) noexcept nogil:
    cdef int16_t* v = room.gates + gate * s.lanes
    cdef ptrdiff_t first = 0
    while first < s.lanes:
        multiply_16(s.w[gate] + first * 4 * s.x_steps, s.w_bias[gate] + first, room.x, s.x_steps, room.from_x)
        multiply_16(s.r[gate] + first * 4 * s.h_steps, s.r_bias[gate] + first, room.h, s.h_steps, room.from_h)
        add_products_16(
            room.from_x, s.w_scales[gate].value, s.w_scales[gate].shift, room.from_h, s.r_scales[gate].value, s.r_scales[gate].shift,
            v + first)
        if gate == CELL_GATE:
            tanh_16(v + first, 3, v + first)
        else:
            logistic_16(v + first, v + first)
        first += LANES


cdef void logistic_row_16(const void* params, const void* words, void* out, int64_t n) noexcept nogil:
    cdef const int16_t* x = <const int16_t*>words
    cdef int16_t* y = <int16_t*>out
    cdef int16_t[LANES] last
    cdef int64_t body = n - n % LANES
    cdef int64_t i = 0
    while i < body:
        logistic_16(x + i, y + i)
        i += LANES
    if i < n:
        memset(last, 0, sizeof(last))
        memcpy(last, x + i, 2 * (n - i))
        logistic_16(last, last)
        memcpy(y + i, last, 2 * (n - i))


cdef void tanh_row_16(const void* params, const void* words, void* out, int64_t n) noexcept nogil:
    cdef const int16_t* x = <const int16_t*>words
    cdef int16_t* y = <int16_t*>out
    cdef int32_t left = (<const int32_t*>params)[0]
    cdef int16_t[LANES] last
    cdef int64_t body = n - n % LANES
    cdef int64_t i = 0
    while i < body:
        tanh_of_raised_16(x + i, left, y + i)
        i += LANES
    if i < n:
        memset(last, 0, sizeof(last))
        memcpy(last, x + i, 2 * (n - i))
        tanh_of_raised_16(last, left, last)
        memcpy(y + i, last, 2 * (n - i))


cdef void fill_lstm_i8(LstmI8Kernels* table) noexcept:
    table.plan = plan_lstm_i8
    table.pack = pack_lstm_i8
    table.step = step_lstm_i8
    table.logistic = logistic_row_16
    table.tanh = tanh_row_16
