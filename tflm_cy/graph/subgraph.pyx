# tflm_cy: optimize=speed
"""A subgraph and its life: INIT (loaded) -> PREPARE -> MEMORY_PLANNING -> INVOKE, and back to PREPARE after a resize.

    subgraph.resize_tensor(index, rank, dims)     # a real change: not ready any more
    subgraph.allocate()                           # all passes: every tensor has its memory
    subgraph.invoke()                             # nothing is allocated while a static graph runs

A subgraph has a Graph (`graph.graph`), an Allocator, a MemoryPlan, DeferredConstants, a Compilation, which the passes work on (`graph.passes`), and
an Execution, which runs it. Here are the calls of operators (`graph.context`), values and shapes from outside, calls between subgraphs, and what leads
from one state to the next. Under TFLM's rules (`micro`) shapes stay, and an output that would be dynamic has the file's shape and memory in the head:
what it is given while invoking has exactly this shape.

What a hostile model may try is refused here and there rather than in the operators: writing to constants or graph inputs, writing
a tensor twice, reading it before it is written, calling a subgraph from within itself.
"""
from cpython.exc cimport PyErr_CheckSignals
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport free

from tflm_cy.graph.allocator cimport Mark
from tflm_cy.graph.carried_values cimport (
    forget_addresses, restore_addresses, restore_values, save_addresses, save_inputs as save_inputs_of, save_variables,
)
from tflm_cy.graph.context cimport PREPARE, Context, Node, Packing
from tflm_cy.graph.execution cimport run_steps
from tflm_cy.graph.graph cimport bytes_of_all, forget_passes, move_tensors
from tflm_cy.graph.passes.pipeline cimport run_passes
from tflm_cy.graph.resource cimport is_handle
from tflm_cy.graph.strings cimport load_strings, store_strings
from tflm_cy.graph.tensor cimport (
    COMPUTED, CONSTANT, DYNAMIC, MAX_RANK, STRING, VARIABLE, Tensor, bytes_of, counts_as_empty, is_constant, shape_of, type_name,
)
from tflm_cy.platform.long_copy cimport copy_bytes
from tflm_cy.schema.slots cimport SUBGRAPH_TENSORS, TENSOR_SHAPE_SIGNATURE
from tflm_cy.schema.table cimport Vector, table_vector, vector_i32, vector_table
from tflm_cy.threads.pool cimport count_workers

cdef enum:
    DEEPEST = 64             # calls of subgraphs within each other; more would exhaust the stack
    BRIEF_BYTES = 4096       # of all tensors: so small a graph is through before the GIL would be given away and got back


