"""STABLEHLO operators and REDUCE_WINDOW: small examples with known answers, and what is refused."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.machine import AARCH64
from tflm_cy import Interpreter, OpResolverType

from .evaluate import REFUSED
from .one_operator import run, same

i8, i32, f32 = np.int8, np.int32, np.float32


def run_model(model, arrays, resolver=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
    interpreter = Interpreter(model_content=model.to_bytes(), experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), arrays, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


@pytest.mark.parametrize(
    "op, dtype, a, b, want",
    [
        ("STABLEHLO_ADD", "int8", [100, -3], [100, 1], [-56, -2]),
        ("STABLEHLO_ADD", "float16", [2048, 1], [1, 0.5], [2048, 1.5]),
        ("STABLEHLO_ADD", "bool", [True, False], [True, False], [True, False]),
        ("STABLEHLO_MULTIPLY", "uint64", [2**63, 3], [2, 5], [0, 15]),
        ("STABLEHLO_MAXIMUM", "float32", [np.nan, 1, 2], [1, np.nan, 3], [np.nan, 1, 3]),
        ("STABLEHLO_MINIMUM", "int64", [-(2**60), 1], [1, 0], [-(2**60), 0]),
    ],
)
def test_elementwise(op, dtype, a, b, want):
    a, b = (np.array(v, dtype) for v in (a, b))
    same(run(op, [(a, dtype), (b, dtype)], [Tensor(a.shape, dtype)])[0], np.array(want, dtype))


@pytest.mark.parametrize("op", ["STABLEHLO_MAXIMUM", "STABLEHLO_MINIMUM"])
def test_extremes_of_halves(op):
    """The bytes of either operand: of two equal ones, or where one is NaN, the first's."""
    kinds = [0, 1, 2, 0x3FF, 0x400, 0x3C00, 0x3C01, 0x7BFF, 0x7C00, 0x7C01, 0x7DFF, 0x7E00, 0x7FFF]
    bits = np.array([sign | kind for kind in kinds for sign in (0, 0x8000)], np.uint16)
    a, b = (grid.ravel().view(np.float16) for grid in np.meshgrid(bits, bits))
    takes_b = a.astype(np.float32) < b.astype(np.float32) if op.endswith("MAXIMUM") else b < a
    want = np.where(takes_b, b.view(np.uint16), a.view(np.uint16))
    [got] = run(op, [(a, "float16"), (b, "float16")], [Tensor(a.shape, "float16")])
    assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("op, want", [("STABLEHLO_AND", [0b1000, 0]), ("STABLEHLO_SHIFT_LEFT", [0b1100 << 2, 5])])
def test_bits_are_for_the_optimized_resolvers_only(op, want):
    model = Model.single(op, [Tensor([2], "int32"), Tensor([2], "int32")], [Tensor([2], "int32")])
    b = [0b1010, 2] if op == "STABLEHLO_AND" else [2, 0]
    a = [0b1100, 5]
    same(run_model(model, [np.array(a, i32), np.array(b, i32)])[0], np.array(want, i32))
    with pytest.raises(ValueError, match="Didn't find op"):
        run_model(model, [], OpResolverType.BUILTIN_REF)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_all_shifts(dtype):
    """The last values, which fill no block, are shifted modulo 32, in 32 bits. The others are on x86-64 multiplied by 2^b, the float with
    the bits of b in place of its sign and exponent, on aarch64 shifted by the lowest byte of b, to the right below 0."""
    values = np.array([1, -1, 77, -128, 5, 127, 99], dtype)
    distances = np.arange(-128, 128) if dtype == "int8" else np.r_[-700:700, -32768, 32767]
    a, b = (grid.ravel()[:-1] for grid in np.meshgrid(values, distances.astype(dtype)))
    want = a.astype(np.int64) << (b.astype(np.int64) & 31)
    with np.errstate(all="ignore"):
        powers = ((b.astype(np.int64) << 23) + 0x3F800000).astype(np.uint32).view(np.float32)
        factors = np.where(np.abs(powers) < 2.0**31, powers, -(2.0**31)).astype(np.int64)
    if AARCH64:
        block, shift = {"int8": 8, "int16": 16, "int32": 8}[dtype], b.astype(np.int8).astype(np.int64)
        lifted = a.view(f"u{a.itemsize}").astype(np.int64)
        blocks = np.where(shift < 0, lifted >> np.minimum(-shift, 32), lifted << np.clip(shift, 0, 32))
    else:
        block, blocks = {"int8": 16, "int16": 4, "int32": 32}[dtype], a.astype(np.int64) * factors
    body = a.size - a.size % block
    want[:body] = blocks[:body]
    want = want.astype(dtype)
    model = Model.single(
        "STABLEHLO_SHIFT_LEFT", [Tensor(a.shape, dtype), Tensor(b.shape, dtype)], [Tensor(a.shape, dtype)]
    )
    same(run_model(model, [a, b])[0], want)


