"""The dictionaries in which an interpreter describes tensors and nodes, with TensorFlow's keys, and the list of what the engine runs."""
import numpy as np

from libc.stddef cimport size_t
from libc.stdint cimport uint8_t, uint32_t

from tflm_cy.graph.arrays cimport read_value
from tflm_cy.graph.arrays import scalar_type
from tflm_cy.graph.context cimport Node
from tflm_cy.graph.description cimport tensor_name
from tflm_cy.graph.graph cimport is_internal
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport STRING, Tensor, count, is_constant, shape_of, type_name
from tflm_cy.schema.slots cimport (
    BLOCKWISE_BLOCK_SIZE, BLOCKWISE_SCALES, BLOCKWISE_ZERO_POINTS, DIMENSION_DENSE_SIZE, DIMENSION_FORMAT, DIMENSION_INDICES,
    DIMENSION_INDICES_TYPE, DIMENSION_SEGMENTS, DIMENSION_SEGMENTS_TYPE, QUANTIZATION_DETAILS, QUANTIZATION_DETAILS_TYPE,
    QUANTIZATION_DIMENSION, SPARSITY_BLOCK_MAP, SPARSITY_DIM_METADATA, SPARSITY_TRAVERSAL_ORDER, SUBGRAPH_TENSORS, TENSOR_QUANTIZATION,
    TENSOR_SHAPE, TENSOR_SHAPE_SIGNATURE, TENSOR_SPARSITY,
)
from tflm_cy.schema.table cimport Vector, load_i32, table_i8, table_i32, table_table, table_u8, table_vector, vector_table

from tflm_cy.graph.shown import shown

ARITHMETICS = ("reference", "optimized", "xnnpack", "micro")          # by Node.arithmetic


cdef dict tensor_details(Subgraph g, int t):
    """The details dictionary of a tensor; keys in TensorFlow's order."""
    cdef const Tensor* tensor = &g.tensors[t]
    cdef const uint8_t* table = vector_table(table_vector(g.table, SUBGRAPH_TENSORS), g.file_index(t))
    shape = np.array(stored_shape(table) if is_internal(&g.graph, t) else shape_of(tensor), dtype=np.int32)
    signature = signature_of(g, t)
    single = tensor.scale_count == 1
    return {
        "name": kernels_name(g, t) or tensor_name(g, t),
        "index": t,
        "shape": shape,
        "shape_signature": np.array(signature, dtype=np.int32) if signature else shape.copy(),
        "dtype": scalar_type(tensor.type),
        "quantization": (float(tensor.scale), int(tensor.zero_point)) if single else (0.0, 0),
        "quantization_parameters": quantization(g, tensor, table_table(table, TENSOR_QUANTIZATION)),
        "sparsity_parameters": sparsity(table_table(table, TENSOR_SPARSITY)),
    }


cdef str kernels_name(Subgraph g, int t):
    """The name that the kernel which makes a tensor gives it, None where none does or a delegate makes it."""
    cdef const Node* node
    cdef str name = shown(g.compilation.kept, t, "name")
    cdef int step
    for step in range(g.graph.step_count if name is not None else 0):
        node = &g.graph.nodes[g.graph.laid_out[step].source]
        if node.output_count > 0 and node.outputs[0] == t and g.graph.laid_out[step].partition >= 0:
            return None
    return name


cdef list stored_shape(const uint8_t* table):
    cdef Vector vector = table_vector(table, TENSOR_SHAPE)
    return [load_i32(vector.data + 4 * i) for i in range(vector.length)]


cdef list signature_of(Subgraph g, int t):
    """shape_signature of the file, [] when it has none, or strings were written, which forgets it."""
    cdef const Tensor* tensor = &g.tensors[t]
    if tensor.type == STRING and tensor.data != NULL and not is_constant(tensor) and (t in g.written_strings or not may_be_unset(g, tensor)):
        return []
    cdef Vector vector = table_vector(vector_table(table_vector(g.table, SUBGRAPH_TENSORS), g.file_index(t)), TENSOR_SHAPE_SIGNATURE)
    return [load_i32(vector.data + 4 * i) for i in range(vector.length)]


