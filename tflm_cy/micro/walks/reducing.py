"""Operators that pool, normalize or reduce, and those that run other graphs or keep variables."""

_SAME, _VALID = 0, 1  # paddings


def pool(w):
    x, y = w.open("i0 o0")
    _ = x.shape[2]
    if x.type in ("INT8", "INT16"):
        w.ensure(
            abs(x.scale - y.scale) <= 1e-6, f"its input's scale is {x.scale:g} and its output's {y.scale:g}, not equal"
        )
        w.zero_points("o0", x.zero_point)
    w.types("i0", "FLOAT32 INT8 INT16")


def pool_squares(w):
    w.counts(1)
    y, x = w.open("o0 i0")
    w.rank("i0", 4)
    w.rank("o0", 4)
    w.same_type("i0", "o0")
    w.types("i0", "FLOAT32")
    w.keep_dimensions(y)
    options = w.node.options
    w.ensure(options.padding in (_SAME, _VALID), f"its padding {options.padding} is none, so its output is empty")
    sizes = zip(
        x.shape[1:3], (options.stride_h, options.stride_w), (options.filter_height, options.filter_width), strict=True
    )
    for size, stride, filter_size in sizes:
        left = size - filter_size if options.padding == _VALID else size - 1
        w.ensure(
            stride > 0 and filter_size > 0 and left >= 0,
            f"its {filter_size} x {stride} window leaves nothing of {x.shape}",
        )


def resize(w):
    w.counts(2)
    _, size, _ = w.open("i0 i1 o0")
    w.rank("i0", 4)
    w.rank("i1", 1)
    w.types("i1", "INT32")
    if w.node.op == "RESIZE_NEAREST_NEIGHBOR":
        w.equal("the number of sizes", size.shape[0], 2)
    w.constant("i1")
    if w.node.op == "RESIZE_BILINEAR":
        options = w.node.options
        w.ensure(
            not (options.half_pixel_centers and options.align_corners),
            "half_pixel_centers and align_corners are both set; TFLM takes one of them",
        )


# ---------------------------------------------------------------- rows


def softmax(w):
    w.counts(1)
    x = w.open("i0")
    w.ensure(x.rank >= 1, "input 0 is a scalar")
    y = w.open("o0")
    if x.type == "INT16":
        w.keep(2 * 513)  # tables of exp and 1 / (1 + x)
        w.keep(2 * 513)
    w.types("i0 o0", "FLOAT32>FLOAT32 INT8>INT8 INT8>INT16 INT16>INT16")
    if x.type == "INT16":
        w.zero_points("i0 o0")
        _near(w, y, 1 / 32768)
    elif y.type == "INT16":
        w.ensure(y.zero_point == -32768, "an INT16 output of an INT8 input must have zero point -32768")
        _near(w, y, 1 / 65536)
    elif y.type == "INT8":
        w.zero_points("o0", -128)
        w.equal("the scale of output 0", y.scale, 1 / 256)
    if x.type == "INT8":
        steps = w.node.options.beta * float(x.scale) * (1 << 26)
        w.ensure(
            steps > 1,
            f"beta times the scale of input 0 is {steps / (1 << 26):g}, so little that TFLM stops the program",
        )


def _near(w, y, wanted):
    w.ensure(abs(y.scale - wanted) <= 0.001 * wanted, f"the scale of output 0 is {y.scale:g}, TFLM wants {wanted:g}")


def log_softmax(w):
    w.counts(1)
    x, y = w.open("i0 o0")
    w.same_type("i0", "o0")
    w.shape("o0", x.shape)
    if x.type == "INT8":
        w.keep(w.machine.op_data["LOG_SOFTMAX"])
        w.equal("the scale of output 0", y.scale, 16 / 256)
        w.zero_points("o0", 127)


def l2_normalize(w):
    w.counts(1)
    w.open("i0 o0")
    w.rank("i0", 0, 4)
    w.types("o0", "FLOAT32 INT8")
    w.same_type("i0", "o0")
    w.ensure(w.activation == 0, "it has a fused activation, which TFLM does not take")


def mean(w):
    """MEAN, SUM: sums, the walk's index and the axes, resolved."""
    x, y, axis = w.open("i0 o0 i1")
    if x.type in ("INT8", "INT16"):
        w.scratch(4 * y.elements)
    _walk_of_axes(w, x, axis)
    _simple(w)


def extreme(w):
    _simple(w)
    x, _, axis = w.open("i0 o0 i1")
    _walk_of_axes(w, x, axis)


def all_of(w):
    x, _, axis = w.open("i0 o0 i1")
    w.types("i0", "BOOL")
    _simple(w)
    _walk_of_axes(w, x, axis)


def _walk_of_axes(w, x, axis):
    w.scratch(4 * x.rank)
    w.scratch(4 * axis.elements)


def _simple(w):
    x = w.open("i0")
    w.counts(2)
    w.open("i1")
    w.types("i1", "INT32")
    if x.type == "INT8":
        w.open("o0")


# ---------------------------------------------------------------- other graphs


def if_(w):
    w.ensure(w.node.inputs, "it has no condition")
    condition = w.open("i0")
    w.types("i0", "BOOL")
    w.equal("the number of conditions", condition.elements, 1)
    then = w.graph.subgraphs[w.node.children[0]]
    w.equal("the number of inputs besides the condition", len(w.node.inputs) - 1, len(then.inputs))
    w.equal("the number of outputs", len(w.node.outputs), len(then.outputs))


def while_(w):
    condition, body = (w.graph.subgraphs[child] for child in w.node.children)
    count = len(w.node.inputs)
    w.equal("the number of inputs", count, len(condition.inputs))
    w.equal("the number of inputs", count, len(body.inputs))
    w.equal("the number of outputs", len(w.node.outputs), count)
    w.equal("the number of outputs", len(w.node.outputs), len(body.outputs))


def call_once(w):
    w.counts(0, 0)


def handle(w):
    """Its names are those of a table that the program makes; see `resolver`."""
    w.ensure(w.node.options.position, "it has no options, so its variable has no name")


def assign(w):
    w.counts(2, 0)
    w.types("i0", "RESOURCE INT32")
    w.equal("the number of handles", w.tensor("i0").elements, 1)
    w.open("i1")  # the first to assign a variable makes its memory: `demand`


def read(w):
    w.open("i0")


WALKS = {
    **dict.fromkeys(["AVERAGE_POOL_2D", "MAX_POOL_2D"], pool),
    **dict.fromkeys(["MEAN", "SUM"], mean),
    **dict.fromkeys(["REDUCE_MAX", "REDUCE_MIN"], extreme),
    **dict.fromkeys(["RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR"], resize),
    "ASSIGN_VARIABLE": assign,
    "CALL_ONCE": call_once,
    "IF": if_,
    "L2_NORMALIZATION": l2_normalize,
    "L2_POOL_2D": pool_squares,
    "LOG_SOFTMAX": log_softmax,
    "READ_VARIABLE": read,
    "REDUCE_ALL": all_of,
    "SOFTMAX": softmax,
    "VAR_HANDLE": handle,
    "WHILE": while_,
}
