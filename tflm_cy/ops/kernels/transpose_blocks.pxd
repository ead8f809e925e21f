"""Which function transposes matrices of an element's size on this machine.

    transpose = transpose_of(4)                          # in prepare: a kernel, or the definition
    transpose(x, x_row, columns, rows, y, y_row)
"""
from libc.stdint cimport int64_t

from tflm_cy.arithmetic.signatures cimport TransposeBlocks
from tflm_cy.arithmetic.transpose_blocks cimport transpose_bytes, transpose_dwords, transpose_qwords, transpose_words
from tflm_cy.simd.table cimport kernels


cdef inline TransposeBlocks transpose_of(int64_t size):
    """Of elements of 1, 2, 4 or 8 bytes; NULL: of no others."""
    cdef int which = 0 if size == 1 else 1 if size == 2 else 2 if size == 4 else 3
    cdef TransposeBlocks definition = (
        transpose_bytes if size == 1 else transpose_words if size == 2 else transpose_dwords if size == 4 else transpose_qwords)
    if size != 1 << which:
        return NULL
    return kernels().bytes.transpose[which] if kernels().bytes.transpose[which] != NULL else definition
