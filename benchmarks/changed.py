"""Which operators a change of files can touch: `--changed`.

    changed_operators()        # of what differs from the last commit
    changed_operators("main")  # of what differs from a branch; None: every operator

A file reaches the modules that cimport it, directly or through others; a kernel of `simd/` those that ask its table. What is compiled
into the engine (`graph/`, `threads/`, `delegates/`) reaches every operator.
"""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_CIMPORT = re.compile(r"^\s*from (tflm_cy[\w.]*) cimport|^\s*cimport (tflm_cy[\w.]*)", re.M)
_INCLUDE = re.compile(r"""include ["'<]([\w./]+)["'>]|from ["']([\w./]+\.h)["']""")


def changed_operators(since="HEAD", files=None):
    """Names of operators; None when all may be touched."""
    files = _changed_files(since) if files is None else files
    reached = _reached({ROOT / name for name in files})
    names = set()
    operators = ROOT / "tflm_cy" / "ops"
    for path in reached:
        if path.parent in (operators, operators / "xnnpack"):
            tables = re.findall(r"^(?:CUSTOM_)?OPERATORS = {$(.*?)^}", path.read_text(), re.M | re.S)
            names.update(name for table in tables for name in re.findall(r'^    "([\w.]+)":', table, re.M))
        elif path.suffix == ".pyx" and path.relative_to(ROOT / "tflm_cy").parts[0] in ("graph", "threads", "delegates"):
            return None
    return names


def _changed_files(since):
    commands = (["diff", "--name-only", since], ["ls-files", "--others", "--exclude-standard"])
    found = [subprocess.run(["git", *c], cwd=ROOT, check=True, capture_output=True, text=True).stdout for c in commands]
    return [line for text in found for line in text.splitlines() if line.startswith(("tflm_cy/", "setup.py"))]


def _reached(files):
    """The files and all sources that see them, through any number of cimports and includes."""
    sources = [p for p in (ROOT / "tflm_cy").rglob("*") if p.suffix in (".pyx", ".pxd", ".pxi", ".h")]
    readers = {}
    for source in sources:
        for used in _uses(source):
            readers.setdefault(used, set()).add(source)
    simd = ROOT / "tflm_cy" / "simd"
    waiting, reached = list(files), set()
    if ROOT / "setup.py" in files:
        waiting += sources
    while waiting:
        path = waiting.pop()
        if path in reached:
            continue
        reached.add(path)
        waiting += readers.get(path, ())
        if path.suffix == ".pxd":
            waiting += [path.with_suffix(".pyx")] if path.with_suffix(".pyx").exists() else []
        if path.parent == simd and path.suffix in (".h", ".pxi", ".pyx"):
            waiting.append(simd / "table.pxd")
    return reached


def _uses(source):
    text = source.read_text()
    for first, second in _CIMPORT.findall(text):
        path = ROOT.joinpath(*(first or second).split("."))
        yield path.with_suffix(".pxd")
    for first, second in _INCLUDE.findall(text):
        yield (source.parent / (first or second)).resolve()
