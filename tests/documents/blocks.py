"""Code blocks of a Markdown file, and how a console block runs.

| block | what a test does with it |
| --- | --- |
| python | executes it; all blocks of a page share their names |
| console | runs each line behind "$ " in a folder with model.tflite; must exit with 0 |
| sh | builds, installs or needs TensorFlow or hours: looks whether modules, extras and files that it names exist |
| others | nothing |
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import tflm_cy.demo
from tflm_cy.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    str(path.relative_to(ROOT))
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))
    if path.name != "CHANGELOG.md"
)
_FENCE = re.compile(r"^```(?P<language>\w+)[^\n]*\n(?P<text>.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int


def blocks(page, language):
    """The blocks of a page that are of one language."""
    text = (ROOT / page).read_text()
    return [
        Block(found["language"], found["text"], text[: found.start("text")].count("\n") + 1)
        for found in _FENCE.finditer(text)
        if found["language"] == language
    ]


def furnish(folder):
    """Put what the pages assume into a folder: model.tflite and the models that ship."""
    for path in Path(tflm_cy.demo.__file__).parent.glob("digits_*"):
        shutil.copy(path, folder)
    shutil.copy(folder / "digits_int8.tflite", folder / "model.tflite")


def run(command):
    """The exit code of a line; this package's own commands run in this process, which takes a tenth of the time."""
    words = shlex.split(command)
    if words[:3] == ["python", "-m", "tflm_cy"] and not set("|><&") & set(command):
        return main(words[3:])
    line = re.sub(r"(^|\s)python(?=\s)", rf'\1"{sys.executable}"', command)
    places = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    return subprocess.run(line, shell=True, timeout=60, env={**os.environ, "PYTHONPATH": places}).returncode
