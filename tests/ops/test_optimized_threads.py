"""float32 CONV_2D with several threads in the optimized arithmetic: the sums of Eigen's contraction, for caches of a given size.

Each case names the way that Eigen's cost model takes and how it cuts; the numbers were checked against TensorFlow 2.21.
"""

import numpy as np
import pytest

from compat.builder import Model, Sparsity, Tensor
from tests.machine import AARCH64, of_x86_64
from tflm_cy import Interpreter, OpResolverType

F = np.float32


def panels(w, x, stretch):
    """y[i][j]: w @ x in Eigen's order, k cut into stretches."""
    total = np.zeros((len(w), x.shape[1]), F)
    for start in range(0, w.shape[1], stretch):
        total = total + panel(w[:, start : start + stretch], x[start : start + stretch])
    return total


def panel(w, x):
    """In order for the first n / 16 * 16 rows and the last m % 4 columns; even and odd k apart up to n / 4 * 4; k mod 8 below."""
    (n, k), m4, full = w.shape, x.shape[1] // 4 * 4, w.shape[1] // 8 * 8
    terms = [w[:, i : i + 1] * x[i : i + 1] for i in range(k)]
    zero = np.zeros((n, x.shape[1]), F)
    y = sum(terms, zero)
    halves = sum(terms[full:], sum(terms[0:full:2], zero) + sum(terms[1:full:2], zero))
    lanes = [sum(terms[lane:full:8], zero) for lane in range(8)]
    low, high = (lanes[0] + lanes[2]) + (lanes[4] + lanes[6]), (lanes[1] + lanes[3]) + (lanes[5] + lanes[7])
    low, high = sum(terms[full : k // 2 * 2 : 2], low), sum(terms[full + 1 : k // 2 * 2 : 2], high)
    eighths = sum(terms[k // 2 * 2 :], low + high)
    n16, n4 = n // 16 * 16, n // 4 * 4
    y[n16:n4, :m4] = halves[n16:n4, :m4]
    y[n4:, :m4] = eighths[n4:, :m4]
    return y


def added(parts):
    """The sums of parts of k: four at once, the last (n * m) % 8 outputs otherwise than the rest."""

    def four(a, b, c, d):
        shape, tail = a.shape, a.size - a.size % 8
        a, b, c, d = (v.T.ravel() for v in (a, b, c, d))
        return np.where(np.arange(a.size) < tail, (a + b) + (c + d), a + ((b + c) + d)).reshape(shape[::-1]).T

    groups = []
    for i in range(0, len(parts), 4):
        group = parts[i : i + 4]
        groups.append(four(*group) if len(group) == 4 else sum(group[1:], group[0]))
    assert len(groups) < 4
    return sum(groups[1:], groups[0])


def output_bytes(model, threads, *values):
    """What a model with one output computes in the optimized mode."""
    interpreter = Interpreter(
        model_content=model.to_bytes(),
        num_threads=threads,
        experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    interpreter.allocate_tensors()
    for detail, value in zip(interpreter.get_input_details(), values, strict=True):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).tobytes()


def convolve(w, x, threads, gathered):
    """w @ x as a convolution: of single pixels, or of windows of two neighbouring ones, k / 2 channels each."""
    (n, k), m = w.shape, x.shape[1]
    if gathered:
        image = np.concatenate([x[: k // 2].T, x[k // 2 :, -1:].T])
        x = np.concatenate([image[:-1].T, image[1:].T])
        image, filters = image[None, None], w.reshape(n, 1, 2, k // 2)
    else:
        image, filters = x.T[None, None], w.reshape(n, 1, 1, k)
    model = Model.single(
        "CONV_2D",
        [Tensor(image.shape, "float32"), Tensor.constant(filters), Tensor.constant(np.zeros(n, F))],
        [Tensor([1, 1, m, n], "float32")],
        padding="VALID",
        stride_w=1,
        stride_h=1,
    )
    interpreter = Interpreter(
        model_content=model.to_bytes(),
        num_threads=threads,
        experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    )
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.ascontiguousarray(image))
    interpreter.invoke()
    return x, interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0, 0].T


@pytest.fixture(autouse=True)
def caches(monkeypatch):
    for name, size in (("L1D", 48 << 10), ("L2", 2 << 20), ("L3", 480 << 20)):
        monkeypatch.setenv(f"TFLM_CY_{name}", str(size))


# n outputs, k, m pixels, threads, gathered -> outputs of a block, part of k, stretch of k
CASES = [
    (7, 300, 1, 2, False, 7, 300, 16),  # one pixel: stretches of 16
    (7, 100, 1, 4, False, 7, 100, 100),  # and whole when there are few
    (1, 33, 9, 2, False, 1, 33, 33),  # one thread: panels also for one output
    (20, 700, 12, 2, False, 20, 700, 352),  # whose stretches are those of the L1 cache
    (20, 330, 49, 2, True, 20, 330, 320),  # threads share pixels: stretches of 320
    (120, 330, 30, 2, True, 60, 330, 320),  # threads share outputs: blocks of 60
    (1, 400, 49, 2, True, 1, 200, 200),  # threads share k: two parts,
    (1, 700, 30, 2, True, 1, 352, 320),  # parts in stretches,
    (1, 330, 49, 4, True, 1, 96, 96),  # four parts at once and a tail,
    (1, 400, 49, 8, True, 1, 96, 96),  # and five
]


@of_x86_64
@pytest.mark.parametrize(("n", "k", "m", "threads", "gathered", "rows", "part", "stretch"), CASES)
def test_sums(n, k, m, threads, gathered, rows, part, stretch):
    rng = np.random.default_rng(n + k + m)
    w = rng.standard_normal((n, k)).astype(F)
    x, y = convolve(w, rng.standard_normal((k, m)).astype(F), threads, gathered)
    wanted = added(
        [
            np.concatenate([panels(w[i : i + rows, p : p + part], x[p : p + part], stretch) for i in range(0, n, rows)])
            for p in range(0, k, part)
        ]
    )
    np.testing.assert_array_equal(y.view(np.int32), wanted.view(np.int32))


def test_a_filter_that_is_fed_is_multiplied_as_by_one_thread():
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((1, 1, 49, 330)).astype(F), rng.standard_normal((20, 1, 1, 330)).astype(F)
    inputs = [Tensor(x.shape, "float32"), Tensor(w.shape, "float32"), Tensor.constant(np.zeros(20, F))]
    model = Model.single(
        "CONV_2D", inputs, [Tensor([1, 1, 49, 20], "float32")], padding="VALID", stride_w=1, stride_h=1
    )
    found = [output_bytes(model, threads, x, w) for threads in (1, 4)]
    assert found[0] == found[1]


@of_x86_64
@pytest.mark.parametrize(("dtype", "same"), [("float16", True), ("float32", False)])
def test_a_sparse_filter(dtype, same):
    """DENSIFY is kept by TensorFlow, DEQUANTIZE of its result is made anew in each invoke: no filter for several threads."""
    rng = np.random.default_rng(0)
    dense = (rng.standard_normal((48, 192)) * (rng.random((48, 192)) < 0.5)).astype(dtype)
    rows = [np.flatnonzero(row) for row in dense]
    stored = np.concatenate([row[at] for row, at in zip(dense, rows, strict=True)])
    segments = np.cumsum([0, *map(len, rows)])
    sparsity = Sparsity(
        [1, 2, 0, 3], [("dense", 1), ("dense", 1), ("dense", 48), ("csr", segments, np.concatenate(rows))]
    )
    model = Model()
    main = model.subgraph("main")
    shape = [48, 1, 1, 192]
    w = main.op("DENSIFY", [Tensor.constant(stored, shape=shape, sparsity=sparsity)], [Tensor(shape, dtype)])[0]
    if dtype == "float16":
        w = main.op("DEQUANTIZE", [w], [Tensor(shape, "float32")], version=3)[0]
    x, y = Tensor([1, 12, 12, 192], "float32"), Tensor([1, 12, 12, 48], "float32")
    main.op("CONV_2D", [x, w, Tensor.constant(np.zeros(48, F))], [y], padding="SAME", stride_w=1, stride_h=1)
    main.outputs = [y]
    values = rng.standard_normal(x.shape).astype(F)
    found = [output_bytes(model, threads, values) for threads in (1, 4)]
    assert (found[0] == found[1]) == same


def test_softmax_of_the_rows_of_a_thread():
    """Ten rows of three are as if there were no others: on aarch64 the last two values are beyond Eigen's vectors."""
    of_rows = {
        n: Model.single("SOFTMAX", [Tensor([n, 3], "float32")], [Tensor([n, 3], "float32")], beta=1.0)
        for n in (10, 15, 20)
    }
    for seed in range(10):
        x = np.random.default_rng(seed).standard_normal((20, 3)).astype(F)
        alone = output_bytes(of_rows[10], 1, x[:10])
        assert output_bytes(of_rows[20], 2, x)[: len(alone)] == alone
        assert output_bytes(of_rows[15], 2, x[:15]) == output_bytes(of_rows[15], 1, x[:15])


def test_denormals_of_softmax():
    """On aarch64 TensorFlow's threads, but the caller's, take them for zeros."""
    x = np.array([[0, -100]], F).repeat(16, 0)
    model = Model.single("SOFTMAX", [Tensor(x.shape, "float32")], [Tensor(x.shape, "float32")], beta=1.0)
    small = np.frombuffer(output_bytes(model, 2, x), F).reshape(x.shape)[:, 1]
    assert (small > 0).tolist() == [True] * 8 + [not AARCH64] * 8
