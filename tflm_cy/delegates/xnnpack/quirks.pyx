"""Results of the default delegate that would surprise, node by node: finite and repeatable, so they are the same here.

    quirks(subgraph)     # [{"node", "op_name", "rule", "effect", "way_out"}], empty before the delegate has taken its nodes

What gives garbage, reads memory that nobody wrote or kills the process in TensorFlow is not copied and not listed here;
README says what happens instead.
"""
from libc.stdint cimport int64_t

from tflm_cy.delegates.xnnpack.datatype cimport same_parameters, zero_point_0
from tflm_cy.graph.context cimport FUSED_SQUARE, XNNPACK, Node
from tflm_cy.graph.passes.partition cimport Partition
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport CONSTANT, FLOAT16, FLOAT32, INT8, INT32, Tensor, count
from tflm_cy.schema.table cimport load_i32, table_i8, table_i32

from tflm_cy.ops.generation import generation_name

OTHER_MODE = "use BUILTIN_WITHOUT_DEFAULT_DELEGATES or BUILTIN_REF"
EFFECTS = {
    "padding below zero": (
        "SAME padding of a filter smaller than its stride wraps around: every output is the bias alone",
        "pad explicitly and use VALID, or " + OTHER_MODE),
    "filter zero point": ("the zero point of the int8 right side is taken as 0", "convert with symmetric weights, or " + OTHER_MODE),
    "activation ignored": ("the fused activation is not applied", "write the activation as an operator of its own"),
    "negative begin": ("a negative begin counts from the end; the other modes read from before the row", "write the index from the start"),
    "end 0 is the end": ("an end of 0 means up to the end; the other modes give an empty result", "set the bit of end_mask that is meant"),
    "bytes copied": ("the raw bytes are copied although input and output have different scales", "give both the same scale and zero point"),
    "pixel by pixel": (
        "every pixel's activations are quantized by themselves, because the 1x1 convolution runs as FULLY_CONNECTED",
        OTHER_MODE + " to quantize per image"),
    "sum of squares": (
        "AVX-512 and Arm: the square is not rounded by itself but added with one rounding (one fused multiply-add each)", OTHER_MODE),
    "quotient upside down": ("the constant n divided by a sum of n elements gives the sum divided by n", OTHER_MODE),
    "square by table": ("both factors are the same tensor: the product is a table that rounds half away from zero", OTHER_MODE),
    "special values": ("approximation without special cases: EXP(NaN) = 0, SQRT(inf) = NaN, RSQRT(0) = NaN, GELU and HARD_SWISH(-inf) = NaN",
                       OTHER_MODE + " where infinities or NaN matter"),
    "float16 steps": ("computed in float16, eleven bits a step: EXP(NaN) = 0, SQRT(x < 0) = -0, a clamp turns NaN into its lower limit",
                      "give the operator float32 values (CAST or DEQUANTIZE before it)"),
    "float16 arithmetic": ("computed in float16, eleven bits a step", "give the operator float32 values (CAST or DEQUANTIZE before it)"),
    "zero is the rest": ("a single 0 in the shape stands for what is left, as -1 does; the other modes read it as 0", "write -1"),
}
X86 = ("avx2", "avx512")         # generations
SPECIAL = frozenset(("EXP", "SQRT", "RSQRT", "GELU", "HARD_SWISH"))
FLOAT16_STEPS = SPECIAL | {"SIN", "COS", "RELU", "RELU6", "RELU_N1_TO_1"}


