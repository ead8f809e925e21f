"""No damaged model makes a command end in anything but its exit codes and one line."""

import resource
import subprocess
import sys
from pathlib import Path

import tflm_cy.demo
from tests.draws import examples

FOLDER = Path(tflm_cy.demo.__file__).parent
COUNT = examples(80)

PROGRAM = """
import contextlib, io, random, resource, sys
from pathlib import Path
from tflm_cy.cli import main

resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
model, path, count = Path(sys.argv[1]).read_bytes(), Path(sys.argv[2]), int(sys.argv[3])
draw = random.Random(7)
codes = set()
for k in range(count):
    damaged = bytearray(model)
    for _ in range(draw.choice((1, 1, 2, 8))):
        if draw.random() < 0.7:
            damaged[draw.randrange(len(damaged) // 3)] = draw.choice((0, 1, 2, 127, 128, 255, draw.randrange(256)))
        else:
            damaged[draw.randrange(len(damaged))] ^= 1 << draw.randrange(8)
    if draw.random() < 0.1:
        del damaged[draw.randrange(len(damaged)) :]
    path.write_bytes(damaged)
    for command in (["inspect"], ["inspect", "--json", "-"], ["arena"], ["run"], ["run", "--mode", "MICRO"], ["diff"]):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([command[0], str(path), *command[1:]])
        lines = err.getvalue().count("\\n")
        if code not in (0, 1, 2) or lines != (code == 2) or "Traceback" in err.getvalue():
            print(k, command, code, err.getvalue())
            path.with_suffix(f".{k}").write_bytes(damaged)
        codes.add(code)
print(sorted(codes))
"""


def test_damaged_models(tmp_path):
    assert resource.RLIMIT_AS
    for name in ("digits_int8", "digits_float"):
        arguments = [str(FOLDER / f"{name}.tflite"), str(tmp_path / "model.tflite"), str(COUNT // 2)]
        done = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr[-2000:]
        assert done.stdout.splitlines()[-1] in ("[0, 1, 2]", "[0, 2]"), done.stdout
        assert len(done.stdout.splitlines()) == 1, done.stdout
