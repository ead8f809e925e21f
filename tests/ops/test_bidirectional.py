"""BIDIRECTIONAL_SEQUENCE_RNN and BIDIRECTIONAL_SEQUENCE_LSTM against two cells in numpy, and what is refused."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tflm_cy import Interpreter, OpResolverType

from .evaluate import REFUSED
from .recurrent import Lstm


def invoke(model, arrays, times=2):
    """The outputs of each of some invokes, states going on."""
    interpreter = Interpreter(model_content=model.to_bytes(), experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    found = []
    for _ in range(times):
        for detail, array in zip(interpreter.get_input_details(), arrays, strict=True):
            interpreter.set_tensor(detail["index"], array)
        interpreter.invoke()
        found.append([interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()])
    return found


def constant(values):
    return Tensor.constant(np.asarray(values, np.float32))


class Rnn:
    """A cell of tanh, all float64."""

    def __init__(self, seed, inputs, units, aux=0):
        rng = np.random.default_rng(seed)
        self.w, self.r, self.b, self.a = (
            rng.standard_normal(s) * 0.4 for s in ([units, inputs], [units, units], [units], [units, aux])
        )

    def run(self, x, h, aux=None):
        y = np.empty([*x.shape[:2], len(self.b)])
        for n, sequence in enumerate(x):
            for t, values in enumerate(sequence):
                extra = 0 if aux is None else self.a @ aux[n, t]
                h[n] = np.tanh(self.w @ values + extra + self.r @ h[n] + self.b)
                y[n, t] = h[n]
        return y


def both(cells, x, states, aux=None):
    """Outputs of the forward cell, and of the backward cell in the order of the sequence."""
    given = [(), ()] if aux is None else [(aux,), (aux[:, ::-1],)]
    return [cells[0].run(x, *states[0], *given[0]), cells[1].run(x[:, ::-1], *states[1], *given[1])[:, ::-1]]


def rnn_model(x, cells, time_major=False, merged=False, aux=None, states=True, **options):
    swap = (lambda v: v.swapaxes(0, 1)) if time_major else (lambda v: v)
    inputs = [Tensor(swap(x).shape, "float32")]
    for cell in cells:
        state = Tensor([len(x), len(cell.b)], "float32", variable=states)
        inputs += [constant(cell.w), constant(cell.r), constant(cell.b), state]
    inputs += (
        [None] * 3 if aux is None else [Tensor(swap(aux).shape, "float32"), constant(cells[0].a), constant(cells[1].a)]
    )
    shapes = [[*swap(x).shape[:2], len(cell.b)] for cell in cells]
    if merged:
        shapes = [[*shapes[0][:2], shapes[0][2] + shapes[1][2]]]
    options = {"time_major": time_major, "merge_outputs": merged, "fused_activation_function": "TANH", **options}
    return Model.single("BIDIRECTIONAL_SEQUENCE_RNN", inputs, [Tensor(s, "float32") for s in shapes], **options)


@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("with_aux", [False, True])
def test_rnn(time_major, merged, with_aux):
    rng = np.random.default_rng(1)
    x = rng.standard_normal([2, 4, 5]).astype(np.float32)
    aux = rng.standard_normal([2, 4, 5]).astype(np.float32) if with_aux else None
    cells, states = [Rnn(2, 5, 3, 5), Rnn(3, 5, 6, 5)], [[np.zeros([2, 3])], [np.zeros([2, 6])]]
    swap = (lambda v: v.swapaxes(0, 1)) if time_major else (lambda v: v)
    arrays = [swap(x), *([swap(aux)] if with_aux else [])]
    for got in invoke(rnn_model(x, cells, time_major, merged, aux), arrays):
        want = both(cells, x, states, aux)
        want = [np.concatenate(want, -1)] if merged else want
        for a, b in zip(got, want, strict=True):
            assert np.allclose(swap(a), b, atol=1e-5)


def lstm_model(x, cells, time_major=False, merged=False, **options):
    swap = (lambda v: v.swapaxes(0, 1)) if time_major else (lambda v: v)
    inputs, states = [Tensor(swap(x).shape, "float32")], []
    for cell in cells:
        state = [Tensor([len(x), n], "float32", variable=True) for n in (cell.outputs, cell.cells)]
        inputs += cell.tensors(None, *state, constant, constant)[1:18]
        states += state
    inputs += [*states, *[None] * 9]
    shapes = [[*swap(x).shape[:2], cell.outputs] for cell in cells]
    if merged:
        shapes = [[*shapes[0][:2], shapes[0][2] + shapes[1][2]]]
    options = {"time_major": time_major, "merge_outputs": merged, "fused_activation_function": "TANH", **options}
    return Model.single("BIDIRECTIONAL_SEQUENCE_LSTM", inputs, [Tensor(s, "float32") for s in shapes], 3, **options)


@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("kind", [{}, {"coupled": True}, {"peephole": True}, {"projection": True, "outputs": 2}])
def test_lstm(time_major, merged, kind):
    x = np.random.default_rng(1).standard_normal([2, 4, 5]).astype(np.float32)
    cells = [Lstm(seed, 5, 3, **kind) for seed in (2, 3)]
    states = [[np.zeros([2, c.outputs]), np.zeros([2, c.cells])] for c in cells]
    swap = (lambda v: v.swapaxes(0, 1)) if time_major else (lambda v: v)
    for got in invoke(lstm_model(x, cells, time_major, merged), [swap(x)]):
        want = both(cells, x, states)
        want = [np.concatenate(want, -1)] if merged else want
        for a, b in zip(got, want, strict=True):
            assert np.allclose(swap(a), b, atol=1e-5)


def test_cells_of_different_sizes_are_refused():
    x = np.zeros([2, 4, 5], np.float32)
    with pytest.raises(REFUSED, match="n_cell"):
        invoke(lstm_model(x, [Lstm(2, 5, 3), Lstm(3, 5, 4)]), [x])


@pytest.mark.parametrize(
    "index, shape", [(2, [3, 4]), (5, [3, 4]), (12, [4]), (23, [4, 3]), (33, [3, 3]), (40, [3, 5]), (9, [3])]
)
def test_weights_that_do_not_fit_are_refused(index, shape):
    x = np.zeros([2, 4, 5], np.float32)
    model = lstm_model(x, [Lstm(2, 5, 3), Lstm(3, 5, 3)])
    model.subgraphs[0].operators[0]["inputs"][index] = model.subgraphs[0].tensor(constant(np.zeros(shape)))
    if index == 33:
        model.subgraphs[0].operators[0]["inputs"][34] = model.subgraphs[0].tensor(constant(np.zeros(4)))
    with pytest.raises(REFUSED):
        invoke(model, [x])


def test_states_must_be_variables():
    x = np.zeros([2, 4, 5], np.float32)
    model = rnn_model(x, [Rnn(2, 5, 3), Rnn(3, 5, 3)], states=False)
    with pytest.raises(REFUSED, match="variable"):
        invoke(model, [x, np.zeros([2, 3], np.float32), np.zeros([2, 3], np.float32)])


def test_other_activations():
    """The sign as 0 or 1, and a number that stands for none."""
    x = np.random.default_rng(4).standard_normal([2, 4, 5]).astype(np.float32)
    cells = [Rnn(2, 5, 3), Rnn(3, 5, 3)]
    for y in invoke(rnn_model(x, cells, fused_activation_function="SIGN_BIT"), [x]):
        assert set(np.unique(y)) <= {0.0, 1.0}
    unknown, none = (invoke(rnn_model(x, cells, fused_activation_function=code), [x]) for code in (99, "NONE"))
    assert all(map(np.array_equal, unknown, none))
