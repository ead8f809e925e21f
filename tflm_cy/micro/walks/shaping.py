"""Operators that move elements: joining, cutting, shapes."""

import struct
from math import prod

from tflm_cy.micro.walks.walk import Refused, broadcast

_MOST_JOINED = 10
_MOST_DIMENSIONS = 6


def _int32(tensor, count):
    """The first int32 of a constant, whatever its type and size; what the file does not hold reads as None."""
    content = bytes(tensor.data[: 4 * count]) + bytes(tensor.following)
    found = min(count, len(content) // 4)
    return [*struct.unpack_from(f"<{found}i", content), *[None] * (count - found)]


# ---------------------------------------------------------------- joining and cutting


def concatenate(w):
    w.open("i0 o0")
    y = w.tensor("o0")
    w.ensure(w.activation == 0, "it has a fused activation, which TFLM does not take")
    w.types("i0", "FLOAT32 INT8 INT16 INT32 INT64 BOOL")
    w.same_type("i0", "o0")
    count = len(w.node.inputs)
    w.ensure(count <= _MOST_JOINED, f"it joins {count} tensors; TFLM joins at most {_MOST_JOINED}")
    for i in range(count):
        x = w.open(f"i{i}")
        w.same_type("i0", f"i{i}")
        w.rank(f"i{i}", 0, _MOST_DIMENSIONS)
        if x.type == "INT8":
            w.equal(f"the scale of input {i}", x.scale, y.scale)
            w.zero_points(f"i{i}", y.zero_point)
        elif x.type == "INT16":
            w.zero_points(f"i{i}")
    if y.type == "INT16":
        w.zero_points("o0")


def split(w):
    w.open("i0")
    w.constant("i0")


def split_sizes(w):
    w.counts(3, None)
    w.open("i2")
    w.constant("i2")


def slice_(w):
    w.counts(3)
    w.open("i0 i1 i2 o0")


def strided_slice(w):
    w.counts(4)
    source, *indices, output = w.open("i0 i1 i2 i3 o0")
    w.ensure(source.rank <= 4, "TFLM slices at most 4 dimensions")
    for name in ("i1", "i2", "i3"):
        w.constant(name)
    begin, end, strides = (_int32(tensor, source.rank) for tensor in indices)  # some may be what follows in the file
    w.ensure(None not in (*begin, *end, *strides), f"it has fewer indices than the {source.rank} dimensions of input 0")
    wanted, options = [], w.node.options
    for axis, size in enumerate(source.shape):
        w.ensure(strides[axis] != 0, "stride value has to be non-zero")
        first = _start(begin[axis], strides[axis], size, options.begin_mask >> axis & 1)
        if options.shrink_axis_mask >> axis & 1:
            continue
        stop = _stop(end[axis], strides[axis], size, options.end_mask >> axis & 1)
        wanted.append(max(0, -((first - stop) // strides[axis])))
    w.ensure(tuple(wanted) == output.shape, f"the output's shape is {output.shape}, TFLM finds {tuple(wanted)}")


def _start(index, stride, size, masked):
    if masked:
        return 0 if stride > 0 else size - 1
    index += size if index < 0 else 0
    return min(max(index, 0), size) if stride > 0 else min(max(index, -1), size - 1)


def _stop(index, stride, size, masked):
    if masked:
        return size if stride > 0 else -1
    index += size if index < 0 else 0
    return min(max(index, 0), size) if stride > 0 else min(max(index, -1), size - 1)


def update_slice(w):
    w.counts(3)
    operand, update, start, _ = w.open("i0 i1 i2 o0")
    w.same_type("i0", "i1")
    w.types("i2", "INT32 INT64")
    w.rank("i2", 1)
    w.equal("the size of input 2", start.shape[0], operand.rank)
    w.equal("the rank of input 1", update.rank, operand.rank)
    w.ensure(
        all(u <= o for u, o in zip(update.shape, operand.shape, strict=True)),
        f"the update {update.shape} is larger than the operand {operand.shape}",
    )


def gather(w):
    w.counts(2)
    x, positions, y = w.open("i0 i1 o0")
    w.types("i0 i1", "FLOAT32>INT32 INT8>INT32")
    axis, batch = w.node.options.axis, w.node.options.batch_dims
    axis += x.rank if axis < 0 else 0
    w.ensure(0 <= axis < x.rank, f"there is no axis {axis} in {x.shape}")
    batch += positions.rank if batch < 0 else 0
    w.ensure(0 <= batch <= min(axis, x.rank - 1, positions.rank), f"batch_dims {batch} does not fit axis {axis}")
    w.ensure(
        x.shape[:batch] == positions.shape[:batch],
        f"{x.shape} and {positions.shape} differ in their first {batch} dimensions",
    )
    w.keep_dimensions(y)


def gather_nd(w):
    w.counts(2)
    params, indices, y = w.open("i0 i1 o0")
    w.types("i0 i1", "FLOAT32>INT32 INT8>INT32")
    w.ensure(params.rank >= 1 and indices.rank >= 1, "its inputs must be at least vectors")
    depth = indices.shape[-1]
    w.ensure(depth <= params.rank, f"an index has {depth} numbers for {params.rank} dimensions")
    w.ensure(depth <= 5, f"an index has {depth} numbers; TFLM takes at most 5")
    w.keep_dimensions(y)


# ---------------------------------------------------------------- shapes


def reshape(w):
    w.counts((1, 2))
    x, y = w.open("i0 o0")
    w.same_type("i0", "o0")
    shape = () if len(w.node.inputs) == 1 and y.shape == (0,) else y.shape
    w.ensure(x.elements == prod(shape), f"{x.shape} has {x.elements} elements, {y.shape} has {prod(shape)}")


def squeeze(w):
    w.counts(1)
    x, y = w.open("i0 o0")
    w.rank("i0", 0, 8)
    gone = [d + x.rank if d < 0 else d for d in w.node.options.squeeze_dims]
    for d in gone:
        w.ensure(0 <= d < x.rank and x.shape[d] == 1, f"there is no axis {d} of size 1 in {x.shape}")
    left = [size for d, size in enumerate(x.shape) if (d not in gone if gone else size != 1)]
    fits = len(left) <= y.rank and all(a >= b for a, b in zip(y.shape, left, strict=False))
    if not fits:
        raise Refused(f"output 0 has the shape {y.shape}, of {tuple(left)}; TFLM stops the program")


def expand(w):
    w.counts(2)
    x, axis, y = w.open("i0 i1 o0")
    w.constant("i1")
    w.rank("i1", 0, 1)
    w.types("i1", "INT32")
    [at] = _int32(axis, 1)
    at = at + x.rank + 1 if at is not None and at < 0 else at
    w.ensure(at is not None and at <= x.rank, f"there is no axis {at} beside those of {x.shape}")
    wanted = (*x.shape[:at], 1, *x.shape[at:])
    w.ensure(y.shape == wanted, f"the output's shape is {y.shape}, TFLM finds {wanted}")


def shape_of(w):
    w.counts(1)


def fill(w):
    dims, _, y = w.open("i0 i1 o0")
    w.rank("i1", 0)
    w.same_type("i1", "o0")
    w.constant("i0")
    w.rank("i0", 1)
    w.equal("the number of dimensions in input 0", dims.shape[0], y.rank)
    w.types("i0", "INT8 INT16 INT32 INT64")
    letter, size = {"INT8": ("b", 1), "INT16": ("h", 2), "INT32": ("i", 4), "INT64": ("q", 8)}[dims.type]
    found = struct.unpack_from(f"<{min(y.rank, len(dims.data) // size)}{letter}", dims.data)
    w.ensure(found == y.shape, f"the output's shape is {y.shape}, input 0 says {found}")


def broadcast_shapes(w):
    w.counts(2)
    w.open("i0 i1 o0")
    w.types("i0", "INT32 INT64")
    w.same_type("i0", "i1", "o0")
    for name in ("i0", "i1", "o0"):
        w.rank(name, 1)


def broadcast_to(w):
    w.counts(2)
    x, shape, y = w.open("i0 i1 o0")
    w.ensure(max(x.rank, y.rank) <= 5, "TFLM broadcasts at most 5 dimensions")
    w.types("i1", "INT32 INT64")
    w.same_type("i0", "o0")
    w.constant("i1")
    w.rank("i1", 1)
    w.equal("the size of input 1", shape.shape[0], y.rank)
    w.ensure(x.rank <= y.rank, f"{x.shape} does not broadcast to {y.shape}")
    values = w.node.constant_values(1)
    w.ensure(values == y.shape, f"the output's shape is {y.shape}, input 1 says {values}")
    w.ensure(broadcast(x.shape, y.shape) == y.shape, f"{x.shape} does not broadcast to {y.shape}")


def transpose(w):
    w.counts(2)
    x, permutation, _ = w.open("i0 i1 o0")
    w.ensure(x.rank <= 5, "TFLM transposes at most 5 dimensions")
    w.same_type("i0", "o0")
    w.constant("i1")
    w.rank("i1", 1)
    w.equal("the size of input 1", permutation.shape[0], x.rank)
    values = _int32(permutation, x.rank)
    w.ensure(all(v is not None and 0 <= v < x.rank for v in values), f"{values} is no permutation of {x.rank} axes")


def reverse(w):
    w.counts(2)
    x, axis, _ = w.open("i0 i1 o0")
    w.rank("i1", 1)
    w.rank("i0", 0, _MOST_DIMENSIONS)
    w.ensure(x.rank >= axis.elements, f"it has {axis.elements} axes for {x.rank} dimensions")
    w.types("i0", "INT32 FLOAT32 UINT8 INT8 INT16 INT64 BOOL")
    w.types("i1", "INT32")
    w.same_type("i0", "o0")


def pad(w):
    w.counts((2, 3))
    x, paddings = w.open("i0 i1")
    value = w.open("i2") if len(w.node.inputs) == 3 else None
    y = w.open("o0")
    w.same_type("i0", "o0")
    w.rank("i0", 0, 5)
    if value is not None:
        w.same_type("i0", "i2")
        w.equal("the number of values in input 2", value.elements, 1)
    w.equal("the number of paddings", paddings.elements, 2 * y.rank)
    w.constant("i1")
    values = _int32(paddings, 2 * y.rank)  # read as INT32, whatever they are
    w.ensure(len(paddings.data) >= 4 * len(values), "it has too few paddings")
    wanted = tuple(sum(triple) for triple in zip(x.shape, values[::2], values[1::2], strict=False))
    w.ensure(wanted == y.shape, f"the output's shape is {y.shape}, which its paddings do not give")
    if x.type == "INT8":
        if value is None:
            w.ensure(-128 <= y.zero_point <= 127, f"the zero point of output 0 is {y.zero_point}")
        else:
            w.zero_points("i2", y.zero_point)
            w.equal("the scale of input 2", value.scale, y.scale)


def mirror_pad(w):
    x, paddings, _ = w.open("i0 i1 o0")
    w.rank("i1", 2)
    w.equal("the number of rows in input 1", paddings.shape[0], x.rank)
    w.scratch(4 * x.rank)
    w.scratch(4 * x.rank)


def blocks_of_batch(w):
    """BATCH_TO_SPACE_ND, SPACE_TO_BATCH_ND."""
    w.counts(3)
    w.open("i0 o0")
    w.rank("i0", 3, 4)
    w.rank("o0", 3, 4)
    w.same_type("i0", "o0")


def depth_to_space(w):
    block, x, y = _blocks(w)
    w.ensure(block > 0, f"its blocks are {block} wide")
    channels = x.shape[3] // block // block
    w.ensure(x.shape[3] == channels * block * block, f"{x.shape[3]} channels make no blocks of {block} x {block}")
    w.keep_dimensions(y)


def space_to_depth(w):
    block, x, y = _blocks(w)
    w.ensure(block != 0, "its blocks are 0 wide")
    for size in x.shape[1:3]:
        w.ensure(size % block == 0, f"{x.shape[1]} x {x.shape[2]} pixels make no blocks of {block} x {block}")
    w.keep_dimensions(y)


def _blocks(w):
    w.counts(1)
    x, y = w.open("i0 o0")
    w.rank("i0", 4)
    w.types("o0", "FLOAT32 INT8")
    w.same_type("i0", "o0")
    return w.node.options.block_size, x, y


WALKS = {
    **dict.fromkeys(["BATCH_TO_SPACE_ND", "SPACE_TO_BATCH_ND"], blocks_of_batch),
    **dict.fromkeys(["PAD", "PADV2"], pad),
    "BROADCAST_ARGS": broadcast_shapes,
    "BROADCAST_TO": broadcast_to,
    "CONCATENATION": concatenate,
    "DEPTH_TO_SPACE": depth_to_space,
    "DYNAMIC_UPDATE_SLICE": update_slice,
    "EXPAND_DIMS": expand,
    "FILL": fill,
    "GATHER": gather,
    "GATHER_ND": gather_nd,
    "MIRROR_PAD": mirror_pad,
    "RESHAPE": reshape,
    "REVERSE_V2": reverse,
    "SHAPE": shape_of,
    "SLICE": slice_,
    "SPACE_TO_DEPTH": space_to_depth,
    "SPLIT": split,
    "SPLIT_V": split_sizes,
    "SQUEEZE": squeeze,
    "STRIDED_SLICE": strided_slice,
    "TRANSPOSE": transpose,
}
