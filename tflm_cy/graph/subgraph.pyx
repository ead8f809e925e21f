"""A subgraph and its life: INIT (loaded) -> PREPARE -> MEMORY_PLANNING -> INVOKE, and back to PREPARE after a resize.

    subgraph.resize_tensor(index, rank, dims)     # a real change: not ready any more
    subgraph.allocate()                           # prepare every node, plan, give every tensor its memory
    subgraph.invoke()                             # nothing is allocated while a static graph runs

Memory: tensors, nodes and what loading needs lie in the arena's tail before the mark `loaded`; what prepare asks for
lies behind it, so that allocating again returns to the mark. Variables follow, then the head is set to the plan's size.

A node whose output's shape is known only while invoking ends a *stage*: the nodes behind it are prepared when they are
reached, and their tensors lie in a block of the stage's own, so that nothing that is alive moves. The next invoke finds them
prepared as long as the shapes in front of the stage are the same.

Under TFLM's rules (`micro`) all subgraphs share one arena, which `micro.interpreter` plans when all are prepared; shapes stay.

What a hostile model may try is refused here rather than in the operators: writing to constants or graph inputs, writing
a tensor twice, reading it before it is written, calling a subgraph from within itself.
"""
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint8_t, uintptr_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

from tflm_cy.graph.context cimport INVOKE, MEMORY_PLANNING, PREPARE, Context, Extent, Node, Registration
from tflm_cy.graph.denormals cimport flush_denormals, restore_denormals
from tflm_cy.graph.lifetimes cimport tflite_lifetimes
from tflm_cy.graph.tensor cimport (
    COMPUTED, CONSTANT, DYNAMIC, FLOAT32, INT8, MAX_RANK, PLANNED, STRING, VARIABLE, Tensor, bytes_of, is_constant, shape_of, type_name,
)
from tflm_cy.graph.workspace cimport HEAD_ALIGNMENT, SLACK, Workspace
from tflm_cy.memory.arena cimport KIND_VARIABLE
from tflm_cy.memory.block cimport Block, new_block
from tflm_cy.memory.greedy cimport greedy
from tflm_cy.memory.problem cimport Plan, Problem, new_problem
from tflm_cy.threads.pool cimport MOST_PARTS, engage, hands, release, share

cdef enum:
    DEEPEST = 64             # calls of subgraphs within each other; more would exhaust the stack

cdef struct LaterStage:          # by its first step
    bint begun                   # the five below are what was there before it
    size_t mark
    int scratch
    int blocks
    int kept
    double shared_time
    int end                      # 0: not prepared

cdef struct SeenShape:           # of a dynamic tensor, when the stage behind it was prepared
    int rank
    int32_t[MAX_RANK] dims

cdef inline int64_t nanoseconds() noexcept nogil:
    cdef timespec now
    clock_gettime(CLOCK_MONOTONIC, &now)
    return now.tv_sec * 1000000000 + now.tv_nsec


cdef int64_t BRIEF_BYTES = 4096            # of all tensors: so small a graph is through before the GIL would be given away and got back

cdef int64_t LARGEST = <int64_t>1 << 47   # bytes of all tensors together

cdef double WAKE_TIME = 40000             # nanoseconds that nodes which can be shared take on one thread, from which on sleeping workers are woken

cdef double LEAST_TIME = 3000             # of a group, below which giving parts away takes longer than computing them
cdef double LONG_TIME = 60000

cdef enum:
    LEAST_GROUPS = 7             # of that time, which an invoke must have to share for the pool to be engaged
    PARTS_PER_HAND = 4           # of a long group: a hand that is interrupted keeps the others waiting for less

cdef int64_t CACHE_BYTES = 1 << 21   # what several nodes write together, above which they are computed range by range on one thread, too
cdef int64_t RANGE_BYTES = 1 << 18   # of it in a range

cdef struct Job:                 # a group that threads share
    void* context
    Node* nodes
    const int32_t* plan
    const Group* group

ctypedef void (*WorkWithoutObject)(void* context, Node* node, int64_t first, int64_t end, int hand) noexcept nogil


