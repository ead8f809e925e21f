"""The examples give a loop's answers on engines that are installed, also when a worker dies."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NEEDED = {
    "scaling": [],
    "on_dask": ["distributed"],
    "on_ray": ["ray"],
    "on_spark": ["pyspark", "pandas", "pyarrow"],
    "memmap_to_parquet": ["torch", "pyarrow"],
}


def run(name, *arguments, folder):
    for module in NEEDED[name]:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed: pip install tflm-cy[examples]")
    if name == "on_spark" and shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py"), *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))},
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("name", ["on_dask", "on_ray", "on_spark"])
def test_a_worker_that_dies_changes_nothing(name, tmp_path):
    marker = tmp_path / "died"
    assert "1797 digits, 1797 as in a loop" in run(name, "--kill", str(marker), folder=tmp_path)
    assert marker.exists(), "no worker has died"


def test_memmap_to_parquet(tmp_path):
    shown = run("memmap_to_parquet", "--into", str(tmp_path / "a.parquet"), folder=tmp_path)
    assert "1797 digits, 1797 as in a loop" in shown


def test_scaling_prints_a_row(tmp_path):
    shown = run("scaling", "processes", "--count", "20000", "--rounds", "1", folder=tmp_path)
    [row] = [line for line in shown.splitlines() if line.startswith("| processes |")]
    assert float(row.split("|")[4]) > 0


def test_batches_give_the_answers_of_single_images(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import digits

    images = digits.load(150)
    together = np.concatenate([digits.classify(batch) for batch in digits.batches(images, 64)])
    assert np.array_equal(together, digits.in_a_loop(images))
    assert len(set(together.tolist())) == 10
