# tflm_cy: optimize=speed
"""What XNNPACK makes of several nodes in one partition where it changes bits.

| pattern | runs as |
| --- | --- |
| MEAN or SUM of SQUARE(x) or MUL(x, x) | a sum of squares with one rounding less, also when the square has other readers |
| SUM(x) * c, c = 1 / n, or SUM(x) / n, and n / SUM(x) too; c a constant of one element, n the number of summed elements | MEAN(x), then the activation |
| RELU, RELU6, RELU_N1_TO_1 behind a pooling that nobody else reads | a clamp of the pooling: NaN and -0 become its lower bound |

All float32. Of those that change no bit two are made, unless every tensor is to be preserved or nothing fused: a PAD that one convolution
reads becomes the convolution's padding (`ops/xnnpack/fused_pad.pxd`), so that no image with its border is written; and x * LOGISTIC(x) becomes
one node: of bytes a table, of float32 a product while the function's values are in the cache.

Source: google/XNNPACK:src/subgraph.c.
"""
import struct

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy

from tflm_cy.delegates.xnnpack.families cimport begins_rewrite
from tflm_cy.graph.context cimport FUSED_CLAMP, FUSED_GATE, FUSED_PAD, FUSED_SQUARE, XNNPACK, Node
from tflm_cy.graph.passes.partition cimport Partition
from tflm_cy.graph.passes.partition import add_node, add_variant
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport CONSTANT, FLOAT16, FLOAT32, INT8, INT32, UINT8, Tensor, count
from tflm_cy.ops.xnnpack.fused_pad cimport VALID
from tflm_cy.schema.builtins cimport (
    BUILTIN_AVERAGE_POOL_2D, BUILTIN_CONV_2D, BUILTIN_DEPTHWISE_CONV_2D, BUILTIN_DEQUANTIZE, BUILTIN_DIV, BUILTIN_LOGISTIC,
    BUILTIN_MAX_POOL_2D, BUILTIN_MEAN, BUILTIN_MUL, BUILTIN_PAD, BUILTIN_RELU, BUILTIN_RELU6, BUILTIN_RELU_N1_TO_1,
    BUILTIN_SQUARE, BUILTIN_SUM,
)
from tflm_cy.schema.option_slots cimport CONV_2D_PADDING, CONV_2D_STRIDE_H, CONV_2D_STRIDE_W
from tflm_cy.schema.table cimport table_i8, table_i32

cdef float INFINITE = float("inf")
ACTIVATIONS = {1: "RELU", 2: "RELU_N1_TO_1", 3: "RELU6"}
CLAMPS = {"RELU": (0.0, INFINITE), "RELU6": (0.0, 6.0), "RELU_N1_TO_1": (-1.0, 1.0)}


cdef bint is_float(Subgraph g, const Node* node) noexcept:
    return node.input_count > 0 and node.inputs[0] >= 0 and g.tensors[node.inputs[0]].type == FLOAT32


cdef int squared(Subgraph g, int n) except -2:
    """x when node n computes x * x, else -1."""
    cdef const Node* node = &g.graph.nodes[n]
    if not is_float(g, node):
        return -1
    if node.code == BUILTIN_SQUARE and node.input_count == 1:
        return node.inputs[0]
    if node.code == BUILTIN_MUL and node.input_count == 2 and node.inputs[0] == node.inputs[1] and table_i8(node.options, 0, 0) == 0:
        return node.inputs[0]
    return -1


