"""Bytes that an installed runtime takes on disk: the files of its package's folder, dependencies left out.

What a build leaves in a source tree (C files, objects, extension modules of other Pythons) is not installed and not
counted, so that an editable install gives the figure of a wheel. Nor is bytecode part of the total: it comes and goes.
"""

import importlib.util
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

BUILD_LEFTOVERS = (".c", ".cpp", ".o", ".orig")


def measure(side):
    """Bytes in all and by kind."""
    spec = importlib.util.find_spec(side.package)
    return measure_folders(spec.submodule_search_locations)


def measure_folders(folders):
    """The same for the folders of a package. `libraries` beside them (auditwheel's `<package>.libs`) belong to it."""
    kinds = {"libraries": 0, "python": 0, "bytecode": 0, "data": 0}
    files = 0
    for folder in map(Path, folders):
        for root in (folder, folder.with_name(folder.name + ".libs")):
            for path in root.rglob("*"):
                kind = _kind(path)
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
