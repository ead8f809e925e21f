"""What operators call: shapes, memory and messages of one subgraph's tensors.

`graph.context` declares these calls, `graph.subgraph` adds the plan and the state machine. Memory comes from three places:

| what | where |
| --- | --- |
| persistent data and computed outputs | the arena's tail, until the next prepare; what is large and need not be zero in an arena of its own |
| scratch buffers and planned tensors | the head, when the plan is known |
| dynamic and string tensors | blocks of their own, which only grow |

Under TFLM's rules (`micro`) no shape is known only while invoking: an output that would be dynamic has the file's shape and
memory in the head, and what it is given while invoking must have exactly this shape.
"""
cimport cython
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset

from tflm_cy.graph.context cimport PREPARE, Context
from tflm_cy.graph.tensor cimport (
    COMPUTED, CONSTANT, DYNAMIC, MAX_RANK, STRING, VARIABLE, Tensor, bytes_of, count, is_constant, shape_of, type_name,
)
from tflm_cy.memory.arena cimport KIND_OP_DATA
from tflm_cy.memory.block cimport Block, new_block
from tflm_cy.memory.growing_arena cimport GrowingArena

cdef enum:
    BULK_BYTES = 1 << 15
    MOST_STRINGS = 1 << 27   # in one tensor


cdef bint counts_as_empty(int rank, const int32_t* dims) noexcept nogil:
    """A dimension is negative, and TensorFlow counts 0 bytes: it multiplies unsigned numbers of 64 bits, and looks for an overflow each time."""
    cdef uint64_t n = 1
    cdef uint64_t dim
    cdef bint negative = False
    cdef int d
    for d in range(rank):
        dim = <uint64_t><int64_t>dims[d]
        negative = negative or dims[d] < 0
        if n != 0 and n * dim / n != dim:
            return False
        n *= dim
    return negative and n == 0


