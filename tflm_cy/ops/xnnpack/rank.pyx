# tflm_cy: optimize=size
"""Ranks, checked again because an input may have been resized since its node was claimed.

XNNPACK's tensors have at most six dimensions. Kernels of images look at four of them, whatever the rank: behind the last one of what a partition
reads are zeros, of what it computes is what was there when the tensor had more. Their outputs have shapes of these; the node itself is refused
when it is reached.
"""
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from tflm_cy.graph.passes.partition cimport Partition, partition_in_preparation
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport MAX_RANK, shape_of

from tflm_cy.graph.refusal import OwnRefusalError


cdef int check_rank(const Tensor* tensor, str name) except -1:
    if tensor.rank > XNNPACK_RANK:
        raise ValueError(f"{name}: the shape {shape_of(tensor)} has more than {XNNPACK_RANK} dimensions")
    return 0


cdef int read_sides(Context context, const Tensor* image, int32_t* sides, bint converted=False) except -1:
    """The four dimensions that XNNPACK sees; 0 where there were never more. converted: what it quantizes first, so that it is its own."""
    cdef Partition partition = partition_in_preparation(<Subgraph>context)
    cdef list before = None
    cdef tuple padded = partition.padded.get(image.index)
    if padded is not None and image.rank != 4:
        return read_padded_sides(context, padded, sides)
    if image.rank < 4 and (converted or image.index not in partition.inputs):
        before = partition.sides.get(image.index)
    cdef int d
    for d in range(4):
        sides[d] = image.dims[d] if d < image.rank else 0 if before is None else before[d]
    partition.sides[image.index] = [sides[0], sides[1], sides[2], sides[3]]
    return 0


cdef int read_padded_sides(Context context, tuple padded, int32_t* sides) except -1:
    """Of an image that the convolution gets its border of: none around nothing, which it refuses."""
    cdef int d
    read_sides(context, &(<Subgraph>context).tensors[<int>padded[0]], sides)
    if sides[1] > 0 and sides[2] > 0:
        for d in range(1, 3):
            sides[d] += <int32_t>padded[d]
    return 0


cdef int shape_of_windows(Context context, const Tensor* x, Tensor* y, const ConvShape* g, bint product) except -1:
    """The shape of a convolution's output: that of an image, but a matrix product's has as many dimensions as what it reads."""
    cdef int32_t[MAX_RANK] dims
    if product and x.rank != 4:
        memcpy(dims, x.dims, x.rank * sizeof(int32_t))
        dims[x.rank - 1] = <int32_t>g.oc
        return context.set_shape(y, x.rank, dims)
    dims[0], dims[1], dims[2], dims[3] = <int32_t>g.batches, <int32_t>g.oh, <int32_t>g.ow, <int32_t>g.oc
    return context.set_shape(y, 4, dims)


cdef Tensor as_transposed(Context context, const Node* node, const Tensor* x, bint transposed) except *:
    """What a product sees of an operand that XNNPACK transposes in front of it, by as many dimensions as there were at first."""
    cdef Tensor seen = x[0]
    if transposed:
        seen.rank = partition_in_preparation(<Subgraph>context).first_shapes.setdefault(node.index, x.rank)
        for d in range(x.rank, seen.rank):
            seen.dims[<int>d] = 0
    return seen


cdef int want_rank(const Tensor* tensor, int rank, str name) except -1:
    if tensor.rank != rank:
        raise ValueError(f"{name} wants {rank} dimensions, the input has the shape {shape_of(tensor)}")
    return 0


cdef int refuse_other_rank(const Tensor* tensor, int rank, str name) except -1:
    """Behind the output's shape."""
    if tensor.rank != rank:
        raise OwnRefusalError(f"{name} wants {rank} dimensions, the input has the shape {shape_of(tensor)}")
    return 0
