# tflm_cy: again=avx2
"""The loops that make one value of two, for all operators that do; see combining.pxd."""
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from tflm_cy.arithmetic.combine cimport Combine, combine_halves, combine_run
from tflm_cy.arithmetic.truths cimport combine_truths
from tflm_cy.graph.tensor cimport BOOL, FLOAT16, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64


cdef Combine combine_of(int type) noexcept nogil:
    if type == FLOAT32:
        return <Combine>combine_run[float]
    if type == FLOAT64:
        return <Combine>combine_run[double]
    if type == FLOAT16:
        return <Combine>combine_halves
    if type == BOOL:
        return <Combine>combine_truths
    if type == INT8:
        return <Combine>combine_run[int8_t]
    if type == UINT8:
        return <Combine>combine_run[uint8_t]
    if type == INT16:
        return <Combine>combine_run[int16_t]
    if type == UINT16:
        return <Combine>combine_run[uint16_t]
    if type == INT32:
        return <Combine>combine_run[int32_t]
    if type == UINT32:
        return <Combine>combine_run[uint32_t]
    if type == INT64:
        return <Combine>combine_run[int64_t]
    if type == UINT64:
        return <Combine>combine_run[uint64_t]
    return NULL
