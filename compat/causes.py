"""Whether the cause that a deviation names is there: what it asks of a case beside its name and text.

`Deviation(..., cause=multiplies_nothing)` fits only where the function is true of the case.
"""

from math import prod

import numpy as np

from .builder import operator_name, read_model

WINDOWS = ("CONV_2D", "DEPTHWISE_CONV_2D", "TRANSPOSE_CONV", "MAX_POOL_2D", "AVERAGE_POOL_2D")
KNOWN_IN_PREPARE = ("RANK", "SHAPE", "RANGE")  # the last one of constants


def _nodes(case, *names):
    """(model, graph, node) of every operator with one of these names."""
    model = read_model(case.model)
    for graph in model["subgraphs"]:
        for node in graph["operators"]:
            if operator_name(model, node) in names:
                yield model, graph, node


def _reduces_ones(axes, shape):
    """Whether all axes are inside of a shape, and of size 1."""
    return all(-len(shape) <= a < len(shape) and shape[a] == 1 for a in axes)


def _shape(tensor):
    return [] if tensor["shape"] is None else [int(d) for d in tensor["shape"]]


def multiplies_nothing(case):
    """A REDUCE_PROD reduces dimensions of 1 only, at the file's shape or at one that is fed.

    TensorFlow 2.21's optimized kernel (LiteRT:tflite/kernels/internal/optimized/reduce.h, QuantizedReduceProd) leaves such axes
    out, then looks at the last of those that are left. There is none: it reads the four bytes in front of their tensor. Where
    these are by chance the number of the last dimension, it multiplies along it.
    """
    for model, graph, node in _nodes(case, "REDUCE_PROD"):
        x, axes = graph["tensors"][node["inputs"][0]], _constant_axes(model, graph, node)
        fed = [list(a.shape) for feed in (*case.feeds, case.before or ()) for a in feed]
        if axes and any(_reduces_ones(axes, shape) for shape in (_shape(x), *fed)):
            return True
    return False


def _allocated(case, feed=None, mode="BUILTIN_REF"):
    """The shapes of all tensors of the main graph at the file's sizes, or at those of a feed, as far as no node refuses them."""
    from tflm_cy import Interpreter, OpResolverType

    def made(mode):
        resolver = OpResolverType[mode]
        return Interpreter(
            model_content=case.model, experimental_op_resolver_type=resolver, experimental_preserve_all_tensors=True
        )

    try:
        interpreter = made(mode)
    except ValueError:  # an operator that BUILTIN_REF does not have
        interpreter = made("BUILTIN_WITHOUT_DEFAULT_DELEGATES")
    try:
        for detail, array in zip(interpreter.get_input_details(), feed or (), strict=feed is not None):
            interpreter.resize_tensor_input(detail["index"], array.shape)
        interpreter.allocate_tensors()
    except (RuntimeError, ValueError):
        pass
    return {detail["index"]: detail["shape"].tolist() for detail in interpreter.get_tensor_details()}


def assigns_another_shape(case):
    """A variable is assigned values of another shape than at the first allocation."""
    if not case.feeds:
        return False
    first, later = _allocated(case), _allocated(case, case.feeds[0])
    assigned = [
        node["inputs"][1] for model, graph, node in _nodes(case, "ASSIGN_VARIABLE") if graph is model["subgraphs"][0]
    ]
    return any(first[t] != later[t] for t in assigned)


def assigns_another_rank(case):
    """A variable is assigned values of another rank than at the first allocation."""
    first = _allocated(case)
    return any(
        len(first[t]) != len(_allocated(case, feed)[t])
        for model, graph, node in _nodes(case, "ASSIGN_VARIABLE")
        for t in [node["inputs"][1]]
        if graph is model["subgraphs"][0]
        for feed in case.feeds
    )


def gives_a_tensor_twice(case):
    """A subgraph names one of its outputs twice."""
    return any(len(set(graph["outputs"])) < len(graph["outputs"]) for graph in read_model(case.model)["subgraphs"])