cdef class Subgraph(Context):
    """See the module; made by `graph.loader.load`."""

    def __cinit__(self):
        self.partitions, self.registrations, self.operator_names = [], [], []
        self.resized, self.written_strings = set(), set()

    def __dealloc__(self):
        free(self.scratch_buffers)
        free(self.graph.groups)

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
        self.compilation.dynamic_seen = True
        return 0

    cdef int set_computed(self, Tensor* tensor) except -1:
        """The value of this output is known now: gives it memory in the tail, to be filled by prepare."""
        if tensor.allocation == VARIABLE or tensor.allocation == CONSTANT or tensor.type == STRING:
            raise ValueError(f"tensor {tensor.index} cannot be computed in prepare")
        tensor.allocation = COMPUTED
        tensor.data = self.allocator.unfilled(tensor.bytes)
        return 0

    cdef int defer(self, Node* node, Tensor* tensor) except -1:
        """As `set_computed`; node.invoke is there, and fills it later."""
        return self.constants.defer(self, node, tensor, self.graph.laid_out[self.compilation.current].partition)

    cdef int materialize(self, const Tensor* tensor) except -1:
        return self.constants.materialize(self, tensor)

    cdef int want_prepare(self, str what) except -1:
        if self.state != PREPARE:
            raise RuntimeError(f"{what} in prepare only")
        return 0

    cdef void* persistent(self, size_t bytes) except NULL:
        """Zeroed memory until the next prepare, aligned as the arena's tensors are (64 bytes, TFLM: 16)."""
        self.want_prepare("persistent memory can be had")
        return self.allocator.persistent(bytes)

    cdef void* unfilled(self, size_t bytes) except NULL:
        """As persistent, but with any bytes in it."""
        self.want_prepare("persistent memory can be had")
        return self.allocator.unfilled(bytes)

    cdef Packing* packing(self, const int32_t* layout, int words, size_t bytes) except NULL:
        self.want_prepare("weights can be packed")
        return self.packed.find(layout, words, bytes)

    cdef const uint8_t* same_bytes(self, uint8_t value, size_t bytes) except NULL:
        return self.allocator.same_bytes(value, bytes)

    cdef int request_scratch(self, size_t bytes) except -1:
        """Memory while this node runs; the handle is for `scratch`."""
        self.want_prepare("scratch memory can be requested")
        return self.memory.request_scratch(bytes, self.compilation.current, self.graph.laid_out[self.compilation.current].source)

    cdef int keep(self, object value) except -1:
        self.compilation.kept.append(value)
        return 0

    cdef Context subgraph(self, int index):
        """Another subgraph of the model, for control flow."""
        if not 0 <= index < len(self.siblings):
            raise ValueError(f"subgraph {index} does not exist, the model has {len(self.siblings)}")
        return self.siblings[index]

    cdef object resources(self):
        return self.shared

    cdef str operator_name(self, const Node* node):
        return self.operator_names[node.index]

    cdef list operators(self):
        return [name for name in self.operator_names if name != "DELEGATE"]

    cdef str tensor_label(self, int t):
        from tflm_cy.graph.description import name_of
        return name_of(self, t)

    cdef bint has_open_shape(self, const Tensor* tensor) except -1:
        cdef Vector signature
        cdef uint32_t i
        if tensor == NULL:
            return False
        signature = table_vector(vector_table(table_vector(self.table, SUBGRAPH_TENSORS), self.file_index(tensor.index)), TENSOR_SHAPE_SIGNATURE)
        for i in range(signature.length):
            if vector_i32(signature, i) == -1:
                return True
        return False

    cdef int file_index(self, int t) noexcept:
        return self.versions[t - self.tensor_count] if self.tensor_count <= t < self.graph.tensor_count else t

    cdef bint kept_by_tensorflow(self, const Tensor* tensor) except -1:
        return self.compilation.kept_by_tensorflow(tensor)

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
        if self.allocator.own(tensor.index, bytes) == NULL:
            return self.fail_with(b"no memory for tensor %ld of %ld bytes. ", tensor.index, bytes)
        tensor.data = self.allocator.owned[tensor.index]
        tensor.bytes = bytes
        return 0

    cdef const void* acquire(self, const Tensor* tensor) noexcept nogil:
        return self.constants.acquire(self, tensor)

    cdef void evict(self, const Tensor* tensor) noexcept nogil:
        self.constants.evict(tensor)

    cdef int fail_because(self, object error) noexcept:
        """The text of an error goes into this subgraph's own; an interruption or a lack of memory passes through."""
        if isinstance(error, MemoryError) or not isinstance(error, Exception):
            self.execution.failure = error
            return -1
        return self.fail(str(error).encode("utf-8", "replace"))

    # ---------------------------------------------------------------- called by another subgraph

    cdef int input_total(self) noexcept:
        return self.graph.input_count

    cdef int output_total(self) noexcept:
        return self.graph.output_count

    cdef Tensor* graph_input(self, int i) noexcept:
        return &self.tensors[self.graph.inputs[i]] if 0 <= self.graph.inputs[i] < self.tensor_count else NULL

    cdef Tensor* graph_output(self, int i) noexcept:
        return &self.tensors[self.graph.outputs[i]] if 0 <= self.graph.outputs[i] < self.tensor_count else NULL

    cdef int shape_input(self, int i, int rank, const int32_t* dims) except -1:
        return self.resize_tensor(self.graph.inputs[i], rank, dims)

    cdef int prepare_call(self) except -1:
        return self.allocate()

    cdef bint has_dynamic(self) noexcept:
        cdef int i
        if self.execution.static_end < self.graph.step_count:
            return True
        for i in range(self.graph.output_count):
            if self.tensors[self.graph.outputs[i]].allocation == DYNAMIC and self.tensors[self.graph.outputs[i]].type != STRING:
                return True
        return False

    cdef int call(self, Context caller) noexcept:
        try:
            PyErr_CheckSignals()
            self.invoke()
        except BaseException as error:
            return caller.fail_because(error)
        return 0

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
            copy_bytes(target.data, value.data, value.bytes)
        return self.shared.copy_handle(self.index, target, value) if is_handle(target) else 0

    # ---------------------------------------------------------------- shapes and values from outside

    cdef int resize_tensor(self, int index, int rank, const int32_t* dims) except -1:
        """Change a tensor's shape before the next allocate; the same shape again changes nothing. What is refused wants an allocation, too."""
        cdef Tensor* tensor = &self.tensors[index]
        cdef int64_t size = bytes_of(tensor.type, rank, dims)
        cdef int d
        cdef bint same = rank == tensor.rank and all([dims[d] == tensor.dims[d] for d in range(rank)])
        if same and size >= 0:
            return 0
        if self.running:
            raise RuntimeError(f"subgraph {self.index} '{self.name}' calls itself")
        self.ready = self.ready and self.micro
        if is_constant(tensor):
            raise RuntimeError("Attempting to resize a fixed-size tensor.")
        if rank > MAX_RANK:
            raise RuntimeError(f"rank {rank} of tensor {index} exceeds {MAX_RANK}")
        if size < 0:
            from tflm_cy.graph.description import name_of
            raise RuntimeError(f"BytesRequired number of elements overflowed: {[dims[d] for d in range(rank)]} for {name_of(self, index)}")
        if self.micro:
            raise RuntimeError(f"tensor {index} keeps its shape {shape_of(tensor)}: nothing can be resized in a planned arena")
        for d in range(rank):
            tensor.dims[d] = dims[d]
        tensor.rank = rank
        if tensor.type != STRING:
            tensor.bytes = size
            tensor.data = NULL
        self.resized.add(index)
        self.ready = False
        return 0

    cdef int own_constant(self, int index) except -1:
        """Give a constant memory that may be written: this subgraph's, so that file and caller's bytes stay as they are."""
        cdef Tensor* tensor = &self.tensors[index]
        cdef const void* before = tensor.data
        self.packed.outdated = True
        if before == self.allocator.owned[index]:
            return 0
        if self.allocator.own(index, tensor.bytes) == NULL:
            raise MemoryError(f"no memory for tensor {index} of {tensor.bytes} bytes")
        tensor.data = self.allocator.owned[index]
        copy_bytes(tensor.data, before, tensor.bytes)
        return 0

    cdef int prepare_again(self) except -1:
        """Prepare all nodes anew after a constant has changed; inputs and variables keep their values."""
        cdef dict saved = save_variables(&self.graph, self.save_inputs())
        self.ready = False
        self.allocate()
        return restore_values(&self.graph, saved)

    # ---------------------------------------------------------------- allocate

    cdef int set_up(self, int threads, frozenset disabled) except -1:
        """For all subgraphs of the model, before anything is prepared."""
        cdef Subgraph g
        for g in self.siblings:
            g.num_threads = threads
            g.workers = g.graph.workers = count_workers(threads)
            g.compilation.disabled = disabled
            g.fuse = "rewrite" not in disabled and not g.micro
            if g.workers > 1 and "tile" not in disabled and not g.micro:
                g.reserve_strip_tensors()
        return 0

    cdef int reserve_strip_tensors(self) except -1:
        self.strip_tensors = move_tensors(&self.graph, (self.workers - 1) * self.graph.step_count)
        self.tensors = self.graph.tensors
        return 0

    cdef int allocate(self) except -1:
        """Prepare all nodes (up to the first dynamic output) and give every tensor its memory."""
        cdef dict saved
        if self.ready:
            return 0
        if self.allocate_defect is not None:
            raise RuntimeError(self.allocate_defect)
        if self.allocating or self.running:
            raise RuntimeError(f"subgraph {self.index} '{self.name}' calls itself")
        self.descend()
        self.allocating = True
        try:
            saved = self.save_inputs()
            before = save_addresses(&self.graph, self.partitions, self.resized, self.generation > 0)
            blocks, block_count = self.memory.stage_blocks, self.memory.block_count
            self.forget_prepared()
            try:
                self.prepare_nodes()
            except BaseException as error:
                forget_addresses(&self.graph)
                if self.state == PREPARE:          # the head is still the last run's
                    restore_addresses(&self.graph, self.compilation.current, before, error)
                    self.memory.stage_blocks, self.memory.block_count = blocks, block_count
                raise
            restore_values(&self.graph, saved)
        finally:
            self.allocating = False
            self.shared.depth -= 1
        self.resized.clear()
        self.execution.forget_trial()
        self.brief = self.is_brief()
        self.ready = True
        self.first = not self.micro
        self.generation += 1
        self.runs = self.state_changes = 0
        return 0

    cdef bint is_brief(self) noexcept:
        """So little is to be computed, whatever the values are, that no other thread of Python notices that it has to wait."""
        return len(self.siblings) == 1 and not self.custom_nodes and not self.has_dynamic() and bytes_of_all(&self.graph) <= BRIEF_BYTES

    cdef int descend(self) except -1:
        """Note that this subgraph is being prepared or run, inside of its callers; to be taken back."""
        if self.shared.depth >= DEEPEST:
            raise RuntimeError(f"subgraph {self.index} '{self.name}' is called {DEEPEST} subgraphs deep; more is not supported")
        self.shared.depth += 1
        return 0

    cdef dict save_inputs(self):
        return save_inputs_of(&self.graph, self.resized) if self.generation > 0 else {}

    cdef int forget_prepared(self) except -1:
        """Back to the state after loading, shapes kept."""
        cdef Mark mark
        if not self.micro:                 # there it holds the other subgraphs too, and is prepared once
            mark.tail, mark.bulk = self.loaded, 0
            self.allocator.rewind(mark)
        self.constants.forget()
        self.packed.begin_again()
        self.memory.stage_blocks, self.memory.block_count, self.compilation.kept = [], 0, []
        self.memory.scratch_count = self.memory.scratch_bound = 0
        self.allocator.rows = None
        self.execution.forget_stages()
        return forget_passes(&self.graph)

    cdef int prepare_nodes(self) except -1:
        """All passes over the steps up to the first dynamic output; string inputs are empty strings."""
        cdef Tensor* tensor
        cdef int i
        self.compilation.first = 0
        run_passes(self.compilation)
        self.execution.static_end = self.compilation.end
        for i in range(0 if self.micro else self.graph.input_count):
            if self.graph.inputs[i] >= 0:
                tensor = &self.tensors[self.graph.inputs[i]]
                if tensor.type == STRING and tensor.data == NULL:
                    store_strings(self.allocator, tensor, load_strings(tensor))
        return 0

    # ---------------------------------------------------------------- run

    cdef int invoke(self) except -1:
        """Run the plan once; RuntimeError names the node that failed."""
        cdef int status
        if not self.ready:
            raise RuntimeError(
                "Invoke called on model that is not ready. Call allocate_tensors() first, and again after resize_tensor_input().")
        if self.invoke_defect is not None:
            raise RuntimeError(self.invoke_defect)
        if self.running:
            raise RuntimeError(f"subgraph {self.index} '{self.name}' calls itself")
        self.descend()
        self.running = True
        if self.last_inputs is not None:
            self.last_inputs = self.save_inputs()
        if self.execution.recorder is not None:
            status = self.execution.run_recorded(self)
        elif self.brief:
            status = self.execution.run(self)
        else:
            with nogil:
                status = self.execution.run(self)
        self.running = False
        self.shared.depth -= 1
        if self.shared.depth == 0:
            self.shared.runs += 1
            if self.shared.handles and not self.graph.preserve_all:
                self.shared.handles.clear()
        self.state_changes += 1
        if status != 0:
            self.runs = 0
            self.raise_failure(self.execution.failed_step)
        self.runs += 1
        self.touched = False
        if self.first:
            self.first = False
            self.model.give_back()
        return 0

    cdef int raise_failure(self, int step) except -1:
        """What a node has reported."""
        if self.execution.failure is not None:
            failure, self.execution.failure = self.execution.failure, None
            raise failure
        raise self.compilation.node_error(step, (<bytes>self.message).decode("utf-8", "replace"), "invoke")

    cdef int run_node(self, int index) except -1:
        """Run one of the file's nodes alone, on the values that its inputs hold; for graphs that preserve all tensors."""
        cdef int step, status, partition
        for step in range(self.graph.step_count):
            partition = self.graph.laid_out[step].partition
            if self.graph.laid_out[step].source == index or (partition >= 0 and self.partitions[partition].nodes == [index]):
                break
        else:
            raise ValueError(f"node {index} does not run by itself")
        if not self.ready or step >= self.compilation.end:
            raise RuntimeError(f"node {index} is not prepared")
        self.constants.materialize_inputs(self, self.graph.steps[step].node, -1)
        with nogil:
            status = run_steps(self, &self.graph, step, step + 1, False, &self.execution.failed_step)
        if status != 0:
            self.raise_failure(step)
        return 0
