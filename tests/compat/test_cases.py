"""Generated cases: the same name always gives the same bytes; every family of the foundation is there."""

import subprocess
import sys
from pathlib import Path

import pytest

from compat.builder import operator_name, read_model
from compat.cache import OutcomeCache
from compat.cases import generated_cases, kinds, operators
from compat.outcome import Outcome

KINDS = kinds()
ROOT = Path(__file__).parents[2]


def test_a_default_run_has_at_least_1500_cases_of_more_than_100_operators():
    assert len(KINDS) * 4 >= 1500 and len(operators()) > 95
    assert len({(k.op, k.dtype, k.variant) for k in KINDS}) == len(KINDS)


@pytest.mark.parametrize("op", operators())
def test_cases_are_reproducible_and_name_their_operator(op):
    for one, again in zip(generated_cases([3], ops=[op]), generated_cases([3], ops=[op]), strict=True):
        assert one.id == again.id and one.digest() == again.digest()
        model = read_model(one.model)
        used = {operator_name(model, o) for graph in model["subgraphs"] for o in graph["operators"]}
        assert one.op in used or one.op == "GRAPH"
        assert len(one.feeds) == 3 and all(len(f) == len(model["subgraphs"][0]["inputs"]) for f in one.feeds)


def test_seeds_and_variants_differ():
    digests = [case.digest() for case in generated_cases(range(4), ops=["CONV_2D"])]
    assert len(set(digests)) == len(digests)


def test_50_seeds_of_graphs_are_more_than_1000_of_every_sort():
    graphs = kinds(["GRAPH"])
    assert len(graphs) * 50 > 1000
    assert {k.dtype for k in graphs} == {"float32", "int8", "uint8", "dynamic_range", "float16", "mixed"}
    models = [read_model(case.model) for case in generated_cases(range(2), 1, ops=["GRAPH"])]
    counts = [sum(len(graph["operators"]) for graph in model["subgraphs"]) for model in models]
    assert 4 < sum(counts) / len(counts) < 9 and max(counts) < 25
    used = {operator_name(m, o) for m in models for graph in m["subgraphs"] for o in graph["operators"]}
    assert len(used) > 50


def test_selection():
    assert {k.dtype for k in kinds(["CONV_2D"], "int8")} == {"int8"}
    assert {k.variant for k in kinds(variant="per channel")} >= {"per channel"}
    assert kinds(["CONV_2D"], "complex64") == []


def test_outcomes_are_cached_by_case_and_mode(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("compat.cache.side_version", lambda side, python=None: {"released": "released 1.0"}.get(side))
    cache, outcome = OutcomeCache("released"), Outcome("crashed", error="SIGABRT")
    cache.put("digest", "AUTO", outcome)
    assert cache.get("digest", "AUTO") == outcome and cache.get("digest", "AUTO", threads=2) is None
    assert cache.get("digest", "BUILTIN_REF") is None and cache.get("other", "AUTO") is None
    assert OutcomeCache("released", enabled=False).get("digest", "AUTO") is None
    ours = OutcomeCache("tflm_cy")
    ours.put("digest", "AUTO", outcome)
    assert ours.get("digest", "AUTO") is None


def test_a_family_imported_by_itself_does_not_hide_the_others():
    program = "import compat.cases.spectrum; from compat.cases import operators; print(*operators())"
    result = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(result.stdout.split()) == set(operators())
