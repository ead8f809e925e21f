"""The lines of C++ that `arena` and `doctor` print, compiled against declarations with TFLM's names and signatures.

    python -m compat.firmware --models DIR

For every model below DIR: the lines for every board and every layout of arenas (one arena, two arenas, two memories, one
arena for two models), each in a function, through `g++ -fsyntax-only`. Lines of several boards
that are equal are compiled once. A model whose tensors or operators TFLM cannot have at all has no lines.

Exit code: 0 all compile, 1 some do not, 2 wrong usage or no g++.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tflm_cy.micro.arena_layouts import shared, split
from tflm_cy.micro.device import DEVICES
from tflm_cy.micro.resolver import firmware_shared, firmware_split
from tflm_cy.micro.survey import Survey
from tflm_cy.schema.model import Model

from .models import find_models
from .verdict import UsageError, judge

STUBS = Path(__file__).parents[1] / "tests" / "micro" / "stubs"
_FLAGS = ("-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Wno-unused")
_FAST = 1024
_HEADER = '#include "tensorflow/lite/micro/micro_interpreter.h"\n'


def all_lines(model):
    """The lines of every board and option for a Model."""
    for name in DEVICES:
        survey = Survey(model, targets=(name,))
        yield survey.firmware(name)
        sizes = split(survey.demand)
        yield firmware_split(survey.graph, sizes.persistent, sizes.non_persistent)
        yield firmware_split(survey.graph, sizes.persistent, sizes.non_persistent, _FAST)
        both = shared([survey.demand, survey.demand])
        yield firmware_shared([survey.graph, survey.graph], ["model", "other"], both.smallest_arena)


def program(texts):
    """One C++ file with a function for each text."""
    functions = [
        f"TfLiteStatus SetUp{k}(const tflite::Model* model, const tflite::Model* other) {{\n{text}\nreturn kTfLiteOk;\n}}\n"
        for k, text in enumerate(texts)
    ]
    return _HEADER + "\n".join(functions)


def complaints(source, folder):
    """What the compiler says of a program; '' when nothing."""
    file = Path(folder) / "firmware.cc"
    file.write_text(source)
    command = ["g++", *_FLAGS, "-I", str(STUBS), str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


@judge("compat.firmware")
def main(argv=None):
    parser = argparse.ArgumentParser(
        "python -m compat.firmware", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", action="append", required=True, metavar="DIR", help="models below; repeatable")
    arguments = parser.parse_args(argv)
    files = find_models(arguments.models)
    if not files:
        raise UsageError(f"no .tflite file below {', '.join(arguments.models)}")
    if shutil.which("g++") is None:
        raise UsageError("there is no g++")
    compiled = texts = without = wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, path in files:
            try:
                found = list(dict.fromkeys(all_lines(Model.from_path(path))))
            except (ValueError, OSError) as error:
                without += 1
                print(f"  {name}: no lines: {' '.join(str(error).split())[:160]}", flush=True)
                continue
            said = complaints(program(found), folder)
            compiled += not said
            texts += len(found)
            if said:
                wrong += 1
                print(f"  {name}: {said.splitlines()[0]}", flush=True)
    print(
        f"{compiled} of {compiled + wrong} models compile ({texts} texts, {len(DEVICES)} boards); {without} without lines"
    )
    return wrong > 0 or not compiled


if __name__ == "__main__":
    sys.exit(main())
