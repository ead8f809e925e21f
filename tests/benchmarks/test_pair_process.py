"""Two fake sides in their process: figures, and every way to fail as a reason with the side that is to blame."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from benchmarks.failure import NotRunError
from benchmarks.pair import PairProcess
from benchmarks.run import Run
from benchmarks.settings import Settings
from benchmarks.sides import Session, load_side
from compat.case import Case

SETTINGS = Settings(pairs=5, burst=0.0, seconds=0.0, loads=5, imports=1, fresh=1)


def case(model=b"fine", shape=(1, 2)):
    return Case("fake", "float32", model.decode(), 0, model, [[np.ones(shape, np.float32)]])


@pytest.fixture(scope="module")
def pair():
    patch = pytest.MonkeyPatch()
    patch.syspath_prepend(str(Path(__file__).parent / "fake_sides"))
    pair = PairProcess(load_side("fake_steady"), load_side("fake_faulty"), timeout=20)
    yield pair
    pair.close()
    patch.undo()


@pytest.mark.parametrize("section", ["latency", "load"])
def test_figures_of_pairs(pair, section):
    figures = pair.measure(section, case(), "BUILTIN_REF", SETTINGS)
    assert figures["pairs"] == 5 and figures["ratio_min"] > 0
    assert figures.get("same_bytes", True)


def test_figures_of_every_call(pair):
    figures = pair.measure("calls", case(), "BUILTIN_REF", SETTINGS)
    assert set(figures) == {"set", "invoke", "get", "together", "same_bytes"}
    assert all(figures[call]["pairs"] == 5 for call in ("set", "invoke", "get", "together"))


def test_inputs_are_resized_to_what_is_fed(pair):
    assert pair.measure("latency", case(shape=(3, 5)), "BUILTIN_REF", SETTINGS)["same_bytes"]


def test_inputs_have_numpys_dtype_objects(fake_sides):
    unpickled = pickle.loads(pickle.dumps(case()))
    assert unpickled.feeds[0][0].dtype is not np.dtype(np.float32)
    side = load_side("fake_steady")
    session = Session(side, side.start(), unpickled, "BUILTIN_REF", 1)
    assert session.inputs[0][1].dtype is np.dtype(np.float32)


def test_different_results_are_told(pair):
    assert not pair.measure("latency", case(b"differ"), "BUILTIN_REF", SETTINGS)["same_bytes"]


def test_a_refusal_is_a_reason_and_the_process_lives_on(pair):
    with pytest.raises(NotRunError) as caught:
        pair.measure("latency", case(b"refuse"), "BUILTIN_REF", SETTINGS)
    assert "fake_faulty in allocate_tensors: raised ValueError: no such operator" in caught.value.reason
    assert caught.value.blamed == "fake_faulty" and not caught.value.fatal
    assert pair.measure("latency", case(), "BUILTIN_REF", SETTINGS)["pairs"] == 5


def test_a_crash_is_a_reason_and_the_next_model_gets_a_new_process(pair):
    with pytest.raises(NotRunError) as caught:
        pair.measure("load", case(b"abort"), "BUILTIN_REF", SETTINGS)
    assert "fake_faulty in invoke: crashed (SIGABRT)" in caught.value.reason
    assert "about to abort" in caught.value.reason and caught.value.fatal
    assert pair.measure("load", case(), "BUILTIN_REF", SETTINGS)["pairs"] == 5


def test_a_hang_is_a_reason(fake_sides):
    pair = PairProcess(load_side("fake_steady"), load_side("fake_faulty"), timeout=1)
    with pytest.raises(NotRunError) as caught:
        pair.measure("latency", case(b"hang"), "BUILTIN_REF", SETTINGS)
    assert "fake_faulty in invoke: hung (1 s)" in caught.value.reason
    pair.close()


def test_a_run_has_a_row_for_everything_and_blames_who_also_dies_alone(fake_sides):
    sections = ("latency", "rss")
    run = Run([case(b"abort")], ["BUILTIN_REF"], ["fake_faulty"], sections, SETTINGS, 20, ours="fake_steady")
    rows = list(run)
    assert len(rows) == len(run) == 3
    found = {(section, row.get("side", row.get("theirs"))): row for section, row in rows}
    assert found["latency", "fake_faulty"]["blamed"] == "fake_faulty"
    assert found["latency", "fake_faulty"]["not_run"].endswith("fake_faulty fails alone, too")
    assert "crashed (SIGABRT)" in found["rss", "fake_faulty"]["not_run"]
    assert found["rss", "fake_steady"]["total"] > 1_000_000


def test_tiny_models_are_built_when_none_are_given(fake_sides):
    rows = list(Run([], ["BUILTIN_REF"], ["fake_faulty"], ("calls",), SETTINGS, 20, ours="fake_steady"))
    assert [row["model"] for _, row in rows] == ["built/hello_world_float32", "built/hello_world_int8"]