cdef int64_t summed(Subgraph g, const Node* node) except -1:
    """How many elements a SUM adds up for one output, by the shapes of the file; 0 when its axes make no sense."""
    cdef const Tensor* x = &g.tensors[node.inputs[0]]
    cdef const Tensor* axes = &g.tensors[node.inputs[1]]
    cdef int64_t i, n = 1
    cdef int32_t axis
    cdef set seen = set()
    for i in range(min(count(axes), <int64_t>(axes.bytes // 4))):
        memcpy(&axis, <const char*>axes.data + 4 * i, 4)
        if axis < 0:
            axis += x.rank
        if not 0 <= axis < x.rank:
            return 0
        if axis not in seen:
            n *= x.dims[axis]
            seen.add(axis)
    return n


cdef object single_constant(Subgraph g, int t):
    """The value of a float32 constant of one element, also behind a DEQUANTIZE; None for anything else."""
    cdef const Tensor* tensor = &g.tensors[t]
    cdef const Tensor* source = tensor
    cdef const Node* node
    cdef int n
    if tensor.type != FLOAT32 or count(tensor) != 1:
        return None
    if tensor.allocation != CONSTANT:
        for n in range(g.graph.node_count):
            node = &g.graph.nodes[n]
            if node.output_count == 1 and node.outputs[0] == t and node.input_count == 1 and node.code == BUILTIN_DEQUANTIZE:
                source = &g.tensors[node.inputs[0]]
    if source.allocation != CONSTANT or source.sparsity != NULL:
        return None
    if source.type == FLOAT32 and source.bytes >= 4:
        return struct.unpack("<f", (<const char*>source.data)[:4])[0]
    if source.type == FLOAT16 and source.bytes >= 2:
        return struct.unpack("<e", (<const char*>source.data)[:2])[0]
    if source.type == INT8 and source.bytes >= 1 and source.scale_count == 1:
        return <float>(<double>source.scale * ((<const signed char*>source.data)[0] - source.zero_point))
    return None


cdef bint is_mean_factor(Subgraph g, int code, int factor, int64_t n):
    """True for a constant of one element that turns a sum of n elements into their mean."""
    value = single_constant(g, factor)
    if n <= 0 or value is None:
        return False
    return <float>value == (<float>n if code == BUILTIN_DIV else <float>1.0 / <float>n)


cdef int rewrite(Subgraph g, Partition partition, find) except -1:
    """Set the partition's steps; `find(name)` gives the registration of a float32 operator's xnnpack arithmetic."""
    cdef dict makers = {}                              # tensor -> node of the partition that computes it
    cdef dict readers = {}                             # tensor -> number of nodes of the partition that read it
    cdef dict sums = {}                                # output of a SUM -> the node that computes it now
    cdef list steps = []
    cdef Node* node
    cdef int32_t[8] border
    cdef int n, i, x, code, source, variant
    for n in partition.nodes:
        if begins_rewrite(g.graph.nodes[n].code):
            break
    else:
        partition.steps = list(partition.nodes)
        return 0
    for n in partition.nodes:
        node = &g.graph.nodes[n]
        for i in range(node.output_count):
            if node.outputs[i] >= 0:
                makers[node.outputs[i]] = n
        for i in range(node.input_count):
            x = node.inputs[i]
            if x >= 0 and g.tensors[x].allocation != CONSTANT:       # constants are nobody's work
                readers[x] = readers.get(x, 0) + 1
    for n in partition.nodes:
        node = &g.graph.nodes[n]
        code = node.code
        x = node.inputs[0] if node.input_count > 0 else -1
        if (code == BUILTIN_SUM or code == BUILTIN_MEAN) and is_float(g, node):
            source = squared(g, makers[x]) if x in makers else -1
            variant = n
            if source >= 0:
                variant = add_variant(g, n, [source, node.inputs[1]], [node.outputs[0]])
                g.graph.nodes[variant].fusion = FUSED_SQUARE
            if code == BUILTIN_SUM:
                sums[g.graph.nodes[n].outputs[0]] = variant
            steps.append(variant)
        elif code == BUILTIN_MUL and (variant := gated(g, partition, n, makers, readers, steps)) >= 0:
            steps.append(variant)
        elif (code == BUILTIN_MUL or code == BUILTIN_DIV) and is_float(g, node) and node.input_count == 2:
            if sums:
                steps += as_mean(g, n, sums, find)
            else:
                steps.append(n)
        elif (code == BUILTIN_CONV_2D or code == BUILTIN_DEPTHWISE_CONV_2D) and x in makers and readers[x] == 1 and (
                x not in partition.outputs and pads_image(g, makers[x], n, border)):
            if takes_pad(g, makers[x], n, border):
                steps.remove(makers[x])
                steps.append(with_pad(g, partition, makers[x], n))
            else:
                partition.padded[x] = (g.graph.nodes[<int>makers[x]].inputs[0], border[2] + border[3], border[4] + border[5])
                steps.append(n)
        else:
            if (code == BUILTIN_RELU or code == BUILTIN_RELU6 or code == BUILTIN_RELU_N1_TO_1) and is_float(g, node) and x in makers and (
                    readers[x] == 1 and x not in partition.outputs):
                merge_clamp(g, makers[x], CLAMPS[g.operator_names[n]])
            steps.append(n)
    partition.steps = steps
    return 0


cdef bint pads_image(Subgraph g, int pad, int n, int32_t* sizes) except -1:
    """True where XNNPACK makes the border that a PAD writes, of rows and columns, the convolution's own padding. sizes: of the border."""
    cdef const Node* node = &g.graph.nodes[n]
    cdef const Node* border = &g.graph.nodes[pad]
    cdef const Tensor* x
    cdef const Tensor* w
    cdef const Tensor* paddings
    cdef int i
    if border.code != BUILTIN_PAD or table_i8(node.options, CONV_2D_PADDING, 0) != VALID:
        return False
    if border.input_count != 2 or node.input_count < 2 or node.input_count > 3 or border.inputs[1] < 0 or node.inputs[1] < 0:
        return False
    x, w, paddings = &g.tensors[border.inputs[0]], &g.tensors[node.inputs[1]], &g.tensors[border.inputs[1]]
    if x.rank != 4 or w.rank != 4 or (node.code == BUILTIN_CONV_2D and is_product(node, x, w)):
        return False
    if paddings.type != INT32 or paddings.allocation != CONSTANT or paddings.bytes != 8 * sizeof(int32_t) or paddings.data == NULL:
        return False
    memcpy(sizes, paddings.data, 8 * sizeof(int32_t))
    for i in range(8):
        if sizes[i] < 0 or (sizes[i] > 0 and not 2 <= i < 6):
            return False
    return True


cdef bint is_product(const Node* node, const Tensor* x, const Tensor* w) noexcept:
    """A CONV_2D that is a matrix product for XNNPACK, which has no padding."""
    if w.dims[1] != 1 or w.dims[2] != 1 or x.dims[3] != w.dims[3] or w.dims[0] + w.dims[3] <= 2:
        return False
    return table_i32(node.options, CONV_2D_STRIDE_H, 0) == 1 and table_i32(node.options, CONV_2D_STRIDE_W, 0) == 1


cdef bint takes_pad(Subgraph g, int pad, int n, const int32_t* sizes) noexcept:
    """True where a convolution here can pad by itself, too: of float32, by less than its filter."""
    cdef const Tensor* w = &g.tensors[g.graph.nodes[n].inputs[1]]
    cdef const Node* border = &g.graph.nodes[pad]
    if not g.fuse or g.graph.preserve_all or w.type != FLOAT32:
        return False
    if g.tensors[border.inputs[0]].type != FLOAT32 or g.tensors[border.outputs[0]].type != FLOAT32:
        return False
    return max(sizes[2], sizes[3]) < w.dims[1] and max(sizes[4], sizes[5]) < w.dims[2]


cdef int with_pad(Subgraph g, Partition partition, int pad, int n) except -1:
    """The convolution of what the PAD reads."""
    cdef const Node* node = &g.graph.nodes[n]
    cdef const Node* border = &g.graph.nodes[pad]
    cdef int bias = node.inputs[2] if node.input_count > 2 else -1
    cdef int variant = add_variant(g, n, [border.inputs[0], node.inputs[1], bias, border.inputs[1]], [node.outputs[0]])
    g.graph.nodes[variant].fusion = FUSED_PAD
    if n in partition.channels:
        partition.channels[variant] = partition.channels[n]
    return variant


cdef int gated(Subgraph g, Partition partition, int n, dict makers, dict readers, list steps) except -2:
    """The node that computes x * LOGISTIC(x), which is no step of its own any more; -1 where n is something else."""
    cdef const Node* node = &g.graph.nodes[n]
    cdef const Tensor* x
    cdef int i, t, maker, variant
    if not g.fuse or g.graph.preserve_all or node.input_count != 2:
        return -1
    for i in range(2):
        t = node.inputs[i]
        maker = makers.get(t, -1)
        if maker < 0 or g.graph.nodes[maker].code != BUILTIN_LOGISTIC or readers[t] != 1 or t in partition.outputs:
            continue
        x = &g.tensors[node.inputs[1 - i]]
        if g.graph.nodes[maker].inputs[0] != node.inputs[1 - i] or maker not in steps:
            continue
        if x.type == INT8 or x.type == UINT8:
            operands = [node.inputs[1 - i], t]
        elif x.type == FLOAT32:
            operands = [-1, node.inputs[1]] if i == 0 else [node.inputs[0], -1]      # the order shows in NaN
        else:
            continue
        variant = add_variant(g, n, operands, [node.outputs[0]])
        g.graph.nodes[variant].fusion = FUSED_GATE
        steps.remove(maker)
        return variant
    return -1


cdef list as_mean(Subgraph g, int n, dict sums, find):
    """The MEAN that a product with a SUM is (and the clamp of its activation), or the node itself."""
    cdef const Node* node = &g.graph.nodes[n]
    cdef const Node* total
    cdef int i, variant, added, fusion
    cdef int y = node.outputs[0]
    cdef str clamp = ACTIVATIONS.get(table_i8(node.options, 0, 0))
    for i in range(2):                                 # n / SUM(x) too: XNNPACK does not look at the order
        if node.inputs[i] not in sums:
            continue
        added = sums[node.inputs[i]]
        total = &g.graph.nodes[added]
        if not is_mean_factor(g, node.code, node.inputs[1 - i], summed(g, total)):
            continue
        fusion = total.fusion
        variant = add_variant(g, added, [total.inputs[0], total.inputs[1]], [y])
        g.operator_names[variant] = "MEAN"
        g.graph.nodes[variant].code = BUILTIN_MEAN
        g.registrations[variant] = find("MEAN")
        g.graph.nodes[variant].fusion = fusion
        return [variant] if clamp is None else [variant, add_clamp(g, clamp, y, find)]
    return [n]


cdef int add_clamp(Subgraph g, str op, int tensor, find) except -1:
    """A clamp of a tensor in its place."""
    cdef int n = add_node(g, op, [tensor], [tensor])
    g.registrations[n] = find(op)
    g.graph.nodes[n].arithmetic = XNNPACK
    return n


cdef int merge_clamp(Subgraph g, int n, tuple bounds) except -1:
    if g.graph.nodes[n].code == BUILTIN_AVERAGE_POOL_2D or g.graph.nodes[n].code == BUILTIN_MAX_POOL_2D:
        g.graph.nodes[n].fusion = FUSED_CLAMP
        g.graph.nodes[n].clamp_low, g.graph.nodes[n].clamp_high = bounds
    return 0
