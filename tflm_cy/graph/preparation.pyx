"""A subgraph on its way to a run: its nodes are prepared.

    self.forget_prepared()                        # back to what loading left
    self.prepare_stage(0)                         # up to the first output whose shape nobody knows yet
    self.next_stage(step)                         # while running: the nodes behind it

Memory: tensors, nodes and what loading needs lie in the arena's tail before the mark `loaded`; what prepare asks for
lies behind it, so that allocating again returns to the mark. Variables follow, then the head is set to the plan's size.

A node whose output's shape is known only while invoking ends a *stage*: the nodes behind it are prepared when they are
reached, and their tensors lie in a block of the stage's own, so that nothing that is alive moves. The next invoke finds them
prepared as long as the shapes in front of the stage are the same.

Under TFLM's rules (`micro`) all subgraphs share one arena, which `micro.interpreter` plans when all are prepared.
"""
from libc.stdint cimport int32_t, int64_t, uint32_t, uintptr_t
from libc.string cimport memset

from tflm_cy.graph.context cimport EVERY_INPUT, INVOKE, MEMORY_PLANNING, NO_FINISH, PREPARE, Context, Node, Registration
from tflm_cy.graph.finishing cimport hand_over
from tflm_cy.graph.places cimport Places
from tflm_cy.graph.ranges cimport make_jobs
from tflm_cy.graph.tensor cimport (
    COMPUTED, CONSTANT, DYNAMIC, INT8, MAX_RANK, PLANNED, STRING, VARIABLE, Tensor, bytes_of, shape_of, type_name,
)
from tflm_cy.memory.arena cimport KIND_VARIABLE
from tflm_cy.memory.block cimport new_block
from tflm_cy.schema.slots cimport SUBGRAPH_TENSORS, TENSOR_SHAPE_SIGNATURE
from tflm_cy.schema.table cimport Vector, table_vector, vector_i32, vector_table

from tflm_cy.graph.refusal import COMPRESSED, LateRefusalError, OutOfMemoryError

cdef struct LaterStage:          # by its first step
    bint begun                   # those below, but `end`, are what was there before it
    size_t mark, bulk_mark, values_mark
    int scratch
    int blocks
    int band_blocks
    int band_tensors
    int kept
    double shared_time
    int end                      # 0: not prepared

cdef struct SeenShape:           # of a dynamic tensor, when the stage behind it was prepared
    int rank
    int32_t[MAX_RANK] dims


