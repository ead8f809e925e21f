"""A subgraph and its life: INIT (loaded) -> PREPARE -> MEMORY_PLANNING -> INVOKE, and back to PREPARE after a resize.

    subgraph.resize_tensor(index, rank, dims)     # a real change: not ready any more
    subgraph.allocate()                           # prepare every node, plan, give every tensor its memory
    subgraph.invoke()                             # nothing is allocated while a static graph runs

How nodes are prepared is in `preparation`, where tensors lie in `places`, which nodes run together in `groups`, how in `ranges`. Here are the
values and shapes from outside, the calls between subgraphs, and the run. Under TFLM's rules (`micro`) shapes stay.

What a hostile model may try is refused here and there rather than in the operators: writing to constants or graph inputs, writing
a tensor twice, reading it before it is written, calling a subgraph from within itself.
"""
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from tflm_cy.graph.context cimport PREPARE, Context, Node
from tflm_cy.graph.denormals cimport flush_denormals, restore_denormals
from tflm_cy.graph.groups cimport engage_hands
from tflm_cy.graph.preparation cimport Preparation
from tflm_cy.graph.ranges cimport run_group
from tflm_cy.graph.resource cimport is_handle
from tflm_cy.graph.tensor cimport (
    CONSTANT, DYNAMIC, MAX_RANK, PLANNED, STRING, VARIABLE, Tensor, bytes_of, is_constant, shape_of,
)
from tflm_cy.memory.block cimport Block, new_block
from tflm_cy.threads.clock cimport nanoseconds
from tflm_cy.threads.pool cimport hands, release
from tflm_cy.threads.trial cimport Trial, ran_alone, ran_together, wants_threads

cdef enum:
    DEEPEST = 64             # calls of subgraphs within each other; more would exhaust the stack
    BRIEF_BYTES = 4096       # of all tensors: so small a graph is through before the GIL would be given away and got back


