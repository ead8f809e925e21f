"""How many channels of an image a convolution of the delegate reads: those that it was made for, also where the image has got others since.

    channels = channels_read(context, node, x, w, channels)     # 0: more than there are
    run_alone(x, node, channels)                                # once the node is prepared
"""
from libc.stddef cimport ptrdiff_t

from tflm_cy.graph.context cimport FUSED_PAD, Context, Node
from tflm_cy.graph.passes.partition cimport partition_in_preparation
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport Tensor
from tflm_cy.schema.builtins cimport BUILTIN_DEPTHWISE_CONV_2D
from tflm_cy.schema.option_slots cimport DEPTHWISE_CONV_2D_DEPTH_MULTIPLIER
from tflm_cy.schema.table cimport table_i32


cdef inline ptrdiff_t channels_read(Context context, const Node* node, const Tensor* x, const Tensor* w, ptrdiff_t channels) except -1:
    """How many channels of each pixel XNNPACK reads, as if there were no others: those of the image that the convolution was made for. 0: it
    reads more than there are. Where the file itself wants more (a wrong depth_multiplier) all are read, which is what it means."""
    cdef object noted = partition_in_preparation(<Subgraph>context).channels.get(node.index)
    cdef ptrdiff_t made
    if node.code == BUILTIN_DEPTHWISE_CONV_2D:
        made = w.dims[3] / max(table_i32(node.options, DEPTHWISE_CONV_2D_DEPTH_MULTIPLIER, 0), 1)
    elif w.dims[3] <= 0:
        made = channels if noted is None else <ptrdiff_t>noted
    else:
        made = w.dims[3] * (1 if noted is None else noted // w.dims[3])          # the groups that there were
    if made > channels:
        return channels if noted == channels else 0
    return 0 if made < channels and (node.fusion == FUSED_PAD or x.type != w.type) else made


cdef inline int run_alone(const Tensor* x, Node* node, ptrdiff_t channels) noexcept:
    """What does not read whole pixels is not computed by rows."""
    if channels != x.dims[3]:
        node.work = NULL
    return 0