def test_inputs_of_two_shapes_are_refused():
    with pytest.raises(REFUSED):
        run(
            "STABLEHLO_ADD",
            [(np.zeros(3, f32), "float32"), (np.zeros([3, 1], f32), "float32")],
            [Tensor([3], "float32")],
        )


def pad(x, low, high, inner):
    options = {"edge_padding_low": low, "edge_padding_high": high, "interior_padding": inner}
    return run(
        "STABLEHLO_PAD", [(x.astype(i32), "int32"), (np.array(9, i32), "int32")], [Tensor(x.shape, "int32")], **options
    )[0]


def test_pad():
    assert pad(np.array([1, 2, 3]), [1], [2], [1]).tolist() == [9, 1, 9, 2, 9, 3, 9, 9]
    assert pad(np.array([1, 2, 3]), [-1], [-1], [3]).tolist() == [9, 9, 9, 2, 9, 9, 9]
    assert pad(np.array([[1, 2], [3, 4]]), [0, 1], [1, 0], [0, 0]).tolist() == [[9, 1, 2], [9, 3, 4], [9, 9, 9]]
    assert pad(np.array([[1, 2]]), [0, -5], [0, 0], [0, 0]).shape == (0, 0)


@pytest.mark.parametrize("low, inner", [([0], [-1]), ([0], [2**40]), ([2**62], [0]), ([0] * 9, [0] * 9), ([0, 0], [0])])
def test_pad_refuses(low, inner):
    with pytest.raises(REFUSED):
        pad(np.array([1, 2, 3]), low, [0] * len(low), inner)


GATHER = {"offset_dims": [1], "collapsed_slice_dims": [0], "start_index_map": [0, 1], "index_vector_dim": 1}


def gather(indices, **changes):
    x = np.arange(12).reshape(3, 4)
    options = {**GATHER, "slice_sizes": [1, 2], **changes}
    inputs = [(x.astype(np.int16), "int16"), (np.array(indices, i32), "int32")]
    return run("STABLEHLO_GATHER", inputs, [Tensor([2, 2], "int16")], **options)[0]


def test_gather():
    assert gather([[0, 1], [2, 0]]).tolist() == [[1, 2], [8, 9]]
    assert gather([[0, 3], [9, 0]]).tolist() == [[2, 3], [8, 9]]  # slices are moved back inside
    transposed = gather([[0, 2], [1, 0]], index_vector_dim=0, offset_dims=[0])
    assert transposed.tolist() == [[1, 8], [2, 9]]


@pytest.mark.parametrize(
    "changes",
    [
        {"start_index_map": [0, 2]},
        {"start_index_map": [0, -1]},
        {"start_index_map": [0, 1, 0]},
        {"index_vector_dim": 2},
        {"index_vector_dim": -1},
        {"offset_dims": []},
        {"offset_dims": [1, 1]},
        {"offset_dims": [7]},
        {"collapsed_slice_dims": [5]},
        {"slice_sizes": [1]},
        {"slice_sizes": [1, -2]},
        {"slice_sizes": [1, 2**40]},
    ],
)
def test_gather_refuses(changes):
    with pytest.raises(REFUSED):
        gather([[0, 1], [2, 0]], **changes)


def test_a_slice_before_the_beginning_fails():
    with pytest.raises(REFUSED, match="outside"):
        gather([[0, 1], [0, -1]])


