"""Each bar met, missed and not judged, on rows made by hand."""

import pytest

from benchmarks.bars import MET, MISSED, NOT_JUDGED, judge


def row(ratio_min=3.0, ratio_median=3.0, **given):
    place = {"model": "tflm/hello_world_int8.tflite", "mode": "BUILTIN_REF", "theirs": "tensorflow"}
    return {**place, "ratio_min": ratio_min, "ratio_median": ratio_median, **given}


def call_row(ratio_min, ratio_median, **given):
    return row(together={"ratio_min": ratio_min, "ratio_median": ratio_median}, **given)


def not_run(blamed, **given):
    place = {"model": "tflm/hello_world_int8.tflite", "mode": "BUILTIN_REF", "theirs": "tensorflow"}
    return {**place, "not_run": "raised", "blamed": blamed, **given}


def imports(seconds, rss):
    theirs = {"side": "ai_edge_litert", "seconds": 0.008, "rss": 9e6}
    return [{"side": "tflm_cy", "seconds": seconds, "rss": rss}, theirs]


@pytest.mark.parametrize(
    ("results", "bar", "verdict"),
    [
        ({}, 0, NOT_JUDGED),
        ({"calls": [call_row(2.0, 2.1)]}, 0, MET),
        ({"calls": [call_row(1.9, 2.1)]}, 0, MISSED),
        ({"calls": [call_row(2.1, 1.9)]}, 0, MISSED),
        ({"calls": [call_row(9, 9), call_row(1, 1)]}, 0, MISSED),
        ({"calls": [call_row(1, 1, model="simple_add.tflite")]}, 0, NOT_JUDGED),
        ({"calls": [call_row(1, 1, theirs="tflite_micro")]}, 0, NOT_JUDGED),
        ({"latency": []}, 1, NOT_JUDGED),
        ({"latency": [row(1.0, 1.0)]}, 1, MET),
        ({"latency": [row(0.99, 1.2)]}, 1, MISSED),
        ({"latency": [row(1.2, 0.99)]}, 1, MISSED),
        ({"latency": [row(0.5, 0.5, mode="AUTO")]}, 1, NOT_JUDGED),
        ({"latency": [row(), not_run("tensorflow")]}, 1, MET),
        ({"latency": [row(), not_run("tflm_cy")]}, 1, MISSED),
        ({"latency": [row(), not_run(None)]}, 1, MISSED),
        ({"import": imports(0.007, 5e6)}, 2, MET),
        ({"import": imports(0.009, 5e6)}, 2, MISSED),
        ({"import": imports(0.007, 9.1e6)}, 2, MISSED),
        ({"import": imports(0.007, 5e6)[:1]}, 2, NOT_JUDGED),
        ({"size": [{"side": "tflm_cy", "total": 5_999_999}]}, 3, MET),
        ({"size": [{"side": "tflm_cy", "total": 6_000_000}]}, 3, MISSED),
        ({"size": [{"side": "tensorflow", "total": 1}]}, 3, NOT_JUDGED),
    ],
)
def test_verdicts(results, bar, verdict):
    judged = judge(results)
    assert judged[bar].verdict == verdict and all(judged[bar].details)
    assert all(other.verdict == NOT_JUDGED for i, other in enumerate(judged) if i != bar)
