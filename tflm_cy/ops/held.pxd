"""An invoke that needs the GIL: `return held(context, node, function)`."""
from tflm_cy.graph.context cimport Context, Node

ctypedef int (*Held)(Context context, Node* node) except -1


cdef inline int held(Context context, Node* node, Held function) noexcept nogil:
    """Run a function that needs the GIL; what it raises becomes the node's failure."""
    cdef int status
    with gil:
        status = guarded(context, node, function)
    return status


cdef inline int guarded(Context context, Node* node, Held function) noexcept:
    try:
        return function(context, node)
    except BaseException as error:
        return context.fail_because(error)
