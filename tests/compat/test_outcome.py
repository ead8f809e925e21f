"""Comparison is by bytes: what equals as numbers may still differ."""

import numpy as np
import pytest

from compat.outcome import Array, Outcome, difference


def ok(*arrays):
    return Outcome("ok", [[Array.of(a) for a in arrays]])


def test_equal_bytes_are_equal():
    values = np.array([1.0, np.nan, -0.0, np.inf], np.float32)
    assert difference(ok(values), ok(values.copy())) is None
    assert difference(ok(np.zeros([0, 3], np.int8)), ok(np.zeros([0, 3], np.int8))) is None


def test_the_sign_of_zero_counts():
    found = difference(ok(np.float32([1, 0.0])), ok(np.float32([1, -0.0])))
    assert found == "invoke 0, output 0: float32 [2], 1 of 2 elements: [1] 0.0 (0x00000000) <> -0.0 (0x80000000)"


def test_the_payload_and_sign_of_nan_count():
    nans = [np.array([bits], np.uint32).view(np.float32) for bits in (0x7FC00000, 0xFFC00000, 0x7FC00001)]
    assert difference(ok(nans[0]), ok(nans[0])) is None
    assert "0xffc00000" in difference(ok(nans[0]), ok(nans[1]))
    assert "0x7fc00001" in difference(ok(nans[0]), ok(nans[2]))


@pytest.mark.parametrize(
    ("b", "text"),
    [
        (np.zeros(3, np.float64), "float32 [3] <> float64 [3]"),
        (np.zeros([1, 3], np.float32), "float32 [3] <> float32 [1, 3]"),
        (np.array([0, 0, 1e-45], np.float32), "1 of 3 elements: [2]"),
    ],
)
def test_type_shape_and_the_smallest_number_count(b, text):
    assert text in difference(ok(np.zeros(3, np.float32)), ok(b))


def test_every_output_and_invoke_counts():
    one, two = np.int8([1]), np.int8([2])
    assert "output 1" in difference(ok(one, one), ok(one, two))
    a, b = ok(one), ok(one)
    a.invokes.append([Array.of(one)])
    assert difference(a, b) == "2 <> 1 invokes"
    assert "1 <> 2 outputs" in difference(ok(one), ok(one, one))


def test_what_a_delegate_took_counts_before_the_bytes():
    def delegated(*nodes):
        return Outcome("ok", [[Array.of(np.int8([1]))]], delegates=[[list(i), list(o)] for i, o in nodes])

    one, other = ([0, 1], [2]), ([0, 1], [2, 3])
    assert difference(delegated(one), delegated(one)) is None
    assert (
        difference(delegated(one, one), delegated(one, other)) == "delegate node 1: [0, 1] -> [2] <> [0, 1] -> [2, 3]"
    )
    assert difference(delegated(one), delegated()) == "delegate nodes: [0, 1] -> [2] <> none"
    assert difference(delegated(one), ok(np.int8([1]))) is None  # a side that does not show its nodes


def test_exceptions_compare_by_type():
    def raised(error, text):
        return Outcome("raised", error=error, stage="invoke", text=text)

    assert difference(raised("RuntimeError", "one"), raised("RuntimeError", "two")) is None
    assert difference(raised("RuntimeError", "one"), raised("ValueError", "one")) is not None
    assert difference(ok(np.int8([1])), raised("RuntimeError", "no")).startswith(
        "ok  <>  raised RuntimeError in invoke: no"
    )


def test_strings_and_unknown_types_are_bytes():
    assert difference(ok(np.array([b"a", b"b"], object)), ok(np.array([b"a", b"c"], object))) is not None
    assert difference(
        Outcome("ok", [[Array("bfloat16", (1,), b"\0\1")]]), Outcome("ok", [[Array("bfloat16", (1,), b"\0\2")]])
    )


def test_outcomes_survive_json():
    before = ok(np.array([np.nan, -0.0], np.float32), np.zeros([0], np.int8))
    before.delegates = [[[0, 1], [2]]]
    after = Outcome.from_json(before.to_json())
    assert after == before and after.invokes[0][0].values().tobytes() == before.invokes[0][0].data


def test_plans_of_all_subgraphs_count():
    def planned(*graphs):
        return Outcome("ok", [[Array.of(np.int8([1]))]], plans=[list(graph) for graph in graphs])

    main, branch, other = ([0, 1], []), ([2], [[2, [0, 1], [0], [2]]]), ([2], [[2, [1, 0], [0], [2]]])
    assert difference(planned(main, branch), planned(main, branch)) is None
    assert "delegate nodes of subgraph 1" in difference(planned(main, branch), planned(main, other))
    assert "plan of subgraph 0: [0, 1] <> [2]" in difference(planned(main), planned(branch))
    assert difference(planned(main), planned(main, branch)) == "1 <> 2 subgraphs"
    assert difference(planned(main), Outcome("ok", [[Array.of(np.int8([1]))]])) is None  # a side that shows none


def test_the_call_that_raises_counts_unless_asked_otherwise():
    early, late = (Outcome("raised", stage=stage, error="RuntimeError") for stage in ("allocate_tensors", "invoke"))
    assert difference(early, early) is None
    assert "in allocate_tensors" in difference(early, late) and "in invoke" in difference(early, late)
    assert difference(early, late, calls=False) is None