def scatter(body, indices, updates=((1, 2), (3, 4)), dtype="int32", **changes):
    model = Model()
    main, graph = model.subgraph("main"), model.subgraph("body")
    a, b, y = (Tensor([], dtype) for _ in range(3))
    graph.tensor(a), graph.tensor(b)
    if body:
        graph.op(body, [a, b], [y])
    graph.inputs, graph.outputs = [a, b], [y] if body else [b]
    inputs = [Tensor([3, 4], dtype), Tensor([2, 1], "int32"), Tensor([2, 2], dtype)]
    options = {
        "update_window_dims": [1],
        "inserted_window_dims": [0],
        "scatter_dims_to_operand_dims": [0],
        "index_vector_dim": 1,
        "update_computation_subgraph_index": graph,
        **changes,
    }
    main.op("STABLEHLO_SCATTER", inputs, [Tensor([3, 4], dtype)], **options)
    arrays = [np.full([3, 4], 2, dtype), np.array(indices, i32), np.array(updates, dtype)]
    return run_model(model, arrays, OpResolverType.BUILTIN_REF)[0]


@pytest.mark.parametrize(
    "body, want",
    [
        (None, [3, 4]),
        ("STABLEHLO_ADD", [6, 8]),
        ("STABLEHLO_MULTIPLY", [6, 16]),
        ("STABLEHLO_MAXIMUM", [3, 4]),
        ("STABLEHLO_MINIMUM", [1, 2]),
    ],
)
def test_scatter(body, want):
    assert scatter(body, [[1], [1]])[1].tolist() == [*want, 2, 2]
    assert scatter(body, [[3], [7]]).tolist() == [[2] * 4] * 3  # beyond the end: left out


def test_scatter_refuses():
    with pytest.raises(REFUSED, match="Only update, Add"):
        scatter("SUB", [[1], [1]])
    with pytest.raises(REFUSED, match="beginning"):
        scatter(None, [[1], [-1]])
    for changes in (
        {"update_window_dims": [0, 1]},
        {"inserted_window_dims": []},
        {"scatter_dims_to_operand_dims": [2]},
        {"index_vector_dim": 5},
        {"update_computation_subgraph_index": 2},
    ):
        with pytest.raises(REFUSED):
            scatter(None, [[1], [1]], **changes)


def reduce_window(x, body="ADD", first=0, **options):
    x = np.asarray(x)
    dtype = x.dtype.name
    model = Model()
    main, graph = model.subgraph("main"), model.subgraph("body")
    graph.op(body, [Tensor([], dtype), Tensor([], dtype)], [Tensor([], dtype)])
    y = Tensor(x.shape, dtype)
    inputs = [Tensor(x.shape, dtype), Tensor([], dtype)]
    main.op("STABLEHLO_REDUCE_WINDOW", inputs, [y], body_subgraph_index=graph, **options)
    results = [run_model(model, [x, np.array(first, dtype)], r)[0].tolist() for r in _RESOLVERS]
    assert all(result == results[0] for result in results)
    return results[0]


_RESOLVERS = (OpResolverType.BUILTIN_REF, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES, OpResolverType.AUTO)


def test_stablehlo_reduce_window():
    x = np.array([1, 2, 3, 4, 5], i32)
    assert reduce_window(x, window_dimensions=[2]) == [3, 5, 7, 9]
    assert reduce_window(x, window_dimensions=[2], window_strides=[2], first=10) == [13, 17]
    assert reduce_window(x, window_dimensions=[2], window_dilations=[3]) == [5, 7]
    assert reduce_window(x, "MAXIMUM", window_dimensions=[3], padding=[2, 0], first=2) == [2, 2, 3, 4, 5]
    assert reduce_window(x, "MUL", window_dimensions=[2], base_dilations=[2], first=1) == [1, 2, 2, 3, 3, 4, 4, 5]
    assert reduce_window(x, window_dimensions=[2], padding=[-1, -1]) == [5, 7]
    assert reduce_window(x.reshape(1, 5), "MINIMUM", window_dimensions=[1, 5], first=9) == [[1]]
    assert reduce_window(x, window_dimensions=[6]) == []


def windows_of(x, window, stride, dilation, base, low, high):
    """Their sums, element by element; padding and gaps are 7."""
    spread = np.full((len(x) - 1) * base + 1, 7, np.int64)
    spread[::base] = x
    padded = np.concatenate([np.full(low, 7), spread, np.full(high, 7)])
    count = (len(padded) - (window - 1) * dilation - 1) // stride + 1
    return [7 + sum(int(padded[i * stride + k * dilation]) for k in range(window)) for i in range(count)]