cdef bint pads_below_zero(int64_t size, int64_t taps, int64_t stride, int64_t dilation) noexcept:
    return ((size + stride - 1) // stride - 1) * stride + (taps - 1) * dilation + 1 - size < 0


cdef str convolution_rule(Subgraph g, const Node* node, bint depthwise):
    cdef const Tensor* x = &g.tensors[node.inputs[0]]
    cdef const Tensor* w = &g.tensors[node.inputs[1]]
    cdef int sw = table_i32(node.options, 1, 0)
    cdef int sh = table_i32(node.options, 2, 0)
    cdef int first = 5 if depthwise else 4             # the slot of the dilations
    if x.rank != 4 or w.rank != 4 or sw <= 0 or sh <= 0:
        return None
    if table_i8(node.options, 0, 0) == 0 and w.dims[1] * w.dims[2] > 1:
        if (pads_below_zero(x.dims[1], w.dims[1], sh, table_i32(node.options, first + 1, 1))
                or pads_below_zero(x.dims[2], w.dims[2], sw, table_i32(node.options, first, 1))):
            return "padding below zero"
    if not depthwise and x.type == FLOAT32 and w.type == INT8 and w.dims[1] == 1 and w.dims[2] == 1 and sw == 1 and sh == 1:
        if x.dims[3] == w.dims[3] and x.dims[1] * x.dims[2] > 1:
            return "pixel by pixel"
    return None


cdef bint holds(const Tensor* t, bint negative) noexcept:
    """True when a constant int32 tensor has a negative value (or a zero)."""
    cdef int64_t i
    if t.type != INT32:
        return False
    for i in range(min(count(t), <int64_t>(t.bytes // 4))):
        if (load_i32(<const unsigned char*>t.data + 4 * i) < 0) if negative else (load_i32(<const unsigned char*>t.data + 4 * i) == 0):
            return True
    return False


cdef str rule_of(Subgraph g, int n, str op):
    cdef const Node* node = &g.graph.nodes[n]
    cdef const Tensor* x
    cdef const Tensor* y
    cdef int i
    if node.input_count == 0 or node.output_count == 0 or node.inputs[0] < 0:
        return None
    x = &g.tensors[node.inputs[0]]
    y = &g.tensors[node.outputs[0]]
    if op == "CONV_2D" or op == "DEPTHWISE_CONV_2D":
        return convolution_rule(g, node, op == "DEPTHWISE_CONV_2D")
    if (op == "FULLY_CONNECTED" or op == "BATCH_MATMUL") and g.tensors[node.inputs[1]].type == INT8:
        return "filter zero point" if zero_point_0(&g.tensors[node.inputs[1]]) != 0 else None
    if op == "CONCATENATION":
        return "activation ignored" if table_i8(node.options, 1, 0) != 0 else None
    if op == "SLICE":
        return "negative begin" if holds(&g.tensors[node.inputs[1]], True) else None
    if op == "STRIDED_SLICE":
        return "end 0 is the end" if holds(&g.tensors[node.inputs[2]], False) and table_i32(node.options, 1, 0) == 0 else None
    if op == "SPLIT":
        for i in range(node.output_count):
            if not same_parameters(&g.tensors[node.inputs[1]], &g.tensors[node.outputs[i]]):
                return "bytes copied"
        return None
    if op == "REDUCE_MAX" or op == "REDUCE_MIN":
        return None if same_parameters(x, y) else "bytes copied"
    if op == "MUL" and x.type != FLOAT32 and node.inputs[0] == node.inputs[1]:
        return "square by table"
    if op == "RESHAPE" and node.input_count == 2 and node.inputs[1] >= 0:
        return "zero is the rest" if holds(&g.tensors[node.inputs[1]], False) else None
    if op in SPECIAL and x.type == FLOAT32:
        return "special values" if generation_name() in X86 else None        # the approximations for Arm keep them
    if op in FLOAT16_STEPS and x.type == FLOAT16:
        return "float16 steps" if generation_name() in X86 else "float16 arithmetic" if generation_name() != "neon" else None
    return None


def quirks(Subgraph g):
    """See the module."""
    cdef list found = []
    cdef dict fused = {}
    cdef set means = set()                             # what MEANs that replace another node write
    cdef bint rounds_once = generation_name() != "avx2"
    cdef Partition partition
    cdef int n, step
    for partition in g.partitions:
        for step in partition.steps:
            if rounds_once and step >= g.graph.listed_nodes and g.graph.nodes[step].fusion == FUSED_SQUARE:
                fused[g.graph.nodes[step].outputs[0]] = True
            if step >= g.graph.listed_nodes and g.operator_names[step] == "MEAN":
                means.add(g.graph.nodes[step].outputs[0])
        for n in partition.nodes:
            if g.graph.nodes[n].arithmetic != XNNPACK:
                continue
            op = g.operator_names[n]
            if op == "DIV" and g.graph.nodes[n].outputs[0] in means and g.tensors[g.graph.nodes[n].inputs[0]].allocation == CONSTANT:
                found.append({
                    "node": n, "op_name": op, "rule": "quotient upside down", "effect": EFFECTS["quotient upside down"][0],
                    "way_out": EFFECTS["quotient upside down"][1]})
                continue
            rule = "sum of squares" if g.graph.nodes[n].output_count and g.graph.nodes[n].outputs[0] in fused else rule_of(g, n, op)
            if rule is not None:
                effect, way_out = EFFECTS[rule]
                found.append({"node": n, "op_name": op, "rule": rule, "effect": effect, "way_out": way_out})
    return found