def share_from(double nanoseconds):
    """Share groups that are expected to take so long, from the next prepare on; returns the former limit. For tests."""
    global LEAST_TIME
    former = LEAST_TIME
    LEAST_TIME = nanoseconds
    return former


def ranges_from(int64_t bytes, int64_t size):
    """Compute nodes range by range that write so much together, `size` bytes at a time, from the next prepare on; for tests."""
    global CACHE_BYTES, RANGE_BYTES
    former = CACHE_BYTES, RANGE_BYTES
    CACHE_BYTES, RANGE_BYTES = bytes, size
    return former


cdef inline int64_t part_begin(int64_t units, int64_t grain, int part, int parts) noexcept nogil:
    return units if part >= parts else units / grain * part / parts * grain


cdef void compute_part(void* argument, int part, int parts, int hand) noexcept nogil:
    """The same range of all nodes of a group."""
    cdef const Job* job = <const Job*>argument
    cdef const Extent* extent = &job.nodes[job.plan[job.group.first]].extent
    cdef int64_t first = part_begin(extent.units, extent.grain, part, parts)
    cdef int64_t end = part_begin(extent.units, extent.grain, part + 1, parts)
    cdef Node* node
    cdef int step
    if first >= end:
        return
    for step in range(job.group.first, job.group.last + 1):
        node = &job.nodes[job.plan[step]]
        (<WorkWithoutObject>node.work)(job.context, node, first, end, hand)


cdef uint8_t[64] EMPTY                    # where tensors of zero bytes point to


