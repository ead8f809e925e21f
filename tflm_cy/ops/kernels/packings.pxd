"""Packed weights of a node, which its next prepare finds again if they are packed the same way (`Context.packing`).

    packing = find_packed(context, &op.fast)            # in prepare, behind `plan_packed`
    if not packing.filled:                              # now or in the first invoke
        op.fast.pack(&op.fast, ...)
        note_packed(&op.fast, packing)

`layout_of` lists what packed weights depend on of a kernel's plan that shapes may change. Attributes, quantization and constants stay as they are.
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int32_t
from libc.string cimport memcpy

from tflm_cy.arithmetic.shapes cimport ConvShape
from tflm_cy.graph.context cimport LAYOUT_WORDS, Context, Packing
from tflm_cy.ops.kernels.packed cimport Packed
from tflm_cy.simd.conv_f32 cimport ConvF32
from tflm_cy.simd.conv_f32_unfused cimport ConvF32Unfused
from tflm_cy.simd.conv_i8 cimport ConvI8, PackingI8, PlanI8, TilesI8
from tflm_cy.simd.depthwise_i8 cimport DepthwiseI8


cdef inline Packing* find_packed(Context context, Packed* k, ptrdiff_t least=0) except NULL:
    """Memory for the packed weights, of `least` bytes or more; if it is filled, the plan is as `pack` leaves it."""
    cdef int32_t[LAYOUT_WORDS] layout
    cdef Packing* packing = context.packing(layout, layout_of(k, layout), max(k.packed_bytes, least))
    if Packed is ConvI8 or Packed is DepthwiseI8:
        k.packed = packing.data
    else:
        k.packed = <float*>packing.data
    if packing.filled:
        take_found(k, packing)
    return packing


cdef inline void note_packed(const Packed* k, Packing* packing) noexcept nogil:
    """The weights are packed."""
    cdef const void** found = <const void**>&packing.found[0]
    if Packed is ConvI8:
        memcpy(&packing.found[0], &k.packing, sizeof(PackingI8))
    elif Packed is DepthwiseI8:
        found[0], found[1], found[2], found[3] = k.sources, k.bias, k.scales, k.taps
        found[4], found[5], found[6] = k.extra, k.extra_at, k.extra_taps
    else:
        found[0] = k.packed
    packing.filled = True


cdef inline void take_found(Packed* k, const Packing* packing) noexcept nogil:
    cdef const void** found = <const void**>&packing.found[0]
    if Packed is ConvI8:
        memcpy(&k.packing, &packing.found[0], sizeof(PackingI8))
    elif Packed is DepthwiseI8:
        k.sources, k.bias, k.scales, k.taps = <const int32_t*>found[0], <const int32_t*>found[1], <const float*>found[2], <const int8_t*>found[3]
        k.extra, k.extra_at, k.extra_taps = <const int32_t*>found[4], <const int32_t*>found[5], <const int8_t*>found[6]
    else:
        k.packed = <float*>found[0]


cdef inline int layout_of(const Packed* k, int32_t* layout) noexcept nogil:
    """How many words it has."""
    if Packed is ConvF32:
        return float32_layout(k, <ptrdiff_t>k.pack, layout)
    elif Packed is ConvF32Unfused:
        return unfused_layout(k, layout)
    elif Packed is ConvI8:
        return bytes_layout(k, layout)
    elif Packed is DepthwiseI8:
        return depthwise_bytes_layout(k, layout)
    else:
        layout[0], layout[1], layout[2], layout[3] = <int32_t><ptrdiff_t>k.pack, <int32_t>k.packed_bytes, <int32_t>k.shape.ic, <int32_t>k.shape.oc
        return 4


cdef inline int list_words(const ptrdiff_t* words, int count, int32_t* layout) noexcept nogil:
    cdef int i
    for i in range(count):
        layout[i] = <int32_t>words[i]
    return count


cdef inline int float32_layout(const ConvF32* c, ptrdiff_t kernel, int32_t* layout) noexcept nogil:
    cdef ptrdiff_t[8] words = [
        kernel, c.packed_bytes, c.panels, c.vectors, c.shape.kh * c.shape.kw * c.shape.group_ic, c.shape.oc, c.shape.groups, c.period]
    return list_words(words, 8, layout)


cdef inline int unfused_layout(const ConvF32Unfused* c, int32_t* layout) noexcept nogil:
    """Padding counts, because taps that it leaves out must be finite."""
    cdef const ConvShape* g = &c.window.shape
    cdef int count = float32_layout(&c.window, <ptrdiff_t>c.pack, layout)
    cdef ptrdiff_t[13] words = [
        c.packed_bytes, c.panels, c.block, c.window.flat, c.copied, c.first_rest, c.first_last,
        c.last_positions < g.batches * g.oh * g.ow, g.pad_h * g.pad_w, g.oh, g.ow, g.ih, g.iw]
    return count + list_words(words, 8 if c.panels else 13, layout + count)


cdef inline int bytes_layout(const ConvI8* c, int32_t* layout) noexcept nogil:
    cdef const ConvShape* g = &c.shape
    cdef const PlanI8* p = &c.plan
    cdef const TilesI8* t = &c.tiles
    cdef ptrdiff_t[28] words = [
        <ptrdiff_t>c.pack, c.packed_bytes, c.spare_bytes, <ptrdiff_t>c.finish, g.ic, g.group_ic, g.oc, g.groups, g.kh, g.kw,
        p.row_bytes if p.segments > 1 or t.panel_columns > 0 else 0, p.segments, p.segment, p.steps, p.nibbles, p.group_columns, p.panel_columns,
        p.row_factor, p.w_offset, p.magic_bias, p.row_factor != 0 and p.rows > 1, t.panel_columns, t.steps, t.columns, t.across, t.sampled, t.gathered,
        t.positions_per_row]
    return list_words(words, 28, layout)


cdef inline int depthwise_bytes_layout(const DepthwiseI8* d, int32_t* layout) noexcept nogil:
    cdef ptrdiff_t[20] words = [
        <ptrdiff_t>d.pack, d.packed_bytes, <ptrdiff_t>d.finish, d.shape.ic, d.shape.oc, d.channels, d.single, d.slabs, d.quads, d.rows, d.shift,
        d.chunk, d.width, d.plane_bytes, d.groups, d.period, d.upright, d.shape.kw, d.magic_bias, d.most_extra]
    return list_words(words, 20, layout)
