"""A few lives of each kind of interpreter leave nothing behind, and a leak of a few bytes would show."""

from pathlib import Path

import pytest

import tflm_cy
from benchmarks.leaks import KINDS, allocated, growth, leaks, life

CONTENT = (Path(tflm_cy.__file__).parent / "demo" / "digits_int8.tflite").read_bytes()
pytestmark = pytest.mark.skipif(allocated() is None, reason="this C library cannot count what it has allocated")


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_left_behind(kind):
    found = [growth(kind, CONTENT, 200) for _ in range(2)]  # without a GIL blocks are freed in bulk; a leak goes on
    assert not all(map(leaks, found)), found


def test_a_leak_would_show():
    kept = []

    def forgetful(kind, content):
        kept.append(bytes(life(kind, content).tobytes() * 64))

    assert leaks(growth("micro", CONTENT, 200, forgetful))
