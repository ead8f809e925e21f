"""How far an output may lie over an input that dies there: the least safe distance, per operator.

    >>> from tflm_cy.micro.safe_overlaps import relaxed_rows         # doctest: +SKIP
    >>> relaxed_rows(demand)[0]                                  # doctest: +SKIP
    (1, 0, 576)

A kernel that writes its output in memory order and reads an input roughly in step may write over what it has read. If
output element k is written when no later one reads below input element M[k + 1], then `offset(input) - offset(output)`
of at least

    d = max over k of (k + 1) * output element - M[k + 1] * input element     (bytes; 0 if negative)

never destroys what is still to be read. M is the suffix minimum of `lowest`, the lowest element that each output
element reads. Distances are rounded up to 16, and a distance as large as the output is left out: that is disjoint.

This is about TFLM's portable reference kernels, scalar and in order. Other kernels (CMSIS-NN, esp-nn, Ethos-U) read
inputs again: what they compute is kept apart (`walks.walk.replaced`; see `export`, too). An operator that is not in
`_LOWEST` keeps its inputs apart from its outputs; some of those look harmless but clear or initialise their output
first (MEAN and SUM of integers, REDUCE_*, TRANSPOSE_CONV of floats).
CONCATENATION, SLICE, RESIZE_NEAREST_NEIGHBOR and RESHAPE copy with memcpy: a plan may lay them over each other downwards,
which an ascending memcpy permits and the C standard does not; `memcpy=False` leaves these out but for RESHAPE at its
input's own place, where nothing is copied.

Source: the loops of tensorflow/tflite-micro:tensorflow/lite/kernels/internal/reference; the idea is known as diagonal
memory optimisation (Blacker et al. 2020).
"""

import numpy as np

from tflm_cy.micro.partial_reads import partial_rows
from tflm_cy.micro.target import ARENA_ALIGNMENT
from tflm_cy.micro.walks.walk import replaced
from tflm_cy.schema.reader import Table, slots

_MOST_KNOWN = 1 << 12
_known: dict = {}  # distances that were counted
_OF_CONSTANTS = ("MEAN", "PAD", "PADV2", "SLICE", "SPLIT", "SPLIT_V")
_MOST_ELEMENTS = 1 << 24  # larger ones are kept apart rather than walked: a second and half a gigabyte
NONE = np.iinfo(np.int64).max  # of an output element that reads nothing

COPIES = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS")  # at the same place nothing is copied
_MEMCPY = ("CONCATENATION", "RESIZE_NEAREST_NEIGHBOR", "SLICE")
_UNARY = (
    "ABS CAST CEIL COS DEQUANTIZE ELU EXP FLOOR HARD_SWISH LEAKY_RELU LOG LOGICAL_NOT LOGISTIC NEG QUANTIZE RELU RELU6 "
    "ROUND RSQRT SIN SQRT SQUARE TANH"
)
_BINARY = "ADD SUB MUL DIV MAXIMUM MINIMUM PRELU SQUARED_DIFFERENCE"


def relaxed_rows(demand, memcpy=True, permits=None, strict=False):
    """[(output, input, d)] of the buffers of a `demand.Demand`, as `memory.Problem` takes them.

    Where the input dies at the node that writes the output, and where it is read in parts (`partial_reads`), of which the
    first are not needed any more; graph outputs, variables and the tensors of child graphs are never relaxed, nor is a
    node that the target's library computes instead of a reference kernel. `permits(op, type of input 0)`: which kernels
    are meant (default all). `strict`: no kernel is relied on, only parts that nobody reads any more are overlapped. A copy
    (RESHAPE) has the row (output, input, 0) for the use of equal offsets: see `aliases`.
    """
    rows = {} if strict else kernel_rows(demand, memcpy, permits)

    def distances(node, output, source):
        return _kernel_distance(demand, node, output, source, memcpy, permits)

    for pair, d in partial_rows(demand, None if strict else distances).items():
        rows[pair] = min(d, rows.get(pair, d))
    return [(*pair, d) for pair, d in rows.items()]


def kernel_rows(demand, memcpy=True, permits=None, dying=True):
    """{(output, input): d} as far as the kernel that writes the output reads ahead of it; with `dying` only where the
    input dies there, else for that step alone."""
    rows = {}
    for node, output, source, _ in _pairs(demand, dying):
        d = _kernel_distance(demand, node, output, source, memcpy, permits)
        if d is not None and d < demand.buffers[output].size:
            rows[output, source] = d
    return rows


