"""TensorFlow's operators inside of models (Flex*): does running them through TensorFlow give TensorFlow's values?

    python -m compat.flex                      # functions, Keras' recurrent layers, memory; in every mode
    python -m compat.flex --only cholesky
    python -m compat.flex --only LSTM --batch any --form dynamic_range

Each function or network is converted with SELECT_TF_OPS on the spot and run by tflm_cy. TensorFlow 2.21's own tf.lite.Interpreter
cannot be the judge: its pip package holds no Flex delegate and refuses such models ("Select TensorFlow op(s) ... not supported"), which is
shown in the last line. Judges are

| | |
| --- | --- |
| functions (`flex_functions`) | the function itself: the same bytes |
| Keras' LSTM, GRU, Bidirectional, .. (`flex_layers`) | Keras, but for rounding; and the bytes of TensorFlow's interpreter without lists |
| memory | 1,000 invokes of one LSTM for changing batches: no handle is alive after one, the process does not grow |

Exit code: 0 all equal, 1 something differs or fails here, 2 it cannot be told: no TensorFlow, nothing of that name, a model that
TensorFlow does not convert.
"""

import argparse
import os
import sys
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from . import flex_functions, flex_layers
from .verdict import UsageError, judge

MODES = ("BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "AUTO")
EQUAL, DIFFERENT, UNKNOWN = 0, 1, 2


def parser():
    p = argparse.ArgumentParser(prog="python -m compat.flex", description=__doc__.splitlines()[0])
    p.add_argument("--only", default="", help="functions and networks whose name contains this")
    p.add_argument(
        "--kind", choices=("functions", "layers", "memory"), action="append", help="repeatable; default: all"
    )
    p.add_argument("--batch", choices=flex_layers.SIZES, action="append", help="of layers; repeatable; default: all")
    p.add_argument(
        "--form", choices=flex_layers.TOLERANCE, action="append", help="of layers; repeatable; default: both"
    )
    p.add_argument("--feeds", type=int, default=3, help="runs of each interpreter of a function (%(default)s)")
    p.add_argument("--invokes", type=int, default=1000, help="of the look at memory (%(default)s)")
    return p


class Table:
    """Lines for people, and what the exit code is made of."""

    def __init__(self):
        self.models = self.unknown = self.different = 0

    def row(self, name, verdict, more=""):
        print(f"{name:48} {verdict:10} {more}".rstrip(), flush=True)

    def judge(self, name, faults, more):
        self.models += 1
        self.different += bool(faults)
        self.row(
            name, "different" if faults else "equal", f"{len(faults)} faults: {faults[0][:300]}" if faults else more
        )

    def no_model(self, name, error):
        self.unknown += 1
        lines = str(error).strip().splitlines() or [type(error).__name__]
        self.row(name, "no model", f"TensorFlow does not convert it: {lines[-1][:160]}")

    def code(self):
        if self.different:
            return DIFFERENT
        return UNKNOWN if self.unknown or not self.models else EQUAL


def run_functions(tf, tflm_cy, args, table):
    """How many of the models tf.lite.Interpreter refuses."""
    refused = 0
    for name, (signature, function, feeds) in flex_functions.functions(tf).items():
        if args.only not in name:
            continue
        try:
            converted = flex_functions.convert(tf, function, signature)
        except Exception as error:
            table.no_model(name, error)
            continue
        wrong, taken = flex_functions.compare(tf, tflm_cy, MODES, converted, feeds, args.feeds)
        table.judge(name, wrong, " ".join(taken))
        try:
            tf.lite.Interpreter(model_content=converted[0]).allocate_tensors()
        except RuntimeError as error:
            refused += "Select TensorFlow op(s)" in str(error)
    return refused


def run_layers(tf, tflm_cy, args, table):
    for name, (make, batches) in flex_layers.networks(tf.keras).items():
        if args.only not in name:
            continue
        network = flex_layers.Network(tf, make)
        for batch in batches:
            for form in args.form or flex_layers.TOLERANCE:
                if args.batch and batch not in args.batch:
                    continue
                title = f"{name}; batch {batch}; {form}"
                try:
                    model = network.convert(batch, form, select=True)
                except Exception as error:
                    table.no_model(title, error)
                    continue
                largest, equal, judged, faults = flex_layers.compare(tflm_cy, MODES, network, model, batch, form)
                bytes_too = f"{equal} of {judged} runs with the bytes of the model without lists"
                table.judge(title, faults, f"{largest:.1e} from Keras; {bytes_too}")


def run_memory(tf, tflm_cy, args, table):
    network = flex_layers.Network(tf, flex_layers.networks(tf.keras)["LSTM"][0])
    model = network.convert("any", "float32", select=True)
    faults, grown = flex_layers.watch(tflm_cy, model, args.invokes)
    table.judge(f"memory over {args.invokes} invokes", faults, f"{grown:+.1f} MiB, no handle is alive after an invoke")


@judge("compat.flex")
def main(arguments=None):
    args = parser().parse_args(arguments)
    warnings.filterwarnings("ignore", message=".*tf.lite.Interpreter is deprecated.*")
    import tensorflow as tf

    import tflm_cy

    table, kinds, refused = Table(), args.kind or ("functions", "layers", "memory"), 0
    if "functions" in kinds:
        refused = run_functions(tf, tflm_cy, args, table)
    if "layers" in kinds:
        run_layers(tf, tflm_cy, args, table)
    if "memory" in kinds and (args.kind or args.only in "memory"):
        run_memory(tf, tflm_cy, args, table)
    if not table.models and not table.unknown:
        raise UsageError(f"no name contains {args.only!r}")
    print(
        f"{table.models} models, {table.different} different, {table.unknown} not converted; tf.lite.Interpreter of TensorFlow "
        f"{tf.__version__} refuses {refused} of the functions' models"
    )
    return table.code()


if __name__ == "__main__":
    sys.exit(main())
