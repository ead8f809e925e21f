# tflm_cy: optimize=speed
"""From a verified model to subgraphs: tensors and nodes as C structs in each subgraph's arena, constants in place.

    subgraphs = load(model, find, reference=True, preserve_all=False)

`find(name, custom)` gives the Registration of an operator or None. What TensorFlow refuses at construction raises
ValueError here (an unknown builtin operator, a version that the resolver does not know); what it refuses at allocation
or invocation is noted in the subgraph and raised there (tensor indices that do not exist, unresolved custom operators,
reading what nobody writes).

With an arena, TFLM's rules hold: all subgraphs lie in it, nodes have the micro arithmetic, and operators' versions do not count.
"""
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uintptr_t
from libc.string cimport memcpy

from tflm_cy.graph.allocator cimport HEAD_ALIGNMENT, MICRO_ALIGNMENT, Allocator
from tflm_cy.graph.compilation cimport Compilation
from tflm_cy.graph.context cimport MICRO, OPTIMIZED, REFERENCE, Node, Registration
from tflm_cy.graph.deferred_constants cimport DeferredConstants
from tflm_cy.graph.execution cimport Execution
from tflm_cy.graph.graph cimport Graph, Step, new_steps
from tflm_cy.graph.memory_plan cimport MemoryPlan
from tflm_cy.graph.resource cimport Resources
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport CONSTANT, DYNAMIC, MAX_RANK, PLANNED, STRING, VARIABLE, Tensor, bytes_of, shape_of, type_size
from tflm_cy.memory.arena cimport KIND_NODE, KIND_OTHER, KIND_QUANTIZATION, KIND_SUBGRAPH, KIND_TENSOR, Arena
from tflm_cy.memory.block cimport Block, new_block
from tflm_cy.memory.growing_arena cimport GrowingArena
from tflm_cy.schema.builtins cimport BUILTIN_CUSTOM
from tflm_cy.schema.model cimport Model
from tflm_cy.schema.options cimport options_problem
from tflm_cy.schema.slots cimport (
    BLOCKWISE_BLOCK_SIZE, BLOCKWISE_SCALES, CODE_BUILTIN, CODE_CUSTOM, CODE_DEPRECATED_BUILTIN, CODE_VERSION, MODEL_OPERATOR_CODES,
    MODEL_SUBGRAPHS, OPERATOR_INPUTS, OPERATOR_INTERMEDIATES, OPERATOR_OPCODE_INDEX, OPERATOR_OUTPUTS,
    QUANTIZATION_DETAILS, QUANTIZATION_DETAILS_TYPE, QUANTIZATION_DIMENSION, QUANTIZATION_SCALE, QUANTIZATION_ZERO_POINT,
    SUBGRAPH_INPUTS, SUBGRAPH_NAME, SUBGRAPH_OPERATORS, SUBGRAPH_OUTPUTS, SUBGRAPH_TENSORS, TENSOR_IS_VARIABLE,
    TENSOR_QUANTIZATION, TENSOR_SHAPE, TENSOR_SPARSITY, TENSOR_TYPE,
)
from tflm_cy.schema.table cimport (
    Vector, load_f32, load_i64, table_bool, table_i8, table_i32, table_table, table_u8, table_u32, table_vector, text_bytes, vector_i32,
    vector_table,
)

from tflm_cy.graph.refusal import COMPRESSED

cdef enum:
    BLOCKWISE = 2                # of the union QuantizationDetails
    SHARED_ZEROS = 4096

cdef int32_t[SHARED_ZEROS] ZEROS         # zero points of every tensor that has no others