cdef class Preparation(Places):
    """See the module."""

    def __cinit__(self):
        self.kept = []
        self.resized = set()

    # ---------------------------------------------------------------- a stage

    cdef int forget_prepared(self) except -1:
        """Back to the state after loading, shapes kept."""
        cdef Tensor* tensor
        cdef int t
        if not self.micro:                 # there it holds the other subgraphs too, and is prepared once
            self.rewind(self.loaded, 0)
        self.forget_values(0)
        self.kept, self.stage_blocks = [], []
        self.later_stages = self.late = self.room = self.same = None
        self.borrowed = NULL
        self.scratch_count = self.scratch_planned = 0
        self.shared_time = 0
        for t in range(self.tensor_count):
            tensor = &self.tensors[t]
            if tensor.allocation == COMPUTED or (tensor.allocation == DYNAMIC and tensor.type != STRING):
                tensor.allocation = PLANNED
            if tensor.allocation == PLANNED or tensor.allocation == VARIABLE:
                tensor.data = NULL
        return 0

    cdef dict save_places(self):
        """Where the last run's inputs and outputs lie, and their shapes: they stay readable when an allocation is refused."""
        cdef dict saved = {}
        cdef const Tensor* tensor
        cdef int i, t
        for i in range(self.input_count + self.output_count if self.generation > 0 else 0):
            t = self.inputs[i] if i < self.input_count else self.outputs[i - self.input_count]
            if t < 0 or t in self.resized:
                continue
            tensor = &self.tensors[t]
            if tensor.allocation == PLANNED and tensor.data != NULL:
                saved[t] = (<uintptr_t>tensor.data, tensor.bytes, shape_of(tensor))
        return saved

    cdef int restore_places(self, dict saved) except -1:
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

    cdef int forget_addresses(self) noexcept:
        """No tensor of the head has memory: what was prepared is incomplete, and the last run's memory may be gone."""
        cdef int t
        for t in range(self.tensor_count):
            if self.tensors[t].allocation == PLANNED:
                self.tensors[t].data = NULL
        return 0

    cdef int prepare_stage(self, int first) except -1:
        """Prepare nodes from a step of the plan up to the next dynamic output, then plan their memory."""
        cdef int step = first
        self.state = PREPARE
        self.current_stage = first
        self.dynamic_seen = self.shapes_open = self.put_off = False
        while step < self.plan_count and not self.dynamic_seen:
            self.prepare_node(step)
            if self.put_off:
                break
            step += 1
        self.prepared_end = step
        self.room = None
        self.state = MEMORY_PLANNING
        try:
            if first == 0:
                self.allocate_variables()
            self.divide_steps(first, step)
            if not self.micro:
                self.plan_memory(first, step)
                hand_over(self, first, step)
        except MemoryError as error:
            raise error if self.micro else room_error(self, first, error) from error
        make_jobs(self.groups, self.flushes, first, step)
        if first == 0:
            self.stage_zero_end = step
        self.state = INVOKE
        return 0

    cdef int prepare_node(self, int step) except -1:
        cdef Node* node = &self.nodes[self.plan[step]]
        cdef Registration registration = self.registrations[node.index]
        cdef int i
        if self.step_partitions is not None and self.step_partitions[step] is not None:
            if self.step_partitions[step].defect is not None:
                raise self.node_error(step, self.step_partitions[step].defect, "prepare")
        forget_node(node)
        self.current_step = step
        if registration is None:
            how = COMPRESSED if self.operator_names[node.index] == "TFLM_DECODE" else "See instructions: https://www.tensorflow.org/lite/guide/ops_custom"
            raise RuntimeError(
                f"Encountered unresolved custom op: {self.operator_names[node.index]}.\n"
                f"{how} Node number {node.index} ({self.operator_names[node.index]}) failed to prepare.")
        self.check_inputs(step, node, registration.sparse_input)
        try:
            if self.late is not None:
                self.settle_inputs(node, registration.late_input)
            registration.prepare(self, node)
        except MemoryError as error:
            if self.micro or isinstance(error, OutOfMemoryError):      # a called subgraph has said which tensor
                raise
            raise OutOfMemoryError(str(self.node_error(step, str(error) or "no memory", "prepare"))) from error
        except LateRefusalError as error:
            self.refuse_when_reached(node, str(error).encode("utf-8", "replace"))
        except Exception as error:
            if self.micro:
                self.refuse_when_reached(node, str(error).encode("utf-8", "replace"))     # what TFLM's prepare refuses is told before
            elif self.shapes_open and self.current_stage == 0:
                self.give_back()
                self.put_off = True
                return 0
            elif not self.leaves_open(node):
                raise self.node_error(step, error, "prepare") from error
            else:
                for i in range(node.output_count):
                    self.set_dynamic(self.output(node, i))
                self.refuse_when_reached(node, str(error).encode("utf-8", "replace"))
        self.shapes_open = self.shapes_open or self.leaves_open(node)
        self.give_back()
        if node.invoke == NULL:
            raise SystemError(f"{self.operator_names[node.index]} has prepared no kernel")
        if not self.micro or node.invoke != refuse:
            self.check_outputs(step, node)
        return 0

    cdef int refuse_when_reached(self, Node* node, bytes text) except -1:
        self.keep(text)
        forget_node(node)
        node.data = <void*><char*>text
        node.invoke = refuse
        return 0

    cdef bint leaves_open(self, const Node* node) except -1:
        """Whether TensorFlow shapes the outputs while invoking because the file calls dimensions of the input unknown, resized or not.

        Then what is wrong with shapes shows in invoke: the node itself is refused there, nodes behind it are prepared there if they cannot be
        now. Where all is well the shapes are known now.
        """
        name = self.operator_names[node.index]
        if self.micro or not (name == "SLICE" or name == "TOPK_V2") or node.input_count == 0 or node.output_count == 0:
            return False
        if self.step_partitions is not None and self.step_partitions[self.current_step] is not None:
            return False
        return self.is_open(self.input(node, 0)) and (name == "TOPK_V2" or self.is_open(self.output(node, 0)))

    cdef bint is_open(self, const Tensor* tensor) except -1:
        """Whether the file's shape_signature has a dimension of -1."""
        cdef Vector signature
        cdef uint32_t i
        if tensor == NULL:
            return False
        signature = table_vector(vector_table(table_vector(self.table, SUBGRAPH_TENSORS), tensor.index), TENSOR_SHAPE_SIGNATURE)
        for i in range(signature.length):
            if vector_i32(signature, i) == -1:
                return True
        return False

    cdef int check_inputs(self, int step, const Node* node, int sparse_input) except -1:
        """A constant holds at least what its type and shape say, unless it is sparse and the operator knows."""
        cdef const Tensor* tensor
        cdef int i
        if sparse_input == EVERY_INPUT:
            return 0
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

    # ---------------------------------------------------------------- variables

    cdef int allocate_variables(self) except -1:
        cdef Tensor* tensor
        cdef int t
        for t in range(self.tensor_count):
            tensor = &self.tensors[t]
            if tensor.allocation == VARIABLE:
                tensor.data = self.arena.allocate_tail(tensor.bytes, self.alignment, KIND_VARIABLE)
        return self.reset_variables()

    cdef int reset_variables(self) except -1:
        """Zero every variable tensor; int8 ones get their zero point."""
        cdef int t
        cdef Tensor* tensor
        for t in range(self.tensor_count):
            tensor = &self.tensors[t]
            if tensor.allocation == VARIABLE and tensor.data != NULL:
                memset(tensor.data, tensor.zero_point if tensor.type == INT8 else 0, tensor.bytes)
        return 0

    # ---------------------------------------------------------------- stages behind a dynamic output

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
            stage.mark, stage.bulk_mark, stage.values_mark = self.arena.mark(), self.bulk_mark(), self.values_mark()
            stage.scratch = self.scratch_count
            stage.blocks = <int>len(self.stage_blocks)
            stage.band_blocks, stage.band_tensors = <int>len(self.band_blocks), self.band_tensors
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
            self.rewind(stages[first].mark, stages[first].bulk_mark)
            self.forget_values(stages[first].values_mark)
            self.scratch_count = self.scratch_planned = stages[first].scratch
            del self.stage_blocks[stages[first].blocks:]
            del self.band_blocks[stages[first].band_blocks:]
            self.band_tensors = stages[first].band_tensors
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


