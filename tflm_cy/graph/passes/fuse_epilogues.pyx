# tflm_cy: optimize=speed
"""Additions, clamps and slopes are fused into the convolution or product that computes their input.

Before: CONV_2D -> ADD (of another tensor) -> RELU. After: one CONV_2D with the other tensor as one more input, whose kernel adds and clamps each
value before it writes it; ADD and RELU are elided, and their inputs need no memory.

A node fuses with the only reader of its output if the reader changes values one by one (`Node.epilogue`), what else it reads is there when the node
runs, and the kernel can do it (`Node.try_fuse`). A PAD that only adds channels of zeros to what is added is not needed then.
"""
from libc.stdint cimport int32_t, uint32_t

from tflm_cy.graph.compilation cimport new_pass
from tflm_cy.graph.context cimport EPILOGUE_ADD, EPILOGUE_PAD_CHANNELS, NO_EPILOGUE, Context, Node
from tflm_cy.graph.graph cimport FUSED, UNPADDED, Graph, count_reads, is_available, is_internal, node_at, writes
from tflm_cy.graph.live_ranges cimport find_live_ranges
from tflm_cy.graph.tensor cimport COMPUTED, CONSTANT, PLANNED

cdef struct Candidate:
    int reader                   # a step that changes values one by one
    int operand                  # as which input it reads them
    int32_t other                # the tensor that it reads beside them, -1: none
    int pad                      # the step that pads that tensor's channels, which is not needed then; -1: none


cdef int fuse_epilogues(Compilation c) except -1:
    cdef Graph* graph = c.graph
    cdef bint ranges_known = False
    cdef bint changed = False
    cdef Candidate candidate
    cdef int step
    if graph.internal == NULL:
        return 0
    for step in range(c.first, c.end):
        if node_at(graph, step).try_fuse == NULL:
            continue
        if not ranges_known:
            find_live_ranges(graph, c.first, c.end)
            ranges_known = True
        while find_candidate(c, step, &candidate) and fuse(c, step, &candidate):
            changed = True
    if changed:
        c.sink()
    return 0


cdef bint find_candidate(Compilation c, int maker, Candidate* candidate) noexcept:
    """The only step that reads what step `maker` computes, if it has an epilogue, and all that it reads is there when the maker runs."""
    cdef const Graph* graph = c.graph
    cdef int32_t t = node_at(graph, maker).outputs[0]
    cdef int reader = graph.last_use[t]
    cdef const Node* node
    candidate.reader = reader
    candidate.other = candidate.pad = -1
    if not is_internal(graph, t) or graph.tensors[t].allocation != PLANNED or not maker < reader < c.end:
        return False
    node = node_at(graph, reader)
    if node.epilogue.kind == NO_EPILOGUE or node.epilogue.kind == EPILOGUE_PAD_CHANNELS or graph.steps[maker].flushes != graph.steps[reader].flushes:
        return False
    candidate.operand = node.epilogue.operand if node.epilogue.operand >= 0 else 0 if node.inputs[0] == t else 1
    if node.inputs[candidate.operand] != t or graph.tensors[node.outputs[0]].allocation != PLANNED:
        return False
    if count_reads(graph, maker + 1, reader + 1, t) != 1:
        return False
    if node.input_count == 1:
        return True
    candidate.other = node.inputs[1 - candidate.operand]
    if graph.tensors[candidate.other].allocation == CONSTANT or graph.tensors[candidate.other].allocation == COMPUTED:
        return True
    if graph.tensors[candidate.other].allocation != PLANNED:
        return False
    candidate.pad = padding_step(graph, candidate.other, maker, reader)
    if candidate.pad >= 0:
        candidate.other = node_at(graph, candidate.pad).inputs[0]
        return True
    return is_available(graph, candidate.other, maker)


cdef int padding_step(const Graph* graph, int t, int maker, int reader) noexcept:
    """The step that computes tensor t by adding channels of zeros, if only `reader` reads it and what it pads is there when the maker runs; else -1."""
    cdef int step = graph.first_use[t]
    cdef int32_t x
    if not 0 <= step < reader or not writes(graph, step, t) or not is_internal(graph, t):
        return -1
    if node_at(graph, step).epilogue.kind != EPILOGUE_PAD_CHANNELS or graph.last_use[t] != reader or count_reads(graph, step + 1, reader + 1, t) != 1:
        return -1
    x = node_at(graph, step).inputs[0]
    return step if graph.tensors[x].allocation == PLANNED and is_available(graph, x, maker) else -1


cdef bint fuse(Compilation c, int maker, const Candidate* candidate) except -1:
    """Put a copy of the maker's node into its step that computes the reader's output; False: its kernel cannot."""
    cdef Graph* graph = c.graph
    cdef Node* reader = node_at(graph, candidate.reader)
    cdef Node* fused = c.extended(node_at(graph, maker), candidate.other)
    cdef int position = fused.input_count - 1 if candidate.other >= 0 else -1
    if position >= 32 or not fused.try_fuse(<Context>c.graph.context, fused, reader, candidate.operand, position):
        return False
    (<int32_t*>fused.outputs)[0] = reader.outputs[0]
    fused.time += reader.time
    if reader.epilogue.kind == EPILOGUE_ADD and position >= 0:
        fused.in_place |= <uint32_t>1 << position
        fused.space.elementwise_inputs |= <uint32_t>1 << position
    graph.steps[maker].node = fused
    graph.first_use[reader.outputs[0]] = maker
    c.elide(candidate.reader, FUSED, graph.steps[maker].source)
    if candidate.pad >= 0:
        c.elide(candidate.pad, UNPADDED, graph.steps[maker].source)
    return True


PASS = new_pass(fuse_epilogues, "fuse_epilogues", "Additions, clamps and slopes are fused into the product in front of them.", True)
