"""The default delegate on the contract of `graph.delegate`: claims, partitions' steps, and which bodies run.

Claimed nodes run one by one with the xnnpack arithmetic (`ops/xnnpack`, or their usual body where the bytes are the
same), with denormals counted as zeros; a CPU without AVX2 and FMA has no delegate, and everything is computed as in
BUILTIN_WITHOUT_DEFAULT_DELEGATES. What DEQUANTIZE and DENSIFY make of constants is computed once, in prepare.
"""
from tflm_cy.delegates.xnnpack.claims cimport Claims
from tflm_cy.delegates.xnnpack.creation import creation_defect
from tflm_cy.delegates.xnnpack.rewrites import rewrite
from tflm_cy.graph.context cimport XNNPACK, Node
from tflm_cy.graph.delegate import Delegate
from tflm_cy.graph.partition cimport Partition
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport INT2, INT4, INT8, UINT8
from tflm_cy.ops import find_xnnpack
from tflm_cy.ops.generation import supported


cdef bint is_quantized(Subgraph g, const Node* node) noexcept:
    """True when one of the node's tensors holds integers of 8 bits or less."""
    cdef int i, type
    for i in range(node.input_count + node.output_count):
        type = node.inputs[i] if i < node.input_count else node.outputs[i - node.input_count]
        if type >= 0:
            type = g.tensors[type].type
            if type == INT8 or type == UINT8 or type == INT4 or type == INT2:
                return True
    return False


class XnnpackDelegate(Delegate):
    """TensorFlow's default delegate; one object serves all subgraphs of an interpreter."""

    name = "TfLiteXNNPackDelegate"

    def __init__(self):
        self.claims = {}

    def claim(self, Subgraph subgraph):
        if not supported():
            return []
        claims = Claims(subgraph)
        self.claims[subgraph.index] = claims
        return claims.run()

    def build(self, Subgraph subgraph, Partition partition):
        cdef Claims claims = self.claims[subgraph.index]
        cdef int n
        partition.flushes = True
        for n in partition.nodes:
            subgraph.nodes[n].arithmetic = XNNPACK
            if n in claims.unpacked or subgraph.operator_names[n] == "VAR_HANDLE":
                continue
            if partition.defect is None:
                partition.defect = creation_defect(claims, n)
            registration = find_xnnpack(subgraph.operator_names[n], is_quantized(subgraph, &subgraph.nodes[n]))
            if registration is not None:
                subgraph.registrations[n] = registration
        rewrite(subgraph, partition, float32_registration)


def float32_registration(name):
    return find_xnnpack(name, False)
