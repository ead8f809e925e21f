"""The inside of an Interpreter; told in `core.pyx`."""
from tflm_cy.graph.replay cimport Replay
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.schema.model cimport Model
from tflm_cy.threads.call_lock cimport CallLock


cdef class Core:
    cdef object __weakref__
    cdef readonly Model model
    cdef readonly list subgraphs
    cdef readonly int num_threads
    cdef object default_delegate     # makes a delegate at the first allocate; None: there is none, or it has been applied
    cdef bint clustering
    cdef object find                 # operator's name -> Registration
    cdef bint reference
    cdef list delegates              # those that have taken their nodes
    cdef Replay replay               # gives the values of tensors that were overwritten; None: nobody has asked for one
    cdef CallLock call_lock
    cdef Subgraph primary

    cdef int enter(self) except -1
    cdef int forget_call(self) except -1
    cdef bint enter_to_look(self) except -1
    cdef object look(self, tell, subgraph_index)
    cdef bint is_quick(self, object index, object subgraph_index)
    cdef int leave(self) noexcept
    cdef int guard(self) except -1
    cpdef bint is_safe(self)
    cdef Subgraph subgraph(self, object index)
    cdef int tensor_index(self, Subgraph g, object index) except -1
    cdef int apply_default_delegate(self) except -1
    cdef int run(self, Subgraph g) except -1
    cdef int resize_unlocked(self, Subgraph g, object index, object shape, bint strict) except -1
    cdef int put(self, object index, object value, object subgraph_index) except -1
    cdef int set_unlocked(self, Subgraph g, object index, object value) except -1
    cdef object get(self, object index, object subgraph_index)
    cdef object get_unlocked(self, Subgraph g, object index)
    cdef bint is_lost(self, Subgraph g, int t) noexcept
