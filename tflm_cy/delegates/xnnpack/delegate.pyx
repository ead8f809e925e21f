# tflm_cy: optimize=speed
"""The default delegate on the contract of `graph.delegate`: support, partitions' steps, and which bodies run.

Claimed nodes run one by one with the xnnpack arithmetic (`ops/xnnpack`, or their usual body where the bytes are the
same), with denormals counted as zeros; an x86-64 without AVX2 and FMA has no delegate, and everything is computed as in
BUILTIN_WITHOUT_DEFAULT_DELEGATES. What DEQUANTIZE and DENSIFY make of constants is computed once, in prepare, by the optimized body.
"""
from tflm_cy.delegates.xnnpack.support cimport Support
from tflm_cy.delegates.xnnpack.create_checks cimport create_defect
from tflm_cy.delegates.xnnpack.rewrites cimport rewrite
from tflm_cy.graph.context cimport OPTIMIZED, XNNPACK, Node, Registration
from tflm_cy.graph.delegate import Delegate
from tflm_cy.graph.passes.partition cimport Partition
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport CONSTANT, FLOAT16, FLOAT32, INT2, INT4, INT8, UINT8, Tensor
from tflm_cy.schema.builtins cimport (
    BUILTIN_CONV_2D, BUILTIN_DEPTHWISE_CONV_2D, BUILTIN_FULLY_CONNECTED, BUILTIN_TRANSPOSE_CONV, BUILTIN_VAR_HANDLE,
)

from tflm_cy.graph.shown import Shown
from tflm_cy.ops import find_xnnpack
from tflm_cy.ops.generation import supported


cdef bint has_type(Subgraph g, const Node* node, int a, int b, int c, int d) noexcept:
    """True when one of the node's tensors has one of four types."""
    cdef int i, t, type
    for i in range(node.input_count + node.output_count):
        t = node.inputs[i] if i < node.input_count else node.outputs[i - node.input_count]
        if t >= 0:
            type = g.tensors[t].type
            if type == a or type == b or type == c or type == d:
                return True
    return False


cdef bint has_sparse_input(Subgraph g, const Node* node) noexcept:
    """True where TensorFlow's delegate takes sparse weights for dense ones: the usual body unpacks them."""
    cdef int i
    for i in range(node.input_count):
        if node.inputs[i] >= 0 and g.tensors[node.inputs[i]].sparsity != NULL:
            return True
    return False


class XnnpackDelegate(Delegate):
    """TensorFlow's default delegate; one object serves all subgraphs of an interpreter."""

    name = "TfLiteXNNPackDelegate"

    def __init__(self):
        self.support = {}

    def claim(self, Subgraph subgraph):
        if not supported():
            return []
        support = Support(subgraph)
        self.support[subgraph.index] = support
        return support.run()

    def build(self, Subgraph subgraph, Partition partition):
        cdef Support support = self.support[subgraph.index]
        cdef Registration registration
        cdef Node* node
        cdef int n
        partition.flushes = True
        for n in partition.nodes:
            node = &subgraph.graph.nodes[n]
            node.arithmetic = OPTIMIZED if support.unpacked[n] else XNNPACK
            if support.unpacked[n] or node.code == BUILTIN_VAR_HANDLE:
                continue
            if partition.defect is None:
                partition.defect = create_defect(support, n)
            if node.code == BUILTIN_CONV_2D or node.code == BUILTIN_DEPTHWISE_CONV_2D:
                note_channels(subgraph, partition, n)
            note_images(subgraph, partition, node)
            if has_type(subgraph, node, FLOAT16, FLOAT16, FLOAT16, FLOAT16):
                values = "float16"
            else:
                values = "quantized" if has_type(subgraph, node, INT8, UINT8, INT4, INT2) else "float32"
            registration = find_xnnpack(subgraph.operator_names[n], values)
            if registration is not None and (registration.sparse_input >= 0 or not has_sparse_input(subgraph, node)):
                subgraph.registrations[n] = registration
        partition.shown = repeated_scales(subgraph, partition)
        rewrite(subgraph, partition, float32_registration)
        if partition.defect is None:      # which is raised where the partition's nodes are prepared
            partition.steps = without_unread(subgraph, partition)

    def finish(self, Subgraph subgraph):
        self.support.pop(subgraph.index, None)


cdef int note_channels(Subgraph g, Partition partition, int n) except -1:
    """How many the image of a convolution has where the filter does not tell it."""
    cdef const Node* node = &g.graph.nodes[n]
    cdef int channels = g.tensors[node.inputs[0]].dims[3]
    if channels != g.tensors[node.inputs[1]].dims[3]:
        partition.channels[n] = channels
    return 0


cdef int note_images(Subgraph g, Partition partition, const Node* node) except -1:
    """The first dimensions of what may be an image, as the file has them."""
    cdef const Tensor* x
    cdef int i
    for i in range(node.input_count):
        x = &g.tensors[node.inputs[i]] if node.inputs[i] >= 0 else NULL
        if x != NULL and x.rank == 4 and x.allocation != CONSTANT:
            partition.sides[x.index] = [x.dims[0], x.dims[1], x.dims[2], x.dims[3]]
    return 0


cdef list repeated_scales(Subgraph g, Partition partition):
    """A dynamic-range filter with one scale is shown with one per channel once TensorFlow's delegate has seen its node, whether it runs or not."""
    cdef list repeated = []
    cdef const Tensor* x
    cdef const Tensor* w
    cdef const Node* node
    cdef int n
    for n in partition.nodes:
        node = &g.graph.nodes[n]
        if node.code != BUILTIN_CONV_2D and node.code != BUILTIN_FULLY_CONNECTED and node.code != BUILTIN_TRANSPOSE_CONV:
            continue
        x, w = &g.tensors[node.inputs[2 if node.code == BUILTIN_TRANSPOSE_CONV else 0]], &g.tensors[node.inputs[1]]
        if x.type == FLOAT32 and w.type == INT8 and w.scale_count == 1 and w.block_size == 0:
            repeated.append(Shown(w.index, repeats=w.dims[0]))
    return repeated


cdef list without_unread(Subgraph g, Partition partition):
    """The partition's steps, but for those whose outputs nobody reads: XNNPACK leaves them out, and then they refuse no shape."""
    cdef set read = set(partition.outputs)
    cdef list kept = []
    cdef const Node* node
    cdef int n, i
    for n in reversed(partition.steps):
        node = &g.graph.nodes[n]
        if node.output_count > 0 and not any([node.outputs[i] in read for i in range(node.output_count)]):
            continue
        kept.append(n)
        for i in range(node.input_count):
            read.add(node.inputs[i])
    kept.reverse()
    return kept


def float32_registration(name):
    return find_xnnpack(name, "float32")
