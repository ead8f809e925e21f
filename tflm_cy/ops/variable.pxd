"""What nodes of variables share: which variable they name, and reading it."""
from tflm_cy.graph.context cimport Context, Node
from tflm_cy.graph.resource cimport Variable
from tflm_cy.graph.tensor cimport Tensor


cdef struct VariableData:
    Variable* variable           # NULL: the handle is known only while invoking
    void* resources              # Resources, which live as long as the interpreter


cdef VariableData* find_variable(Context context, Node* node) except NULL
cdef Variable* variable_of(Context context, Node* node) noexcept nogil
cdef Variable* assigned_variable(Context context, Node* node) noexcept nogil
cdef int copy_value(Context context, const Variable* variable, Tensor* y) noexcept nogil
