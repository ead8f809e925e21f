"""tools.copies."""

import json
import os
import subprocess

from tools.copies import copy_sources, share_translated


def test_only_what_changed_is_copied(tmp_path):
    checkout, copy = tmp_path / "checkout", tmp_path / "copy"
    (checkout / "tflm_cy").mkdir(parents=True)
    for name in ("same", "changed", "removed"):
        (checkout / f"tflm_cy/{name}.pyx").write_text(f"{name} = 1\n")
    (checkout / ".gitignore").write_text("*.c\n")
    subprocess.run(["git", "init", "-q", checkout], check=True)
    subprocess.run(["git", "add", "."], cwd=checkout, check=True)
    copy_sources(checkout, copy)
    for path in (copy / "tflm_cy").glob("*.pyx"):
        path.with_suffix(".c").touch()
        os.utime(path, (1, 1))
    (checkout / "tflm_cy/changed.pyx").write_text("changed = 2\n")
    (checkout / "tflm_cy/removed.pyx").unlink()
    copy_sources(checkout, copy)
    assert (copy / "tflm_cy/same.pyx").stat().st_mtime == 1
    assert (copy / "tflm_cy/changed.pyx").read_text() == "changed = 2\n"
    assert sorted(path.name for path in (copy / "tflm_cy").iterdir()) == [
        "changed.c",
        "changed.pyx",
        "same.c",
        "same.pyx",
    ]


def test_what_is_translated_is_shared_once(tmp_path):
    checkout, copy = tmp_path / "checkout", tmp_path / "copy"
    for folder in (checkout, copy):
        (folder / "tflm_cy").mkdir(parents=True)
    share_translated(checkout, copy)  # nothing is known there
    (checkout / "build").mkdir()
    (checkout / "tflm_cy/a.c").write_text("1")
    (checkout / "build/records.json").write_text(json.dumps({"tflm_cy/a.c": "key", "build/a.o": "object"}))
    share_translated(checkout, copy)
    assert json.loads((copy / "build/records.json").read_text()) == {"tflm_cy/a.c": "key"}
    (copy / "tflm_cy/a.c").write_text("2")
    share_translated(checkout, copy)
    assert (copy / "tflm_cy/a.c").read_text() == "2"
