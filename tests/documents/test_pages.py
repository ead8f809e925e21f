"""Nothing generated is out of date, links lead somewhere, README stays short, no file that a page names is missing."""

import doctest
import re

import pytest
from blocks import PAGES, ROOT

LINK = re.compile(r"(?<!`)\[[^\]]*\]\(([^)\s]+)\)")
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


@pytest.mark.parametrize("page", PAGES)
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


@pytest.mark.parametrize("page", PAGES)
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
