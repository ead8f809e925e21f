"""Truncated, flipped and spliced files: either ValueError, or a model that an independent reader reads in full."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tflm_cy.schema.model import Model

from .flat import build, rich, strings, with_tensor
from .judge import judge, read

SPARSE = rich()
SPARSE["subgraphs"][0]["tensors"][3]["sparsity"] = {
    "traversal_order": [0, 1, 2, 3],
    "block_map": [0, 1],
    "dim_metadata": [
        {"dense_size": 1},
        {
            "format": 1,
            "array_segments": ("Int32Vector", {"values": [0, 1]}),
            "array_indices": ("Uint8Vector", {"values": [0]}),
        },
        {"dense_size": 2},
        {"dense_size": 1},
    ],
}
SPARSE["subgraphs"][0]["tensors"][3]["shape"] = [2, 1]
MODELS = {
    "rich": build(rich()),
    "blocks": build(SPARSE),
    "strings": build(with_tensor({"shape": [3], "type": 5}, strings("a", "", "ccc"))),
    "small": build(with_tensor({"shape": [2]}, bytes(8))),
}


def survive(content):
    """Load, and read whatever loads. True when it was accepted."""
    try:
        model = Model.from_buffer(content)
    except ValueError as error:
        assert str(error)
        return False
    _ = model.description, model.signatures, [bytes(value) for value in model.metadata.values()]
    judge(content)
    return True


@pytest.mark.parametrize("name", MODELS)
def test_judge_reads_what_was_written(name):
    assert survive(MODELS[name])
    assert read(MODELS["rich"])["subgraphs"][0]["operators"][3]["builtin_options"]["shared_name"] == b"v"


@pytest.mark.parametrize("name", MODELS)
def test_every_truncation(name):
    content = MODELS[name]
    accepted = [length for length in range(len(content)) if survive(content[:length])]
    # Only padding at the end may be missing.
    assert all(length >= len(content) - 8 for length in accepted)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("value", [0x00, 0x01, 0x7F, 0x80, 0xFF])
def test_every_byte(name, value):
    content = bytearray(MODELS[name])
    for at, byte in enumerate(MODELS[name]):
        content[at] = value
        survive(bytes(content))
        content[at] = byte


@pytest.mark.parametrize("name", MODELS)
def test_random_flips(name):
    random = np.random.default_rng(6)
    for _ in range(1500):
        content = bytearray(MODELS[name])
        for at in random.integers(0, len(content), random.integers(1, 6)):
            content[at] ^= 1 << int(random.integers(0, 8))
        survive(bytes(content))


INTERESTING = st.sampled_from(
    [0, 1, 2, 4, 7, 8, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**32 - 4]
)


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(sorted(MODELS)), st.data())
def test_words_of_interest(name, data):
    """Numbers where lengths, offsets and signs go wrong, written over aligned words."""
    content = bytearray(MODELS[name])
    for _ in range(data.draw(st.integers(1, 4))):
        width = data.draw(st.sampled_from([2, 4]))
        at = data.draw(st.integers(0, len(content) // width - 1)) * width
        content[at : at + width] = (data.draw(INTERESTING) % 2 ** (8 * width)).to_bytes(width, "little")
    survive(bytes(content))


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(MODELS)), st.sampled_from(sorted(MODELS)), st.data())
def test_splices(first, second, data):
    """The head of one file, the rest of another."""
    cut = data.draw(st.integers(8, len(MODELS[first])))
    survive(MODELS[first][:cut] + MODELS[second][data.draw(st.integers(0, len(MODELS[second]))) :])


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_noise(tail):
    survive(b"\x10\0\0\0TFL3" + tail)