@cython.no_gc_clear          # __dealloc__ reads a table that lies in the arena
cdef class Workspace(Context):
    """The memory of a subgraph while it is prepared and run."""

    def __dealloc__(self):
        cdef int t
        if self.owned != NULL:
            for t in range(self.tensor_count):
                free(self.owned[t])
        free(self.scratch_requests)
        free(self.scratch_buffers)

    # ---------------------------------------------------------------- what operators call in prepare

    cdef int set_shape(self, Tensor* tensor, int rank, const int32_t* dims) except -1:
        """Give an output its shape; its bytes follow from it."""
        cdef int64_t size
        cdef int d
        if rank > MAX_RANK or rank < 0:
            raise ValueError(f"rank {rank} of tensor {tensor.index} exceeds {MAX_RANK}")
        if tensor.allocation == VARIABLE or tensor.allocation == CONSTANT:
            if rank == tensor.rank and all([dims[d] == tensor.dims[d] for d in range(rank)]):
                return 0
            raise ValueError(f"tensor {tensor.index} keeps its shape {shape_of(tensor)}")
        size = 0 if counts_as_empty(rank, dims) else bytes_of(tensor.type, rank, dims)
        if size < 0:
            raise ValueError(
                f"BytesRequired number of elements overflowed: shape {[dims[d] for d in range(rank)]} of tensor {tensor.index}")
        for d in range(rank):
            tensor.dims[d] = max(dims[d], 0)
        tensor.rank = rank
        tensor.bytes = 0 if tensor.type == STRING else size
        return 0

    cdef int set_dynamic(self, Tensor* tensor) except -1:
        """The shape of this output is known only while invoking."""
        if tensor.allocation == VARIABLE or tensor.allocation == CONSTANT:
            raise ValueError(f"tensor {tensor.index} keeps its shape {shape_of(tensor)}")
        if self.micro:
            if tensor.type == STRING:
                raise ValueError(f"tensor {tensor.index} would be shaped while invoking")
            tensor.allocation = DYNAMIC
            return 0
        tensor.allocation = DYNAMIC
        tensor.data = NULL
        tensor.bytes = 0
        self.dynamic_seen = True
        return 0

    cdef int set_computed(self, Tensor* tensor) except -1:
        """The value of this output is known now: gives it memory in the tail, to be filled by prepare."""
        if tensor.allocation == VARIABLE or tensor.allocation == CONSTANT or tensor.type == STRING:
            raise ValueError(f"tensor {tensor.index} cannot be computed in prepare")
        tensor.allocation = COMPUTED
        tensor.data = self.take_unfilled(tensor.bytes)
        return 0

    cdef void* persistent(self, size_t bytes) except NULL:
        """Zeroed memory until the next prepare, aligned as the arena's tensors are (64 bytes, TFLM: 16)."""
        if self.state != PREPARE:
            raise RuntimeError("persistent memory can be had in prepare only")
        return self.arena.allocate_tail(bytes, self.alignment, KIND_OP_DATA)

    cdef void* unfilled(self, size_t bytes) except NULL:
        """As persistent, but with any bytes in it."""
        if self.state != PREPARE:
            raise RuntimeError("persistent memory can be had in prepare only")
        return self.take_unfilled(bytes)

    cdef void* take_unfilled(self, size_t bytes) except NULL:
        if bytes < BULK_BYTES or self.micro:
            return self.arena.allocate_unfilled(bytes, self.alignment, KIND_OP_DATA)
        if self.bulk is None:
            self.bulk = GrowingArena(self.alignment, SLACK)
        return self.bulk.allocate_unfilled(bytes, self.alignment, KIND_OP_DATA)

    cdef const uint8_t* same_bytes(self, uint8_t value, size_t bytes) except NULL:
        """A row of equal bytes, aligned to 64, until the graph is prepared from its beginning again."""
        cdef list rows
        cdef Block row
        if self.same is None:
            self.same = {}
        rows = self.same.setdefault(value, [])
        for row in rows:
            if row.size >= bytes:
                return <const uint8_t*>row.data
        row = new_block(bytes + 1, 64)
        memset(row.data, value, row.size)
        rows.append(row)
        return <const uint8_t*>row.data

    cdef size_t bulk_mark(self) except? 0:
        return 0 if self.bulk is None else self.bulk.mark()

    cdef int rewind(self, size_t mark, size_t bulk_mark) except -1:
        """Give back what has been taken since the marks of the tail and of the bulk."""
        self.arena.rewind(mark)
        if self.bulk is not None:
            self.bulk.rewind(bulk_mark)
        return 0

    cdef int trim_bulk(self) noexcept:
        if self.bulk is not None:
            self.bulk.trim_tail()
        return 0

    cdef int request_scratch(self, size_t bytes) except -1:
        """Memory while this node runs; the handle is for `scratch`."""
        cdef Scratch* requests
        if self.state != PREPARE:
            raise RuntimeError("scratch memory can be requested in prepare only")
        if bytes > <size_t>1 << 46:
            raise ValueError(f"a scratch buffer of {bytes} bytes is too large")
        if self.scratch_count == self.scratch_capacity:
            requests = <Scratch*>realloc(self.scratch_requests, (2 * self.scratch_capacity + 8) * sizeof(Scratch))
            if requests == NULL:
                raise MemoryError()
            self.scratch_requests = requests
            self.scratch_capacity = 2 * self.scratch_capacity + 8
        requests = &self.scratch_requests[self.scratch_count]
        requests.bytes = bytes
        requests.step = self.current_step
        self.scratch_count += 1
        return self.scratch_count - 1

    cdef int keep(self, object value) except -1:
        self.kept.append(value)
        return 0

    # ---------------------------------------------------------------- what operators call in invoke

    cdef int resize(self, Tensor* tensor, int rank, const int32_t* dims) noexcept nogil:
        """Give a dynamic output its shape and memory."""
        cdef int64_t size
        cdef int d
        if tensor.allocation != DYNAMIC or rank > MAX_RANK or rank < 0:
            return self.fail_with(b"tensor %ld cannot be shaped while invoking (rank %ld). ", tensor.index, rank)
        if self.micro:
            return self.keep_shape(tensor, rank, dims)
        size = bytes_of(tensor.type, rank, dims)
        if size < 0:
            return self.fail_with(b"BytesRequired number of elements overflowed for tensor %ld (rank %ld). ", tensor.index, rank)
        for d in range(rank):
            tensor.dims[d] = dims[d]
        tensor.rank = rank
        if tensor.type == STRING:
            return 0
        return self.resize_bytes(tensor, size)

    cdef int keep_shape(self, const Tensor* tensor, int rank, const int32_t* dims) noexcept nogil:
        """Accept the shape that the file gives and no other."""
        cdef int d
        cdef bint same = rank == tensor.rank
        for d in range(rank):
            same = same and dims[d] == tensor.dims[d]
        if not same:
            return self.fail_with(
                b"tensor %ld has another shape (of rank %ld) than the file says, and no memory for it. ", tensor.index, rank)
        return 0

    cdef int resize_bytes(self, Tensor* tensor, size_t bytes) noexcept nogil:
        """Memory of a string or dynamic tensor, without touching its shape."""
        if tensor.allocation != DYNAMIC:
            return self.fail_with(b"tensor %ld has fixed memory, %ld bytes were asked for. ", tensor.index, bytes)
        if self.micro:
            if bytes != tensor.bytes:
                return self.fail_with(b"tensor %ld has planned memory, %ld bytes were asked for. ", tensor.index, bytes)
            return 0
        if self.reserve_owned(tensor.index, bytes) != 0:
            return self.fail_with(b"no memory for tensor %ld of %ld bytes. ", tensor.index, bytes)
        tensor.bytes = bytes
        return 0

    cdef int reserve_owned(self, int index, size_t bytes) noexcept nogil:
        """Own memory of at least so many bytes; the tensor points to it."""
        cdef void* data
        if self.owned[index] == NULL or self.owned_capacity[index] < bytes:
            data = realloc(self.owned[index], bytes + SLACK)
            if data == NULL:
                return -1
            self.owned[index] = data
            self.owned_capacity[index] = bytes
        self.tensors[index].data = self.owned[index]
        return 0

    # ---------------------------------------------------------------- values

    cdef int store(self, Tensor* target, const Tensor* value) except -1:
        """Copy a value between tensors of any two subgraphs; a dynamic target takes the value's shape."""
        if target == value:
            return 0
        if value.data == NULL:
            raise ValueError(f"tensor {value.index} has no value")
        if target.type != value.type:
            raise ValueError(f"a value of type {type_name(value.type)} cannot be stored in {type_name(target.type)}")
        if target.allocation == DYNAMIC:
            if self.resize(target, value.rank, value.dims) != 0 or self.resize_bytes(target, value.bytes) != 0:
                raise ValueError((<bytes>self.message).decode("utf-8", "replace"))
        if target.bytes != value.bytes or is_constant(target):
            raise ValueError(f"a value of shape {shape_of(value)} cannot be stored in a tensor of shape {shape_of(target)}")
        if value.bytes > 0:
            memcpy(target.data, value.data, value.bytes)
        return 0

    cdef int set_text(self, int index, list items) except -1:
        """Store byte strings in a string tensor: count, offsets, characters."""
        cdef Tensor* tensor = &self.tensors[index]
        cdef bytes body = b"".join(items)
        cdef int length = len(items)
        cdef int64_t total = 4 * (<int64_t>length + 2) + len(body)
        cdef int32_t* head
        cdef int i
        if total > 0x7FFFFFFF:
            raise ValueError("a string tensor holds at most 2 GiB")
        if self.reserve_owned(index, total) != 0:
            raise MemoryError(f"no memory for {total} bytes of strings")
        head = <int32_t*>tensor.data
        head[0] = length
        head[1] = 4 * (length + 2)
        for i in range(length):
            head[i + 2] = head[i + 1] + <int32_t>len(items[i])
        memcpy(<char*>tensor.data + head[1], <const char*>body, len(body))
        tensor.bytes = total
        return 0

    cdef list text(self, int index):
        """The byte strings of a string tensor; empty ones as long as it was never set."""
        cdef Tensor* tensor = &self.tensors[index]
        cdef const char* start = <const char*>tensor.data
        cdef int32_t[2] edges
        cdef int32_t stored = 0
        cdef int i
        cdef list items = []
        if start == NULL:
            if count(tensor) > MOST_STRINGS:
                raise MemoryError(f"no memory for {count(tensor)} strings")
            return [b""] * count(tensor)
        if tensor.bytes >= 8:
            memcpy(&stored, start, 4)
        if tensor.bytes < 8 or stored < 0 or 4 * (<size_t>stored + 2) > tensor.bytes:
            raise ValueError(f"tensor {index} holds no strings")
        for i in range(stored):
            memcpy(edges, start + 4 * (i + 1), 8)
            if edges[0] < 0 or edges[1] < edges[0] or <size_t>edges[1] > tensor.bytes:
                raise ValueError(f"tensor {index} holds no strings")
            items.append(start[edges[0]:edges[1]])
        return items

    cdef int fail_because(self, object error) noexcept:
        """The text of an error goes into this subgraph's own; an interruption or a lack of memory passes through."""
        if isinstance(error, MemoryError) or not isinstance(error, Exception):
            self.failure = error
            return -1
        return self.fail(str(error).encode("utf-8", "replace"))
