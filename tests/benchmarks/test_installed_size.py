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