cpdef list load(Model model, find, bint reference, bint preserve_all, Arena arena=None):
    """Load all subgraphs of a model; they share resource variables and know each other."""
    cdef bint micro = arena is not None
    cdef list operators = operator_codes(model, find, reference, micro)
    cdef Vector tables = table_vector(model.root, MODEL_SUBGRAPHS)
    cdef Resources shared = Resources()
    cdef list subgraphs = []
    cdef Subgraph subgraph
    cdef uint32_t i
    if model.micro_only is not None and not micro:
        raise ValueError(f"{model.micro_only} {COMPRESSED}")
    for i in range(tables.length):
        subgraph = Subgraph()
        subgraph.index = i
        subgraph.model = model
        subgraph.siblings = subgraphs
        subgraph.shared = shared
        subgraph.num_threads = subgraph.workers = 1
        subgraph.arithmetic = MICRO if micro else REFERENCE if reference else OPTIMIZED
        subgraph.aligned_slack = not micro
        subgraph.micro = micro
        subgraph.allocator = Allocator(arena if micro else GrowingArena(), MICRO_ALIGNMENT if micro else HEAD_ALIGNMENT, micro)
        subgraph.graph.preserve_all = preserve_all
        subgraph.graph.workers = 1
        compose(subgraph)
        load_subgraph(subgraph, vector_table(tables, i), operators)
        subgraphs.append(subgraph)
    return subgraphs


cdef int compose(Subgraph g) except -1:
    """The parts of a subgraph, which share its graph and its lists."""
    g.memory = MemoryPlan()
    g.constants = DeferredConstants()
    g.constants.graph = &g.graph
    g.constants.allocator = g.allocator
    g.constants.registrations = g.registrations
    g.constants.last_value = -1
    g.compilation = Compilation(g.allocator, g.memory, g.constants)
    g.packed = g.compilation.packed
    g.compilation.graph = &g.graph
    g.graph.context = <void*>g
    g.compilation.registrations = g.registrations
    g.compilation.operator_names = g.operator_names
    g.compilation.partitions = g.partitions
    g.compilation.micro = g.micro
    g.execution = Execution()
    g.execution.c = g.compilation
    g.execution.shared = g.shared
    g.execution.subgraph = g.index
    return 0


cdef str text_of(Vector vector):
    return text_bytes(vector).decode("utf-8", "replace")


cdef list operator_codes(Model model, find, bint reference, bint micro):
    """(name, Registration or None, version, custom) of every operator code; ValueError for an unknown builtin or version."""
    from tflm_cy.schema.names import BUILTIN_NAMES
    cdef Vector tables = table_vector(model.root, MODEL_OPERATOR_CODES)
    cdef const uint8_t* table
    cdef Registration registration
    cdef list codes = []
    cdef int code, version, highest
    cdef uint32_t i
    for i in range(tables.length):
        table = vector_table(tables, i)
        code = max(table_i8(table, CODE_DEPRECATED_BUILTIN, 0), table_i32(table, CODE_BUILTIN, 0))
        version = table_i32(table, CODE_VERSION, 1)
        if code == BUILTIN_CUSTOM:
            name = text_of(table_vector(table, CODE_CUSTOM))
            registration = find(name, True)
            if registration is not None and reference and registration.reference_version == 0:
                registration = None
            codes.append((name, registration, version, True))
            continue
        if not 0 <= code < len(BUILTIN_NAMES):
            raise ValueError(f"Op builtin_code out of range: {code}. Are you using old TFLite binary with newer model?")
        name = BUILTIN_NAMES[code]
        registration = find(name, False)
        highest = 0
        if registration is not None:
            highest = registration.reference_version if reference else registration.version
        if registration is None or not (micro or registration.lowest_version <= version <= highest):
            raise ValueError(
                f"Didn't find op for builtin opcode '{name}' version '{version}'. An older version of this builtin might be supported. "
                "Registration failed.")
        codes.append((name, registration, version, False))
    return codes