cdef bint may_be_unset(Subgraph g, const Tensor* tensor):
    """An input of empty strings, which it is from the first allocation on."""
    cdef int i
    if tensor.bytes > 4 * (<size_t>count(tensor) + 2):
        return False
    for i in range(g.graph.input_count):
        if g.graph.inputs[i] == tensor.index:
            return True
    return False


cdef int check_strict(Subgraph g, int t, int rank, const int32_t* dims) except -1:
    """Of a new shape: only dimensions that the signature leaves open may differ from it, whatever shape there was since."""
    cdef const Tensor* tensor = &g.tensors[t]
    cdef list signature = signature_of(g, t)
    cdef int expected, d
    if rank != tensor.rank:
        raise RuntimeError(
            f"Attempting to resize tensor {t} of rank {tensor.rank} to rank {rank}. ResizeInputTensorStrict only allows "
            "mutating unknown dimensions identified by -1.")
    for d in range(rank):
        expected = signature[d] if d < len(signature) else tensor.dims[d]
        if expected != -1 and dims[d] != expected:
            raise RuntimeError(
                f"Attempting to resize dimension {d} of tensor {t} with value {expected} to {dims[d]}. "
                "ResizeInputTensorStrict only allows mutating unknown dimensions identified by -1.")
    return 0


cdef dict quantization(Subgraph g, const Tensor* tensor, const uint8_t* table):
    cdef const uint8_t* details
    cdef int i
    cdef int repeats = repetitions(g, tensor) if tensor.scale_count == 1 else 1
    if table_u8(table, QUANTIZATION_DETAILS_TYPE, 0) == 2:
        details = table_table(table, QUANTIZATION_DETAILS)
        zeros = table_i32(details, BLOCKWISE_ZERO_POINTS, -1)
        return {
            "scales": constant_values(g, table_i32(details, BLOCKWISE_SCALES, 0), np.float16),
            "zero_points": constant_values(g, zeros, np.int32) if zeros >= 0 else np.array([], dtype=np.int32),
            "quantized_dimension": table_i32(table, QUANTIZATION_DIMENSION, 0),
            "block_size": table_i32(details, BLOCKWISE_BLOCK_SIZE, 0),
        }
    return {
        "scales": np.array([tensor.scales[i] for i in range(tensor.scale_count)] * repeats, dtype=np.float32),
        "zero_points": np.array([tensor.zero_points[i] for i in range(tensor.zero_point_count)], dtype=np.int32),
        "quantized_dimension": tensor.quantized_dimension,
        "block_size": 0,
    }


cdef int repetitions(Subgraph g, const Tensor* tensor) except -1:
    """How often its single scale is shown."""
    cdef list kept = [change for partition in g.partitions for change in partition.shown]
    return shown([*kept, *g.compilation.kept], tensor.index, "repeats") or 1


cdef object constant_values(Subgraph g, int t, dtype):
    """Values of another tensor that a description refers to; empty when it holds none."""
    if 0 <= t < g.tensor_count and is_constant(&g.tensors[t]) and g.tensors[t].type != STRING:
        return read_value(g, t, tuple(shape_of(&g.tensors[t]))).ravel().astype(dtype)
    return np.array([], dtype=dtype)


cdef dict node_details(Subgraph g, int n):
    """The details dictionary of an operator."""
    cdef const Node* node
    cdef int i
    node = &g.graph.nodes[n]
    inputs = [g.file_index(node.inputs[i]) for i in range(node.input_count)]
    outputs = [g.file_index(node.outputs[i]) for i in range(node.output_count)]
    known = [
        [scalar_type(g.tensors[<int>i].type) for i in side if 0 <= i < g.tensor_count] for side in (inputs, outputs)]
    return {
        "index": n,
        "op_name": g.operator_names[n],
        "inputs": np.array(inputs, dtype=np.int32),
        "outputs": np.array(outputs, dtype=np.int32),
        "operand_types": known[0],
        "result_types": known[1],
    }


