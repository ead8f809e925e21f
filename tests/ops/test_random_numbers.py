"""Random numbers: known bits of the generator, state from invoke to invoke, distributions."""

import numpy as np
import pytest

from compat.builder import Tensor

from .one_operator import interpret, run

REFUSED = (ValueError, RuntimeError)


def numbers(op, n, invokes=1, **seeds):
    interpreter = interpret(op, [np.array([n], np.int32)], [Tensor([n], "float32")], **seeds)
    found = []
    for _ in range(invokes):
        interpreter.invoke()
        found.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).copy())
    return np.concatenate(found)


def philox(counter, key):
    for _ in range(10):
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [b >> 32 ^ counter[1] ^ key[0], b & 0xFFFFFFFF, a >> 32 ^ counter[3] ^ key[1], a & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return counter


def test_uniform_numbers_are_philox():
    bits = [b for i in range(4) for b in philox([i, 0, 2, 0], [1, 0])]
    want = np.array([(b & 0x7FFFFF) / 2**23 for b in bits], np.float32)
    assert numbers("RANDOM_UNIFORM", 8, 2, seed=1, seed2=2).tolist() == want.tolist()


def test_seeds_of_more_than_32_bits_are_cut():
    assert numbers("RANDOM_UNIFORM", 4, seed=1, seed2=2).tolist() == (
        numbers("RANDOM_UNIFORM", 4, seed=1 + 2**40, seed2=2 + 2**33).tolist()
    )


def test_without_seeds_nothing_repeats():
    assert numbers("RANDOM_UNIFORM", 9).tolist() != numbers("RANDOM_UNIFORM", 9).tolist()


def test_normal_numbers():
    values = numbers("RANDOM_STANDARD_NORMAL", 20001, seed=5)
    assert abs(values.mean()) < 0.03
    assert abs(values.std() - 1) < 0.03


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_multinomial(dtype):
    logits = np.log(np.array([[0.5, 0.25, 0.25], [1e-9, 1e-9, 1]], np.float32))
    inputs = [(logits, "float32"), np.array(3000, np.int32)]
    picks = run("MULTINOMIAL", inputs, [Tensor([2, 3000], dtype)], seed=3)[0]
    assert np.allclose(np.bincount(picks[0].astype(np.intp), minlength=3) / 3000, [0.5, 0.25, 0.25], atol=0.05)
    assert (picks[1] == 2).all()


@pytest.mark.parametrize("samples, shape", [(-1, [2, 3]), (4, [6]), (4, [2, 0])])
def test_multinomial_refuses(samples, shape):
    with pytest.raises(REFUSED):
        inputs = [(np.zeros(shape), "float32"), np.array(samples, np.int32)]
        run("MULTINOMIAL", inputs, [Tensor([2, 4], "int32")], seed=3)


@pytest.mark.parametrize("shape", [[-1], [2**30, 2**30, 2**30]])
def test_a_shape_that_cannot_be_is_refused(shape):
    with pytest.raises((*REFUSED, MemoryError)):
        run("RANDOM_UNIFORM", [(np.array(shape), "int32")], [Tensor([1], "float32")], seed=3)