def has_fewer_than_no_windows(case):
    """A window without padding is larger than its image by more than a stride, at the file's shapes or at one that is fed.

    TensorFlow's count of such windows is below 0."""
    shapes = _all_allocated(case)
    for model, graph, node in _nodes(
        case, "CONV_2D", "DEPTHWISE_CONV_2D", "MAX_POOL_2D", "AVERAGE_POOL_2D", "L2_POOL_2D"
    ):
        options = node["builtin_options"][1]
        if graph is not model["subgraphs"][0] or not options["padding"]:
            continue
        for axis, letter in ((1, "h"), (2, "w")):
            if "filter_height" in options:
                extent = options["filter_height" if axis == 1 else "filter_width"]
            else:
                taps = _shape(graph["tensors"][node["inputs"][1]])[axis]
                extent = (taps - 1) * options[f"dilation_{letter}_factor"] + 1
            for found in shapes:
                image = found[node["inputs"][0]]
                if len(image) == 4 and image[axis] <= extent - 1 - options[f"stride_{letter}"]:
                    return True
    return False


def _all_allocated(case):
    """The shapes of all tensors of the main graph at the file's sizes, and at those of each feed."""
    return [_allocated(case, feed) for feed in (None, case.before or None, *case.feeds)]


def gives_more_than_the_image(case):
    """A TRANSPOSE_CONV gives an image of more windows than its input has pixels: its shape is a constant, the input's is a placeholder."""
    shapes = _all_allocated(case)
    for model, graph, node in _nodes(case, "TRANSPOSE_CONV"):
        options = node["builtin_options"][1]
        for axis, letter in ((1, "h"), (2, "w")):
            ends = [
                (found[node["inputs"][2]], found[node["outputs"][0]])
                for found in shapes
                if graph is model["subgraphs"][0]
            ]
            if any(len(x) == len(y) == 4 and x[axis] < -(-y[axis] // options[f"stride_{letter}"]) for x, y in ends):
                return True
    return False


def makes_of_nothing(*operators):
    """The cause that one of these operators has an empty input, and an output that is not, at the last feed or before the first.

    TensorFlow's delegate leaves the output of such a reduction as it is: what lay there before is read."""

    def holds(case):
        ends = [
            ([shapes[t] for t in node["inputs"] if t >= 0], shapes[node["outputs"][0]])
            for feed in (case.before or None, case.feeds[-1])
            for shapes in (_allocated(case, feed, mode) for mode in ("BUILTIN_REF", "AUTO"))
            for model, graph, node in _nodes(case, *operators)
            if graph is model["subgraphs"][0]
        ]
        return any(prod(y) > 0 and any(prod(x) == 0 for x in inputs) for inputs, y in ends)

    return holds


def merges_an_extremum(case):
    """A MAXIMUM or MINIMUM with a constant stands behind a window, or behind another one that does.

    The clamp that XNNPACK makes of it becomes the window's (src/subgraph.c), whose paddings are spoiled."""
    clamped = set()
    for model, _, node in _nodes(case, *WINDOWS, "MAXIMUM", "MINIMUM"):
        if operator_name(model, node) in WINDOWS:
            clamped.update(map(int, node["outputs"]))
        elif clamped.intersection(map(int, node["inputs"])):
            return True
    return False


def has_no_images(case):
    """A window moves over no images, at the file's shapes or at one that is fed.

    XNNPACK then goes on before it counts the windows: the size of the output is what two variables on its stack happen to hold
    (src/subgraph/average-pooling-2d.c, src/operators/average-pooling-nhwc.c, and likewise for other windows).
    """
    shapes = _all_allocated(case)
    return any(
        tuple(found[t][:1]) == (0,)
        for model, graph, node in _nodes(case, *WINDOWS)
        if graph is model["subgraphs"][0]
        for t in [node["inputs"][2 if operator_name(model, node) == "TRANSPOSE_CONV" else 0]]
        for found in shapes
    )


def reduces_axes_outside(case):
    """A MEAN that keeps dimensions has an axis outside of its input, at the file's shapes or at one that is fed.

    TensorFlow's kernels do not look whether the axes were refused: the reference has written zeros by then, the optimized one nothing
    (tflite/kernels/reduce.cc, EvalMean).
    """
    shapes = _all_allocated(case)
    for model, graph, node in _nodes(case, "MEAN"):
        x = node["inputs"][0]
        if graph is model["subgraphs"][0] and any(_has_axis_outside(model, graph, node, found[x]) for found in shapes):
            return True
    return False


def slices_another_rank(case):
    """A SLICE has an input of another rank than its begin and size, at the file's shapes or at one that is fed.

    TensorFlow's kernel keeps an output shape that the file gives, and reads as many begins and sizes as there are dimensions
    (tflite/kernels/slice.cc): of more dimensions those that lie behind, of fewer it writes a part of the output.
    """
    shapes = _all_allocated(case)
    return any(
        len(found[node["inputs"][0]]) != prod(_shape(graph["tensors"][node["inputs"][1]]))
        for model, graph, node in _nodes(case, "SLICE")
        if graph is model["subgraphs"][0]
        for found in shapes
    )


def branch_knows_its_output(case):
    """A called subgraph gives what its kernel computes when it is prepared.

    Such an output has memory of its own (kTfLitePersistentRo). IF puts the address of its own output in its place before it runs the branch
    (tflite/kernels/if.cc, Eval_static), whose kernel then has nothing to do: nobody writes the output, and the value is lost, or freed
    as if it were the output's memory.
    """
    model = read_model(case.model)
    for graph in model["subgraphs"][1:]:
        for node in graph["operators"]:
            if operator_name(model, node) in KNOWN_IN_PREPARE and set(node["outputs"]) & set(graph["outputs"]):
                return True
    return False


def gives_nothing_first(case):
    """The first run gives an output without elements, which TensorFlow refuses to read, so that it does not come to the second."""
    from tflm_cy import Interpreter, OpResolverType

    interpreter = Interpreter(model_content=case.model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    try:
        for detail, array in zip(interpreter.get_input_details(), case.feeds[0], strict=True):
            interpreter.resize_tensor_input(detail["index"], array.shape)
        interpreter.allocate_tensors()
        for detail, array in zip(interpreter.get_input_details(), case.feeds[0], strict=True):
            interpreter.set_tensor(detail["index"], array)
        interpreter.invoke()
    except (RuntimeError, ValueError):
        return False
    return any(prod(detail["shape"].tolist()) == 0 for detail in interpreter.get_output_details())


def attends_otherwise(case):
    """The operands of an attention have other heads than at the first allocation, or what its groups of heads, or its only head, keep.

    TensorFlow's delegate builds it of reshapes to the first sizes (tflite/delegates/xnnpack/xnnpack_delegate.cc, VisitDotAttentionNode):
    of groups the queries' batches, rows, groups and depth, and the batches of keys and values; of a single head the depth. Of equal
    heads nothing is kept but the default scale.
    """
    shapes = _all_allocated(case)
    for model, graph, node in _nodes(case, "STABLEHLO_COMPOSITE", "odml.scaled_dot_product_attention"):
        if graph is not model["subgraphs"][0]:
            return True
        first, *later = [[found[t] for t in node["inputs"][:3]] for found in shapes]
        if any(_kept_of_attention(*operands) != _kept_of_attention(*first) for operands in later):
            return True
    return False


def _kept_of_attention(q, k, v):
    if min(len(q), len(k), len(v)) < 4:
        return q, k, v
    if k[2] == 1:
        return "one head", q[3]
    return ("equal heads",) if k[2] == q[2] else ("groups", q, k[0], v[0], k[2])


def lacks_room_for_sums(case):
    """A MEAN or SUM of bytes needs more room for its sums of 32 bits than at the first allocation, its output no more than it has.

    XNNPACK plans its memory anew where an output grows, not where only that room does (src/subgraph/static-reduce.c); of an empty
    input, or of axes that it refuses, it has none. The sums are then written over whatever lies behind: any later value of the partition.
    """
    if not case.feeds:
        return False
    first, later = (_allocated(case, feed, "AUTO") for feed in (None, case.feeds[-1]))
    for model, graph, node in _nodes(case, "MEAN", "SUM"):
        x, y = node["inputs"][0], node["outputs"][0]
        if graph is not model["subgraphs"][0]:
            continue
        room = prod(first[y]) if prod(first[x]) and _reduces_once(model, graph, node, first[x]) else 0
        if room < prod(later[y]) <= max(prod(first[y]), prod(_shape(graph["tensors"][y]))):
            return True
    return False


def _constant_axes(model, graph, node):
    data = model["buffers"][graph["tensors"][node["inputs"][1]]["buffer"]].get("data")
    return [] if data is None else np.frombuffer(bytes(data), np.int32).tolist()


def _has_axis_outside(model, graph, node, shape):
    return any(not -len(shape) <= a < len(shape) for a in _constant_axes(model, graph, node))


def _reduces_once(model, graph, node, shape):
    """No axis is outside, none is named twice."""
    axes = _constant_axes(model, graph, node)
    outside = _has_axis_outside(model, graph, node, shape)
    return not outside and len({a % len(shape) for a in axes}) == len(axes)


def _channels_made(case):
    """Of each DEPTHWISE_CONV_2D: the output channels that its depth_multiplier makes of the image's, and those of its filter."""
    for _, graph, node in _nodes(case, "DEPTHWISE_CONV_2D"):
        image, filters = (_shape(graph["tensors"][t])[-1] for t in node["inputs"][:2])
        yield image * node["builtin_options"][1]["depth_multiplier"], filters


def multiplies_too_little(case):
    """A DEPTHWISE_CONV_2D has more output channels than its depth_multiplier makes of the image's."""
    return any(made < filters for made, filters in _channels_made(case))


def multiplies_otherwise(case):
    """A DEPTHWISE_CONV_2D has other output channels than its depth_multiplier makes of the image's.

    The reference kernels of int16x8 and of dynamic range compute the place of a value from it: they write across the end of the output,
    or leave values of it unwritten.
    """
    return any(made != filters for made, filters in _channels_made(case))


def _multiplies_otherwise(case, shapes):
    """At these shapes an image of a DEPTHWISE_CONV_2D has other channels than depth_multiplier and filter want."""
    return any(
        shapes[node["inputs"][0]]
        and shapes[node["inputs"][0]][-1] * node["builtin_options"][1]["depth_multiplier"]
        != shapes[node["inputs"][1]][-1]
        for model, graph, node in _nodes(case, "DEPTHWISE_CONV_2D")
        if graph is model["subgraphs"][0]
    )


def multiplies_as_fed(case):
    """It has them at the shapes that are fed first."""
    return _multiplies_otherwise(case, _allocated(case, case.feeds[0]))


def multiplies_otherwise_when_shaped(case):
    """It has them at any of its shapes."""
    return any(_multiplies_otherwise(case, shapes) for shapes in _all_allocated(case))


def squashes_transposed(case):
    """A BATCH_MATMUL with adj_x has several matrices of x for one of y. TensorFlow 2.21 takes them for the rows of one."""
    fed = _allocated(case, case.feeds[0])
    for model, graph, node in _nodes(case, "BATCH_MATMUL"):
        x, y = (fed[t] for t in node["inputs"][:2])
        adjoint = graph is model["subgraphs"][0] and node["builtin_options"][1]["adj_x"]
        if adjoint and len(x) > 2 < len(y) and y[-3] == 1 < x[-3]:
            return True
    return False


def _resized_shapes(case):
    """The shapes that a program gives an input, by its place; those of the first feed where it is not resized."""
    for place, array in enumerate(case.feeds[0]):
        kinds = {call[2] for call in case.program if call[0] == "resize_tensor_input" and call[1] == place}
        kinds |= {call[1] for call in case.program if call[0] == "resize_all"}
        yield array.shape, kinds


def has_more_than_six_dimensions(case):
    """A program gives an input of six dimensions a seventh."""
    return any(len(shape) >= 6 and "rank" in kinds for shape, kinds in _resized_shapes(case))


def unpacks_constants(case):
    """A DEQUANTIZE or DENSIFY has a constant input, which TensorFlow's delegate unpacks for itself."""
    return any(
        model["buffers"][graph["tensors"][node["inputs"][0]]["buffer"]].get("data") is not None
        for model, graph, node in _nodes(case, "DEQUANTIZE", "DENSIFY")
    )


def feeds_its_indices(case):
    """The indices of a SPARSE_TO_DENSE or STABLEHLO_SCATTER are computed."""
    for model, graph, node in _nodes(case, "SPARSE_TO_DENSE", "STABLEHLO_SCATTER"):
        indices = node["inputs"][int(operator_name(model, node) == "STABLEHLO_SCATTER")]
        if any(indices in other["outputs"] for other in graph["operators"]):
            return True
    return False


def has_few_dilations(case):
    """A program gives the input of a DILATE more dimensions than there are dilations."""
    return any("rank" in kinds for _, kinds in _resized_shapes(case))


def indexes_another_rank(case):
    """A program gives the indices of a STABLEHLO_GATHER other dimensions."""
    return any(kinds & {"rank", "less", "flat"} for _, kinds in [*_resized_shapes(case)][1:])


def transforms_signs(case):
    """What an RFFT2D transforms are the signs of values, whose sums cancel."""
    signs = {(n, int(t)) for n, name, node in _numbered(case) if name == "SIGN" for t in node["outputs"]}
    return any(name == "RFFT2D" and (n, int(node["inputs"][0])) in signs for n, name, node in _numbered(case))


def _numbered(case):
    """(number of the subgraph, operator, node) of every node."""
    model = read_model(case.model)
    for n, graph in enumerate(model["subgraphs"]):
        for node in graph["operators"]:
            yield n, operator_name(model, node), node


def attends_in_groups(case):
    """An attention has other heads of queries than of keys, or one head: TensorFlow's delegate builds it of reshapes to the first sizes."""
    for _, graph, node in _nodes(case, "STABLEHLO_COMPOSITE", "odml.scaled_dot_product_attention"):
        q, k = (_shape(graph["tensors"][t]) for t in node["inputs"][:2])
        if len(q) == len(k) == 4 and (q[2] != k[2] or k[2] == 1):
            return True
    return False


_VIEWS = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS", "BITCAST")
_IN_PLACE = {
    "ADD": 2,
    "SUB": 2,
    "MUL": 2,
    "DIV": 2,
    "SOFTMAX": 1,
    "DYNAMIC_UPDATE_SLICE": 1,
}  # operands in whose memory they may write


def overwrites_what_is_read_again(case):
    """A value of a value's view is computed in its memory, while another view of it is read later.

    TensorFlow counts the readers of the operand and of the first tensor of that memory, not of the views between
    (tflite/arena_planner.cc, IdentifyInPlaceTensors).
    """
    model = read_model(case.model)
    graph = model["subgraphs"][0]
    nodes = [
        (operator_name(model, node), [int(t) for t in node["inputs"]], int(node["outputs"][0]))
        for node in graph["operators"]
    ]
    readers = [t for _, inputs, _ in nodes for t in inputs] + [int(t) for t in graph["outputs"]]
    given, wanted = {int(t) for t in graph["inputs"]}, {int(t) for t in graph["outputs"]}
    memory = {}
    for i, (name, inputs, output) in enumerate(nodes):
        for x in inputs[: 1 if name in _VIEWS else _IN_PLACE.get(name, 0)]:
            root = memory.get(x, x)
            if (
                x in given
                or output in wanted
                or (name not in _VIEWS and max(readers.count(x), readers.count(root)) > 1)
            ):
                continue
            memory[output] = root
            later = {t for _, others, _ in nodes[i + 1 :] for t in others} | wanted
            if name not in _VIEWS and any(memory.get(t, t) == root and t != output for t in later if t in memory):
                return True
            break
    return False
