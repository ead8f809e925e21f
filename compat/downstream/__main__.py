"""Install the packages, run every program on both interpreters, compare what they give; see the package's text."""

import argparse
import importlib
import os
import pkgutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from ..verdict import UsageError, judge
from . import programs

ROOT = Path(__file__).parents[2]
SIDES = ("tensorflow", "tflm_cy")


def install(program, into):
    """A program's packages, in a directory of their own."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(into)]
    for more in (program.REQUIREMENTS, ["--no-deps", "--upgrade", *program.ALONE]):
        subprocess.run([*command, *more], check=True)


def environment(site):
    path = os.pathsep.join([str(ROOT), str(site), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}


def results(side, name, site, models):
    """What a program gives on a side; raises CalledProcessError with its stderr."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.npz"
        command = [sys.executable, "-m", "compat.downstream.child", side, name, str(path), str(models or "")]
        done = subprocess.run(command, env=environment(site), capture_output=True, text=True, cwd=folder)
        if done.returncode:
            raise RuntimeError(f"{side}: {done.stderr.strip().splitlines()[-1:] or done.returncode}")
        with np.load(path) as stored:
            return dict(stored)


def differences(wanted, got):
    """Sentences about arrays that differ."""
    if list(wanted) != list(got):
        return [f"the results have other names: {sorted(set(wanted) ^ set(got))}"]
    return [
        f"{name}: {got[name].dtype} {list(got[name].shape)} instead of {wanted[name].dtype} {list(wanted[name].shape)}"
        if (got[name].dtype, got[name].shape) != (wanted[name].dtype, wanted[name].shape)
        else f"{name}: {np.count_nonzero(got[name] != wanted[name])} of {wanted[name].size} elements differ"
        for name in wanted
        if got[name].tobytes() != wanted[name].tobytes() or got[name].shape != wanted[name].shape
    ]


@judge("compat.downstream")
def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m compat.downstream", description=__doc__)
    parser.add_argument(
        "--into", required=True, type=Path, help="directory of the packages; what is there is not installed again"
    )
    parser.add_argument("--only", action="append", help="a program's name (repeatable)")
    parser.add_argument("--models", type=Path, help="folder with open_*.tflite, which openwakeword does not ship")
    args = parser.parse_args(arguments)
    names = args.only or sorted(module.name for module in pkgutil.iter_modules(programs.__path__))
    known = {module.name for module in pkgutil.iter_modules(programs.__path__)}
    if not set(names) <= known:
        raise UsageError(f"no program {sorted(set(names) - known)}; there are {', '.join(sorted(known))}")
    failed = 0
    for name in names:
        program = importlib.import_module(f"{programs.__name__}.{name}")
        if getattr(program, "WANTS_MODELS", False) and args.models is None:
            print(f"{name:18} not run: its models are not in its package; give --models")
            continue
        site = args.into.resolve() / name
        if not site.exists():
            install(program, site)
        try:
            wanted, got = (results(side, name, site, args.models) for side in SIDES)
            wrong = differences(wanted, got)
        except RuntimeError as error:
            wrong = [str(error)]
        failed += bool(wrong)
        size = sum(array.nbytes for array in wanted.values()) if not wrong else 0
        outcome = "; ".join(wrong) or f"equal: {len(wanted)} arrays, {size} bytes, {', '.join(list(wanted)[:6])} .."
        print(f"{name:18} {outcome}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
