"""A verified model in memory; see model.pyx."""
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint8_t, uint32_t


cdef class Model:
    cdef Py_buffer view
    cdef bint held                   # `view` is ours
    cdef const uint8_t* base         # first byte
    cdef size_t size                 # bytes, with what may follow the flatbuffer
    cdef const uint8_t* root         # the table Model
    cdef object mapping              # of the file, or None
    cdef readonly str micro_only     # None; else why TensorFlow would not construct an interpreter although TFLM does

    cdef int give_back(self) except -1
    cdef void buffer(self, uint32_t index, const uint8_t** data, size_t* size) noexcept nogil
    cdef void constant(self, const uint8_t* tensor, const uint8_t** data, size_t* size) noexcept nogil
    cdef void custom_options(self, const uint8_t* operator, const uint8_t** data, size_t* size) noexcept nogil
    cdef int32_t operator_code(self, const uint8_t* operator) noexcept nogil
    cdef const uint8_t* options(self, const uint8_t* operator) noexcept nogil
