"""Copies of the checkout that are built on their own: for another compiler, another processor, or under sanitizers.

copy_sources(checkout, copy)        # what differs; what was compiled there stays
share_translated(checkout, copy)    # what Cython has made here need not be made there
"""

import filecmp
import json
import os
import shutil
import subprocess
from pathlib import Path


def copy_sources(checkout, copy):
    """Make `copy` hold the files of the checkout that git knows or would add; what is compiled there stays."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=checkout,
        capture_output=True,
        check=True,
    )
    names = {name for name in listed.stdout.decode().split("\0") if name and (checkout / name).is_file()}
    for name in names:
        source, target = checkout / name, copy / name
        if not target.exists() or not filecmp.cmp(source, target, shallow=False):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
            os.utime(target)
    _remove_others(copy, names)


def _remove_others(copy, names):
    """Files of an older checkout: a module that has been renamed would be linked twice."""
    for folder in ("tflm_cy", "compat", "tests"):
        for path in (copy / folder).rglob("*"):
            generated = path.suffix in (".c", ".so", ".pyc") or path.name == "index.py"
            if path.is_file() and not generated and path.relative_to(copy).as_posix() not in names:
                path.unlink()
    for path in (copy / "tflm_cy").rglob("*.c"):
        if not path.with_suffix(".pyx").exists() and path.relative_to(copy).as_posix() not in names:
            path.unlink()


def share_translated(checkout: Path, copy: Path) -> None:
    """Give a copy what Cython has made here; what does not fit there is made again."""
    records, theirs = checkout / "build" / "records.json", copy / "build" / "records.json"
    if not records.exists():
        return
    kept = json.loads(theirs.read_text()) if theirs.exists() else {}
    made = {name: key for name, key in json.loads(records.read_text()).items() if name.endswith(".c")}
    for name, key in made.items():
        if kept.get(name) != key and (checkout / name).exists() and (copy / name).parent.exists():
            shutil.copy2(checkout / name, copy / name)
            kept[name] = key
    theirs.parent.mkdir(exist_ok=True)
    theirs.write_text(json.dumps(kept))
