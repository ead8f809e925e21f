"""Resource variables, shared by the subgraphs of a model, and the note of what CALL_ONCE has run.

A variable is named by (container, shared name); VAR_HANDLE turns the name into a number, which travels through RESOURCE
tensors. Memory is reserved when ASSIGN_VARIABLE is prepared, so that assigning a value of that size allocates nothing.
A `Variable` keeps its address as long as the `Resources` live, so that operators may hold it.
"""
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy

from tflm_cy.graph.tensor cimport Tensor


cdef int reserve(Variable* variable, size_t bytes) noexcept nogil:
    """Memory for a value of so many bytes; -1 when it cannot be had."""
    cdef void* data
    if variable.planned:
        return 0 if bytes <= variable.capacity else -1
    if bytes > variable.capacity or variable.data == NULL:
        data = realloc(variable.data, bytes + 1)
        if data == NULL:
            return -1
        variable.data = data
        variable.capacity = bytes
    return 0


cdef int assign(Variable* variable, const Tensor* value) noexcept nogil:
    """Copy a value; -1 when there is no memory for it."""
    cdef int d
    if reserve(variable, value.bytes) != 0:
        return -1
    memcpy(variable.data, value.data, value.bytes)
    variable.bytes = value.bytes
    variable.type = value.type
    variable.rank = value.rank
    for d in range(value.rank):
        variable.dims[d] = value.dims[d]
    variable.assigned = True
    return 0


cdef class Resource:
    """The owner of one variable; unassigned until the first ASSIGN_VARIABLE runs."""

    def __dealloc__(self):
        if not self.variable.planned:
            free(self.variable.data)


cdef class Resources:
    """All variables of one interpreter."""

    def __init__(self):
        self.identifiers = {}
        self.resources = []
        self.initialized = set()
        self.tables = {}

    cdef int identifier(self, str container, str name) except -1:
        """The number of a variable, new or known."""
        key = (container, name)
        number = self.identifiers.get(key)
        if number is None:
            number = len(self.resources)
            self.identifiers[key] = number
            self.resources.append(Resource())
        return number

    cdef Variable* variable(self, int number) noexcept:
        """The variable of a number, NULL when there is none."""
        if not 0 <= number < len(self.resources):
            return NULL
        return &(<Resource>self.resources[number]).variable
