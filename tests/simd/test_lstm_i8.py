"""The fully quantized LSTM: every instruction set against the scalar definition, on random layers."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.draws import KERNEL_CASES

from .instruction_sets import ISAS, check, telling

GATES = 4


def layer(seed):
    """A model of one node and its input: plain gates, or (rarely) without an input gate, which no kernel takes."""
    rng = np.random.default_rng(seed)
    batch, time = int(rng.integers(1, 4)), int(rng.integers(1, 6))
    inputs = int(rng.choice([1, 3, 4, 5, 28, 64, 65, 130]))
    cells = int(rng.choice([1, 2, 15, 16, 17, 20, 33, 48]))
    cell_scale = 2.0 ** int(rng.integers(-15, -8))
    x_scale, h_scale = (float(np.float32(v)) for v in rng.uniform(0.005, 0.1, 2))
    if rng.random() < 0.2:  # multipliers at the ends of their range
        x_scale *= 2.0 ** int(rng.integers(-60, 60))
    x_zero, h_zero = (int(rng.integers(-128, 128)) for _ in range(2))

    def weight(columns):
        data = (
            rng.choice([-127, 127], (cells, columns))
            if rng.random() < 0.2
            else rng.integers(-127, 128, (cells, columns))
        )
        return Tensor.constant(data.astype(np.int8), scale=float(np.float32(rng.uniform(1e-4, 0.02))), zero_point=0)

    def bias():
        reach = int(rng.choice([1, 1000, 10_000_000, 2**31 - 1]))
        return Tensor.constant(
            rng.integers(-reach, reach, cells, endpoint=True).astype(np.int32), scale=1e-4, zero_point=0
        )

    coupled = rng.random() < 0.1
    time_major = bool(rng.random() < 0.3)
    lead = [time, batch] if time_major else [batch, time]
    x = Tensor([*lead, inputs], "int8", scale=x_scale, zero_point=x_zero)
    y = Tensor([*lead, cells], "int8", scale=h_scale, zero_point=h_zero)
    tensors = [
        x,
        *(None if coupled and g == 0 else weight(inputs) for g in range(GATES)),
        *(None if coupled and g == 0 else weight(cells) for g in range(GATES)),
        *[None] * 3,
        *(None if coupled and g == 0 else bias() for g in range(GATES)),
        None,
        None,
        Tensor([batch, cells], "int8", scale=h_scale, zero_point=h_zero, variable=True),
        Tensor([batch, cells], "int16", scale=cell_scale, zero_point=0, variable=True),
        *[None] * GATES,
    ]
    between = [Tensor([], "int16", scale=2.0**-12, zero_point=0) for _ in range(GATES)]
    between.append(Tensor([], "int8", scale=h_scale, zero_point=h_zero))
    model = Model()
    main = model.subgraph("main")
    main.op(
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        tensors,
        [y],
        3,
        intermediates=between,
        fused_activation_function="TANH",
        time_major=time_major,
        cell_clip=float(rng.choice([0, 0.5, 3])),
    )
    main.inputs, main.outputs = [x], [y]
    return model.to_bytes(), [rng.integers(-128, 128, x.shape).astype(np.int8)]


@pytest.mark.parametrize("isa", ISAS)
def test_steps(isa):
    for seed in range(KERNEL_CASES):
        blob, feeds = layer(seed)
        with telling(f"seed {seed}"):
            check(isa, blob, feeds)
