"""Each bar met, missed and not judged, on rows made by hand."""

import pytest

from benchmarks.bars import MET, MISSED, NOT_JUDGED, judge

PLACE = {"model": "tflm/hello_world_int8.tflite", "mode": "AUTO", "theirs": "tensorflow", "threads": 1, "kind": "int8"}


def row(minima, medians=None, **given):
    """ours / theirs, as the bars say it; rows hold theirs / ours."""
    medians = minima if medians is None else medians
    return {**PLACE, "ratio_min": 1 / minima, "ratio_median": 1 / medians, **given}


def call_row(minima, medians, **given):
    return {**PLACE, "together": row(minima, medians), **given}


def not_run(blamed, **given):
    return {**PLACE, "not_run": "raised", "blamed": blamed, **given}


def imports(seconds, rss):
    theirs = {"side": "ai_edge_litert", "seconds": 0.008, "rss": 9e6}
    return [{"side": "tflm_cy", "seconds": seconds, "rss": rss}, theirs]


def memory(ours, theirs):
    place = {"model": "m", "mode": "AUTO", "import_rss": 5e6}
    return [{**place, "side": "tflm_cy", "rss": 5e6 + ours}, {**place, "side": "tensorflow", "rss": 5e6 + theirs}]


REFERENCE = {"mode": "BUILTIN_REF"}
OPTIMIZED = {"mode": "BUILTIN_WITHOUT_DEFAULT_DELEGATES"}
TWO = {"threads": 2}


@pytest.mark.parametrize(
    ("results", "bar", "verdict"),
    [
        ({"latency": [row(0.349)]}, "AUTO, one thread: geometric", MET),
        ({"latency": [row(0.2), row(0.6)]}, "AUTO, one thread: geometric", MET),
        ({"latency": [row(0.2), row(0.7)]}, "AUTO, one thread: geometric", MISSED),
        ({"latency": [row(0.3, 0.36)]}, "AUTO, one thread: geometric", MISSED),
        ({"latency": [row(0.36, 0.3)]}, "AUTO, one thread: geometric", MISSED),
        ({"latency": [row(0.74, kind="float32")]}, "AUTO, one thread: geometric", MET),
        ({"latency": [row(0.26, kind="uint8")]}, "AUTO, one thread: geometric", MISSED),
        ({"latency": [row(0.5, kind="other")]}, "AUTO, one thread: geometric", NOT_JUDGED),
        ({"latency": [row(0.98)]}, "AUTO, one thread: no model above 0.98", MET),
        ({"latency": [row(0.2, 0.99)]}, "AUTO, one thread: no model above 0.98", MISSED),
        ({"latency": [row(0.2), not_run("tensorflow")]}, "AUTO, one thread: no model above 0.98", MET),
        ({"latency": [row(0.2), not_run("tflm_cy")]}, "AUTO, one thread: no model above 0.98", MISSED),
        ({"latency": [row(0.2), not_run(None)]}, "AUTO, one thread: no model above 0.98", MISSED),
        ({"latency": [row(0.36, **TWO)]}, "2 threads: geometric", MISSED),
        ({"latency": [row(0.99, **TWO)]}, "2 threads: no model above 0.98", MISSED),
        ({"latency": [row(0.99, **TWO)]}, "AUTO, one thread: no model above 0.98", NOT_JUDGED),
        ({"latency": [row(0.2), row(0.2, beside_one_thread=row(1.04), **TWO)]}, "slower with two threads", MET),
        ({"latency": [row(0.2), row(0.2, beside_one_thread=row(0.9, 1.06), **TWO)]}, "slower with two threads", MISSED),
        ({"latency": [row(0.2), row(0.2, **TWO)]}, "slower with two threads", NOT_JUDGED),
        ({"latency": [row(0.61, model="wakeword/micro_hey_jarvis.tflite")]}, "micro_okay_nabu", MISSED),
        ({"latency": [row(0.6)]}, "micro_okay_nabu", NOT_JUDGED),
        ({"latency": [row(0.05, **REFERENCE), row(0.19, **REFERENCE)]}, "BUILTIN_REF, one thread: geometric", MET),
        ({"latency": [row(0.11, **REFERENCE)]}, "BUILTIN_REF, one thread: geometric", MISSED),
        ({"latency": [row(1.01, **REFERENCE)]}, "BUILTIN_REF, one thread: no model", MISSED),
        ({"latency": [row(0.51, **OPTIMIZED)]}, "DELEGATES, one thread: geometric", MISSED),
        ({"latency": [row(0.5, theirs="tflite_micro")]}, "AUTO, one thread: geometric", NOT_JUDGED),
        ({"calls": [call_row(0.3, 0.29)]}, "hello_world", MET),
        ({"calls": [call_row(0.31, 0.2)]}, "hello_world", MISSED),
        ({"calls": [call_row(0.1, 0.1), call_row(0.1, 0.4)]}, "hello_world", MISSED),
        ({"calls": [call_row(1, 1, model="simple_add.tflite")]}, "hello_world", NOT_JUDGED),
        ({"load": [row(1.0)]}, "load + allocate", MET),
        ({"load": [row(0.9, 1.01)]}, "load + allocate", MISSED),
        ({"rss": memory(2e6, 2e6)}, "memory than in TensorFlow", MET),
        ({"rss": memory(2.1e6, 2e6)}, "memory than in TensorFlow", MISSED),
        ({"rss": memory(2.1e6, 2e6)[:1]}, "memory than in TensorFlow", NOT_JUDGED),
        ({"import": imports(0.007, 5e6)}, "import tflm_cy", MET),
        ({"import": imports(0.009, 5e6)}, "import tflm_cy", MISSED),
        ({"import": imports(0.007, 9.1e6)}, "import tflm_cy", MISSED),
        ({"import": imports(0.007, 5e6)[:1]}, "import tflm_cy", NOT_JUDGED),
        ({"size": [{"side": "tflm_cy", "total": 9_999_999}]}, "installed package", MET),
        ({"size": [{"side": "tflm_cy", "total": 10_000_000}]}, "installed package", MISSED),
        ({"size": [{"side": "tensorflow", "total": 1}]}, "installed package", NOT_JUDGED),
    ],
)
def test_verdicts(results, bar, verdict):
    (judged,) = [found for found in judge(results) if bar in found.text]
    assert judged.verdict == verdict and all(judged.details)


