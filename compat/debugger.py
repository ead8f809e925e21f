"""TensorFlow's QuantizationDebugger with this package's interpreter in its module's place: are its reports right?

    python -m compat.debugger
    python -m compat.debugger --net residual --json report.json

The debugger runs a quantized model whose NUMERIC_VERIFY nodes compare each layer with a float one, and reads intermediate
tensors of an interpreter that was made without `experimental_preserve_all_tensors`. TensorFlow's interpreter returns the
bytes of whichever tensor came last there. The report that this package gives is compared with the one that it gives with all
tensors kept, and with TensorFlow's with all tensors kept.

Exit code: 0 all reports are equal, 1 some differ, 2 wrong usage or no TensorFlow.
"""

import argparse
import io
import json
import os
import sys
import types
import warnings
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np

SAMPLES = 3


def convolutional(tf, x):
    x = tf.keras.layers.Conv2D(8, 3, activation="relu")(x)
    x = tf.keras.layers.DepthwiseConv2D(3, padding="same")(x)
    x = tf.keras.layers.ReLU()(x)
    x = tf.keras.layers.GlobalAveragePooling2D()(x)
    return tf.keras.layers.Dense(10, activation="softmax")(x)


def residual(tf, x):
    x = tf.keras.layers.Conv2D(8, 3, strides=2, padding="same", activation="relu")(x)
    for _ in range(2):
        y = tf.keras.layers.Conv2D(8, 3, padding="same", activation="relu")(x)
        x = tf.keras.layers.ReLU()(tf.keras.layers.Add()([x, tf.keras.layers.Conv2D(8, 3, padding="same")(y)]))
    x = tf.keras.layers.Concatenate()([tf.keras.layers.MaxPool2D(2)(x), tf.keras.layers.AveragePooling2D(2)(x)])
    return tf.keras.layers.Dense(7)(tf.keras.layers.Flatten()(x))


def dense(tf, x):
    x = tf.keras.layers.Flatten()(x)
    for units, activation in ((32, "relu"), (16, "tanh"), (16, "sigmoid")):
        x = tf.keras.layers.Dense(units, activation=activation)(x)
    return tf.keras.layers.Dense(4, activation="softmax")(x)


NETS = {"convolutional": convolutional, "residual": residual, "dense": dense}


def samples():
    """The same random images each time: what the model is calibrated with decides its scales."""
    for seed in range(SAMPLES):
        yield [np.random.default_rng(seed).standard_normal([1, 16, 16, 3]).astype(np.float32)]


def converter(tf, net, seed):
    tf.keras.utils.set_random_seed(seed)
    x = tf.keras.Input([16, 16, 3], batch_size=1)
    made = tf.lite.TFLiteConverter.from_keras_model(tf.keras.Model(x, NETS[net](tf, x)))
    made.optimizations = [tf.lite.Optimize.DEFAULT]
    made.representative_dataset = samples
    return made


def report(tf, debugger, interpreter, model):
    """(layer statistics, statistics of the model, the CSV file) of one debugger over `interpreter`, a class."""
    debugger._interpreter = types.SimpleNamespace(Interpreter=interpreter)
    options = tf.lite.experimental.QuantizationDebugOptions(
        layer_debug_metrics={"l1": lambda difference: float(np.mean(np.abs(difference)))},
        layer_direct_compare_metrics={
            "distance": lambda values, quantized, scale, zero: float(
                np.mean(np.abs(values - (quantized.astype(np.float32) - zero) * scale))
            )
        },
        model_debug_metrics={"agree": lambda a, b: float(np.argmax(a[0]) == np.argmax(b[0]))},
    )
    made = tf.lite.experimental.QuantizationDebugger(converter=model, debug_dataset=samples, debug_options=options)
    made.run()
    table = io.StringIO()
    made.layer_statistics_dump(table)
    layers = {
        name: {key: float(value) for key, value in found.items()} for name, found in made.layer_statistics.items()
    }
    return layers, {key: float(value) for key, value in made.model_statistics.items()}, table.getvalue()


def keeping(interpreter):
    """The class with all tensors kept, whatever the debugger asks for."""
    return lambda *values, **options: interpreter(*values, **{**options, "experimental_preserve_all_tensors": True})


def parser():
    p = argparse.ArgumentParser(
        "python -m compat.debugger", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--net", action="append", choices=NETS, help="only this net, repeatable")
    p.add_argument("--seed", type=int, default=0, help="another seed gives other weights (default %(default)s)")
    p.add_argument("--json", metavar="FILE", help="write all reports")
    return p


def main(argv=None):
    args = parser().parse_args(argv)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        import tensorflow as tf
        from tensorflow.lite.tools.optimize.debugging.python import debugger
    except ImportError as error:
        print(f"compat.debugger: no TensorFlow: {error}", file=sys.stderr)
        return 2
    from tflm_cy.interpreter import Interpreter

    warnings.filterwarnings("ignore")
    theirs, found, differing = debugger._interpreter.Interpreter, {}, 0
    for net in args.net or NETS:
        model = converter(tf, net, args.seed)
        sides = {"ours": Interpreter, "ours, all kept": keeping(Interpreter), "TensorFlow, all kept": keeping(theirs)}
        with redirect_stdout(io.StringIO()):  # the converter's own lines
            reports = {side: report(tf, debugger, interpreter, model) for side, interpreter in sides.items()}
        first, *others = reports.values()
        equal = all(repr(first) == repr(other) for other in others)  # by text, so that NaN equals NaN
        differing += not equal
        found[net] = {side: {"layers": r[0], "model": r[1]} for side, r in reports.items()}
        print(f"{net}: {len(first[0])} layers, the reports {'are equal' if equal else 'DIFFER'}")
    if args.json:
        Path(args.json).write_text(json.dumps(found, indent=1) + "\n")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