cdef int forget_node(Node* node) noexcept:
    """As if it had never been prepared."""
    node.data = NULL
    node.invoke = NULL
    node.work = NULL
    node.in_place = 0
    node.passes = False
    node.idle = False
    node.turned_rows = node.turned_columns = 0
    node.finish.kind = NO_FINISH
    node.take = NULL
    return 0


cdef int refuse(Context context, Node* node) noexcept nogil:
    """A node that cannot compute what it was given; its data is why."""
    return context.fail(<const char*>node.data)


cdef object room_error(Preparation self, int first, object error):
    """OutOfMemoryError: which tensor takes most of the memory that there is not, and which nodes write and read it."""
    from tflm_cy.graph.description import name_of

    cdef const Tensor* tensor
    cdef int t, step, largest = -1
    for t in range(self.tensor_count):
        tensor = &self.tensors[t]
        if tensor.allocation != CONSTANT and (largest < 0 or tensor.bytes > self.tensors[largest].bytes):
            largest = t
    text = (str(error) or "no memory").rstrip(".")
    if largest < 0:
        return OutOfMemoryError(f"{text}.")
    tensor = &self.tensors[largest]
    text += f". The largest is {name_of(self, largest)}: {tensor.bytes} bytes, {type_name(tensor.type)} {shape_of(tensor)}"
    for step in range(first, self.prepared_end):
        if self.is_written(step, largest):
            return OutOfMemoryError(str(self.node_error(step, text, "allocate its output")))
    return OutOfMemoryError(f"{text}.")


def refused_nodes(Preparation prepared):
    """[(node, why)] of those that fail each time that they are reached."""
    cdef const Node* node
    cdef int step
    cdef list found = []
    for step in range(prepared.prepared_end):
        node = &prepared.nodes[prepared.plan[step]]
        if node.invoke == refuse:
            found.append((node.index, (<bytes><const char*>node.data).decode("utf-8", "replace")))
    return found
