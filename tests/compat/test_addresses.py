"""Whose temporaries are whose, and in which arena TensorFlow plans them: on shapes that an interpreter would show."""

import pytest

from compat.addresses.kernels import KEPT, NONE, RW, arenas, first_dynamic, temporaries


def observed(shapes, nodes, types=None):
    """What `compat.addresses.observed` gives; shapes per index, None for a tensor that is not shown."""
    types = types or {}
    tensors = [
        {"index": i, "shape": list(shape), "type": types.get(i, "float32")}
        for i, shape in enumerate(shapes)
        if shape is not None
    ]
    return {"tensors": tensors, "nodes": [{"op": op, "inputs": i, "outputs": o} for op, i, o in nodes]}


def test_hybrid_convolutions_share_no_numbers():
    image, filters, one = [1, 8, 8, 2], [4, 3, 3, 2], [4, 1, 1, 4]
    conv, out = [1, 8, 8, 4], [1, 8, 8, 4]
    parts = [[1, 8, 8, 18], image, [64], [4, 64]]  # a matrix of patches first; a window of one pixel needs none
    seen = observed(
        [image, filters, one, conv, out, *parts, conv, [64], [4, 64]],
        [("CONV_2D", [0, 1, -1], [3]), ("CONV_2D", [3, 2, -1], [4])],
        {1: "int8", 2: "int8"},
    )
    kinds = arenas(seen, {1, 2}, [])
    assert temporaries(seen, 5, kinds, False) == {
        0: [(5, RW), (6, RW), (7, RW), (8, RW)],
        1: [(9, RW), (10, RW), (11, RW)],
    }
    with pytest.raises(ValueError, match="belong to no node"):
        temporaries(seen, 4, kinds, False)


def test_unused_temporaries_count():
    seen = observed(
        [[1, 4], [3, 4], [1, 3], None, None, None, None, None, None, [2], [1], [1, 3]],
        [("FULLY_CONNECTED", [0, 1, -1], [2]), ("MEAN", [2, 1], [0])],
    )
    kinds = arenas(seen, {1}, [])
    assert temporaries(seen, 3, kinds, True) == {0: [], 1: [(9, RW), (10, RW), (11, RW)]}


def test_kernels_that_ask_when_they_are_made_come_first():
    seen = observed(
        [[1, 4]] * 4 + [None] * 1,
        [("FULLY_CONNECTED", [0, 1, -1], [2]), ("SVDF", [2, 1, 1, -1, 3], [0])],
    )
    seen["tensors"] += [{"index": 4 + k, "shape": [1], "type": "float32"} for k in (0, 3, 5, 6)]
    found = temporaries(seen, 4, arenas(seen, {1}, [3]), True)
    assert found == {1: [(4, RW), (7, KEPT), (9, KEPT)], 0: [(10, RW)]}


def test_constants_computed_once_and_what_follows_them():
    seen = observed(
        [[8]] * 5,
        [("DENSIFY", [0], [1]), ("DEQUANTIZE", [1], [2]), ("MUL", [0, 0], [3]), ("CAST", [0], [4])],
    )
    assert arenas(seen, {0}, []) == {0: NONE, 1: KEPT, 2: RW, 3: NONE, 4: KEPT}


def test_a_shape_that_is_computed_ends_the_first_plan():
    seen = observed([[8], [2], [2, 4], [2, 4]], [("ABS", [0], [0]), ("RESHAPE", [0, 1], [2]), ("ABS", [2], [3])])
    assert first_dynamic(seen, arenas(seen, {1}, [])) is None
    assert first_dynamic(seen, arenas(seen, set(), [])) == 1
