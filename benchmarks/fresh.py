"""A fresh Python that answers one question about itself (`probe`) and ends."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from .failure import NotRunError, one_line

ROOT = Path(__file__).resolve().parent.parent
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}


def ask(*question, stdin=b"", timeout=300.0):
    """The probe's answer; NotRunError when the process dies, hangs or says that it failed."""
    # Without its bytecode a package would be compiled anew in every process.
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    try:
        done = subprocess.run(
            [sys.executable, "-c", "from benchmarks.probe import main; main()", *map(str, question)],
            input=stdin,
            capture_output=True,
            timeout=timeout,
            env={**QUIET, **inherited, "PYTHONPATH": path},
        )
    except subprocess.TimeoutExpired:
        raise NotRunError(f"hung ({timeout:g} s)") from None
    if done.returncode < 0:
        raise NotRunError(f"crashed ({signal.Signals(-done.returncode).name}): {one_line(done.stderr)}")
    if done.returncode:
        raise NotRunError(f"exit {done.returncode}: {one_line(done.stderr)}")
    answer = json.loads(done.stdout.decode().splitlines()[-1])
    if "failed" in answer:
        raise NotRunError(f"{answer['stage']}: {one_line(answer['failed'])}")
    return answer
