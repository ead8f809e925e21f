"""What README and the pages show works: python and console blocks run; what else is named exists."""

import importlib.util
import re
import shlex

import pytest
from blocks import PAGES, ROOT, blocks, furnish, run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    furnish(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(ROOT))  # compat.builder
    return tmp_path


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")])
def test_python_blocks(page, folder, capsys):
    names = {"__name__": "page"}
    for block in blocks(page, "python"):
        # Line breaks in front: a traceback then shows the line of the page.
        exec(compile("\n" * (block.line - 1) + block.text, str(ROOT / page), "exec"), names)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "console")])
def test_console_blocks(page, folder, capsys):
    for block in blocks(page, "console"):
        for line in block.text.splitlines():
            if line.startswith("$ "):
                assert run(line[2:]) == 0, f"{page}: {line}\n{capsys.readouterr().err}"


def extras():
    table = (ROOT / "pyproject.toml").read_text().split("[project.optional-dependencies]\n")[1].split("\n[")[0]
    return set(re.findall(r"^(\w+) = \[", table, re.M))


def unknown(words):
    """What a command names that is not there."""
    for word in words:
        if found := re.fullmatch(r"(?:\.|tflm-cy)\[([\w,]+)\]", word):
            yield from (f"extra {name}" for name in set(found[1].split(",")) - extras())
        elif word.startswith("tests/") and "<" not in word and not (ROOT / word).exists():
            yield word
    if words[:2] == ["python", "-m"] and importlib.util.find_spec(words[2]) is None:
        yield f"module {words[2]}"


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "sh")])
def test_shell_blocks_name_what_exists(page, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT))
    for block in blocks(page, "sh"):
        for line in block.text.splitlines():
            words = [word for word in shlex.split(line, comments=True) if not re.fullmatch(r"[A-Z_]+=\S*", word)]
            if words:
                assert words[0] in ("pip", "python", "mkdocs", "tflm-cy"), f"{page}: {line}"
                assert list(unknown(words)) == [], f"{page}: {line}"


def test_blocks_of_other_languages_are_no_python():
    known = {"python", "console", "sh", "text", "cython", "cpp", "yaml"}
    for page in PAGES:
        found = set(re.findall(r"^```(\w+)", (ROOT / page).read_text(), re.M))
        assert found <= known, page
