"""Cases with odd scales and inputs with empty or short sides: one thing changed in each, names that find them again."""

import numpy as np

from compat.builder import read_model
from compat.details import details_difference
from compat.odd import odd_cases


def scales(case):
    found = read_model(case.model)["subgraphs"][0]["tensors"]
    return [t["quantization"]["scale"].tolist() for t in found if t["quantization"] is not None]


def test_each_case_changes_one_tensor_or_all():
    cases = list(odd_cases([0], 1, ops=["ADD"], dtype="int8", variant="odd scale"))
    usual = scales(next(odd_cases([0], 1, ops=["ADD"], dtype="int8", variant="zero size")))
    changed = {case.variant: [a != b for a, b in zip(scales(case), usual, strict=True)] for case in cases}
    assert changed["odd scale t1 0"] == [False, True, False]
    assert changed["odd scale all 1e30"] == [True, True, True]
    assert changed["odd scale t2 zero point lowest"] == [False, False, False]
    assert len({case.id for case in cases}) == len(cases)


def test_half_of_the_bytes_are_the_lowest():
    [case] = odd_cases([0], 1, ops=["CONV_2D"], dtype="int8", variant="lowest bytes")
    [again] = odd_cases([0], 1, ops=["CONV_2D"], dtype="int8", variant="lowest bytes")
    model = read_model(case.model)
    filters = model["buffers"][model["subgraphs"][0]["tensors"][1]["buffer"]]["data"]
    for values in (case.feeds[0][0], np.frombuffer(bytes(filters), np.int8)):
        assert 0.3 < np.mean(values == -128) < 0.7
    assert case.digest() == again.digest()
    assert not list(odd_cases([0], 1, ops=["CONV_2D"], dtype="float32", variant="lowest bytes"))


def test_bytes_of_what_is_true_are_odd():
    cases = list(odd_cases([0], 1, ops=["SELECT_V2"], dtype="float32", variant="odd booleans"))
    found = np.concatenate([a.view(np.uint8).ravel() for case in cases for a in case.feeds[0] if a.dtype == bool])
    assert {0, 2, 255} <= set(found.tolist())
    retyped = [case for case in odd_cases([0], 1, ops=["ADD"], variant="odd booleans") if " as bool" in case.dtype]
    assert retyped and all(case.feeds[0][0].dtype == bool and case.origins for case in retyped)


def test_a_zero_size_is_the_first_feed_s_only():
    for case in odd_cases([0], 2, ops=["MUL"], dtype="float32", variant="zero size input 0"):
        first, second = ([a.shape for a in feed] for feed in case.feeds)
        assert 0 in first[0] and 0 not in second[0] and first[1:] == second[1:]
        assert np.prod(second[0]) > 0


def test_a_short_side_keeps_the_first_elements():
    cases = list(odd_cases([0], 2, ops=["SOFTMAX"], dtype="float32", variant="short side of 2"))
    assert cases
    for case in cases:
        (first,), (second,) = case.feeds
        d = int(case.variant.rpartition(" ")[2])
        assert first.shape[d] == 2 < second.shape[d] and first.ndim == second.ndim


def test_details_compare_by_key_and_kernels_tensors_are_left_out():
    ours = {"0": {"name": "'x'", "shape": "int32 [1]"}}
    assert details_difference({**ours, "1": {"name": "'scratch'"}}, ours) is None
    assert details_difference(ours, {**ours, "1": {"name": "'y'"}}) == "details of tensor 1: none <> 'y'"
    other = {"0": {"name": "'x'", "shape": "int32 [2]"}}
    assert details_difference(ours, other) == "details of tensor 0: shape int32 [1] <> int32 [2]"
    assert details_difference(None, ours) is None
