"""Bytes that an installed runtime takes on disk: the files of its package's folder, dependencies left out.

What a source tree has beyond that (what a build is made from or leaves behind, extension modules of other Pythons) is not
installed and not counted, so that an editable install gives the figure of a wheel. Nor is bytecode part of the total: it
comes and goes.
"""

import importlib.util
import sys
from fnmatch import fnmatch
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10: an editable install is measured with all of its sources
    tomllib = None

BUILD_LEFTOVERS = (".c", ".cpp", ".o", ".orig")


class SourceTree:
    """Which files of a package a wheel made from its tree holds, as setuptools is told in pyproject.toml."""

    def __init__(self, package):
        """`package`: its folder, in the tree."""
        self.package = package
        settings = tomllib.loads((package.parent / "pyproject.toml").read_text())["tool"]["setuptools"]
        self.data = settings.get("package-data", {})
        self.excluded = settings["packages"]["find"].get("exclude", ())

    def installs(self, path):
        """Is it Python, a library, or named as data of its folder?"""
        folder = ".".join(path.parent.relative_to(self.package.parent).parts)
        if any(fnmatch(folder, pattern) for pattern in self.excluded):
            return False
        patterns = [*self.data.get("*", ()), *self.data.get(folder, ())]
        return (
            path.suffix == ".py" or ".so" in path.suffixes or any(fnmatch(path.name, pattern) for pattern in patterns)
        )


def measure(side):
    """Bytes in all and by kind."""
    spec = importlib.util.find_spec(side.package)
    return measure_folders(spec.submodule_search_locations)


def measure_folders(folders):
    """The same for the folders of a package. `libraries` beside them (auditwheel's `<package>.libs`) belong to it."""
    kinds = {"libraries": 0, "python": 0, "bytecode": 0, "data": 0}
    files = 0
    for folder in map(Path, folders):
        tree = SourceTree(folder) if tomllib and (folder.parent / "pyproject.toml").exists() else None
        for root in (folder, folder.with_name(folder.name + ".libs")):
            for path in root.rglob("*"):
                kind = None if tree and not tree.installs(path) else _kind(path)
                if kind and path.is_file() and not path.is_symlink():
                    kinds[kind] += path.stat().st_size
                    files += 1
    return {"total": sum(count for kind, count in kinds.items() if kind != "bytecode"), "files": files, **kinds}


def _kind(path):
    """Which sum a file belongs to; None for what is not installed, or serves another Python."""
    name = path.name
    if name.endswith(".pyc"):
        return "bytecode" if f".{sys.implementation.cache_tag}." in name else None
    if name.endswith(BUILD_LEFTOVERS):
        return None
    if ".so" in path.suffixes:
        other = ".cpython-" in name and not name.endswith(EXTENSION_SUFFIXES[0])
        return None if other else "libraries"
    return "python" if path.suffix in (".py", ".pyi", ".pyx", ".pxd", ".pxi") else "data"