cdef int load_subgraph(Subgraph g, const uint8_t* table, list operators) except -1:
    """Everything that lies in the tail before the mark."""
    cdef Vector tensors = table_vector(table, SUBGRAPH_TENSORS)
    cdef Vector nodes = table_vector(table, SUBGRAPH_OPERATORS)
    cdef Vector inputs = table_vector(table, SUBGRAPH_INPUTS)
    cdef Vector outputs = table_vector(table, SUBGRAPH_OUTPUTS)
    cdef Arena arena = g.allocator.arena
    cdef Graph* graph = &g.graph
    cdef int32_t* per_tensor
    cdef int total
    cdef uint32_t i
    g.table = table
    g.name = text_of(table_vector(table, SUBGRAPH_NAME))
    g.tensor_count = tensors.length
    total = graph.tensor_count = g.allocator.owned_count = g.tensor_count + count_versions(g, tensors, nodes, inputs)
    graph.node_count = graph.node_capacity = graph.listed_nodes = graph.step_count = nodes.length
    g.execution_plan = list(range(graph.node_count))
    g.custom_nodes = set()
    g.tensors = graph.tensors = <Tensor*>arena.allocate_tail(total * sizeof(Tensor), 8, KIND_TENSOR)
    g.allocator.owned = <void**>arena.allocate_tail(total * sizeof(void*), 8, KIND_SUBGRAPH)
    g.allocator.owned_capacity = <size_t*>arena.allocate_tail(total * sizeof(size_t), 8, KIND_SUBGRAPH)
    per_tensor = <int32_t*>arena.allocate_tail((2 if g.micro else 5) * total * sizeof(int32_t), 4, KIND_SUBGRAPH)
    graph.first_use, graph.last_use = per_tensor, per_tensor + total
    if not g.micro:
        g.versions = <int32_t*>arena.allocate_tail((total - g.tensor_count) * sizeof(int32_t), 4, KIND_SUBGRAPH)
        graph.alias = per_tensor + 2 * total
        graph.live_from, graph.live_to = per_tensor + 3 * total, per_tensor + 4 * total
    graph.inputs = copy_indices(arena, inputs, &graph.input_count)
    graph.outputs = copy_indices(arena, outputs, &graph.output_count)
    for i in range(tensors.length):
        load_tensor(g, i, vector_table(tensors, i))
    graph.nodes = <Node*>arena.allocate_tail(graph.node_count * sizeof(Node), 8, KIND_NODE)
    new_steps(graph, arena)
    for i in range(nodes.length):
        load_node(g, i, vector_table(nodes, i), operators)
        graph.laid_out[i].node = &graph.nodes[i]
        graph.laid_out[i].source = i
        graph.laid_out[i].partition = -1
    memcpy(graph.steps, graph.laid_out, graph.step_count * sizeof(Step))
    if has_tensors(g):
        give_versions(g, tensors)
        check_order(g)
    else:
        graph.tensor_count = g.tensor_count          # no node can be followed: there are the file's tensors alone
    g.loaded = arena.mark()
    return 0


cdef int32_t* copy_indices(Arena arena, Vector vector, int32_t* length) except NULL:
    """Tensor indices are copied: a file that changes later cannot lead outside."""
    cdef int32_t* copy = <int32_t*>arena.allocate_tail(vector.length * sizeof(int32_t), 4, KIND_OTHER)
    length[0] = vector.length
    if vector.length > 0:
        memcpy(copy, vector.data, vector.length * sizeof(int32_t))
    return copy


