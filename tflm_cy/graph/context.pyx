"""The parts of the contract between graph and operators that need code; `context.pxd` is the page to read."""
from libc.stdio cimport snprintf
from libc.stdint cimport int32_t, uint8_t

from tflm_cy.graph.tensor cimport Tensor

cdef class Registration:
    """An operator: versions and functions. Made by `register`."""


cdef Registration register(
    PrepareFunction prepare, int version, int reference_version=-1, int lowest_version=1, int sparse_input=-1,
):
    """An operator that accepts the versions lowest_version .. version (BUILTIN_REF: .. reference_version, by default the same)."""
    cdef Registration registration = Registration.__new__(Registration)
    registration.prepare = prepare
    registration.version = version
    registration.reference_version = version if reference_version < 0 else reference_version
    registration.lowest_version = lowest_version
    registration.sparse_input = sparse_input
    registration.deferred_input = registration.packed_input = -1
    return registration


cdef Registration defers(Registration registration, int deferred_input):
    """An operator whose prepare does not look at the value of an input, or asks for it by `materialize`."""
    registration.deferred_input = deferred_input
    return registration


cdef Registration packs(Registration registration, int packed_input):
    """An operator that looks at the value of a constant input in prepare only, and asks for it by `materialize`."""
    registration.deferred_input = registration.packed_input = packed_input
    return registration


cdef int elide(Node* node) noexcept nogil:
    """Threads that share the nodes around it need not wait for it, either."""
    node.invoke = nothing
    node.elided = True
    return 0


cdef int nothing(Context context, Node* node) noexcept nogil:
    return 0


cdef class Context:
    """The calls of `context.pxd`; `graph.subgraph` carries them out."""

    cdef int set_shape(self, Tensor* tensor, int rank, const int32_t* dims) except -1:
        raise NotImplementedError

    cdef int set_dynamic(self, Tensor* tensor) except -1:
        raise NotImplementedError

    cdef int set_computed(self, Tensor* tensor) except -1:
        raise NotImplementedError

    cdef int defer(self, Node* node, Tensor* tensor) except -1:
        raise NotImplementedError

    cdef int materialize(self, const Tensor* tensor) except -1:
        raise NotImplementedError

    cdef void* persistent(self, size_t bytes) except NULL:
        raise NotImplementedError

    cdef void* unfilled(self, size_t bytes) except NULL:
        raise NotImplementedError

    cdef Packing* packing(self, const int32_t* layout, int words, size_t bytes) except NULL:
        raise NotImplementedError

    cdef const uint8_t* same_bytes(self, uint8_t value, size_t bytes) except NULL:
        raise NotImplementedError

    cdef int request_scratch(self, size_t bytes) except -1:
        raise NotImplementedError

    cdef int keep(self, object value) except -1:
        raise NotImplementedError

    cdef int parallelize(self, Node* node, WorkFunction work, IterationSpace space, double nanoseconds) except -1:
        """The node can run range by range; the engine decides whether it does."""
        if space.units > space.granularity:
            node.work = work
            node.space = space
            node.time = nanoseconds
        return 0

    cdef Context subgraph(self, int index):
        raise NotImplementedError

    cdef object resources(self):
        raise NotImplementedError

    cdef str operator_name(self, const Node* node):
        raise NotImplementedError

    cdef list operators(self):
        raise NotImplementedError

    cdef str tensor_label(self, int t):
        raise NotImplementedError

    cdef bint has_open_shape(self, const Tensor* tensor) except -1:
        raise NotImplementedError

    cdef bint kept_by_tensorflow(self, const Tensor* tensor) except -1:
        raise NotImplementedError

    cdef int input_total(self) noexcept:
        return 0

    cdef int output_total(self) noexcept:
        return 0

    cdef Tensor* graph_input(self, int i) noexcept:
        return NULL

    cdef Tensor* graph_output(self, int i) noexcept:
        return NULL

    cdef int shape_input(self, int i, int rank, const int32_t* dims) except -1:
        raise NotImplementedError

    cdef int prepare_call(self) except -1:
        raise NotImplementedError

    cdef bint has_dynamic(self) noexcept:
        return False

    cdef int store(self, Tensor* target, const Tensor* value) except -1:
        raise NotImplementedError

    cdef int call(self, Context caller) noexcept:
        return -1

    cdef int resize(self, Tensor* tensor, int rank, const int32_t* dims) noexcept nogil:
        return -1

    cdef int resize_bytes(self, Tensor* tensor, size_t bytes) noexcept nogil:
        return -1

    cdef const void* acquire(self, const Tensor* tensor) noexcept nogil:
        return tensor.data

    cdef void evict(self, const Tensor* tensor) noexcept nogil:
        pass

    cdef int fail(self, const char* text) noexcept nogil:
        """Note why the node failed; returns -1, which invoke returns."""
        snprintf(self.message, sizeof(self.message), b"%s", text)
        return -1

    cdef int fail_with(self, const char* format, long a, long b) noexcept nogil:
        """As `fail`, with two numbers for the %ld of the format."""
        snprintf(self.message, sizeof(self.message), format, a, b)
        return -1

    cdef int fail_because(self, object error) noexcept:
        """Note an exception that was caught while invoking; returns -1."""
        return self.fail(str(error).encode("utf-8", "replace"))
