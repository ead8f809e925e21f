"""Geometric means by kind and folder, kinds of models, and the page that shows them."""

from xml.etree import ElementTree

import numpy as np
import pytest

import benchmarks.kinds
from benchmarks.bars import judge
from benchmarks.kinds import kind_of
from benchmarks.means import by_folder, by_kind
from benchmarks.models import hello_worlds
from benchmarks.page import to_page
from benchmarks.readme import markdown, replace
from benchmarks.settings import Settings
from compat.builder import Model, Tensor

TIMES = {"ours_min": 1e-5, "ours_median": 1.1e-5, "theirs_min": 2e-5, "theirs_median": 2.2e-5, "pairs": 150}
MACHINE = {"cpu": "A <CPU>", "cpus_allowed": 2, "python": "3.11", "time": "now", "sides": {"tensorflow": "2.21"}}


def row(model, kind, ratio, **given):
    place = {"model": model, "mode": "AUTO", "theirs": "tensorflow", "threads": 1, "kind": kind}
    return {**place, "ratio_min": 1 / ratio, "ratio_median": 1 / ratio, **TIMES, **given}


ROWS = [
    row("a/x.tflite", "int8", 0.25),
    row("a/y.tflite", "int8", 1.0),
    row("b/z.tflite", "float32", 0.5),
    row("b/z.tflite", "float32", 0.6, threads=2),
    {**row("b/broken.tflite", "int8", 1.0), "not_run": "raised", "blamed": "tflm_cy"},
]


def test_means_by_kind_and_folder():
    found = {(mean["group"], mean["threads"]): mean for mean in by_kind(ROWS)}
    assert list(found) == [("int8", 1), ("float32", 1), ("float32", 2)]
    mean = found["int8", 1]
    assert mean["models"] == 2 and mean["of_minima"] == pytest.approx(0.5) and mean["slowest"] == "a/y.tflite"
    assert [(mean["group"], mean["models"]) for mean in by_folder(ROWS)] == [("a", 2), ("b", 1), ("b", 1)]


def product(x_type, w_type, through=None):
    quantized = {"scale": 0.1, "zero_point": 0}
    small = ("int8", "uint8")
    model = Model("one layer")
    graph = model.subgraph("main")
    x = graph.tensor(Tensor([1, 4], x_type, **(quantized if x_type in small else {})))
    y = Tensor([1, 2], x_type, **(quantized if x_type in small else {}))
    w = Tensor.constant(np.zeros((2, 4), w_type), **(quantized if w_type in small else {}))
    if through:
        plain = Tensor([2, 4], "float32")
        graph.op(through, [w], [plain])
        w = plain
    graph.op("FULLY_CONNECTED", [x, w], [y], version=4)
    return model.to_bytes()


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        ("float32", product("float32", "float32")),
        ("int8", product("int8", "int8")),
        ("uint8", product("uint8", "uint8")),
        ("dynamic range", product("float32", "int8")),
        ("float16", product("float32", "float16", "DEQUANTIZE")),
        ("other", b"no model"),
    ],
)
def test_kinds(kind, model):
    assert kind_of(model) == kind


def test_kinds_of_the_built_models():
    assert [kind_of(case.model) for case in hello_worlds()] == ["float32", "int8"]
    assert set(benchmarks.kinds.WEIGHTS) >= {"CONV_2D", "FULLY_CONNECTED"}


def test_the_page_is_complete_and_well_formed():
    memory = [
        {"model": "a/x.tflite", "mode": "AUTO", "side": side, "rss": 9e6, "import_rss": 5e6}
        for side in ("tflm_cy", "tensorflow")
    ]
    results = {"latency": ROWS, "load": [row("a/x.tflite", "int8", 1.3)], "rss": memory}
    page = to_page(MACHINE, results, judge(results))
    assert "A &lt;CPU&gt;" in page and ">4.00" in page
    for part in page.split("<svg")[1:]:
        root = ElementTree.fromstring("<svg" + part.split("</svg>")[0] + "</svg>")
        assert root.findall(".//{http://www.w3.org/2000/svg}circle")
    assert page.count("<circle") == 5  # four latencies that ran, one load


def test_the_table_in_a_readme():
    text = "a\n<!-- benchmarks -->\nold\n<!-- /benchmarks -->\nb\n"
    new = replace(text, markdown(MACHINE, ROWS))
    assert new.startswith("a\n<!-- benchmarks -->\n| kind | models | AUTO, 1 thread | AUTO, 2 threads |\n")
    assert "| int8 | 2 | 0.50 (1.00) |  |" in new and "old" not in new and new.endswith("-->\nb\n")
    assert replace(new, "x") == replace(text, "x")
    with pytest.raises(ValueError, match="benchmarks"):
        replace("no marks", "x")


def test_only_one_thread_is_pinned():
    assert Settings.chosen(threads=1).with_threads(2).cpu is None
    assert Settings.chosen(threads=2).with_threads(1).cpu == Settings.chosen(threads=1).cpu