cdef int load_tensor(Subgraph g, int index, const uint8_t* table) except -1:
    cdef Tensor* tensor = &g.tensors[index]
    cdef Vector shape = table_vector(table, TENSOR_SHAPE)
    cdef const uint8_t* data = NULL
    cdef size_t size = 0
    cdef size_t unit
    cdef int64_t size_by_shape
    cdef void* copy
    cdef uint32_t d
    tensor.index = index
    tensor.type = table_i8(table, TENSOR_TYPE, 0)
    if shape.length > MAX_RANK:
        raise ValueError(f"tensor {index} has rank {shape.length}, at most {MAX_RANK} is supported")
    tensor.rank = shape.length
    for d in range(shape.length):
        tensor.dims[d] = vector_i32(shape, d)
    load_quantization(g, tensor, table_table(table, TENSOR_QUANTIZATION))
    size_by_shape = bytes_of(tensor.type, tensor.rank, tensor.dims)
    if size_by_shape < 0:
        g.allocate_defect = f"BytesRequired number of elements overflowed: shape {shape_of(tensor)} of tensor {index}."
    g.model.constant(table, &data, &size)
    if data != NULL:
        if table_bool(table, TENSOR_IS_VARIABLE, False):
            raise ValueError(f"Tensor {index} is a variable tensor with buffer. It's not supported now.")
        tensor.allocation = CONSTANT
        tensor.sparsity = table_table(table, TENSOR_SPARSITY)       # the verifier looks at constants' only
        tensor.bytes = size
        unit = type_size(tensor.type)
        if tensor.type == STRING:
            unit = 4
        if unit > 1 and <uintptr_t>data % min(unit, <size_t>8) != 0:
            copy = g.allocator.arena.allocate_tail(size, g.allocator.alignment, KIND_OTHER)
            memcpy(copy, data, size)
            tensor.data = copy
        else:
            tensor.data = <void*>data
        return 0
    tensor.bytes = max(size_by_shape, 0)
    if table_bool(table, TENSOR_IS_VARIABLE, False):
        tensor.allocation = VARIABLE
        if tensor.type == STRING:
            raise ValueError(f"tensor {index} is a variable of strings, which cannot be")
    elif tensor.type == STRING:
        tensor.allocation = DYNAMIC
    else:
        tensor.allocation = PLANNED
    return 0


cdef int load_quantization(Subgraph g, Tensor* tensor, const uint8_t* table) except -1:
    """Scales and zero points (cut to int32); copied to the tail, where a microcontroller has them or the file's are not as they are wanted."""
    cdef Vector scales = table_vector(table, QUANTIZATION_SCALE)
    cdef Vector zeros = table_vector(table, QUANTIZATION_ZERO_POINT)
    cdef float* scale_copy
    cdef int32_t* zero_copy
    cdef const uint8_t* details = table_table(table, QUANTIZATION_DETAILS)
    cdef uint32_t i
    if details != NULL and table_u8(table, QUANTIZATION_DETAILS_TYPE, 0) == BLOCKWISE:
        tensor.block_size = table_i32(details, BLOCKWISE_BLOCK_SIZE, 0)
        tensor.block_scales = table_i32(details, BLOCKWISE_SCALES, 0)
    if scales.length == 0:
        return 0
    if not g.micro and <uintptr_t>scales.data % 4 == 0:
        tensor.scales = <const float*>scales.data
    else:
        scale_copy = <float*>g.allocator.arena.allocate_tail(scales.length * sizeof(float), 4, KIND_QUANTIZATION)
        for i in range(scales.length):
            scale_copy[i] = load_f32(scales.data + 4 * <size_t>i)
        tensor.scales = scale_copy
    if not g.micro and max(scales.length, zeros.length) <= SHARED_ZEROS and all_zero(&zeros):
        tensor.zero_points = ZEROS
    else:
        zero_copy = <int32_t*>g.allocator.arena.allocate_tail(
            max(scales.length, zeros.length) * sizeof(int32_t), 4, KIND_QUANTIZATION)
        for i in range(zeros.length):
            zero_copy[i] = <int32_t>load_i64(zeros.data + 8 * <size_t>i)
        tensor.zero_points = zero_copy
    tensor.scale_count = scales.length
    tensor.zero_point_count = zeros.length
    tensor.quantized_dimension = table_i32(table, QUANTIZATION_DIMENSION, 0)
    if scales.length == 1 or g.micro:                # TensorFlow's params: of several scales there is none
        tensor.scale = tensor.scales[0]
        tensor.zero_point = tensor.zero_points[0]
    return 0


cdef bint all_zero(const Vector* values) noexcept:
    """Of int64."""
    cdef uint32_t i
    for i in range(values.length):
        if load_i64(values.data + 8 * <size_t>i) != 0:
            return False
    return True


