"""Types for users: stubs say what the modules have, and a program that uses every public name passes the type checkers."""

import ast
import contextlib
import importlib
import inspect
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import tflm_cy
from tests.house import public_names

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "tests" / "house" / "public_names.py"
STUBS = sorted(path for path in (ROOT / "tflm_cy").rglob("*.pyi"))
# Names that a module has for its siblings only: no user calls them.
INNER = {
    "tflm_cy.memory.reorder": {"Graph", "followers", "path", "search"},
    "tflm_cy.memory.tflite": {"is_before"},
}


def module_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def declared(path):
    """Name -> node of everything that a stub declares; imports count when they are given on (`as` the same name)."""
    found = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = node
        elif isinstance(node, ast.AnnAssign):
            found[node.target.id] = node
        elif isinstance(node, ast.ImportFrom):
            found |= {alias.asname: node for alias in node.names if alias.asname == alias.name}
    return found


def public(module):
    """The names that a module defines, or says to have."""
    if hasattr(module, "__all__"):
        return set(module.__all__)
    own = {
        name
        for name, value in vars(module).items()
        if getattr(value, "__module__", None) == module.__name__ and callable(value) and not name.startswith("_")
    }
    return own - {"Array", "Details"} - INNER.get(module.__name__, set())


def arguments_of(node):
    a = node.args
    return [argument.arg for argument in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if argument]


@pytest.mark.parametrize("path", STUBS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_stub_says_what_its_module_has(path):
    module, names = importlib.import_module(module_of(path)), declared(path)
    only_types = {"Array", "Details", "Prepare", "Invoke"}
    missing = {name for name in names if name not in only_types and not hasattr(module, name)}
    assert not missing, f"{module.__name__} has no {missing}"
    assert public(module) <= set(names), f"the stub lacks {public(module) - set(names)}"


def signatures():
    """(module, dotted name, the stub's arguments) of all functions and methods in stubs."""
    for path in STUBS:
        module = module_of(path)
        for name, node in declared(path).items():
            if isinstance(node, ast.FunctionDef):
                yield module, name, arguments_of(node)
            elif isinstance(node, ast.ClassDef):
                for method in node.body:
                    if isinstance(method, ast.FunctionDef) and not method.decorator_list:
                        yield module, f"{name}.{method.name}", arguments_of(method)


def real_arguments(module, dotted):
    """The arguments that Python shows, or that the source of a compiled function has; None where instances alone have it."""
    value = importlib.import_module(module)
    for part in dotted.split("."):
        value = getattr(value, part, None)
    if inspect.isfunction(value) or hasattr(value, "__signature__") or hasattr(value, "__code__"):
        return list(inspect.signature(value).parameters)
    return compiled_arguments(ROOT / (module.replace(".", "/") + ".pyx"), *dotted.rpartition(".")[::2])


def compiled_arguments(source, kind, name):
    """The names of a function's or method's arguments in a .pyx file, without their types and defaults."""
    text = source.read_text() if source.exists() else ""
    if kind:
        after = re.split(rf"^(?:cdef )?class {kind}\b", text, flags=re.M)[-1]
        text = re.split(r"^(?:cdef )?class ", after, flags=re.M)[0]
    found = re.search(rf"^\s*(?:def|cpdef[\w ]*?) {name}\(", text, re.M)
    if not found:
        return compiled_arguments(source, kind, "__cinit__") if name == "__init__" else None
    depth, end = 1, found.end()
    while depth:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(text[end], 0)
        end += 1
    arguments = re.sub(r"\([^()]*\)|\[[^]]*\]", "", text[found.end() : end - 1]).replace(" not None", "")
    return [re.split(r"[ .*]", word.partition("=")[0].strip())[-1] for word in arguments.split(",") if word.strip()]


def test_arguments_have_the_same_names():
    compared, unknown = 0, []
    for module, dotted, stub in signatures():
        real = real_arguments(module, dotted)
        if dotted.endswith(("__exit__", "__buffer__")):  # Python calls them, by position
            continue
        if real is None:
            unknown.append(f"{module}.{dotted}")
            continue
        assert real == stub, f"{module}.{dotted}"
        compared += 1
    extras = importlib.import_module("tflm_cy.inspection").EXTRAS
    assert {name.rpartition(".")[2] for name in unknown} <= set(extras), unknown
    assert compared > 150


def test_methods_of_instances_are_those_of_inspection():
    names = {
        node.name
        for node in declared(ROOT / "tflm_cy" / "interpreter.pyi")["Interpreter"].body
        if hasattr(node, "name")
    }
    assert set(importlib.import_module("tflm_cy.inspection").EXTRAS) <= names
    ours = {name for name in vars(tflm_cy.Interpreter) if not name.startswith("_")}
    assert ours <= names


def test_the_program_uses_every_public_name():
    used = {node.id for node in ast.walk(ast.parse(PROGRAM.read_text())) if isinstance(node, ast.Name)}
    used |= {node.attr for node in ast.walk(ast.parse(PROGRAM.read_text())) if isinstance(node, ast.Attribute)}
    for name in ("tflm_cy", "tflm_cy.memory", "tflm_cy.micro", "tflm_cy.interpreter", "tflm_cy.experimental"):
        assert set(importlib.import_module(name).__all__) <= used, name
    methods = {name for name in vars(tflm_cy.Interpreter) if not name.startswith("_")}
    assert methods <= used


def test_the_program_runs(capsys):
    public_names.main()
    assert "kernels" in capsys.readouterr().out


def checked(*command):
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is not installed")
def test_the_program_under_mypy():
    checked("mypy", "--strict", str(PROGRAM.relative_to(ROOT)))


@pytest.mark.skipif(find_spec("pyright") is None, reason="pyright is not installed")
def test_the_program_under_pyright():
    checked("pyright", "--pythonpath", sys.executable, str(PROGRAM.relative_to(ROOT)))


def test_the_rules_can_fail(tmp_path):
    stub = tmp_path / "module.pyi"
    stub.write_text("from a import b as b\nfrom a import c\ndef f(x: int, *, y: int) -> None: ...\n")
    names = declared(stub)
    assert set(names) == {"b", "f"} and arguments_of(names["f"]) == ["x", "y"]
    with contextlib.suppress(ImportError):
        assert public(tflm_cy) == set(tflm_cy.__all__)
