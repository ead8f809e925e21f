"""Nothing generated is out of date, links lead somewhere, README stays short, no file that a page names is missing."""

import doctest
import re

import pytest
from blocks import PAGES, ROOT

LINK = re.compile(r"(?<!`)\[[^\]]*\]\(([^)\s]+)\)")
GUIDES = ["tflm_cy/ops/README.md", "compat/README.md", "benchmarks/README.md"]
PATH = re.compile(
    r"`((?:tflm_cy|tests|compat|benchmarks|documents|docs|examples)/[\w./-]+|(?:graph|simd|ops|schema)/[\w/-]+\.\w+)`"
)


@pytest.fixture
def documents(monkeypatch):
    pytest.importorskip("flatbuffers", reason="compat's cases need flatbuffers")
    monkeypatch.syspath_prepend(str(ROOT))
    from documents import __main__ as documents

    return documents


def test_what_is_generated_is_up_to_date(documents):
    stale = [
        str(path.relative_to(ROOT))
        for path, text in documents.generated()
        if not path.exists() or path.read_text() != text
    ]
    assert stale == [], "run `python -m documents`"


@pytest.mark.parametrize("name", ["blocks", "passes", "operators", "deviations"])
def test_examples_of_the_generators(name, documents):
    import importlib

    assert doctest.testmod(importlib.import_module(f"documents.{name}")).failed == 0


def test_the_list_of_passes_is_read(documents, monkeypatch):
    from collections import namedtuple

    from documents import passes

    listed = [
        namedtuple("Pass", "name summary")("fuse_epilogues", "It fuses."),
        type("bind", (), {"name": "bind", "__doc__": "Binds.\n\nMore."}),
    ]
    import tflm_cy.graph.passes as package

    monkeypatch.setattr(package, "PASSES", listed, raising=False)
    assert [name for name, _ in passes.passes()] == ["partition", "rewrite", "fuse_epilogues", "bind"]
    assert "| 4 | `bind` | Binds. |" in passes.content() and "fuse_epilogues" in passes.picture()


@pytest.mark.parametrize("page", [*PAGES, *GUIDES])
def test_links_lead_somewhere(page):
    for target in LINK.findall((ROOT / page).read_text()):
        if "://" in target:
            continue
        path, _, anchor = target.partition("#")
        file = (ROOT / page).parent / path if path else ROOT / page
        assert file.exists(), f"{page}: {target}"
        if anchor and file.suffix == ".md":
            titles = re.findall(r"^#+ (.+)$", file.read_text(), re.M)
            assert anchor in [re.sub(r"[^\w -]", "", t).strip().lower().replace(" ", "-") for t in titles], target


@pytest.mark.parametrize("page", [*PAGES, *GUIDES])
def test_files_that_are_named_exist(page):
    for name in PATH.findall((ROOT / page).read_text()):
        places = (ROOT / name, ROOT / "tflm_cy" / name)
        assert any(place.exists() for place in places), f"{page}: {name}"


def test_readme_is_short():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 180


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text()
    for page in PAGES:
        if page.startswith("docs/"):
            assert page.removeprefix("docs/") in navigation, page


def test_every_environment_variable_is_told():
    page = (ROOT / "docs/environment.md").read_text()
    sources = [path for suffix in ("py", "pyx", "pxd") for path in ROOT.glob(f"tflm_cy/**/*.{suffix}")]
    sources += [ROOT / "setup.py", *ROOT.glob("tests/**/*.py")]
    asks = re.compile(r'(?:environ(?:\.get\(|\[)|getenv\(|size_of_level\(\d, b)"(TFLM_CY_\w+)"')
    named = {name for path in sources for name in asks.findall(path.read_text())}
    assert {"TFLM_CY_ISA", "TFLM_CY_MMAP", "TFLM_CY_L2"} <= named
    assert {name for name in named if f"`{name}`" not in page} == set()


def test_every_instruction_set_is_in_the_table_of_kernels():
    from tflm_cy.simd import table

    page = (ROOT / "docs" / "kernels.md").read_text()
    _, *rows = re.findall(r"^\| `(\w+)` \|", page[: page.index("Without the variable")], re.M)
    assert rows == [*table.MODULES, "scalar"]
    assert set(table.ROWS) == set(table.MODULES)


def test_the_index_of_operators_is_where_the_pages_say():
    from tflm_cy.ops import index

    assert index.MODULES["CONV_2D"] == "conv_2d"
    assert (ROOT / "tflm_cy" / "ops" / "conv_2d.pyx").exists()
