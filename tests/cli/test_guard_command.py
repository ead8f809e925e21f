"""`python -m tflm_cy guard` and `arena --against`: what changed between two models; the Action's and the hook's lines."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import tflm_cy.demo
from tests.cli.doctor_questions import large_images
from tflm_cy.cli import main
from tflm_cy.micro.figures import figures
from tflm_cy.schema.model import Model

ROOT = Path(__file__).parents[2]
INT8 = Path(tflm_cy.demo.__file__).parent / "digits_int8.tflite"
FLOAT = INT8.with_name("digits_float.tflite")


def least(path, target="cortex-m4"):
    return figures(Model.from_path(path), target).smallest_arena


@pytest.fixture
def repository(tmp_path, monkeypatch):
    """A git repository with a model that grows after its only commit."""
    monkeypatch.chdir(tmp_path)
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@x"]
    (tmp_path / "models").mkdir()
    path = tmp_path / "models" / "m.tflite"
    path.write_bytes(large_images(32, "int8").to_bytes())
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "a model"]):
        subprocess.run([*git, *words], check=True)
    path.write_bytes(large_images(40, "int8").to_bytes())
    return Path("models/m.tflite")


def run(capsys, *arguments):
    code = main([*map(str, arguments)])
    return code, capsys.readouterr()


def test_growth_beyond_the_limit_fails(repository, capsys):
    code, said = run(capsys, "guard", repository)
    assert code == 1 and re.search(r"grows by \d+ bytes, 0 are allowed", said.err)
    grown = int(re.search(r"grows by (\d+)", said.err).group(1))
    assert run(capsys, "guard", repository, "--max-growth", grown)[0] == 0
    assert run(capsys, "guard", repository, "--max-growth", grown - 1)[0] == 1
    assert run(capsys, "guard", repository, "--max-growth", "90%")[0] == 0
    assert run(capsys, "guard", repository, "--max-growth", "1%")[0] == 1


def test_a_board_that_is_too_small(repository, capsys):
    needed = least(repository)
    words = ["guard", repository, "--max-growth", "99%", "--max-arena"]
    assert run(capsys, *words, needed)[0] == 0
    code, said = run(capsys, *words, needed - 1)
    assert code == 1 and f"needs {needed} bytes of {needed - 1}" in said.err


def test_a_new_model_has_nothing_to_grow_from(repository, capsys):
    new = repository.with_name("new.tflite")
    new.write_bytes(repository.read_bytes())
    code, said = run(capsys, "guard", new, "--json", "-")
    [found] = json.loads(said.out)["models"]
    assert code == 0 and found["old"] is None and found["smallest_arena"] == least(new)


def test_the_tables(repository, capsys):
    assert run(capsys, "guard", repository, "--markdown", "changes.md")[0] == 1
    page = Path("changes.md").read_text()
    assert "| smallest arena |" in page and "cortex-m4+cmsis-nn" in page and "| + " not in page


@pytest.mark.parametrize(
    ("words", "why"), [(["--base", "nowhere"], "no such revision"), (["--max-growth", "much"], "--max-growth")]
)
def test_wrong_usage(repository, capsys, words, why):
    code, said = run(capsys, "guard", repository, *words)
    assert code == 2 and why in said.err


def test_against(tmp_path, capsys):
    numbers = tmp_path / "n.json"
    code, said = run(capsys, "arena", INT8, "--against", FLOAT, "--target", "cortex-m55", "--json", numbers)
    assert code == 0 and "cortex-m55+cmsis-nn" in said.out
    rows = {row["what"]: row for row in json.loads(numbers.read_text())["against"]}
    for path, side in ((FLOAT, "old"), (INT8, "new")):
        assert rows["smallest arena"][side] == least(path, "cortex-m55")
    assert rows["smallest arena"]["change"] == least(INT8, "cortex-m55") - least(FLOAT, "cortex-m55")
    assert run(capsys, "arena", INT8, "--against", INT8)[0] == 0
    assert run(capsys, "arena", INT8, "--against", tmp_path / "none.tflite")[0] == 2


def script():
    """The lines that the Action runs."""
    text = (ROOT / "action.yml").read_text()
    return dedent(text[text.index("run: |\n", text.index("name: Compare")) + len("run: |\n") :])


@pytest.mark.parametrize(("growth", "code"), [("0", 1), ("90%", 0)])
def test_the_action(repository, tmp_path_factory, growth, code):
    python = tmp_path_factory.mktemp("bin") / "python"
    python.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    python.chmod(0o755)
    settings = {"MODELS": "**/*.tflite", "TARGET": "esp32s3", "KERNELS": "", "BASE": "HEAD", "MAX_ARENA": ""}
    found = subprocess.run(
        ["bash", "-e", "-c", script()],
        env={
            **os.environ,
            **settings,
            "MAX_GROWTH": growth,
            "GITHUB_STEP_SUMMARY": "summary.md",
            "PYTHONPATH": str(ROOT),
            "PATH": f"{python.parent}:{os.environ['PATH']}",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == code, found.stderr
    assert "models/m.tflite" in Path("summary.md").read_text() and not Path("arena.md").exists()


def test_every_setting_of_the_action_is_used():
    text = (ROOT / "action.yml").read_text()
    settings = re.findall(r"^  ([\w-]+):$", text[: text.index("runs:")], re.M)
    assert len(settings) == 6
    for setting in settings:
        assert "inputs." + setting + " }}" in text


def test_the_hook_runs_the_command(repository):
    entry = re.search(r"entry: python (.*)", (ROOT / ".pre-commit-hooks.yaml").read_text()).group(1)
    command = [sys.executable, *entry.split(), str(repository)]
    found = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, check=False)
    assert found.returncode == 1
