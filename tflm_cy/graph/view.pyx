"""The base object of a numpy view of a tensor.

It keeps the subgraph and thereby the memory alive, and counts itself in the resources that all subgraphs of a model
share: while one lives, nothing is allocated, resized or invoked, so that memory never moves under it.
"""
cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from libc.stddef cimport size_t

from tflm_cy.graph.subgraph cimport Subgraph


cdef class View:
    """Made by `view_of`; give it to numpy.ndarray as its buffer."""

    def __dealloc__(self):
        if self.owner is not None:
            with cython.critical_section(self.owner.shared):      # views die in any thread; matters without a GIL only
                self.owner.shared.live_views -= 1

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.data, self.bytes, self.readonly, flags)

    def __releasebuffer__(self, Py_buffer* buffer):
        pass


cdef View view_of(Subgraph owner, void* data, size_t bytes, bint readonly):
    """A view of any memory that the subgraph keeps."""
    cdef View made = View.__new__(View)
    made.owner = owner
    with cython.critical_section(owner.shared):
        owner.shared.live_views += 1
    made.data = data
    made.bytes = bytes
    made.readonly = readonly
    return made
