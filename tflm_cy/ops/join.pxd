"""Inputs whose rows stand one behind the other in each row of the output, and how threads share the copies.

    join = new_join(context, node)                              # its rows, and a row's bytes, are the caller's to fill in
    add_piece(join, i, bytes)                                   # of input i, in turn
    node.invoke = join_bytes
    return share_join(context, node, of_positions)              # of_positions: its rows are the output's positions
"""
from libc.stdint cimport int64_t, uint8_t

from tflm_cy.arithmetic.copy_runs cimport copy_runs
from tflm_cy.arithmetic.lookup cimport lookup_8
from tflm_cy.arithmetic.signatures cimport UnaryKernel
from tflm_cy.graph.context cimport Context, Node
from tflm_cy.ops.copy_space cimport RowPart, next_block, part_of_rows, prefetch_block, share_rows, whole_rows
from tflm_cy.simd.table cimport kernels


cdef struct Piece:               # what one input gives to each row of the output
    int64_t run                  # bytes; int4: elements
    int64_t offset
    uint8_t* table               # uint8 values rescaled to the output's parameters, NULL: copied


cdef struct Join:
    int64_t rows                 # product of the dimensions before the axis
    int64_t row                  # bytes of the output's row; int4: elements
    UnaryKernel lookup           # of what has a table
    Piece* pieces


cdef inline Join* new_join(Context context, Node* node) except NULL:
    """The node's data, with room for a piece per input."""
    cdef Join* join = <Join*>context.persistent(sizeof(Join) + node.input_count * sizeof(Piece))
    join.pieces = <Piece*>(join + 1)
    join.lookup = kernels().bytes.lookup
    if join.lookup == NULL:
        join.lookup = <UnaryKernel>lookup_8
    node.data = join
    return join


cdef inline void add_piece(Join* join, int i, int64_t run) noexcept nogil:
    join.pieces[i].run = run
    join.pieces[i].offset = join.pieces[i - 1].offset + join.pieces[i - 1].run if i > 0 else 0


cdef inline int share_join(Context context, Node* node, bint of_positions) except -1:
    cdef const Join* join = <const Join*>node.data
    return share_rows(context, node, join_range, join.rows, join.row, 0xFFFFFFFF if of_positions and node.input_count <= 32 else 0)


cdef inline int join_bytes(Context context, Node* node) noexcept nogil:
    cdef const Join* join = <const Join*>node.data
    cdef RowPart part = whole_rows(join.rows, join.row)
    join_part(context, node, &part)
    return 0


cdef inline void join_range(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil:
    cdef const Join* join = <const Join*>node.data
    cdef RowPart part = part_of_rows(join.rows, join.row, first, end)
    join_part(context, node, &part)


cdef inline void join_part(Context context, const Node* node, RowPart* part) noexcept nogil:
    cdef const Join* join = <const Join*>node.data
    cdef const Piece* piece
    cdef const char* x
    cdef char* y
    cdef int64_t first, end, row
    cdef RowPart block
    cdef int i
    while next_block(part, join.row, &block):
        prefetch_block(&block, join.row, <char*>context.output(node, 0).data, True)
        y = <char*>context.output(node, 0).data + block.row * join.row
        for i in range(node.input_count):
            piece = &join.pieces[i]
            first, end = max(piece.offset, block.byte), min(piece.offset + piece.run, block.byte + block.bytes)
            x = <const char*>context.input(node, i).data + block.row * piece.run + first - piece.offset
            if piece.table == NULL:
                copy_runs(y + first, join.row, x, piece.run, end - first, block.rows)
                continue
            for row in range(block.rows if first < end else 0):
                join.lookup(piece.table, x + row * piece.run, y + row * join.row + first, end - first)
