"""Only what an installation has is counted."""

import sys
from importlib.machinery import EXTENSION_SUFFIXES

from benchmarks.size import measure_folders


def test_build_leftovers_and_other_pythons_are_not_counted(tmp_path):
    package = tmp_path / "package"
    cache = package / "room" / "__pycache__"
    cache.mkdir(parents=True)
    (tmp_path / "package.libs").mkdir()
    sizes = {
        package / "__init__.py": 1,
        package / "room" / "table.pyx": 2,
        package / "room" / f"table{EXTENSION_SUFFIXES[0]}": 10,
        package / "room" / "table.cpython-27-x86_64-linux-gnu.so": 1000,
        package / "room" / "stable.abi3.so": 20,
        package / "room" / "plain.so.1": 40,
        package / "room" / "table.c": 2000,
        cache / f"table.{sys.implementation.cache_tag}.pyc": 100,
        cache / "table.cpython-27.pyc": 3000,
        package / "digits.tflite": 200,
        tmp_path / "package.libs" / "libx.so": 80,
        tmp_path / "unrelated.py": 5000,
    }
    for path, size in sizes.items():
        path.write_bytes(b"x" * size)
    (package / "link.py").symlink_to(package / "__init__.py")
    measured = measure_folders([package])
    assert measured["libraries"] == 10 + 20 + 40 + 80
    assert (measured["python"], measured["data"], measured["bytecode"]) == (3, 200, 100)
    assert measured["total"] == 150 + 3 + 200


def test_of_a_source_tree_what_a_wheel_holds_is_counted(tmp_path):
    (tmp_path / "pyproject.toml").write_text(
        "[tool.setuptools.packages.find]\nexclude = ['package.train*']\n"
        "[tool.setuptools.package-data]\n'*' = ['*.tflite', '*.pyi']\n'package.room' = ['*.pxd']\n"
    )
    sizes = {"__init__.py": 1, "table.pyx": 1000, "table.pxd": 2000, "room/table.pxd": 20, "room/digits.tflite": 200}
    sizes |= {
        "room/table.pyi": 2,
        "room/sums.h": 4000,
        f"made{EXTENSION_SUFFIXES[0]}": 10,
        "train/network.py": 8000,
        "README.md": 500,
    }
    for name, size in sizes.items():
        path = tmp_path / "package" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * size)
    measured = measure_folders([tmp_path / "package"])
    assert (measured["libraries"], measured["python"], measured["data"], measured["files"]) == (10, 23, 200, 5)
