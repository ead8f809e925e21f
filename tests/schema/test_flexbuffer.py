"""Custom operators' options against the flatbuffers package, and damaged ones."""

import doctest
import random

import pytest
from flatbuffers import flexbuffers

from tflm_cy.schema import flexbuffer
from tflm_cy.schema.flexbuffer import options


def test_the_example():
    assert doctest.testmod(flexbuffer).failed == 0


def maps(rng):
    for width in (1, 7, 15, 31, 62):
        count = rng.randint(1, 40)
        yield {
            "k" * rng.randint(1, 9) + str(i): rng.choice(
                [rng.randint(-(2**width), 2**width), rng.random(), 0.5, True, False]
            )
            for i in range(count)
        }


def test_maps_of_scalars():
    rng = random.Random(0)
    for _ in range(40):
        for wanted in maps(rng):
            assert options(bytes(flexbuffers.Dumps(wanted))) == wanted


def test_what_is_not_needed_reads_as_none():
    assert options(flexbuffers.Dumps({"a": [1, 2, 3], "b": "text", "c": 4})) == {"a": None, "b": None, "c": 4}
    assert options(b"") == {}


def test_damaged_bytes_raise_value_error_at_most():
    rng = random.Random(1)
    content = bytes(flexbuffers.Dumps({"frame_size": 480, "frame_step": 320, "prefill": True, "x": 0.1}))
    for _ in range(3000):
        damaged = bytearray(content[: rng.randint(1, len(content))] if rng.random() < 0.3 else content)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        try:
            options(damaged)
        except ValueError:
            continue


@pytest.mark.parametrize("content", [b"\1", flexbuffers.Dumps([1, 2]), flexbuffers.Dumps(7)])
def test_no_map(content):
    with pytest.raises(ValueError, match="custom options"):
        options(content)
