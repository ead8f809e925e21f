# tflm_cy: optimize=speed
"""Prepare each node of a stage: shapes, kernels, packed weights, requests for memory.

Before: RESHAPE, CONV_2D, SOFTMAX as the file has them. After: each output has its shape, each node its kernel and what the kernel needs; the
stage ends behind the first node whose output's shape is known only while invoking.

A node that refuses what it is given stops the allocation, or refuses when it is reached where TensorFlow's kernels look at shapes only then
(`LateRefusalError`).
"""
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset

from tflm_cy.graph.compilation cimport new_pass
from tflm_cy.graph.context cimport EVERY_INPUT, MEMORY_PLANNING, NO_EPILOGUE, PREPARE, Registration
from tflm_cy.graph.graph cimport Graph, Step, alias_root, node_at, writes
from tflm_cy.graph.tensor cimport (
    CONSTANT, DYNAMIC, INT8, RESOURCE, STRING, VARIABLE, VARIANT, bytes_of, shape_of, type_name,
)
from tflm_cy.memory.arena cimport KIND_VARIABLE
from tflm_cy.memory.block cimport new_block
from tflm_cy.schema.builtins cimport BUILTIN_CUSTOM

from tflm_cy.graph.refusal import COMPRESSED, LateRefusalError, OutOfMemoryError

# operators that call subgraphs, or whose generators remember what they have drawn
cdef frozenset TURNS = frozenset((
    "CALL_ONCE", "IF", "MULTINOMIAL", "RANDOM_STANDARD_NORMAL", "RANDOM_UNIFORM", "STABLEHLO_CASE", "STABLEHLO_COMPOSITE", "WHILE",
))

cdef double SMALL_TIME = 20e3            # nanoseconds
cdef int64_t SMALL_BYTES = 1 << 20

UNRESOLVED = "See instructions: https://www.tensorflow.org/lite/guide/ops_custom"


cdef int prepare(Compilation c) except -1:
    """Nodes from the stage's first step on, up to the next dynamic output, and variables."""
    cdef Graph* graph = c.graph
    cdef Context context = <Context>c.graph.context
    cdef int step = c.first
    context.state = PREPARE
    c.dynamic_seen = c.shapes_open = c.put_off = False
    if c.first > 0:
        step = prepare_ready(c, context)
    while c.first == 0 and step < graph.step_count and not c.dynamic_seen:
        prepare_node(c, context, step)
        if c.put_off:
            break
        step += 1
    c.end = step
    c.light = c.light and is_small(c)
    c.constants.staging_buffer = None
    context.state = MEMORY_PLANNING
    return allocate_variables(c) if c.first == 0 else 0


# ---------------------------------------------------------------- stages behind a dynamic output

cdef int prepare_ready(Compilation c, Context context) except -1:
    """All nodes that the shapes known so far suffice for; those that wait for others move behind them. Returns the stage's end."""
    cdef Graph* graph = c.graph
    cdef uint8_t* unshaped = new_marks(c)
    cdef Step* waiting = <Step*>(c.marks.data + round_up(graph.tensor_count))
    cdef int wait_count = 0
    cdef int end = c.first
    cdef int step = c.first
    cdef const Node* node
    if c.ready_only:
        mark_outputs(&graph.nodes[graph.laid_out[c.first - 1].source], unshaped)
    try:
        while step < graph.step_count:
            node = &graph.nodes[graph.laid_out[step].source]
            if waits(node, unshaped) or (wait_count > 0 and keeps_its_turn(c, node)):
                mark_outputs(node, unshaped)
                waiting[wait_count] = graph.laid_out[step]
                wait_count += 1
                step += 1
                continue
            graph.laid_out[end] = graph.steps[end] = graph.laid_out[step]
            end += 1
            step += 1
            c.dynamic_seen = False
            prepare_node(c, context, end - 1)
            if c.dynamic_seen:
                mark_outputs(node, unshaped)
    finally:
        memcpy(graph.laid_out + end, waiting, wait_count * sizeof(Step))
        memcpy(graph.steps + end, waiting, wait_count * sizeof(Step))
    if wait_count > 0 and end > c.first:
        extend_live_ranges(c, end)
    return end


cdef size_t round_up(size_t bytes) noexcept:
    return (bytes + 63) // 64 * 64


cdef uint8_t* new_marks(Compilation c) except NULL:
    """A zero per tensor, and behind them room for all steps."""
    cdef size_t bytes = round_up(c.graph.tensor_count) + c.graph.step_count * sizeof(Step)
    if c.marks is None or c.marks.size < bytes:
        c.marks = new_block(bytes, 64)
    memset(c.marks.data, 0, c.graph.tensor_count)
    return <uint8_t*>c.marks.data


cdef int mark_outputs(const Node* node, uint8_t* marks) noexcept:
    cdef int i
    for i in range(node.output_count):
        if node.outputs[i] >= 0:
            marks[node.outputs[i]] = True
    return 0


