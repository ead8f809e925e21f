"""RNN and UNIDIRECTIONAL_SEQUENCE_RNN against double precision, the state carried from invoke to invoke."""

import numpy as np
import pytest

from compat.builder import Tensor

from .recurrent import float_constant, float_state, int8_constant
from .successive import REFUSED, outputs

BATCH, TIME, INPUTS, UNITS = 2, 3, 9, 6
RNG = np.random.default_rng(1)
W, R = RNG.standard_normal((UNITS, INPUTS)) * 0.4, RNG.standard_normal((UNITS, UNITS)) * 0.4
B = RNG.standard_normal(UNITS)
FEEDS = [RNG.standard_normal((BATCH, TIME, INPUTS)).astype(np.float32) for _ in range(2)]


def real_outputs(feeds):
    h, found = np.zeros((BATCH, UNITS)), []
    for x in feeds:
        y = np.empty((BATCH, x.shape[1], UNITS))
        for t in range(x.shape[1]):
            h = np.tanh(x[:, t] @ W.T + h @ R.T + B)
            y[:, t] = h
        found.append(y)
    return found


def inputs(shape, weight):
    return [Tensor(shape, "float32"), weight(W), weight(R), float_constant(B), float_state([BATCH, UNITS])]


@pytest.mark.parametrize("asymmetric", [False, True])
@pytest.mark.parametrize(("weight", "tolerance"), [(float_constant, 1e-5), (int8_constant, 0.05)])
def test_one_step(weight, tolerance, asymmetric):
    feeds = [x[:, :1] for x in FEEDS]
    options = {"fused_activation_function": "TANH", "asymmetric_quantize_inputs": asymmetric}
    got = outputs("RNN", inputs([BATCH, INPUTS], weight), [Tensor([BATCH, UNITS], "float32")], [[x[:, 0]] for x in feeds], 3,
                  **options)  # fmt: skip
    for y, want in zip(got, real_outputs(feeds), strict=True):
        assert np.abs(y - want[:, 0]).max() < tolerance


@pytest.mark.parametrize("time_major", [False, True])
@pytest.mark.parametrize(("weight", "tolerance"), [(float_constant, 1e-5), (int8_constant, 0.08)])
def test_sequences(weight, tolerance, time_major):
    axes = (1, 0, 2) if time_major else (0, 1, 2)
    shape = [TIME, BATCH] if time_major else [BATCH, TIME]
    got = outputs("UNIDIRECTIONAL_SEQUENCE_RNN", inputs([*shape, INPUTS], weight), [Tensor([*shape, UNITS], "float32")],
                  [[np.ascontiguousarray(x.transpose(axes))] for x in FEEDS], 3, fused_activation_function="TANH",
                  time_major=time_major)  # fmt: skip
    for y, want in zip(got, real_outputs(FEEDS), strict=True):
        assert np.abs(y.transpose(axes) - want).max() < tolerance


@pytest.mark.parametrize("which", range(1, 5))
def test_weights_that_do_not_fit_are_refused(which):
    tensors = inputs([BATCH, INPUTS], float_constant)
    wrong = [*tensors[which].shape[:-1], tensors[which].shape[-1] + 1]
    tensors[which] = float_state(wrong) if which == 4 else float_constant(np.zeros(wrong))
    with pytest.raises(REFUSED):
        outputs(
            "RNN", tensors, [Tensor([BATCH, UNITS], "float32")], [[FEEDS[0][:, 0]]], fused_activation_function="TANH"
        )
