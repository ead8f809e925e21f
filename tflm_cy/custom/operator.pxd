"""An operator in Python as a Registration; told in `operator.pyx`."""
from tflm_cy.graph.context cimport Node, Registration
from tflm_cy.graph.subgraph cimport Subgraph


cdef class PythonOperator(Registration):
    cdef readonly str name
    cdef object prepare_with
    cdef object invoke_with


cdef class PythonNode:
    cdef Subgraph g
    cdef Node* node          # NULL when the call is over
    cdef PythonOperator op
    cdef list scratch_forms  # (handle, bytes, shape, dtype)
    cdef list persistent_forms
    cdef list persistent_addresses
    cdef object kept_state
    cdef Node* live(self) except NULL
