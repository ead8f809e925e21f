"""Resource variables, shared by the subgraphs of a model, and the note of what CALL_ONCE has run.

A variable is named by (container, shared name); VAR_HANDLE turns the name into a number, which travels through RESOURCE tensors.
Memory is reserved when ASSIGN_VARIABLE is prepared, so that assigning a value of that size allocates nothing.
"""
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from tflm_cy.graph.tensor cimport Tensor


cdef class Resource:
    """One variable; unassigned until the first ASSIGN_VARIABLE runs."""

    def __dealloc__(self):
        free(self.data)

    cdef int reserve(self, size_t bytes) except -1:
        """Memory for a value of so many bytes."""
        cdef void* data
        if bytes > self.capacity or self.data == NULL:
            data = realloc(self.data, bytes + 1)
            if data == NULL:
                raise MemoryError(f"no memory for a variable of {bytes} bytes")
            self.data = data
            self.capacity = bytes
        return 0

    cdef int assign(self, const Tensor* value) noexcept nogil:
        """Copy a value; -1 when there is no memory for it."""
        cdef void* data
        cdef int d
        if value.bytes > self.capacity or self.data == NULL:
            data = realloc(self.data, value.bytes + 1)
            if data == NULL:
                return -1
            self.data = data
            self.capacity = value.bytes
        memcpy(self.data, value.data, value.bytes)
        self.bytes = value.bytes
        self.type = value.type
        self.rank = value.rank
        for d in range(value.rank):
            self.dims[d] = value.dims[d]
        self.assigned = True
        return 0


cdef class Resources:
    """All variables of one interpreter."""

    def __init__(self):
        self.identifiers = {}
        self.variables = []
        self.initialized = set()

    cdef int identifier(self, str container, str name) except -1:
        """The number of a variable, new or known."""
        key = (container, name)
        number = self.identifiers.get(key)
        if number is None:
            number = len(self.variables)
            self.identifiers[key] = number
            self.variables.append(Resource())
        return number

    cdef Resource variable(self, int number):
        """The variable of a number; ValueError when a tensor holds none."""
        if not 0 <= number < len(self.variables):
            raise ValueError(f"{number} is not the handle of a resource variable")
        return self.variables[number]
