"""odml.scaled_dot_product_attention in the default mode: what it computes, shared heads, attributes, refusals."""

import numpy as np
import pytest
from flatbuffers import flexbuffers

from compat.builder import Model, Tensor
from tflm_cy import Interpreter

from .delegated import invoke, only_where_supported

pytestmark = only_where_supported

NAME = "odml.scaled_dot_product_attention"


def model_of(arrays, shape=None, attributes=b""):
    inputs = [Tensor(a.shape, "float32") for a in arrays]
    return Model.single(
        NAME, inputs, [Tensor(shape or arrays[0].shape, "float32")], custom_options=attributes
    ).to_bytes()


def run(*arrays, **attributes):
    return invoke(model_of(arrays, attributes=bytes(flexbuffers.Dumps(attributes))), arrays)[0]


def attention(q, k, v, mask=0.0, scale=None, cap=None):
    """The textbook's, in float64; heads of k and v repeated."""
    groups = q.shape[2] // k.shape[2]
    k, v = (np.repeat(x, groups, 2).astype(np.float64) for x in (k, v))
    logits = np.einsum("btnh,bsnh->bnts", q.astype(np.float64), k) * (scale or q.shape[3] ** -0.5)
    logits = (np.tanh(logits / cap) * cap if cap else logits) + mask
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return np.einsum("bnts,bsnh->btnh", weights / weights.sum(-1, keepdims=True), v)


def random(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("key_heads", [1, 2, 4])
@pytest.mark.parametrize("attributes", [{}, {"scale": 0.5}, {"logit_cap": 2.0}, {"scale": 2.0, "logit_cap": 0.5}])
def test_values(key_heads, attributes):
    q, k, v = random(1, 5, 4, 8), random(1, 21, key_heads, 8), random(1, 21, key_heads, 8) + 1
    want = attention(q, k, v, scale=attributes.get("scale"), cap=attributes.get("logit_cap"))
    np.testing.assert_allclose(run(q, k, v, **attributes), want, atol=2e-6)


@pytest.mark.parametrize("shape", [(1, 1, 3, 7), (7,), (3, 7), (2, 1, 3, 7), (1, 4, 1, 7)])
def test_a_mask_is_added(shape):
    q, k, v = random(2, 3, 4, 5), random(2, 7, 4, 5), random(2, 7, 4, 5)
    mask = np.where(random(*shape) > 0.5, np.float32(-1e30), np.float32(0))
    np.testing.assert_allclose(run(q, k, v, mask), attention(q, k, v, mask), atol=2e-6)


def test_batches_of_keys_broadcast():
    q, k, v = random(3, 2, 2, 4), random(1, 6, 2, 4), random(1, 6, 2, 4)
    np.testing.assert_allclose(run(q, k, v), attention(q, np.repeat(k, 3, 0), np.repeat(v, 3, 0)), atol=2e-6)


def test_no_batches_at_all():
    assert run(*(np.zeros(shape, np.float32) for shape in ((0, 2, 3, 4), (0, 6, 3, 4), (0, 6, 3, 4)))).shape == (
        0,
        2,
        3,
        4,
    )


def test_a_single_head_of_keys_meets_the_keys_of_all_batches():
    q, k, v = random(1, 2, 2, 4), random(3, 5, 1, 4), random(1, 15, 1, 4)
    np.testing.assert_allclose(run(q, k, v), attention(q, k.reshape(1, 15, 1, 4), v), atol=2e-6)


def test_a_scale_stored_as_double_is_read_by_its_lower_half():
    """As TensorFlow does; 0.1 is no float32, so that the package stores eight bytes, of which the first four are nearly 0."""
    q, k, v = random(1, 2, 2, 4), random(1, 6, 2, 4), random(1, 6, 2, 4)
    np.testing.assert_allclose(run(q, k, v, scale=0.1), np.broadcast_to(v.mean(1, keepdims=True), q.shape), atol=2e-6)


@pytest.mark.parametrize(
    "shapes",
    [
        [(1, 2, 3, 4), (1, 6, 2, 4), (1, 6, 2, 4)],  # three heads in groups of two
        [(1, 2, 2, 4), (1, 6, 2, 4), (1, 5, 2, 4)],  # a value too few
        [(2, 2, 2, 4), (3, 6, 2, 4), (3, 6, 2, 4)],  # batches that do not broadcast
        [(1, 2, 4, 4), (2, 6, 2, 4), (2, 6, 2, 4)],  # groups would mix batches
        [(2, 2, 4), (2, 6, 4), (2, 6, 4)],
        [(1, 2, 2, 0), (1, 6, 2, 0), (1, 6, 2, 0)],
        [(1, 2, 2, 4), (1, 0, 2, 4), (1, 0, 2, 4)],
        [(1, 2, 0, 4), (1, 6, 0, 4), (1, 6, 0, 4)],
        [(1, 2, 2, 4), (1, 6, 2, 4), (1, 6, 2, 4), (1, 3, 2, 6)],  # masks of three heads
    ],
)
def test_shapes_that_do_not_fit(shapes):
    interpreter = Interpreter(model_content=model_of([np.zeros(shape, np.float32) for shape in shapes]))
    with pytest.raises(RuntimeError, match=NAME):
        interpreter.allocate_tensors()


def test_attributes_that_are_no_flexbuffer():
    arrays = [random(1, 2, 2, 4)] * 3
    with pytest.raises(RuntimeError, match="custom options"):
        Interpreter(model_content=model_of(arrays, attributes=b"\x01\x02\x03\x04")).allocate_tensors()