cdef int load_node(Subgraph g, int index, const uint8_t* table, list operators) except -1:
    cdef Node* node = &g.graph.nodes[index]
    name, registration, version, custom = operators[table_u32(table, OPERATOR_OPCODE_INDEX, 0)]
    node.code = BUILTIN_CUSTOM if custom else g.model.operator_code(table)
    node.index = index
    node.inputs = copy_indices(g.allocator.arena, table_vector(table, OPERATOR_INPUTS), &node.input_count)
    node.outputs = copy_indices(g.allocator.arena, table_vector(table, OPERATOR_OUTPUTS), &node.output_count)
    node.intermediates = copy_indices(g.allocator.arena, table_vector(table, OPERATOR_INTERMEDIATES), &node.intermediate_count)
    node.options = g.model.options(table)
    problem = None if custom else options_problem(name, node.options, g.arithmetic == MICRO)
    if problem is not None:
        raise ValueError(f"{problem} Node {index} ({name}).")
    g.model.custom_options(table, &node.custom_options, &node.custom_options_size)
    node.version = version
    node.arithmetic = g.arithmetic
    g.registrations.append(registration)
    if custom:
        g.custom_nodes.add(index)
    g.operator_names.append(name)
    return 0


cdef int outside(Subgraph g, const int32_t* indices, int length) noexcept:
    """Position of the first index that names no tensor (-1: an omitted one), -1 when all do."""
    cdef int i
    for i in range(length):
        if indices[i] >= g.tensor_count or indices[i] < -1:
            return i
    return -1


cdef bint names_tensors(Subgraph g, const int32_t* indices, int length, str what, int node) except -1:
    """False, and the defect is noted, where an index names no tensor."""
    cdef int i = outside(g, indices, length)
    if i < 0:
        return True
    where = what if node < 0 else f"the {what} of node {node}"
    g.allocate_defect = f"Invalid tensor index {indices[i]} in {where}. The subgraph has {g.tensor_count} tensors."
    return False


cdef bint has_tensors(Subgraph g) except -1:
    """False, and it is noted, where an index is none of a tensor; nothing follows it afterwards."""
    cdef const Node* node
    cdef int n
    if not names_tensors(g, g.graph.inputs, g.graph.input_count, "inputs", -1) or not names_tensors(g, g.graph.outputs, g.graph.output_count, "outputs", -1):
        return False
    for n in range(g.graph.node_count):
        node = &g.graph.nodes[n]
        if (not names_tensors(g, node.inputs, node.input_count, "inputs", n)
                or not names_tensors(g, node.outputs, node.output_count, "outputs", n)
                or not names_tensors(g, node.intermediates, node.intermediate_count, "intermediates", n)):
            return False
    return True


# ---------------------------------------------------------------- tensors that several nodes write

cdef enum Writing:
    UNWRITTEN, WRITTEN, NO_VERSIONS          # variables are for that, and inputs are the caller's


cdef uint8_t* new_writings(Block memory, Vector tensors, Vector inputs) noexcept:
    cdef uint8_t* writings = <uint8_t*>memory.data
    cdef uint32_t i, t
    for i in range(inputs.length):
        t = <uint32_t>vector_i32(inputs, i)
        if t < tensors.length:
            writings[t] = NO_VERSIONS
    for i in range(tensors.length):
        if table_bool(vector_table(tensors, i), TENSOR_IS_VARIABLE, False):
            writings[i] = NO_VERSIONS
    return writings


cdef int count_versions(Subgraph g, Vector tensors, Vector nodes, Vector inputs) except -1:
    """How many values are overwritten by a later node. A microcontroller has one memory for all of them."""
    cdef Block memory = new_block(tensors.length + 1, 16)
    cdef uint8_t* writings = new_writings(memory, tensors, inputs)
    cdef Vector outputs
    cdef int total = 0
    cdef uint32_t n, i, t
    for n in range(nodes.length if not g.micro else 0):
        outputs = table_vector(vector_table(nodes, n), OPERATOR_OUTPUTS)
        for i in range(outputs.length):
            t = <uint32_t>vector_i32(outputs, i)
            if t < tensors.length and writings[t] != NO_VERSIONS:
                total += writings[t]
                writings[t] = WRITTEN
    return total