cdef bint waits(const Node* node, const uint8_t* unshaped) noexcept:
    """One of its inputs has no shape yet."""
    cdef int i
    for i in range(node.input_count):
        if node.inputs[i] >= 0 and unshaped[node.inputs[i]]:
            return True
    return False


cdef bint keeps_its_turn(Compilation c, const Node* node) except -1:
    """It may do something beside computing its outputs, so that no node in front of it may be passed."""
    cdef const Tensor* tensor
    cdef int i, t
    if node.code < 0 or node.code == BUILTIN_CUSTOM or c.operator_names[node.index] in TURNS:
        return True
    for i in range(node.input_count + node.output_count):
        t = node.inputs[i] if i < node.input_count else node.outputs[i - node.input_count]
        tensor = &c.graph.tensors[t]
        if t >= 0 and (tensor.allocation == VARIABLE or tensor.type == RESOURCE or tensor.type == VARIANT):
            return True
    return False


cdef int extend_live_ranges(Compilation c, int first) noexcept:
    """What earlier stages hold is needed as long as a step reads it, at the place where this step is now."""
    cdef Graph* graph = c.graph
    cdef const Node* node
    cdef int step, i, t
    for step in range(first, graph.step_count):
        node = &graph.nodes[graph.laid_out[step].source]
        for i in range(node.input_count):
            t = node.inputs[i]
            if t >= 0 and 0 <= graph.first_use[t] < c.first:
                graph.last_use[t] = max(graph.last_use[t], step)
                t = alias_root(graph, t)
                graph.live_to[t] = max(graph.live_to[t], step)
    return 0


cdef bint is_small(Compilation c) noexcept:
    """So little is to be computed that how it is done does not matter."""
    cdef const Node* node
    cdef int64_t bytes = 0
    cdef double time = 0
    cdef int step, i
    for step in range(c.first, c.end):
        node = &c.graph.nodes[c.graph.laid_out[step].source]
        time += node.time if node.work != NULL else 0
        for i in range(node.output_count):
            if node.outputs[i] >= 0:
                bytes += c.graph.tensors[node.outputs[i]].bytes
    return time <= SMALL_TIME and bytes <= SMALL_BYTES


# ---------------------------------------------------------------- a node

cdef int prepare_node(Compilation c, Context context, int step) except -1:
    cdef Node* node = &c.graph.nodes[c.graph.laid_out[step].source]
    cdef Registration registration = c.registrations[node.index]
    cdef int i
    c.current = step
    if c.graph.laid_out[step].partition >= 0 and c.partitions[c.graph.laid_out[step].partition].defect is not None:
        raise c.node_error(step, c.partitions[c.graph.laid_out[step].partition].defect, "prepare")
    forget_node(node)
    if registration is None:
        how = COMPRESSED if c.operator_names[node.index] == "TFLM_DECODE" else UNRESOLVED
        raise RuntimeError(
            f"Encountered unresolved custom op: {c.operator_names[node.index]}.\n"
            f"{how} Node number {node.index} ({c.operator_names[node.index]}) failed to prepare.")
    check_inputs(c, context, step, node, registration.sparse_input)
    c.packed.begin(node)
    try:
        c.constants.materialize_inputs(context, node, registration.deferred_input)
        registration.prepare(context, node)
    except MemoryError as error:
        if c.micro or isinstance(error, OutOfMemoryError):         # a called subgraph has said which tensor
            raise
        raise OutOfMemoryError(str(c.node_error(step, str(error) or "no memory", "prepare"))) from error
    except LateRefusalError as error:
        refuse_when_reached(context, node, str(error).encode("utf-8", "replace"))
    except Exception as error:
        if c.micro:
            refuse_when_reached(context, node, str(error).encode("utf-8", "replace"))     # what TFLM's prepare refuses is told before
        elif c.shapes_open and c.first == 0:
            c.constants.unstage()
            c.put_off = True
            return 0
        elif not leaves_open(c, context, step, node):
            raise c.node_error(step, error, "prepare") from error
        else:
            for i in range(node.output_count):
                context.set_dynamic(context.output(node, i))
            refuse_when_reached(context, node, str(error).encode("utf-8", "replace"))
    c.shapes_open = c.shapes_open or leaves_open(c, context, step, node)
    c.constants.unstage()
    if node.invoke == NULL:
        raise SystemError(f"{c.operator_names[node.index]} has prepared no kernel")
    if not c.micro or node.invoke != refuse:
        check_outputs(c, context, step, node)
    return 0


cdef int forget_node(Node* node) noexcept:
    """As if it had never been prepared."""
    node.data = NULL
    node.invoke = NULL
    node.work = NULL
    node.in_place = 0
    node.is_view = False
    node.elided = False
    node.transpose_rows = node.transpose_columns = 0
    node.epilogue.kind = NO_EPILOGUE
    node.try_fuse = NULL
    return 0


cdef int refuse_when_reached(Context context, Node* node, bytes text) except -1:
    """The node fails each time that it runs; its data is why."""
    context.keep(text)
    forget_node(node)
    node.data = <void*><char*>text
    node.invoke = refuse
    return 0