cdef class Subgraph(Workspace):
    """See the module; made by `graph.loader.load`."""

    def __cinit__(self):
        self.stage_blocks = []
        self.kept = []
        self.resized = set()
        self.partitions = []

    def __dealloc__(self):
        free(self.groups)

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

    def kept_by_tensorflow(self, int tensor):
        """Whether TensorFlow keeps a tensor whose value is known in prepare: all but what DEQUANTIZE makes of another such tensor.

        That is made anew in each invoke there, which only shows in bytes that depend on whether a filter can change.
        """
        cdef int n
        for n in range(self.node_count):
            if self.nodes[n].output_count == 1 and self.nodes[n].outputs[0] == tensor and self.operator_names[n] == "DEQUANTIZE":
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
            raise RuntimeError(
                f"BytesRequired number of elements overflowed: {[dims[d] for d in range(rank)]} for tensor {index}")
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

    cdef int reset_variables(self) except -1:
        """Zero every variable tensor; int8 ones get their zero point."""
        cdef int t
        cdef Tensor* tensor
        for t in range(self.tensor_count):
            tensor = &self.tensors[t]
            if tensor.allocation == VARIABLE and tensor.data != NULL:
                memset(tensor.data, tensor.zero_point if tensor.type == INT8 else 0, tensor.bytes)
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

    cdef bint is_hidden(self, int index) noexcept nogil:
        """True for a tensor inside of a delegate's partition, whose memory is nobody else's business."""
        return self.hidden != NULL and self.hidden[index]

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
                if at < start + tensor.bytes and start < at + other.bytes:
                    return True
        for t in range(self.scratch_planned):
            at = <const char*>self.scratch_buffers[t]
            if self.scratch_requests[t].step > self.first_use[index]:
                if at < start + tensor.bytes and start < at + self.scratch_requests[t].bytes:
                    return True
        return False

    # ---------------------------------------------------------------- prepare and plan

    cdef int set_up(self, int threads, bint fuse) except -1:
        """For all subgraphs of the model, before anything is prepared."""
        cdef Subgraph g
        for g in self.siblings:
            g.num_threads = threads
            g.hands = hands(threads)
            g.fuse = fuse and not g.micro
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
            outputs = self.save_outputs()
            self.forget_prepared()
            try:
                self.prepare_stage(0)
            except Exception:
                if self.state == PREPARE:          # the head is still the last run's
                    self.restore_outputs(outputs)
                raise
            self.restore_inputs(saved)
        finally:
            self.allocating = False
            self.shared.depth -= 1
        self.resized.clear()
        self.brief = self.is_brief()
        self.ready = True
        self.generation += 1
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
        """Values of inputs that keep their shape; strings stay where they are."""
        cdef dict saved = {}
        cdef Tensor* tensor
        cdef int i, t
        if self.generation == 0:
            return saved
        for i in range(self.input_count):
            t = self.inputs[i]
            tensor = &self.tensors[t]
            if t not in self.resized and tensor.allocation == PLANNED and tensor.data != NULL:
                saved[t] = (<char*>tensor.data)[:tensor.bytes]
        return saved

    cdef int restore_inputs(self, dict saved) except -1:
        cdef bytes value
        cdef int t
        for t, value in saved.items():
            if self.tensors[t].data != NULL and self.tensors[t].bytes == <size_t>len(value):
                memcpy(self.tensors[t].data, <const char*>value, len(value))
        return 0

    cdef dict save_outputs(self):
        """Place and shape of the last run's outputs, which stay readable when an allocation is refused."""
        cdef dict saved = {}
        cdef const Tensor* tensor
        cdef int i, t
        for i in range(self.output_count):
            t = self.outputs[i]
            if t < 0:
                continue
            tensor = &self.tensors[t]
            if self.generation > 0 and tensor.allocation == PLANNED and tensor.data != NULL and t not in self.resized:
                saved[t] = (<uintptr_t>tensor.data, tensor.bytes, shape_of(tensor))
        return saved

    cdef int restore_outputs(self, dict saved) except -1:
        cdef Tensor* tensor
        cdef int t
        for t, (address, size, shape) in saved.items():
            tensor = &self.tensors[t]
            if tensor.allocation != PLANNED:
                continue
            tensor.data = <void*><uintptr_t>address
            tensor.bytes = size
            tensor.rank = len(shape)
            for i, dimension in enumerate(shape):
                tensor.dims[<int>i] = dimension
        return 0

    cdef int forget_prepared(self) except -1:
        """Back to the state after loading, shapes kept."""
        cdef Tensor* tensor
        cdef int t
        if not self.micro:                 # there it holds the other subgraphs too, and is prepared once
            self.arena.rewind(self.loaded)
        self.kept = []
        self.stage_blocks = []
        self.later_stages = None
        self.scratch_count = self.scratch_planned = 0
        self.shared_time = 0
        for t in range(self.tensor_count):
            tensor = &self.tensors[t]
            if tensor.allocation == COMPUTED or (tensor.allocation == DYNAMIC and tensor.type != STRING):
                tensor.allocation = PLANNED
            if tensor.allocation == PLANNED or tensor.allocation == VARIABLE:
                tensor.data = NULL
        return 0

    cdef int prepare_stage(self, int first) except -1:
        """Prepare nodes from a step of the plan up to the next dynamic output, then plan their memory."""
        cdef int step = first
        self.state = PREPARE
        self.stage_first = first
        self.dynamic_seen = False
        while step < self.plan_count and not self.dynamic_seen:
            self.prepare_node(step)
            step += 1
        self.prepared_end = step
        self.state = MEMORY_PLANNING
        if first == 0:
            self.allocate_variables()
        self.group_steps(first, step)
        if not self.micro:
            self.plan_memory(first, step)
        if first == 0:
            self.stage_zero_end = step
            self.stage_zero_scratch = self.scratch_count
        self.state = INVOKE
        return 0

    cdef int prepare_node(self, int step) except -1:
        cdef Node* node = &self.nodes[self.plan[step]]
        cdef Registration registration = self.registrations[node.index]
        if self.step_partitions is not None and self.step_partitions[step] is not None:
            if self.step_partitions[step].defect is not None:
                raise self.node_error(step, self.step_partitions[step].defect, "prepare")
        node.data = NULL
        node.invoke = NULL
        node.work = NULL
        node.in_place = 0
        self.current_step = step
        if registration is None:
            raise RuntimeError(
                f"Encountered unresolved custom op: {self.operator_names[node.index]}.\n"
                "See instructions: https://www.tensorflow.org/lite/guide/ops_custom "
                f"Node number {node.index} ({self.operator_names[node.index]}) failed to prepare.")
        self.check_inputs(step, node, registration.sparse_input)
        try:
            registration.prepare(self, node)
        except MemoryError:
            raise
        except Exception as error:
            raise self.node_error(step, error, "prepare") from error
        if node.invoke == NULL:
            raise SystemError(f"{self.operator_names[node.index]} has prepared no kernel")
        self.check_outputs(step, node)
        return 0

    cdef int check_inputs(self, int step, const Node* node, int sparse_input) except -1:
        """A constant holds at least what its type and shape say, unless it is sparse and the operator knows."""
        cdef const Tensor* tensor
        cdef int i
        for i in range(node.input_count):
            tensor = self.input(node, i)
            if tensor == NULL or tensor.sparsity == NULL or i == sparse_input or tensor.type == STRING:
                continue
            if <int64_t>tensor.bytes < bytes_of(tensor.type, tensor.rank, tensor.dims):
                raise self.node_error(step, f"input {i} is a sparse constant", "prepare")
        return 0

    cdef int check_outputs(self, int step, const Node* node) except -1:
        """No output may hold less than its type and shape say, whatever prepare has made of them."""
        cdef const Tensor* tensor
        cdef int i
        for i in range(node.output_count):
            tensor = self.output(node, i)
            if tensor == NULL or tensor.type == STRING or (tensor.allocation == DYNAMIC and self.dynamic_seen):
                continue
            if (tensor.allocation == DYNAMIC and not self.micro) or <int64_t>tensor.bytes < bytes_of(tensor.type, tensor.rank, tensor.dims):
                raise self.node_error(
                    step, f"tensor {tensor.index} cannot hold {type_name(tensor.type)} {shape_of(tensor)}", "prepare")
        return 0

    cdef object node_error(self, int step, object reason, str verb):
        """RuntimeError: why, which node, and the tensors that it reads."""
        cdef const Node* node = &self.nodes[self.plan[step]]
        cdef const Tensor* tensor
        cdef list tensors = []
        cdef int i
        for i in range(node.input_count):
            tensor = self.input(node, i)
            tensors.append(
                "omitted" if tensor == NULL else f"{type_name(tensor.type)} {shape_of(tensor)}")
        text = str(reason).rstrip()
        if not text.endswith((".", "!", "?")):
            text += "."
        name = self.operator_names[node.index]
        partition = None if self.step_partitions is None else self.step_partitions[step]
        who = f"Node number {node.index} ({name}) failed to {verb}."
        if partition is not None:
            who = f"Node number {partition.index} ({partition.delegate.name}) failed to {verb}."
            if node.index != partition.index:
                who += f" It runs {name}{f' (node {node.index})' if node.index < self.listed_nodes else ''}."
        return RuntimeError(f"{text} {who} Inputs: {', '.join(tensors)}")

    cdef int allocate_variables(self) except -1:
        cdef Tensor* tensor
        cdef int t
        for t in range(self.tensor_count):
            tensor = &self.tensors[t]
            if tensor.allocation == VARIABLE:
                tensor.data = self.arena.allocate_tail(tensor.bytes, self.alignment, KIND_VARIABLE)
        return self.reset_variables()

    cdef int group_steps(self, int first, int end) except -1:
        """Which steps are computed range by range, alone or with those that follow."""
        cdef Group* groups
        cdef int step, head, i
        if self.group_capacity < self.plan_count:
            groups = <Group*>realloc(self.groups, self.plan_count * sizeof(Group))
            if groups == NULL:
                raise MemoryError()
            self.groups = groups
            self.group_capacity = self.plan_count
        step = first
        while step < end:
            head = step
            step += 1
            if self.nodes[self.plan[head]].work != NULL and self.fuse and not self.preserve_all:
                while step < end and self.follows(head, step):
                    step += 1
            for i in range(head, step):
                self.groups[i].first = head
                self.groups[i].last = step - 1
                self.groups[i].parts = 1
            if self.count_parts(&self.groups[head]) < 2 and step > head + 1:
                for i in range(head, step):
                    self.groups[i].first = self.groups[i].last = i
                    self.count_parts(&self.groups[i])
            for i in range(head, step if self.hands > 1 else head):
                if self.groups[self.groups[i].first].parts > 1:
                    self.shared_time += self.nodes[self.plan[i]].time
        return 0

    cdef bint follows(self, int head, int step) noexcept:
        """The node reads what the group has written at its own positions only."""
        cdef const Node* before = &self.nodes[self.plan[head]]
        cdef const Node* node = &self.nodes[self.plan[step]]
        cdef const Node* maker
        cdef bint reads = False
        cdef int i, j, k
        if node.work == NULL or not node.extent.spans or not before.extent.spans or node.extent.units != before.extent.units:
            return False
        if node.output_count != 1 or before.output_count != 1 or before.extent.grain % node.extent.grain != 0:
            return False
        if self.flushes != NULL and self.flushes[step] != self.flushes[head]:
            return False
        for i in range(node.input_count):
            for j in range(head, step):
                maker = &self.nodes[self.plan[j]]
                for k in range(maker.output_count):
                    if node.inputs[i] >= 0 and node.inputs[i] == maker.outputs[k]:
                        if i >= 32 or not node.extent.local >> i & 1:
                            return False
                        reads = True
        return reads

    cdef int count_parts(self, Group* group) noexcept:
        """How many parts a group has: for the caches, if it has several nodes, and for the threads."""
        cdef const Extent* extent = &self.nodes[self.plan[group.first]].extent
        cdef int64_t grains = 0
        cdef int64_t least = 1
        cdef int64_t bytes = 0
        cdef double time = 0
        cdef int64_t parts = 1
        cdef const Node* node
        cdef int step
        group.parts = 1
        group.alone = False
        for step in range(group.first, group.last + 1):
            node = &self.nodes[self.plan[step]]
            if node.work == NULL:
                return 1
            time += node.time
            least = max(least, node.extent.least)
            if self.tensors[node.outputs[0]].type == FLOAT32:        # with bytes it is not memory that takes the time
                bytes += self.tensors[node.outputs[0]].bytes
        if group.last > group.first and bytes > CACHE_BYTES:
            parts = (bytes + RANGE_BYTES - 1) / RANGE_BYTES
        group.alone = parts > 1
        if self.hands > 1 and time >= LEAST_TIME:
            if time > LONG_TIME:
                parts = max(parts, PARTS_PER_HAND * self.hands)
            parts = (parts + self.hands - 1) / self.hands * self.hands
        if parts > 1:
            grains = extent.units / extent.grain
            parts = min(parts, min(grains, <int64_t>MOST_PARTS))
        while parts > 1 and grains / parts * extent.grain < least:
            parts -= 1
        group.parts = <int32_t>max(parts, <int64_t>1)
        return group.parts

    cdef bint needed_elsewhere(self, int x, int step) noexcept:
        """Earlier nodes of the step's group read the tensor at other positions than their own."""
        cdef const Node* node
        cdef int i, j
        for j in range(self.groups[step].first, step):
            node = &self.nodes[self.plan[j]]
            for i in range(node.input_count):
                if node.inputs[i] == x and (i >= 32 or not node.extent.local >> i & 1):
                    return True
        return False

    cdef int merge(self, int first, int end) except -1:
        """Outputs that lie over an input of their node: `merged`, and from when to when memory is needed.

        A group's tensors are all needed from its first step to its last: while one range is at its end, another begins.
        """
        cdef int32_t* ends = self.merged + self.tensor_count
        cdef int32_t* begins = ends + self.tensor_count
        cdef int32_t t, x, root
        cdef const Node* node
        cdef int step, i, j
        cdef bint fits
        for t in range(self.tensor_count):
            if self.first_use[t] >= first:
                self.merged[t] = -1
                begins[t] = self.first_use[t]
                ends[t] = self.last_use[t]
        for step in range(first, end if self.fuse and not self.preserve_all else first):
            node = &self.nodes[self.plan[step]]
            t = node.outputs[0] if node.in_place != 0 and node.output_count > 0 else -1
            if t < 0 or self.first_use[t] != step or self.tensors[t].allocation != PLANNED or self.tensors[t].bytes == 0:
                continue
            for i in range(min(node.input_count, 32)):
                x = node.inputs[i]
                if not node.in_place >> i & 1 or x < 0 or x == t or not self.is_hidden(x) or self.first_use[x] < first:
                    continue
                fits = self.last_use[x] == step and self.tensors[x].allocation == PLANNED and self.tensors[x].bytes == self.tensors[t].bytes
                for j in range(node.input_count):
                    fits = fits and (node.inputs[j] != x or (j < 32 and node.in_place >> j & 1))
                root = x if self.merged[x] < 0 else self.merged[x]
                if fits and ends[root] == step and not self.needed_elsewhere(x, step):
                    self.merged[t] = root
                    ends[root] = self.last_use[t]
                    break
        for t in range(self.tensor_count):
            if self.first_use[t] >= first:
                if begins[t] < end and self.is_written(begins[t], t):
                    begins[t] = self.groups[begins[t]].first
                if first <= ends[t] < end:
                    ends[t] = self.groups[ends[t]].last
        return 0

    cdef bint is_written(self, int step, int t) noexcept:
        """By this step; a graph's inputs are there before the first one."""
        cdef const Node* node = &self.nodes[self.plan[step]]
        cdef int i
        for i in range(node.output_count):
            if node.outputs[i] == t:
                return True
        return False

    cdef int plan_memory(self, int first, int end) except -1:
        """Lifetimes -> planner -> offsets -> addresses, for the steps first .. end - 1."""
        cdef int scratch_first = 0 if first == 0 else self.stage_zero_scratch
        cdef int t, i, n = 0
        cdef int64_t total
        cdef Problem problem
        cdef Plan plan
        cdef char* base
        cdef Block block
        cdef void** buffers
        cdef Tensor* tensor
        cdef const int32_t* ends = self.merged + self.tensor_count
        cdef const int32_t* begins = ends + self.tensor_count
        cdef bint fresh = True
        tflite_lifetimes(
            self.tensors, self.tensor_count, self.nodes, self.plan, self.plan_count, first, end, self.inputs, self.input_count,
            self.outputs, self.output_count, self.preserve_all, self.first_use, self.last_use)
        self.merge(first, end)
        for t in range(self.tensor_count):
            if self.first_use[t] >= first and self.tensors[t].bytes > 0 and self.merged[t] < 0:
                n += 1
        n += self.scratch_count - scratch_first
        problem = new_problem(n, HEAD_ALIGNMENT)
        i = 0
        for t in range(self.tensor_count):
            if self.first_use[t] >= first and self.tensors[t].bytes > 0 and self.merged[t] < 0:
                problem.size_of[i] = self.tensors[t].bytes
                problem.first_of[i] = begins[t]
                problem.last_of[i] = ends[t]
                i += 1
        for t in range(scratch_first, self.scratch_count):
            problem.size_of[i] = max(self.scratch_requests[t].bytes, 1)
            problem.first_of[i] = self.groups[self.scratch_requests[t].step].first
            problem.last_of[i] = self.groups[self.scratch_requests[t].step].last
            i += 1
        total = 0
        for i in range(n):
            total += problem.size_of[i] + HEAD_ALIGNMENT
            if total > LARGEST:
                raise MemoryError(f"no memory for {n} tensors of together more than {LARGEST} bytes")
        plan = greedy(problem)
        if first == 0:
            owner = self.arena.head_owner()
            base = <char*>self.arena.set_head(plan.high_water_mark)
            fresh = self.arena.head_owner() is not owner        # zeroed: pages cost nothing before they are used
        else:
            block = new_block(plan.high_water_mark + SLACK, HEAD_ALIGNMENT)
            self.stage_blocks.append(block)
            base = block.data
        i = 0
        for t in range(self.tensor_count):
            tensor = &self.tensors[t]
            if self.first_use[t] >= first and self.merged[t] < 0:
                if tensor.bytes > 0:
                    tensor.data = base + plan.offset_of[i]
                    i += 1
                else:
                    tensor.data = EMPTY
        for t in range(self.tensor_count):
            if self.first_use[t] >= first and self.merged[t] >= 0:
                self.tensors[t].data = self.tensors[self.merged[t]].data
        buffers = <void**>realloc(self.scratch_buffers, (self.scratch_count + 1) * sizeof(void*))
        if buffers == NULL:
            raise MemoryError()
        self.scratch_buffers = buffers
        for t in range(scratch_first, self.scratch_count):
            self.scratch_buffers[t] = base + plan.offset_of[i]
            i += 1
        self.scratch_planned = self.scratch_count
        for i in range(self.output_count):
            t = self.outputs[i]
            if not fresh and t >= 0 and self.first_use[t] >= first:
                memset(self.tensors[t].data, 0, self.tensors[t].bytes)
        if first == 0:
            for i in range(self.input_count):
                t = self.inputs[i]
                if t >= 0 and self.tensors[t].allocation == PLANNED:
                    if not fresh:
                        memset(self.tensors[t].data, 0, self.tensors[t].bytes)
                elif t >= 0 and self.tensors[t].type == STRING and self.tensors[t].data == NULL:
                    self.set_text(t, self.text(t))
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
        if self.recorder is not None:
            status = self.run_recorded()
        elif self.brief:
            status = self.run()
        else:
            with nogil:
                status = self.run()
        self.running = False
        self.shared.depth -= 1
        if status != 0:
            if self.failure is not None:
                failure, self.failure = self.failure, None
                raise failure
            raise self.node_error(self.failed_step, (<bytes>self.message).decode("utf-8", "replace"), "invoke")
        return 0

    cdef int run(self) noexcept nogil:
        """The loop over the nodes. -1: `failure` is set, or `message` and `failed_step` are."""
        cdef int step = 0
        cdef Node* node
        cdef bint flushing = False
        cdef unsigned long long mode = 0
        cdef bint engaged = False
        cdef int status
        self.prepared_end = self.stage_zero_end
        if self.shared_time > LEAST_GROUPS * LEAST_TIME and not self.shared.engaged:
            engaged = engage(self.hands, self.shared_time > WAKE_TIME)
            self.shared.engaged = engaged
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
                    self.run_group(&self.groups[step])
                    step = self.groups[step].last
                elif node.invoke(self, node) != 0:
                    self.failed_step = step
                    break
                step += 1
            if flushing:
                restore_denormals(mode)
                flushing = False
            status = 0
            if step < self.prepared_end or (step < self.plan_count and self.next_stage(step) != 0):
                status = -1
            elif step < self.plan_count:
                continue
            if engaged:
                self.shared.engaged = False
                release()
            return status

    cdef void run_group(self, const Group* group) noexcept nogil:
        """Its parts, on the threads that there are."""
        cdef Job job
        cdef int part
        job.context = <void*>self
        job.nodes = self.nodes
        job.plan = self.plan
        job.group = group
        if self.shared.engaged:
            share(compute_part, &job, group.parts)
        else:
            for part in range(group.parts):
                compute_part(&job, part, group.parts, 0)

    cdef int run_recorded(self) noexcept:
        """Run with a clock; a run that fails is not recorded."""
        cdef Block block
        cdef int status
        try:
            block = new_block(2 * self.plan_count * sizeof(int64_t) + 1, 16)
            self.clock = <int64_t*>block.data
            with nogil:
                status = self.run_timed()
            self.clock = NULL
            if status == 0 and self.recorder is not None:
                self.recorder.append((self.index, block.data[:2 * self.plan_count * sizeof(int64_t)]))
        except BaseException as error:
            self.failure = error
            return -1
        return status

    cdef int run_timed(self) noexcept nogil:
        """As `run`, with a look at the clock around each node: a loop of its own, so that `run` does not even ask whether it is wanted."""
        cdef bint engaged = False
        cdef int status
        self.prepared_end = self.stage_zero_end
        if self.shared_time > 0 and not self.shared.engaged:
            engaged = engage(self.hands, self.shared_time > WAKE_TIME)
            self.shared.engaged = engaged
        status = self.run_timed_steps()
        if engaged:
            self.shared.engaged = False
            release()
        return status

    cdef int run_timed_steps(self) noexcept nogil:
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
            if self.groups[step].parts > 1 and (self.shared.engaged or self.groups[step].last > step):
                self.run_group(&self.groups[step])
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
        flushing = self.flushes != NULL and self.flushes[step]
        with nogil:
            if flushing:
                mode = flush_denormals()
            status = node.invoke(self, node)
            if flushing:
                restore_denormals(mode)
        if status != 0:
            if self.failure is not None:
                failure, self.failure = self.failure, None
                raise failure
            raise self.node_error(step, (<bytes>self.message).decode("utf-8", "replace"), "invoke")
        return 0

    cdef int next_stage(self, int step) noexcept with gil:
        """The nodes behind a dynamic output, whose shape is known now: as the last invoke prepared them, or prepared anew."""
        cdef LaterStage* stage
        try:
            if self.later_stages is None:
                self.later_stages = new_block((self.plan_count + 1) * sizeof(LaterStage) + self.tensor_count * sizeof(SeenShape), 64)
                memset(self.later_stages.data, 0, self.later_stages.size)
            stage = &(<LaterStage*>self.later_stages.data)[step]
            if stage.end > 0 and self.shapes_as_seen(step, False):
                self.prepared_end = stage.end
                return 0
            self.forget_later_stages(step)
            stage.begun = True
            stage.mark = self.arena.mark()
            stage.scratch = self.scratch_count
            stage.blocks = <int>len(self.stage_blocks)
            stage.kept = <int>len(self.kept)
            stage.shared_time = self.shared_time
            self.prepare_stage(step)
            self.shapes_as_seen(step, True)
            stage.end = self.prepared_end
        except BaseException as error:
            self.state = INVOKE
            self.failure = error
            return -1
        return 0

    cdef bint shapes_as_seen(self, int step, bint note) noexcept:
        """True when the node in front of a stage gives the shapes that it gave when the stage was prepared; or note them."""
        cdef SeenShape* seen = <SeenShape*>(self.later_stages.data + (self.plan_count + 1) * sizeof(LaterStage))
        cdef const Node* node = &self.nodes[self.plan[step - 1]]
        cdef const Tensor* tensor
        cdef SeenShape* shape
        cdef int i, d
        for i in range(node.output_count):
            tensor = self.output(node, i)
            if tensor == NULL:
                continue
            shape = &seen[tensor.index]
            if note:
                shape.rank = tensor.rank
                for d in range(tensor.rank):
                    shape.dims[d] = tensor.dims[d]
            elif shape.rank != tensor.rank:
                return False
            for d in range(tensor.rank):
                if shape.dims[d] != tensor.dims[d]:
                    return False
        return True

    cdef int forget_later_stages(self, int first) except -1:
        """What was prepared from a step on is void; its memory is free again."""
        cdef LaterStage* stages = <LaterStage*>self.later_stages.data
        cdef Tensor* tensor
        cdef const Node* node
        cdef int step, i
        if stages[first].begun:
            self.arena.rewind(stages[first].mark)
            self.scratch_count = self.scratch_planned = stages[first].scratch
            del self.stage_blocks[stages[first].blocks:]
            del self.kept[stages[first].kept:]
            self.shared_time = stages[first].shared_time
        for step in range(first, self.plan_count):
            stages[step].begun = False
            stages[step].end = 0
            node = &self.nodes[self.plan[step]]
            for i in range(node.output_count):
                tensor = self.output(node, i)
                if tensor != NULL and tensor.type != STRING and tensor.allocation != VARIABLE and tensor.allocation != CONSTANT:
                    tensor.allocation = PLANNED
                    tensor.data = NULL
        return 0
