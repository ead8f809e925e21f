"""Nets as files: DIR/seed<N>/<family>/<net>_<kind>.tflite, made with Keras and TensorFlow's converter; what is there is not made again.

    made = list(make(Path("nets"), all_nets(), KINDS, seed=0))  # a line for people per file
    (path, reason) = refused(Path("nets"), 0)[0]                  # what the converter does not make, and why

A net that the converter refuses in a kind leaves a file <net>_<kind>.refused with the reason, so that it is not asked again.
"""

import gc
import os
import time
import warnings
from zlib import crc32

import numpy as np

from compat.keras import convert, set_random_weights

from .nets import KINDS

FORMS = {kind: "dynamic_range" if kind == "dynamic" else kind for kind in KINDS}  # compat.keras' names
SAMPLES = 4  # that ranges are measured on


def folder_of(folder, seed):
    return folder / f"seed{seed}"


def path_of(folder, net, kind, seed):
    return folder_of(folder, seed) / net.family / f"{net.name}_{kind}.tflite"


def missing(folder, nets, kinds, seed):
    """(net, kinds of it that are not there), where there are any."""
    for net in nets:
        paths = {kind: path_of(folder, net, kind, seed) for kind in net.kinds() if kind in kinds}
        todo = [k for k, path in paths.items() if not path.exists() and not path.with_suffix(".refused").exists()]
        if todo:
            yield net, todo


def refused(folder, seed):
    """(name, reason) of what the converter does not make."""
    found = sorted(folder_of(folder, seed).rglob("*.refused"))
    return [(path.stem, path.read_text().strip()) for path in found]


def make(folder, nets, kinds, seed):
    """Write what is missing; yields a line per file."""
    todo = list(missing(folder, nets, kinds, seed))
    if not todo:
        return
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import tensorflow as tf
    tf.get_logger().setLevel("ERROR")
    for net, asked in todo:
        frozen, samples = build(tf, net, seed)
        for kind in asked:
            yield _write(tf, path_of(folder, net, kind, seed), frozen, kind, samples)
        tf.keras.backend.clear_session()
        gc.collect()


def build(tf, net, seed):
    """The net as a function without variables (which converts ten times as fast as a Keras model), and inputs for it."""
    rng = np.random.default_rng([seed, crc32(f"weights of {net.name}".encode())])
    inputs, outputs = net.made(tf.keras.layers, seed)
    model = tf.keras.Model(inputs, outputs)
    samples = [[drawn(rng, tensor) for tensor in model.inputs] for _ in range(SAMPLES)]
    first = samples[0]
    set_random_weights(model, rng, first if isinstance(inputs, list) else first[0])
    return _frozen(tf, model), samples


def _frozen(tf, model):
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    @tf.function
    def call(*values):
        return model(list(values) if len(values) > 1 else values[0], training=False)

    traced = call.get_concrete_function(*(tf.TensorSpec(x.shape, x.dtype) for x in model.inputs))
    return convert_variables_to_constants_v2(traced, lower_control_flow=False)


def drawn(rng, tensor):
    """Values of an input: numbers of tokens and positions are small."""
    if "int" in str(tensor.dtype):
        return rng.integers(0, 10, tensor.shape).astype(np.int32)
    return rng.uniform(-1, 1, tensor.shape).astype(np.float32)


def _write(tf, path, frozen, kind, samples):
    path.parent.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    try:
        content = convert(tf, tf.lite.TFLiteConverter.from_concrete_functions([frozen], None), FORMS[kind], samples)
    except Exception as error:
        reason = next((line.strip() for line in reversed(str(error).splitlines()) if line.strip()), "no reason given")
        path.with_suffix(".refused").write_text(f"{type(error).__name__}: {reason}\n")
        return f"{path.name}: the converter refuses it: {reason[:150]}"
    partial = path.with_suffix(".partial")
    partial.write_bytes(content)
    partial.replace(path)
    return f"{path.name}: {len(content) / 1e3:.0f} kB in {time.perf_counter() - start:.1f} s"