cdef class Subgraph(Preparation):
    """See the module; made by `graph.loader.load`."""

    def __cinit__(self):
        self.partitions = []

    # ---------------------------------------------------------------- what operators ask for

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

    cdef bint kept_by_tensorflow(self, const Tensor* tensor) except -1:
        """Whether TensorFlow keeps a tensor whose value is known in prepare: all but what DEQUANTIZE makes of another such tensor.

        That is made anew in each invoke there, which only shows in bytes that depend on whether a filter can change.
        """
        cdef int n
        for n in range(self.node_count):
            if self.nodes[n].output_count == 1 and self.nodes[n].outputs[0] == tensor.index and self.operator_names[n] == "DEQUANTIZE":
                return self.nodes[n].inputs[0] >= 0 and self.tensors[self.nodes[n].inputs[0]].allocation == CONSTANT
        return True

    # ---------------------------------------------------------------- called by another subgraph

    cdef int input_total(self) noexcept:
        return self.input_count

    cdef int output_total(self) noexcept:
        return self.output_count

    cdef Tensor* graph_input(self, int i) noexcept:
        return &self.tensors[self.inputs[i]] if 0 <= self.inputs[i] < self.tensor_count else NULL

    cdef Tensor* graph_output(self, int i) noexcept:
        return &self.tensors[self.outputs[i]] if 0 <= self.outputs[i] < self.tensor_count else NULL

    cdef int shape_input(self, int i, int rank, const int32_t* dims) except -1:
        return self.resize_tensor(self.inputs[i], rank, dims)

    cdef int prepare_call(self) except -1:
        return self.allocate()

    cdef bint has_dynamic(self) noexcept:
        cdef int i
        if self.stage_zero_end < self.plan_count:
            return True
        for i in range(self.output_count):
            if self.tensors[self.outputs[i]].allocation == DYNAMIC and self.tensors[self.outputs[i]].type != STRING:
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
        Preparation.store(self, target, value)
        return self.shared.hand_on(self.index, target, value) if is_handle(target) else 0

    # ---------------------------------------------------------------- shapes and values from outside

    cdef int resize_tensor(self, int index, int rank, const int32_t* dims) except -1:
        """Change a tensor's shape before the next allocate; the same shape again changes nothing."""
        cdef Tensor* tensor = &self.tensors[index]
        cdef int64_t size = bytes_of(tensor.type, rank, dims)
        cdef int d
        cdef bint same = rank == tensor.rank
        if is_constant(tensor):
            raise RuntimeError("Attempting to resize a fixed-size tensor.")
        if self.running and not (rank == tensor.rank and all([dims[d] == tensor.dims[d] for d in range(rank)])):
            raise RuntimeError(f"subgraph {self.index} '{self.name}' calls itself")
        if rank > MAX_RANK:
            raise RuntimeError(f"rank {rank} of tensor {index} exceeds {MAX_RANK}")
        if size < 0:
            from tflm_cy.graph.description import name_of

            raise RuntimeError(f"BytesRequired number of elements overflowed: {[dims[d] for d in range(rank)]} for {name_of(self, index)}")
        for d in range(rank):
            same = same and dims[d] == tensor.dims[d]
        if same:
            return 0
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
        if before == self.owned[index]:
            return 0
        if self.reserve_owned(index, tensor.bytes) != 0:
            raise MemoryError(f"no memory for tensor {index} of {tensor.bytes} bytes")
        memcpy(tensor.data, before, tensor.bytes)
        return 0

    cdef int prepare_again(self) except -1:
        """Prepare all nodes anew after a constant has changed; inputs and variables keep their values."""
        cdef dict saved = self.save_inputs()
        cdef Tensor* tensor
        cdef int t
        for t in range(self.tensor_count):
            tensor = &self.tensors[t]
            if tensor.allocation == VARIABLE and tensor.data != NULL:
                saved[t] = (<char*>tensor.data)[:tensor.bytes]
        self.ready = False
        self.allocate()
        return self.restore_inputs(saved)

    cdef bint is_overwritten(self, int index) noexcept:
        """True when another tensor or a scratch buffer has used this tensor's bytes after it was written."""
        cdef const Tensor* tensor = &self.tensors[index]
        cdef const Tensor* other
        cdef const char* start = <const char*>tensor.data
        cdef const char* at
        cdef int t
        if tensor.allocation != PLANNED or start == NULL or self.last_use[index] >= self.plan_count:
            return False
        for t in range(self.tensor_count):
            other = &self.tensors[t]
            at = <const char*>other.data
            if other.allocation == PLANNED and at != NULL and self.first_use[t] > self.first_use[index]:
                if at < start + tensor.bytes and start < at + other.bytes and not self.has_bytes_of(t, index):
                    return True
        for t in range(self.scratch_planned):
            at = <const char*>self.scratch_buffers[t]
            if self.scratch_requests[t].step > self.first_use[index]:
                if at < start + tensor.bytes and start < at + self.scratch_requests[t].bytes:
                    return True
        return False

    cdef bint has_bytes_of(self, int t, int index) noexcept:
        """A tensor that lies where another one does, because it has its bytes."""
        cdef const Node* node
        while t != index and 0 <= self.first_use[t] < self.plan_count and self.is_written(self.first_use[t], t):
            node = &self.nodes[self.plan[self.first_use[t]]]
            if not node.passes or self.tensors[node.inputs[0]].data != self.tensors[t].data:
                return False
            t = node.inputs[0]
        return t == index

    # ---------------------------------------------------------------- allocate

    cdef int set_up(self, int threads, bint fuse) except -1:
        """For all subgraphs of the model, before anything is prepared."""
        cdef Subgraph g
        for g in self.siblings:
            g.num_threads = threads
            g.hands = hands(threads)
            g.fuse = fuse and not g.micro
            if g.hands > 1 and g.fuse:
                g.make_room_for_bands()
        return 0

    cdef int make_room_for_bands(self) except -1:
        """The tensors move to where more of them have room."""
        cdef int room = (self.hands - 1) * self.plan_count
        cdef Block block = new_block((self.tensor_count + room) * sizeof(Tensor), 64)
        memcpy(block.data, self.tensors, self.tensor_count * sizeof(Tensor))
        self.tensors = <Tensor*>block.data
        self.roomy_tensors = block
        self.band_capacity = room
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
            places, blocks = self.save_places(), self.stage_blocks
            self.forget_prepared()
            try:
                self.prepare_stage(0)
            except BaseException:
                self.forget_addresses()
                if self.state == PREPARE:          # the head is still the last run's
                    self.restore_places(places)
                    self.stage_blocks = blocks
                raise
            self.restore_inputs(saved)
        finally:
            self.allocating = False
            self.shared.depth -= 1
        self.resized.clear()
        memset(&self.trial, 0, sizeof(Trial))
        self.brief = self.is_brief()
        self.ready = True
        self.first = not self.micro
        self.generation += 1
        self.runs = self.state_changes = 0
        return 0

    cdef bint is_brief(self) noexcept:
        """So little is to be computed, whatever the values are, that no other thread of Python notices that it has to wait."""
        cdef int64_t bytes = 0
        cdef int t
        if len(self.siblings) > 1 or self.custom_nodes or self.has_dynamic():
            return False
        for t in range(self.tensor_count):
            bytes += self.tensors[t].bytes
        return bytes <= BRIEF_BYTES

    cdef int descend(self) except -1:
        """Note that this subgraph is being prepared or run, inside of its callers; to be taken back."""
        if self.shared.depth >= DEEPEST:
            raise RuntimeError(f"subgraph {self.index} '{self.name}' is called {DEEPEST} subgraphs deep; more is not supported")
        self.shared.depth += 1
        return 0

    cdef dict save_inputs(self):
        """Values of inputs that keep their shape, as bytes."""
        cdef dict saved = {}
        cdef Tensor* tensor
        cdef int i, t
        if self.generation == 0:
            return saved
        for i in range(self.input_count):
            t = self.inputs[i]
            tensor = &self.tensors[t]
            if t not in self.resized and tensor.data != NULL and (tensor.allocation == PLANNED or tensor.type == STRING):
                saved[t] = (<char*>tensor.data)[:tensor.bytes]
        return saved

    cdef int restore_inputs(self, dict saved) except -1:
        cdef bytes value
        cdef int t
        for t, value in saved.items():
            if self.tensors[t].data != NULL and self.tensors[t].bytes == <size_t>len(value):
                memcpy(self.tensors[t].data, <const char*>value, len(value))
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
        if self.recorder is not None:
            status = self.run_recorded()
        elif self.brief:
            status = self.run()
        else:
            with nogil:
                status = self.run()
        self.running = False
        self.shared.depth -= 1
        if self.shared.depth == 0:
            self.shared.runs += 1
            if self.shared.handles and not self.preserve_all:
                self.shared.handles.clear()
        self.state_changes += 1
        if status != 0:
            self.runs = 0
            self.raise_failure(self.failed_step)
        self.runs += 1
        self.touched = False
        if self.first:
            self.first = False
            self.model.give_back()
        return 0

    cdef int raise_failure(self, int step) except -1:
        """What a node has reported."""
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        raise self.node_error(step, (<bytes>self.message).decode("utf-8", "replace"), "invoke")

    cdef int run(self) noexcept nogil:
        """The steps, on the threads that there are. -1: `failure` is set, or `message` and `failed_step` are."""
        cdef bint may_share = self.shared_time > 0 and not self.shared.engaged
        cdef bint engaged = False
        cdef int status
        self.prepared_end = self.stage_zero_end
        if may_share and wants_threads(&self.trial):
            engaged = engage_hands(self.hands, self.shared_time)
            self.shared.engaged = engaged
        status = self.run_steps() if self.clock == NULL else self.run_timed_steps()
        if engaged:
            self.shared.engaged = False
            ran_together(&self.trial, release())
        elif may_share:
            ran_alone(&self.trial)
        return status

    cdef int run_steps(self) noexcept nogil:
        """The loop over the nodes."""
        cdef int step = 0
        cdef Node* node
        cdef bint flushing = False
        cdef unsigned long long mode = 0
        while True:
            while step < self.prepared_end:
                node = &self.nodes[self.plan[step]]
                if self.flushes != NULL and self.flushes[step] != flushing:
                    flushing = not flushing
                    if flushing:
                        mode = flush_denormals()
                    else:
                        restore_denormals(mode)
                if self.groups[step].parts > 1 and (self.shared.engaged or self.groups[step].alone):
                    run_group(&self.groups[step], self.shared.engaged)
                    step = self.groups[step].last
                elif node.invoke(self, node) != 0:
                    self.failed_step = step
                    break
                step += 1
            if flushing:
                restore_denormals(mode)
                flushing = False
            if step < self.prepared_end or (step < self.plan_count and self.next_stage(step) != 0):
                return -1
            if step == self.plan_count:
                return 0

    cdef int run_timed_steps(self) noexcept nogil:
        """As `run_steps`, with a look at the clock around each node: a loop of its own, so that the other does not even ask whether it is wanted."""
        cdef int step = 0
        cdef int status, last
        cdef Node* node
        cdef bint flushing
        cdef unsigned long long mode = 0
        while step < self.plan_count:
            if step >= self.prepared_end and self.next_stage(step) != 0:
                return -1
            node = &self.nodes[self.plan[step]]
            flushing = self.flushes != NULL and self.flushes[step]
            if flushing:
                mode = flush_denormals()
            status = 0
            last = step
            self.clock[2 * step] = nanoseconds()
            if self.groups[step].parts > 1 and (self.shared.engaged or self.groups[step].alone):
                run_group(&self.groups[step], self.shared.engaged)
                last = self.groups[step].last
            else:
                status = node.invoke(self, node)
            self.clock[2 * step + 1] = nanoseconds()
            if flushing:
                restore_denormals(mode)
            if status != 0:
                self.failed_step = step
                return -1
            while step < last:               # nodes that run together: the first one has their time
                step += 1
                self.clock[2 * step] = self.clock[2 * step + 1] = self.clock[2 * step - 1]
            step += 1
        return 0

    cdef int run_recorded(self) noexcept:
        """Run with a clock; a run that fails is not recorded."""
        cdef Block block
        cdef int status
        try:
            block = new_block(2 * self.plan_count * sizeof(int64_t) + 1, 16)
            self.clock = <int64_t*>block.data
            with nogil:
                status = self.run()
            self.clock = NULL
            if status == 0 and self.recorder is not None:
                self.recorder.append((self.index, block.data[:2 * self.plan_count * sizeof(int64_t)]))
        except BaseException as error:
            self.failure = error
            return -1
        return status

    cdef int run_node(self, int index) except -1:
        """Run one of the file's nodes alone, on the values that its inputs hold; for graphs that preserve all tensors."""
        cdef Node* node
        cdef int step, status
        cdef unsigned long long mode = 0
        cdef bint flushing
        for step in range(self.plan_count):
            partition = None if self.step_partitions is None else self.step_partitions[step]
            if self.plan[step] == index or (partition is not None and partition.nodes == [index]):
                break
        else:
            raise ValueError(f"node {index} does not run by itself")
        if not self.ready or step >= self.prepared_end:
            raise RuntimeError(f"node {index} is not prepared")
        node = &self.nodes[self.plan[step]]
        self.settle_inputs(node, -1)
        flushing = self.flushes != NULL and self.flushes[step]
        with nogil:
            if flushing:
                mode = flush_denormals()
            status = node.invoke(self, node)
            if flushing:
                restore_denormals(mode)
        if status != 0:
            self.raise_failure(step)
        return 0
