"""compat.delegation: claims and plans are judged, not what other nodes accept; both sides are this package here."""

import numpy as np
import pytest

from compat import delegation
from compat.builder import Model, Tensor
from compat.case import Case
from compat.execute import execute
from compat.live_plans import Memory, read_plans
from compat.outcome import Outcome
from compat.run import DIFFERS, EQUAL, NOT_COMPARED, REFUSED, Result
from compat.sides import load_side


def model():
    x, y, z = (Tensor([4], "float32") for _ in range(3))
    built = Model()
    main = built.subgraph("main")
    main.op("NEG", [x], [y])
    main.op("LOG", [y], [z])
    return built.to_bytes()


def test_a_case_without_feeds_is_planned_only():
    side = load_side("tflm_cy")
    outcome = execute(side.start(), Case("PLAN", "x", "y", 0, model(), []), "BUILTIN_REF", 1, side.plans)
    assert outcome.status == "ok" and outcome.invokes == [] and outcome.plans == [[[0, 1], []]]
    resized = Case(
        "PLAN", "x", "y", 0, model(), [], resizes={0: [3, 3]}, options={"experimental_preserve_all_tensors": True}
    )
    assert execute(side.start(), resized, "BUILTIN_REF", 1, side.plans).status == "ok"
    assert resized.digest() != Case("PLAN", "x", "y", 0, model(), []).digest()


def test_the_plans_count_where_allocation_fails():
    broken = Model.single("ADD", [Tensor([2], "float32"), Tensor([3], "float32")], [Tensor([3], "float32")]).to_bytes()
    side = load_side("tflm_cy")
    outcome = execute(side.start(), Case("PLAN", "x", "y", 0, broken, []), "BUILTIN_REF", 1, side.plans)
    assert outcome.status == "raised" and outcome.plans == [[[0], []]]


def result(a, b, verdict=DIFFERS):
    return Result(Case("PLAN", "x", "y", 0, b"", []), "AUTO", a, b, verdict)


def outcome(status="ok", plans=(), text=""):
    return Outcome(status, text=text, plans=None if plans is None else list(plans), delegates=[])


def test_verdicts():
    plan, other = [[0], []], [[1], [[1, [0], [0], [1]]]]
    refused = "Node number 0 (LOG) failed to prepare."
    failed = "Node number 1 (TfLiteXNNPackDelegate) failed to prepare."
    assert delegation.judged(result(outcome(plans=[plan]), outcome(plans=[plan])))[0] == EQUAL
    assert delegation.judged(result(outcome(plans=[plan]), outcome("raised", [plan], refused)))[0] == EQUAL
    assert delegation.judged(result(outcome(plans=[plan]), outcome("raised", [plan], failed)))[0] == DIFFERS
    assert delegation.judged(result(outcome("raised", [plan], failed), outcome("raised", [plan], failed)))[0] == EQUAL
    verdict, text = delegation.judged(result(outcome(plans=[plan]), outcome("raised", [other], refused)))
    assert verdict == DIFFERS and "plan of subgraph 0" in text
    assert delegation.judged(result(outcome(plans=[plan]), outcome("raised", None)))[0] == DIFFERS
    assert delegation.judged(result(outcome("raised", None), outcome("raised", None)))[0] == REFUSED
    assert delegation.judged(result(outcome("crashed", None), outcome(), NOT_COMPARED))[0] == NOT_COMPARED


def test_models_of_a_file_and_of_a_folder(tmp_path, capsys):
    (tmp_path / "some.tflite").write_bytes(model())
    (tmp_path / "neighbour.py").write_text("SHAPE = (2, 2)\n")
    (tmp_path / "made.py").write_text(
        "import neighbour\nfrom pathlib import Path\n\n"
        "def cases():\n"
        "    blob = (Path(__file__).parent / 'some.tflite').read_bytes()\n"
        "    yield 'resized', blob, {'resize': {0: neighbour.SHAPE}}\n"
        "    yield 'apart', blob, {'experimental_disable_delegate_clustering': True}\n"
    )
    arguments = ["--a", "tflm_cy", "--b", "tflm_cy", "--models", str(tmp_path), "--cases", str(tmp_path / "made.py")]
    assert delegation.main(arguments) == 0
    shown = capsys.readouterr().out
    assert "3 cases in" in shown and "3 equal" in shown and "plans of 3 subgraphs" in shown


def test_reading_memory_never_leaves_the_process_without_an_error():
    with open("/proc/self/mem", "rb", buffering=0) as file:
        memory = Memory(file)
        data = np.arange(4, dtype=np.int32)
        assert memory.integers(data.ctypes.data, data.ctypes.data + 16) == [0, 1, 2, 3]
        for address in (0, 8, 1 << 60, -1):
            with pytest.raises(OSError):
                memory.read(address, 8)


def test_an_interpreter_of_another_make_has_no_plans_to_read():
    class Other:
        def __init__(self, model_content):
            self._interpreter = self

        def interpreter(self):
            return 4096

    assert read_plans(Other(None), {}) is None