@pytest.mark.parametrize("seed", range(30))
def test_long_rows_of_windows(seed):
    rng = np.random.default_rng(seed)
    x = rng.integers(-100, 100, int(rng.integers(120, 700))).astype(i32)
    window, stride, dilation, base = (int(rng.integers(1, 5)) for _ in range(4))
    low, high = (int(rng.integers(0, 6)) for _ in range(2))
    names = ("window_dimensions", "window_strides", "window_dilations", "base_dilations")
    options = {name: [value] for name, value in zip(names, (window, stride, dilation, base), strict=True)}
    got = reduce_window(x, first=7, padding=[low, high], **options)
    assert got == windows_of(x, window, stride, dilation, base, low, high)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"window_dimensions": [0]},
        {"window_dimensions": [2], "window_strides": [0]},
        {"window_dimensions": [2], "window_strides": [1, 1]},
        {"window_dimensions": [2], "padding": [1]},
        {"window_dimensions": [2], "padding": [-3, -3]},
        {"window_dimensions": [2**40]},
        {"body": "SUB", "window_dimensions": [2]},
    ],
)
def test_stablehlo_reduce_window_refuses(options):
    with pytest.raises(REFUSED):
        reduce_window(np.array([1, 2, 3, 4, 5], i32), **options)


def window_inputs(x, *attributes):
    constants = [np.array(a, np.int64) for a in attributes]
    return [(x, x.dtype.name), (np.array(1, x.dtype), x.dtype.name), *constants]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("function", range(1, 7))
def test_windows_over_several_axes(seed, function):
    """Whole numbers, whose windows may be reduced axis after axis; NumPy's meet in one."""
    rng = np.random.default_rng([seed, function])
    dtype = str(rng.choice(["int8", "int16", "int32", "int64", "uint8"]))
    rank = int(rng.integers(1, 5))
    x = rng.integers(0, 4, [int(n) for n in rng.integers(5, 9, rank)]).astype(dtype)
    window, stride, dilation = (rng.integers(1, most + 1, rank) for most in (3, 3, 2))
    first = np.array(rng.integers(0, 3), dtype)
    spans = [int((w - 1) * d + 1) for w, d in zip(window, dilation, strict=True)]
    views = np.lib.stride_tricks.sliding_window_view(x, spans)
    views = views[tuple(slice(None, None, int(n)) for n in (*stride, *dilation))]
    taps = tuple(range(rank, 2 * rank))
    with np.errstate(over="ignore"):
        want = {
            1: lambda: views.sum(taps, dtype) + first,
            2: lambda: views.prod(taps, dtype) * first,
            3: lambda: np.minimum(views.min(taps), first),
            4: lambda: np.maximum(views.max(taps), first),
            5: lambda: views.all(taps) & (first != 0),
            6: lambda: views.any(taps) | (first != 0),
        }[function]()
    inputs = [(x, dtype), (first, dtype), *(np.array(a, np.int64) for a in (window, stride, dilation))]
    [got] = run("REDUCE_WINDOW", inputs, [Tensor(want.shape, dtype)], reduce_function=function)
    assert got.tolist() == np.asarray(want).astype(dtype).tolist()


def test_reduce_window():
    x = np.array([[1, 2, 3], [4, 5, 6]], f32)
    inputs = window_inputs(x, [2, 2], [1, 1], [1, 1])
    for function, want in (
        (1, [[13, 17]]),
        (2, [[40, 180]]),
        (3, [[1, 1]]),
        (4, [[5, 6]]),
        (5, [[1, 1]]),
        (6, [[1, 1]]),
    ):
        assert run("REDUCE_WINDOW", inputs, [Tensor([2, 3], "float32")], reduce_function=function)[0].tolist() == want


@pytest.mark.parametrize("attributes", [([2], [1, 1], [1, 1]), ([2, 2], [0, 1], [1, 1]), ([-1, 2], [1, 1], [1, 1])])
def test_reduce_window_refuses(attributes):
    with pytest.raises(REFUSED):
        x = np.zeros([2, 3], f32)
        run("REDUCE_WINDOW", window_inputs(x, *attributes), [Tensor([2, 3], "float32")], reduce_function=1)