def _kernel_distance(demand, node, output, source, memcpy, permits):
    """The least safe distance of two buffers at the node that writes one and reads the other; None for none."""
    if (not memcpy and node.op in _MEMCPY) or node.op in COPIES or replaced(node, demand.target.kernels):
        return None
    if permits and not permits(node.op, node.input(0).type if node.input(0) else ""):
        return None
    distances = [distance(node, i, k) for i, k in _operands(demand, node, output, source)]
    return None if None in distances or not distances else max(distances)


def aliases(demand):
    """[(output, input)] of the copies whose two buffers may be one: neither is written while the other is needed."""
    return [
        (output, source) for node, output, source, size in _pairs(demand, dying=False) if node.op in COPIES and size
    ]


def distance(node, input_index, output_index=0):
    """The least safe distance in bytes of one output over one input, a multiple of 16; None if they must not overlap."""
    source, output = node.input(input_index), node.output(output_index)
    if node.op == "TRANSPOSE_CONV" and input_index == 2 and source.type in ("INT8", "INT16"):
        return -_round_up(source.nbytes)  # sums stand in scratch: all is read before anything is written
    lowest = _LOWEST.get(node.op)
    if lowest is None or source is None:
        return None
    if max(source.elements, output.elements) > _MOST_ELEMENTS:
        return None
    key = _key(node, input_index, output_index)
    if key not in _known:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[key] = _counted_distance(node, lowest, input_index, output_index)
    return _known[key]


def _key(node, input_index, output_index):
    """What the distance depends on: tiles of a model have equal ones."""
    options = node.options
    fields = slots(options.kind) if isinstance(options, Table) else vars(options)
    shapes = tuple((t.shape, t.type) if t else None for t in map(node.input, range(len(node.inputs))))
    outputs = tuple((node.tensors[t].shape, node.tensors[t].type) for t in node.outputs)
    constants = tuple(node.constant_values(i) for i in (1, 2)) if node.op in _OF_CONSTANTS else ()
    values = tuple(getattr(options, name) for name in fields)
    return node.op, input_index, output_index, shapes, outputs, values, constants


def _counted_distance(node, lowest, input_index, output_index):
    source, output = node.input(input_index), node.output(output_index)
    try:
        elements = lowest(node, input_index, output_index)
    except (ValueError, IndexError, TypeError, ZeroDivisionError):  # shapes that do not belong together
        return None
    if elements is None or elements.size != output.elements:
        return None
    least = (
        -source.nbytes if node.op == "SLICE" else 0
    )  # what stands before the part is nobody's: the output may begin there
    return _round_up(safe_distance(elements.reshape(-1), output.element_bytes, source.element_bytes, least))


def safe_distance(lowest, output_bytes, input_bytes, least=0):
    """The formula above, at least `least`; `lowest` per output element, NONE where nothing is read.

    >>> safe_distance(np.array([0, 0, 2, 3]), 1, 1), safe_distance(np.arange(5), 4, 1)
    (1, 12)
    """
    later = np.minimum.accumulate(lowest[::-1])[::-1][1:]
    written = np.arange(1, len(later) + 1, dtype=np.int64) * output_bytes
    reads = later < NONE
    return max(least, int((written[reads] - later[reads] * input_bytes).max(initial=least)))