cdef int refuse(Context context, Node* node) noexcept nogil:
    return context.fail(<const char*>node.data)


cdef bint leaves_open(Compilation c, Context context, int step, const Node* node) except -1:
    """Whether TensorFlow shapes the outputs while invoking because the file calls dimensions of the input unknown, resized or not.

    Then what is wrong with shapes shows in invoke: the node itself is refused there, nodes behind it are prepared there if they cannot be
    now. Where all is well the shapes are known now.
    """
    name = c.operator_names[node.index]
    if c.micro or not (name == "SLICE" or name == "TOPK_V2") or node.input_count == 0 or node.output_count == 0:
        return False
    if c.graph.laid_out[step].partition >= 0:
        return False
    return context.has_open_shape(context.input(node, 0)) and (name == "TOPK_V2" or context.has_open_shape(context.output(node, 0)))


cdef int check_inputs(Compilation c, Context context, int step, const Node* node, int sparse_input) except -1:
    """A constant holds at least what its type and shape say, unless it is sparse and the operator knows."""
    cdef const Tensor* tensor
    cdef int i
    if sparse_input == EVERY_INPUT:
        return 0
    for i in range(node.input_count):
        tensor = context.input(node, i)
        if tensor == NULL or tensor.sparsity == NULL or i == sparse_input or tensor.type == STRING:
            continue
        if <int64_t>tensor.bytes < bytes_of(tensor.type, tensor.rank, tensor.dims):
            raise c.node_error(step, f"input {i} is a sparse constant", "prepare")
    return 0


cdef int check_outputs(Compilation c, Context context, int step, const Node* node) except -1:
    """No output may hold less than its type and shape say, whatever prepare has made of them."""
    cdef const Tensor* tensor
    cdef int i
    for i in range(node.output_count):
        tensor = context.output(node, i)
        if tensor == NULL or tensor.type == STRING or (tensor.allocation == DYNAMIC and c.dynamic_seen):
            continue
        if (tensor.allocation == DYNAMIC and not c.micro) or <int64_t>tensor.bytes < bytes_of(tensor.type, tensor.rank, tensor.dims):
            raise c.node_error(step, f"tensor {tensor.index} cannot hold {type_name(tensor.type)} {shape_of(tensor)}", "prepare")
    return 0


# ---------------------------------------------------------------- variables

cdef int allocate_variables(Compilation c) except -1:
    """Variables lie in the tail, behind what nodes have asked for."""
    cdef Tensor* tensor
    cdef int t
    for t in range(c.graph.tensor_count):
        tensor = &c.graph.tensors[t]
        if tensor.allocation == VARIABLE:
            tensor.data = c.allocator.arena.allocate_tail(tensor.bytes, c.allocator.alignment, KIND_VARIABLE)
    reset_variables(c)
    return 0


cdef bint reset_variables(Compilation c) noexcept:
    """Zero every variable tensor; int8 ones get their zero point. False: there is one without memory, at which this ends."""
    cdef Tensor* tensor
    cdef int t
    for t in range(c.graph.tensor_count):
        tensor = &c.graph.tensors[t]
        if tensor.allocation == VARIABLE:
            if tensor.data == NULL:
                return False
            memset(tensor.data, tensor.zero_point if tensor.type == INT8 else 0, tensor.bytes)
    return True


# ---------------------------------------------------------------- what went wrong

cdef object out_of_memory(Compilation c, object error):
    """OutOfMemoryError: which tensor takes most of the memory that there is not, and which nodes write and read it."""
    cdef const Tensor* tensor
    cdef int t, step, largest = -1
    for t in range(c.graph.tensor_count):
        tensor = &c.graph.tensors[t]
        if tensor.allocation != CONSTANT and (largest < 0 or tensor.bytes > c.graph.tensors[largest].bytes):
            largest = t
    text = (str(error) or "no memory").rstrip(".")
    if largest < 0:
        return OutOfMemoryError(f"{text}.")
    tensor = &c.graph.tensors[largest]
    name = (<Context>c.graph.context).tensor_label(largest)
    text += f". The largest is {name}: {tensor.bytes} bytes, {type_name(tensor.type)} {shape_of(tensor)}"
    for step in range(c.first, c.end):
        if writes(c.graph, step, largest):
            return OutOfMemoryError(str(c.node_error(step, text, "allocate its output")))
    return OutOfMemoryError(f"{text}.")


def refused_nodes(Compilation c):
    """[(node, why)] of those that fail each time that they are reached."""
    cdef const Node* node
    cdef int step
    cdef list found = []
    for step in range(c.end):
        node = node_at(c.graph, step)
        if node.invoke == refuse:
            found.append((node.index, (<bytes><const char*>node.data).decode("utf-8", "replace")))
    return found


PASS = new_pass(prepare, "prepare", "Each node gets its shapes, its kernel and what the kernel needs.", False, False)