def test_bits_of_known_generators():
    """The example of Salmon et al.'s reference code for keys and counters of all ones and zeros."""
    state = np.zeros(2, np.uint64)
    outputs = [Tensor([2], "uint64"), Tensor([2], "uint32")]
    after, bits = run("STABLEHLO_RNG_BIT_GENERATOR", [(state, "uint64")], outputs, algorithm="THREEFRY")
    assert [hex(b) for b in bits] == ["0x6b200159", "0x99ba4efe"]
    assert after.tolist() == [0, 1]
    outputs = [Tensor([3], "uint64"), Tensor([4], "uint32")]
    _, bits = run("STABLEHLO_RNG_BIT_GENERATOR", [(np.zeros(3, np.uint64), "uint64")], outputs, algorithm="PHILOX")
    assert [hex(b) for b in bits] == ["0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8"]


def test_more_numbers_are_more_draws():
    """The counter's upper half takes the carry."""
    state = np.array([5, 2**32 - 3], np.uint64)
    outputs = [Tensor([2], "uint64"), Tensor([101], "uint32")]
    after, bits = run("STABLEHLO_RNG_BIT_GENERATOR", [(state, "uint64")], outputs, algorithm="THREEFRY")
    assert after.tolist() == [5, 2**32 - 3 + 51]
    outputs[1] = Tensor([2], "uint32")
    for draw in range(50):
        at = np.array([5, 2**32 - 3 + draw], np.uint64)
        [_, two] = run("STABLEHLO_RNG_BIT_GENERATOR", [(at, "uint64")], outputs, algorithm="THREEFRY")
        assert two.tolist() == bits[2 * draw : 2 * draw + 2].tolist()


def test_a_state_of_another_size_is_refused():
    for size, algorithm in ((1, "PHILOX"), (3, "THREEFRY"), (4, "DEFAULT")):
        with pytest.raises(REFUSED):
            outputs = [Tensor([size], "uint64"), Tensor([4], "uint32")]
            inputs = [(np.zeros(size, np.uint64), "uint64")]
            run("STABLEHLO_RNG_BIT_GENERATOR", inputs, outputs, algorithm=algorithm)


def calling(op, branches, inputs, **options):
    """A model whose main operator calls subgraphs, each of one operator on two int32 vectors."""
    model = Model()
    main = model.subgraph("main")
    graphs = []
    for i, name in enumerate(branches):
        graph = model.subgraph(f"branch{i}")
        graph.op(name, [Tensor([2], "int32"), Tensor([2], "int32")], [Tensor([2], "int32")])
        graphs.append(graph)
    main.op(op, inputs, [Tensor([2], "int32")], **options)
    return model


def test_case():
    index, a, b = Tensor([], "int32"), Tensor([2], "int32"), Tensor([2], "int32")
    model = calling("STABLEHLO_CASE", ["ADD", "MUL", "SUB"], [index, a, b], branch_subgraph_indices=[1, 2, 3])
    values = np.array([5, 6], i32), np.array([2, 3], i32)
    for i, want in ((0, [7, 9]), (1, [10, 18]), (2, [3, 3]), (-1, [3, 3]), (3, [3, 3])):
        assert run_model(model, [np.array(i, i32), *values])[0].tolist() == want


def test_composite():
    a, b = Tensor([2], "int32"), Tensor([2], "int32")
    options = {"name": "anything", "decomposition_subgraph_index": 1, "composite_attributes": [0]}
    model = calling("STABLEHLO_COMPOSITE", ["SUB"], [a, b], **options)
    for resolver in _RESOLVERS:
        assert run_model(model, [np.array([5, 6], i32), np.array([2, 3], i32)], resolver)[0].tolist() == [3, 3]


@pytest.mark.parametrize("indices", [[], [0], [1, 9], [-1]])
def test_branches_that_do_not_exist_are_refused(indices):
    index, a, b = Tensor([], "int32"), Tensor([2], "int32"), Tensor([2], "int32")
    model = calling("STABLEHLO_CASE", ["ADD"], [index, a, b], branch_subgraph_indices=indices)
    with pytest.raises((*REFUSED, RecursionError)):
        run_model(model, [np.array(0, i32), np.zeros(2, i32), np.zeros(2, i32)])
    model = calling("STABLEHLO_COMPOSITE", ["ADD"], [a, b], decomposition_subgraph_index=[-1, *indices][-1])
    with pytest.raises((*REFUSED, RecursionError)):
        run_model(model, [np.zeros(2, i32), np.zeros(2, i32)])