def _round_up(size):
    return -(-size // ARENA_ALIGNMENT) * ARENA_ALIGNMENT


def _pairs(demand, dying=True):
    """(node, output buffer, input buffer, whether their sizes are equal) of all that may come close in the main graph."""
    index = {buffer.place: i for i, buffer in enumerate(demand.buffers) if not buffer.scratch}
    kept = set(demand.graph.subgraphs[0].outputs)
    for clock, node in demand.node_times:
        if node.subgraph or node.children:
            continue
        for t in dict.fromkeys(node.outputs):
            output = index.get((0, t))
            if output is None or node.tensors[t].variable or demand.buffers[output].first != clock:
                continue
            for s in dict.fromkeys(node.inputs):
                source = index.get((0, s))
                if source is None or s == t or node.tensors[s].variable:
                    continue
                ends = demand.buffers[source].last == clock and s not in kept
                if ends or not dying:
                    equal = demand.buffers[source].nbytes == demand.buffers[output].nbytes
                    yield node, output, source, equal


def _operands(demand, node, output, source):
    """The positions (input, output) at which a node names two buffers: one may be read twice."""
    t, s = demand.buffers[output].place[1], demand.buffers[source].place[1]
    return [(i, k) for i, a in enumerate(node.inputs) if a == s for k, b in enumerate(node.outputs) if b == t]


# What follows: the lowest input element that each output element reads, in the order of writing.


def _elementwise(node, i, k):
    return np.arange(node.output(0).elements, dtype=np.int64) if i == 0 else None


def _softmax(node, i, k):
    return _elementwise(node, i, k) if node.input(0).type in ("FLOAT32", "INT8") else None


def _broadcast(node, i, k):
    source = node.input(i)
    own = np.arange(source.elements, dtype=np.int64).reshape(source.shape)
    return np.broadcast_to(own, node.output(0).shape)


def _fully_connected(node, i, k):
    if i != 0:
        return None
    units, depth = node.input(1).shape[0], node.input(1).shape[-1]
    return np.arange(node.output(0).elements, dtype=np.int64) // units * depth


def _conv_2d(node, i, k):
    if i != 0:
        return None
    corner = _corner(node, node.input(1).shape[1:3], _dilation(node))
    return _scaled(corner, node.input(0).shape[3])[..., None].repeat(node.output(0).shape[3], -1)


def _depthwise_conv_2d(node, i, k):
    if i != 0:
        return None
    depth, channels = node.input(0).shape[3], node.output(0).shape[3]
    corner = _scaled(_corner(node, node.input(1).shape[1:3], _dilation(node)), depth)[..., None]
    return np.where(corner == NONE, NONE, corner + np.arange(channels) // (channels // depth))


def _pool(node, i, k):
    options, depth = node.options, node.input(0).shape[3]
    corner = _scaled(_corner(node, (options.filter_height, options.filter_width), (1, 1)), depth)[..., None]
    return np.where(corner == NONE, NONE, corner + np.arange(depth))


def _dilation(node):
    return max(node.options.dilation_h_factor, 1), max(node.options.dilation_w_factor, 1)


def _corner(node, window, dilation):
    """Per output pixel the number of the first input pixel that its window takes in; NONE for none."""
    batches, height, width, _ = node.input(0).shape
    _, out_height, out_width, _ = node.output(0).shape
    padding = node.options.padding
    y = _first_tap(height, out_height, node.options.stride_h, window[0], dilation[0], padding)
    x = _first_tap(width, out_width, node.options.stride_w, window[1], dilation[1], padding)
    pixel = np.where((y[:, None] == NONE) | (x == NONE), NONE, _scaled(y, width)[:, None] + np.where(x == NONE, 0, x))
    return np.stack([np.where(pixel == NONE, NONE, pixel + b * height * width) for b in range(batches)])


def _first_tap(size, out_size, stride, window, dilation, padding):
    """Along one axis: per output position the first input position inside, NONE for none.

    What lies before the image follows from the padding, which may give other windows than the file's output has.
    """
    extent = (window - 1) * dilation + 1
    windows = {0: -(-size // stride), 1: int((size + stride - extent) / stride)}.get(padding, 0)
    before = max((windows - 1) * stride + extent - size, 0) // 2
    origin = np.arange(out_size, dtype=np.int64) * stride - before
    tap = np.maximum(-(origin // dilation), 0)
    position = origin + tap * dilation
    return np.where((tap < window) & (position < size), position, NONE)


def _scaled(positions, factor):
    return np.where(positions == NONE, NONE, np.where(positions == NONE, 0, positions) * factor)


def _concatenation(node, i, k):
    out, axis = node.output(0).shape, node.options.axis % node.output(0).rank
    found = np.full(out, NONE, np.int64)
    start = sum(node.input(j).shape[axis] for j in range(i))
    chunk = [slice(None)] * len(out)
    chunk[axis] = slice(start, start + node.input(i).shape[axis])
    found[tuple(chunk)] = np.arange(node.input(i).elements, dtype=np.int64).reshape(node.input(i).shape)
    return found


def _split(node, i, k):
    """The writes of all outputs take turns, and the reads ascend: after an element, the next one is read."""
    value = 1 if node.op == "SPLIT" else 0
    axis_input = node.input(0 if node.op == "SPLIT" else 2)
    if i != value or axis_input is None:
        return None
    source, out = node.input(value), node.output(k).shape
    axes = [a for a in range(source.rank) if source.shape[a] != out[a]] or [0]
    axis = axes[0]
    start = sum(node.output(j).shape[axis] for j in range(k)) if len(axes) == 1 and len(node.outputs) > 1 else 0
    part = [slice(None)] * source.rank
    part[axis] = slice(start, start + out[axis])
    read = np.arange(source.elements, dtype=np.int64).reshape(source.shape)[tuple(part)].reshape(-1)
    # `lowest` of element k + 1 is what may be read after writing element k
    return np.concatenate([read[:1], read[:-1] + 1])


def _pad(node, i, k):
    pads = node.constant_values(1)
    if i != 0 or pads is None:
        return None
    source, out = node.input(0), node.output(0)
    before = pads[::2]
    found = np.full(out.shape, NONE, np.int64)
    inside = tuple(slice(b, b + size) for b, size in zip(before, source.shape, strict=True))
    found[inside] = np.arange(source.elements, dtype=np.int64).reshape(source.shape)
    return found


def _slice(node, i, k):
    begin, source = node.constant_values(1), node.input(0)
    if i != 0 or begin is None or len(begin) != source.rank:
        return None
    part = tuple(slice(start, start + count) for start, count in zip(begin, node.output(k).shape, strict=True))
    return np.arange(source.elements, dtype=np.int64).reshape(source.shape)[part]


def _mean(node, i, k):
    """Sums up and writes one element after the other only in one case: floats, height and width of an image."""
    axes, source = node.constant_values(1), node.input(0)
    if i != 0 or axes is None or source.rank != 4 or source.type != "FLOAT32" or not node.options.keep_dims:
        return None
    if sorted(a % 4 for a in axes) != [1, 2]:
        return None
    batches, height, width, depth = source.shape
    return np.arange(batches)[:, None] * (height * width * depth) + np.arange(depth)


def _resize(node, i, k):
    if i != 0:
        return None
    batches, height, width, depth = node.input(0).shape
    _, out_height, out_width, _ = node.output(0).shape
    nearest = node.op == "RESIZE_NEAREST_NEIGHBOR"
    step = _nearest if nearest else _bilinear
    less = 0 if nearest or node.input(0).type == "FLOAT32" else 1  # integers interpolate in fixed point
    y = np.maximum(step(node, height, out_height) - less, 0)
    x = np.maximum(step(node, width, out_width) - less, 0)
    pixel = (np.arange(batches)[:, None, None] * height + y[:, None]) * width + x
    return pixel[..., None] * depth + np.arange(depth)


def _scale(node, size, out_size):
    if node.options.align_corners and out_size > 1:
        return np.float32(size - 1) / np.float32(out_size - 1)
    return np.float32(size) / np.float32(out_size)


def _nearest(node, size, out_size):
    offset = np.float32(0.5 if node.options.half_pixel_centers else 0)
    value = (np.arange(out_size, dtype=np.float32) + offset) * _scale(node, size, out_size)
    whole = np.floor(value + np.float32(0.5)) if node.options.align_corners else np.floor(value)
    return np.clip(whole, 0, size - 1).astype(np.int64)


def _bilinear(node, size, out_size):
    place, scale = np.arange(out_size, dtype=np.float32), _scale(node, size, out_size)
    half = np.float32(0.5)
    value = (place + half) * scale - half if node.options.half_pixel_centers else place * scale
    return np.clip(np.floor(value), 0, size - 1).astype(np.int64)


_LOWEST = {
    **dict.fromkeys(_UNARY.split(), _elementwise),
    **dict.fromkeys(_BINARY.split(), _broadcast),
    "AVERAGE_POOL_2D": _pool,
    "CONCATENATION": _concatenation,
    "CONV_2D": _conv_2d,
    "DEPTHWISE_CONV_2D": _depthwise_conv_2d,
    "FULLY_CONNECTED": _fully_connected,
    "MAX_POOL_2D": _pool,
    "MEAN": _mean,
    "PAD": _pad,
    "PADV2": _pad,
    "RESIZE_BILINEAR": _resize,
    "RESIZE_NEAREST_NEIGHBOR": _resize,
    "SLICE": _slice,
    "SOFTMAX": _softmax,
    "SPLIT": _split,
    "SPLIT_V": _split,
}
