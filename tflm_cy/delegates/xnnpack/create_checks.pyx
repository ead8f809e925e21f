# tflm_cy: optimize=speed
"""Why the delegate cannot run a node that it has taken: then allocation fails, as TensorFlow's does.

    create_defect(support, node)      # a sentence, or None

A claim does not look at the values of scales and zero points, nor whether both sides of a copy agree; creating the XNNPACK
graph does, and there is no way back then. One bad node spoils its partition, and a partition the whole allocation.

Source: google/XNNPACK:src/subgraph/.
"""
from tflm_cy.delegates.xnnpack.support cimport Support
from tflm_cy.delegates.xnnpack.datatype cimport (
    FP16, FP32, NO_DATATYPE, QCINT32, QINT8, QINT32, QUINT8, same_parameters, zero_point_0,
)
from tflm_cy.delegates.xnnpack.families cimport is_matrix, is_unary, keeps_parameters, keeps_type, reads_first_only
from tflm_cy.graph.context cimport Node
from tflm_cy.graph.tensor cimport CONSTANT, INT8, RESOURCE, Tensor
from tflm_cy.schema.builtins cimport (
    BUILTIN_ASSIGN_VARIABLE, BUILTIN_BATCH_MATMUL, BUILTIN_CUSTOM, BUILTIN_DEQUANTIZE, BUILTIN_FULLY_CONNECTED,
    BUILTIN_QUANTIZE, BUILTIN_READ_VARIABLE, BUILTIN_SPLIT, BUILTIN_TRANSPOSE_CONV,
)


cdef int type_of(Support support, int t) except -1:
    return NO_DATATYPE if t < 0 else FP16 if support.elided[t] else support.datatype_of(t)


cdef bint agree(Support support, int a, int b) except -1:
    cdef int type = type_of(support, a)
    if type != type_of(support, b):
        return False
    return type == FP32 or type == FP16 or same_parameters(&support.g.tensors[a], &support.g.tensors[b])


cdef str matrix_defect(Support support, const Node* node, int x, int y):
    """FULLY_CONNECTED and the convolutions: biases and the scale of the result."""
    cdef int k = 3 if node.code == BUILTIN_TRANSPOSE_CONV else 2
    cdef int w = node.inputs[1]
    cdef const Tensor* filter = &support.g.tensors[w]
    cdef int x_type = type_of(support, x)
    cdef int w_type = type_of(support, w)
    cdef int bias = NO_DATATYPE
    cdef float scale
    cdef int i
    if node.input_count > k and node.inputs[k] >= 0:
        bias = type_of(support, node.inputs[k])
    if x_type != type_of(support, y) and (x_type == FP32 or x_type == QINT8 or x_type == QUINT8):
        return "input and output have different types"
    if (x_type == QUINT8) != (w_type == QUINT8):       # of a TRANSPOSE_CONV: the others' filters have the right type, or are not taken
        return "input and filter have different types"
    if x_type == FP32:
        if bias != NO_DATATYPE and bias != (w_type if w_type == FP16 else FP32):
            return "the bias has another type than the sums"
        return None
    if w_type == FP32 or w_type == FP16:
        return "a float filter with a quantized input"
    if node.code != BUILTIN_FULLY_CONNECTED and node.code != BUILTIN_TRANSPOSE_CONV and w_type == QINT8 and zero_point_0(filter) != 0:
        return "an int8 filter has a zero point"
    if bias != NO_DATATYPE and bias != (QINT32 if w_type == QINT8 or w_type == QUINT8 else QCINT32):
        return "the bias has one scale and the filter several, or the reverse"
    for i in range(filter.scale_count):
        scale = support.g.tensors[x].scale * filter.scales[i]
        if scale / support.g.tensors[y].scale >= 256:
            return "the scale of the sums is 256 or more times the output's"
    return None


cdef str create_defect(Support support, int index):
    """Why this node of a partition cannot be created, None when it can; not for nodes that are unpacked, nor for VAR_HANDLE."""
    cdef const Node* node = &support.g.graph.nodes[index]
    cdef str op = support.g.operator_names[index]
    cdef int code = node.code
    cdef int first = 1 if code == BUILTIN_SPLIT or code == BUILTIN_TRANSPOSE_CONV else 0
    cdef int end = 1 if reads_first_only(code) else 2 if code == BUILTIN_SPLIT else node.input_count
    cdef int i, x, y, t
    cdef int count = end - first + node.output_count
    cdef bint custom = code == BUILTIN_CUSTOM
    cdef const Tensor* value
    for i in range(count):
        t = node.inputs[first + i] if first + i < end else node.outputs[first + i - end]
        if t < 0 or support.g.tensors[t].type == RESOURCE:
            continue
        if custom and i != 0 and i != count - 1:
            continue
        if type_of(support, t) == NO_DATATYPE:
            return f"{op}: the type or the quantization of tensor {t} is not supported (scale not positive, zero point out of range)"
        if support.g.tensors[t].rank > 6:
            return f"{op}: tensor {t} has rank {support.g.tensors[t].rank}"
    if code == BUILTIN_READ_VARIABLE or code == BUILTIN_ASSIGN_VARIABLE:
        value = &support.g.tensors[node.outputs[0] if code == BUILTIN_READ_VARIABLE else node.inputs[1]]
        if not same_parameters(value, &support.g.tensors[<int>support.proxies[node.inputs[0]]]):
            return f"{op}: the variable's values have different quantization parameters"
        return None
    x = node.inputs[2 if code == BUILTIN_TRANSPOSE_CONV else 1 if code == BUILTIN_SPLIT else 0] if node.input_count else -1
    y = node.outputs[0]
    if keeps_parameters(code):
        for i in range(first, end):
            if not agree(support, node.inputs[i], y):
                return f"{op}: the quantization parameters of input and output differ"
    elif keeps_type(code):
        for i in range(node.output_count):
            if type_of(support, x) != type_of(support, node.outputs[i]):
                return f"{op}: the types of input and output differ"
    elif is_unary(code) and code != BUILTIN_QUANTIZE and code != BUILTIN_DEQUANTIZE:
        if type_of(support, x) != type_of(support, y):
            return f"{op}: the types of input and output differ"
    elif is_matrix(code) or code == BUILTIN_TRANSPOSE_CONV:
        why = matrix_defect(support, node, x, y)
        return None if why is None else f"{op}: {why}"
    elif code == BUILTIN_BATCH_MATMUL:
        if type_of(support, x) == QUINT8:
            return "BATCH_MATMUL: uint8 is not supported"
        value = &support.g.tensors[node.inputs[1]]
        if type_of(support, x) == FP32 and value.type == INT8 and value.allocation != CONSTANT:
            return "BATCH_MATMUL: float32 with an int8 right side that is no constant"
    return None
