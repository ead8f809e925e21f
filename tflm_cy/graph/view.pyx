"""The base object of a numpy view of a tensor.

It keeps the subgraph and thereby the memory alive, and counts itself in the resources that all subgraphs of a model
share: while one lives, nothing is allocated, resized or invoked, so that memory never moves under it.
"""
from cpython.buffer cimport PyBuffer_FillInfo

from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport Tensor


cdef class View:
    """Made by `view`; give it to numpy.ndarray as its buffer."""

    def __dealloc__(self):
        if self.owner is not None:
            self.owner.shared.live_views -= 1

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.data, self.bytes, self.readonly, flags)

    def __releasebuffer__(self, Py_buffer* buffer):
        pass


cdef View view(Subgraph owner, const Tensor* tensor, bint readonly):
    """A view of a tensor that has memory."""
    cdef View made = View.__new__(View)
    made.owner = owner
    owner.shared.live_views += 1
    made.data = tensor.data
    made.bytes = tensor.bytes
    made.readonly = readonly
    return made