def partition_nodes(Subgraph g):
    """DELEGATE node -> (the nodes that it runs, its inputs, its outputs)."""
    found = {}
    for p in g.partitions:
        inputs, outputs = ([g.file_index(t) for t in side] for side in (p.inputs, p.outputs))
        found[p.index] = list(p.nodes), inputs, outputs
    return found


cdef list step_list(Subgraph g):
    """What the engine runs, in order: (node, the node of the plan that it is part of, name, arithmetic, inputs, outputs).

    Tensors are (index, name, type, shape, bytes, constant); None where an input is omitted.
    """
    cdef const Node* node
    cdef int step, i
    found = []
    for step in range(g.graph.step_count):
        node = &g.graph.nodes[g.graph.steps[step].source]
        partition = None if g.graph.steps[step].partition < 0 else g.partitions[g.graph.steps[step].partition]
        sides = [
            [operand(g, node.inputs[i]) for i in range(node.input_count)],
            [operand(g, node.outputs[i]) for i in range(node.output_count)]]
        found.append((
            node.index, node.index if partition is None else partition.index, g.operator_names[node.index],
            ARITHMETICS[node.arithmetic], *sides))
    return found


cdef object operand(Subgraph g, int t):
    cdef const Tensor* tensor
    if t < 0:
        return None
    tensor = &g.tensors[t]
    return t, tensor_name(g, t), type_name(tensor.type), shape_of(tensor), tensor.bytes, is_constant(tensor)


cdef object index_vector(Vector vector, int kind=1):
    """A sparse index vector: int32, uint16 or uint8 in the file, int32 for the user."""
    cdef object width = {1: np.int32, 2: np.uint16, 3: np.uint8}[kind]
    if vector.data == NULL:
        return np.array([], dtype=np.int32)
    raw = (<const char*>vector.data)[:vector.length * np.dtype(width).itemsize]
    return np.frombuffer(raw, dtype=width).astype(np.int32)


cdef object union_vector(const uint8_t* dimension, int type_slot, int slot):
    """The vector in one of a dimension's unions; a table of an unknown kind is not looked at: nobody has verified it."""
    cdef int kind = table_u8(dimension, type_slot, 0)
    if not 1 <= kind <= 3:
        return np.array([], dtype=np.int32)
    return index_vector(table_vector(table_table(dimension, slot), 0), kind)


cdef dict sparsity(const uint8_t* table):
    cdef Vector dimensions = table_vector(table, SPARSITY_DIM_METADATA)
    cdef Vector block_map = table_vector(table, SPARSITY_BLOCK_MAP)
    cdef const uint8_t* dimension
    cdef list metadata = []
    cdef dict result
    cdef uint32_t i
    if table == NULL:
        return {}
    result = {"traversal_order": index_vector(table_vector(table, SPARSITY_TRAVERSAL_ORDER))}
    if block_map.data != NULL:
        result["block_map"] = index_vector(block_map)
    for i in range(dimensions.length):
        dimension = vector_table(dimensions, i)
        if table_i8(dimension, DIMENSION_FORMAT, 0) == 0:
            metadata.append({"format": 0, "dense_size": table_i32(dimension, DIMENSION_DENSE_SIZE, 0)})
        else:
            metadata.append({
                "format": 1,
                "array_segments": union_vector(dimension, DIMENSION_SEGMENTS_TYPE, DIMENSION_SEGMENTS),
                "array_indices": union_vector(dimension, DIMENSION_INDICES_TYPE, DIMENSION_INDICES),
            })
    result["dim_metadata"] = metadata
    return result