@pytest.mark.parametrize(
    ("results", "bar", "verdict"),
    [
        ([row(0.64)], "AUTO, one thread: geometric", MET),
        ([row(0.66)], "AUTO, one thread: geometric", MISSED),
        ([row(0.9, kind="uint8")], "AUTO, one thread: geometric", NOT_JUDGED),
        ([row(0.9, kind="uint8"), row(0.6)], "AUTO, one thread: geometric", MET),
        ([row(0.76, kind="float32")], "AUTO, one thread: geometric", MISSED),
        ([row(0.66, **TWO)], "2 threads: geometric", MISSED),
        ([row(1.09)], "AUTO, one thread: no model above 1.1", MET),
        ([row(0.2, 1.11)], "AUTO, one thread: no model above 1.1", MISSED),
    ],
)
def test_less_is_asked_of_products_of_bytes_without_tiles(results, bar, verdict):
    (judged,) = [found for found in judge({"latency": results}, "avx512") if bar in found.text]
    assert judged.verdict == verdict and all(judged.details)


def test_nothing_measured_is_nothing_judged():
    assert {bar.verdict for bar in judge({})} == {NOT_JUDGED}


def test_every_offender_is_named():
    rows = [row(1.2, model="a"), row(0.5, model="b"), row(1.5, model="c"), not_run("tflm_cy", model="d")]
    (bar,) = [bar for bar in judge({"load": rows}) if "load + allocate" in bar.text]
    assert bar.details[0] == "3 of 4 comparisons"
    assert [line.split(":")[0] for line in bar.details[1:]] == ["c", "a", "d"]