cdef int give_versions(Subgraph g, Vector tensors) except -1:
    """A value that a later node overwrites gets a tensor of its own, for the nodes that read it until then: each tensor is written once."""
    cdef Vector inputs = table_vector(g.table, SUBGRAPH_INPUTS)
    cdef Block memory = new_block(g.tensor_count + 1, 16), numbers = new_block((2 * g.tensor_count + 1) * sizeof(int32_t), 16)
    cdef const uint8_t* writings = new_writings(memory, tensors, inputs)
    cdef int32_t* left = <int32_t*>numbers.data          # nodes that are still to write the tensor
    cdef int32_t* current = left + g.tensor_count
    cdef int32_t* outputs
    cdef const Node* node
    cdef int n, i, t, free = g.tensor_count
    if g.graph.tensor_count == g.tensor_count:
        return 0
    for t in range(g.tensor_count):
        current[t] = t
    for n in range(g.graph.node_count):
        for i in range(g.graph.nodes[n].output_count):
            if g.graph.nodes[n].outputs[i] >= 0:
                left[g.graph.nodes[n].outputs[i]] += 1
    for n in range(g.graph.node_count):
        node = &g.graph.nodes[n]
        read_versions(<int32_t*>node.inputs, node.input_count, current)
        read_versions(<int32_t*>node.intermediates, node.intermediate_count, current)
        outputs = <int32_t*>node.outputs
        for i in range(node.output_count):
            t = outputs[i]
            if t < 0 or writings[t] == NO_VERSIONS:
                continue
            left[t] -= 1
            current[t] = t
            if left[t] > 0:
                outputs[i] = current[t] = free
                load_tensor(g, free, vector_table(tensors, t))
                g.versions[free - g.tensor_count] = t
                free += 1
    return 0


cdef void read_versions(int32_t* indices, int length, const int32_t* current) noexcept:
    cdef int i
    for i in range(length):
        if indices[i] >= 0:
            indices[i] = current[indices[i]]


cdef int check_order(Subgraph g) except -1:
    """Inputs are written by the caller alone, other tensors before they are read; TFLM runs nodes that write over what was there, or read what is zero here."""
    cdef Block memory = new_block(g.graph.tensor_count + 1, 16)
    cdef uint8_t* written = <uint8_t*>memory.data
    cdef const Node* node
    cdef const Tensor* tensor
    cdef int n, i, t
    for i in range(g.graph.input_count):
        if g.graph.inputs[i] >= 0:
            written[g.graph.inputs[i]] = True
    for n in range(g.graph.node_count):
        node = &g.graph.nodes[n]
        for i in range(node.input_count):
            t = node.inputs[i]
            if t < 0 or written[t]:
                continue
            tensor = &g.tensors[t]
            if (tensor.allocation == PLANNED or tensor.allocation == DYNAMIC) and g.invoke_defect is None and not g.micro:
                g.invoke_defect = f"Input tensor {t} lacks data: {who(g, n)} reads it before any node writes it."
        for i in range(node.output_count):
            t = node.outputs[i]
            if t < 0:
                continue
            tensor = &g.tensors[t]
            if tensor.allocation == CONSTANT:
                g.allocate_defect = f"{who(g, n)} writes to tensor {t}, which is a constant."
            elif written[t] and tensor.allocation != VARIABLE and not g.micro:
                g.allocate_defect = f"{who(g, n)} writes to tensor {t}, which the caller writes."
            written[t] = True
    return 0


cdef str who(Subgraph g, int n):
    return f"node {n} ({g.operator_names[n]})"


cdef Subgraph empty(str defect):
    """A graph with nothing in it; allocating it raises with this text."""
    cdef Subgraph g = Subgraph()
    g.shared = Resources()
    g.execution_plan = []
    g.allocate_defect = defect
    return g
