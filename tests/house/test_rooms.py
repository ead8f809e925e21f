"""The rooms and who may import whom: the table of the design, enforced from the sources' imports."""

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "tflm_cy"

# room -> rooms that it may import (besides itself); single modules of the top level are rooms of their own
ALLOWED = {
    "platform": set(),
    "schema": {"platform"},
    "memory": {"platform"},
    "arithmetic": {"platform"},
    "threads": {"platform"},
    "simd": {"arithmetic", "platform"},
    "graph": {"platform", "schema", "memory", "threads"},
    "ops": {"platform", "graph", "arithmetic", "simd", "schema"},
    "delegates": {"graph", "ops", "schema"},
    "custom": {"graph", "schema"},
    "core": {"platform", "graph", "memory", "schema", "threads"},
    "calls": {"core"},
    "index": set(),
    "library": {"index"},
    "signature": set(),
    "wrapper": {"core", "signature"},
    "interpreter": {"calls", "core", "custom", "delegates", "inspection", "ops", "schema", "signature", "wrapper"},
    "inspection": {"delegates", "profile"},
    "profile": set(),
    "experimental": {"interpreter"},
    "litert": {"interpreter"},
    "shim": {"experimental", "interpreter", "litert"},
    "micro": {"core", "graph", "memory", "ops", "schema"},
    "report": set(),
    "demo": {"report", "interpreter"},
    "cli": {"report", "interpreter", "experimental", "demo", "micro", "profile", "schema", "shim", "config"},
    "__main__": {"cli"},
    "config": {"simd", "ops"},
    "__init__": {"interpreter", "library", "experimental", "config", "custom", "shim"},
}
TABLES = {
    "table",
    "slots",
    "builtins",
    "flexbuffer",
    "option_slots",
}  # operators and delegates read options, sparsity, quantization and operators' numbers, nothing else of the file

IMPORT = re.compile(r"^\s*(?:from\s+(tflm_cy[\w.]*)\s+c?import\s+([\w, ]+|\()|c?import\s+(tflm_cy[\w.]*))", re.M)


INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([\w.]+)"', re.M)
HEADERS = {path.name: path for path in PACKAGE.rglob("*.h")}


def sources():
    for suffix in ("*.py", "*.pyx", "*.pxd", "*.pxi", "*.h"):
        yield from sorted(PACKAGE.rglob(suffix))


def room_of(path):
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imports(path):
    """(room, module) of every import of the package in a file, and of every header that it includes."""
    text = path.read_text()
    for name in INCLUDE.findall(text):
        if name in HEADERS:
            yield room_of(HEADERS[name]), ""
    for source, names, plain in IMPORT.findall(text):
        parts = (source or plain).split(".")
        if len(parts) > 1:
            yield parts[1], parts[2] if len(parts) > 2 else ""
        else:
            for name in names.replace("(", "").split(","):
                if name.strip() in ALLOWED:
                    yield name.strip(), ""


@pytest.mark.parametrize("path", list(sources()), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_only_what_its_room_may(path):
    room = room_of(path)
    assert room in ALLOWED, f"{room} is not in the table of rooms"
    for target, module in imports(path):
        if target == room:
            continue
        if target not in ALLOWED:  # a public name of the package
            assert room in ("cli", "demo"), f"{path.name} imports a public name"
            continue
        assert target in ALLOWED[room], f"{room}/ may not import {target}/"
        if room in ("ops", "delegates") and target == "schema":
            assert module in TABLES, "operators and delegates may read tables only"


SYSTEM = re.compile(
    r"^\s*#\s*(?:el)?if.*\b(?:_WIN32|_WIN64|__linux__|__APPLE__|__unix__|_MSC_VER|__MINGW32__|__GLIBC__)\b"
    r"|^\s*(?:from|cimport)\s+posix\b|#\s*include\s*<(?:sys/|unistd|pthread|sched|windows|fcntl|io\.h)"
    r"|\bsys\.platform\b|\bplatform\.system\b|\bos\.name\b",
    re.M,
)


def test_one_room_knows_operating_systems():
    know = {path for path in sources() if SYSTEM.search(path.read_text())}
    assert [path for path in know if room_of(path) != "platform"] == []
    assert {path.stem for path in know} >= {"threads", "pages", "files", "clock", "cpu", "cores"}


def test_one_room_asks_for_instruction_sets():
    """platform/x86.h and cpu.pxd: the compilers' own functions need a runtime library that not all of them have."""
    asks = re.compile(r"\b__builtin_cpu_(?:init|is|supports)\b|\bgetauxval\(")
    assert {room_of(path) for path in sources() if asks.search(path.read_text())} == {"platform"}


def unguarded(text):
    """Lines with x86's intrinsics that another processor would compile, too: in no branch that asks for x86."""
    branches = []
    for line in text.splitlines():
        directive = re.match(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b(.*)", line)
        if directive is None:
            if re.search(r"\b_mm\d*_|\b__m(?:128|256|512)|\btarget\(\"avx", line) and not any(branches):
                yield line.strip()
        elif directive[1] == "endif":
            branches.pop()
        else:
            if directive[1] in ("elif", "else"):
                branches.pop()
            branches.append(
                directive[1] != "else" and re.search(r"x86|__AVX|__SSE|__FMA|TFLM_CY_SIXTEEN", directive[2]) is not None
            )


def test_definitions_compile_on_every_processor():
    """Of simd/, what a processor compiles is its isa_*.pyx's to say."""
    files = [path for path in sources() if room_of(path) != "simd"] + list(PACKAGE.glob("arithmetic/**/*.h"))
    assert [(path.name, line) for path in files for line in unguarded(path.read_text())] == []
    assert list(unguarded('#ifdef __AVX2__\n_mm_add_ps(a, b);\n#else\n__attribute__((target("avx2")))\n#endif\n'))


def test_every_room_of_the_package_is_in_the_table():
    rooms = {room_of(path) for path in sources()}
    assert rooms <= set(ALLOWED)
    assert {"schema", "memory", "arithmetic", "graph", "ops", "core", "interpreter"} <= rooms


def test_the_rule_can_fail(tmp_path):
    """A file of graph/ that imports ops/ is found."""
    bad = tmp_path / "bad.pyx"
    bad.write_text("from tflm_cy.ops.shape cimport prepare\n")
    assert list(imports(bad)) == [("ops", "shape")]
    assert "ops" not in ALLOWED["graph"]
