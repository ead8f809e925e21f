"""A program becomes a case: drawn, converted in one form, with what it is fed. One process converts many; the parent outlives it.

Cases are pickled, one file each, so that a case is converted once and its process may hold other versions of TensorFlow than a side's.
"""

import os
import pickle
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from zlib import crc32

import numpy as np

from ..builder import pack_bits, read_model, write_model
from ..builder.schema import ENUMS, OPERATORS
from ..case import Case
from . import ProgramDraw, families

FORMS = ("float32", "float32", "float32", "float16", "dynamic_range", "int8", "int8 in and out", "int16x8", "sparse")
DEVIATION = 1.0  # the standard deviation of the floats that are fed
FAILED, DIED = ".failed", ".died"
ROOT = Path(__file__).resolve().parents[2]
_TYPES = {code: name.lower() for name, code in ENUMS["TensorType"].items()}


def file_name(family, seed):
    return f"{family}-{seed}"


def drawn(tf, family, seed):
    """(draw, program, form) of a family and seed."""
    d = ProgramDraw(tf, [crc32(family.encode()), seed])
    form = d.choice(*FORMS)
    d.pruned = form == "sparse"
    tf.keras.utils.set_random_seed(d.between(0, 1 << 30))
    program = families()[family](d)
    whole = any(x.dtype != "float32" for x in program.inputs)
    return d, program, d.choice("float32", "dynamic_range") if whole and form.startswith("int") else form


def make_case(tf, family, seed, invokes=3):
    """The case of a family and seed; what TensorFlow's converter raises where it does not convert it."""
    d, program, form = drawn(tf, family, seed)
    model = convert(d, program, form)
    feeds = [fed(d, program, model) for _ in range(invokes)]
    before = [] if d.flag() else None
    if form in ("dynamic_range", "int8") and np.random.default_rng([crc32(family.encode()), seed, 4]).random() < 0.4:
        narrowed = with_int4_weights(model)
        model, form = (model, form) if narrowed is None else (narrowed, f"{form}, int4 weights")
    operators = operators_of(model)
    variant = "converted, SUM of int16" if "SUM of int16" in operators else "converted"
    return Case(family, form, variant, seed, model, feeds, " ".join(sorted(operators)), None, before=before)


def operators_of(model):
    """The operators of all subgraphs; SUM with its type, which TensorFlow does not sum in all modes."""
    content, found = read_model(model), set()
    for graph in content["subgraphs"]:
        for node in graph["operators"]:
            code = content["operator_codes"][node["opcode_index"]]
            name = OPERATORS[max(code["builtin_code"], code["deprecated_builtin_code"])]
            if name == "SUM" and _TYPES[graph["tensors"][node["inputs"][0]]["type"]] == "int16":
                name = "SUM of int16"
            found.add(name)
    return found


# ---------------------------------------------------------------- the converter


def convert(d, program, form):
    """The model's bytes, by the way that users take: a network, a function with constants, a saved model where there is state."""
    tf = d.tf
    specs = [tf.TensorSpec(x.shape, x.dtype, f"x{i}") for i, x in enumerate(program.inputs)]
    body = program.function
    network = body if isinstance(body, d.keras.Model) else None
    if network and d.pruned:
        prune(d, network)
    traced = tf.function(lambda *x: body(*x), input_signature=specs)
    lite = tf.lite.TFLiteConverter
    if program.keeps and not program.frozen:
        with tempfile.TemporaryDirectory() as folder:
            program.keeps[0].program = traced
            tf.saved_model.save(program.keeps[0], folder, traced.get_concrete_function())
            return converted(d, program, form, lite.from_saved_model(folder))
    if network and specs[0].shape[0] is None and d.flag():
        return converted(d, program, form, lite.from_keras_model(network))
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    function = traced.get_concrete_function()
    if network or program.frozen:
        function = convert_variables_to_constants_v2(function, lower_control_flow=False)
    return converted(d, program, form, lite.from_concrete_functions([function], tf.Module()))


def converted(d, program, form, converter):
    tf = d.tf
    if form != "float32":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if form == "float16":
        converter.target_spec.supported_types = [tf.float16]
    if form.startswith("int"):
        converter.representative_dataset = lambda: (list(values_of(d, program)) for _ in range(4))
    if form == "int8 in and out":
        converter.inference_input_type = converter.inference_output_type = d.choice(tf.int8, tf.uint8)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    if form == "int16x8":
        sixteen = tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
        converter.target_spec.supported_ops = [sixteen, tf.lite.OpsSet.TFLITE_BUILTINS]
    if form == "sparse":
        sparse = tf.lite.Optimize.EXPERIMENTAL_SPARSITY
        converter.optimizations = [sparse, *([tf.lite.Optimize.DEFAULT] if d.flag() else [])]
    return bytes(converter.convert())


def with_int4_weights(content):
    """The model with the int8 weights of its products in 4 bits, as quantizers of their own write them; None: there are none."""
    model, changed = read_model(content), False
    for graph in model["subgraphs"]:
        for node in graph["operators"]:
            code = model["operator_codes"][node["opcode_index"]]
            name = OPERATORS[max(code["builtin_code"], code["deprecated_builtin_code"])]
            tensor = graph["tensors"][node["inputs"][1]] if name in ("FULLY_CONNECTED", "CONV_2D") else None
            data = None if tensor is None else model["buffers"][tensor["buffer"]]["data"]
            if data is None or tensor["type"] != ENUMS["TensorType"]["INT8"] or tensor["sparsity"] is not None:
                continue
            values = np.clip(np.rint(np.frombuffer(bytes(data), np.int8) / 16), -8, 7)
            model["buffers"].append({"data": pack_bits(values, 4)})
            scale = np.asarray(tensor["quantization"]["scale"], np.float32) * np.float32(16)
            tensor["quantization"] = {**tensor["quantization"], "scale": scale}
            tensor["type"], tensor["buffer"] = ENUMS["TensorType"]["INT4"], len(model["buffers"]) - 1
            changed = True
    return write_model(model) if changed else None


def prune(d, network):
    """Most weights become 0, in blocks of four columns."""
    for layer in network.layers:
        layer.set_weights([_pruned(d, value) for value in layer.get_weights()])


def _pruned(d, value):
    if value.ndim < 2:
        return value
    keep = np.repeat(d.rng.random((*value.shape[:-2], (value.shape[-2] + 3) // 4, value.shape[-1])) < 0.2, 4, -2)
    return value * keep[..., : value.shape[-2], :]


# ---------------------------------------------------------------- what is fed


def values_of(d, program, types=None):
    """Arrays for all inputs; free dimensions of one name have one size."""
    sizes = {}
    for i, x in enumerate(program.inputs):
        shape = list(x.shape)
        for k, size in enumerate(shape):
            if size is None:
                name = program.ties.get((i, k), (i, k))
                shape[k] = sizes.setdefault(name, d.between(*x.free))
        yield values(d, x, shape)


def values(d, x, shape):
    if x.values is not None:
        return np.asarray(x.values(d, shape))
    if x.dtype == "float32":
        return d.rng.normal(0, DEVIATION, shape).astype(np.float32)
    return d.rng.integers(0, 2 if x.dtype == "bool" else 9, shape).astype(x.dtype)


def fed(d, program, model):
    """One feed, in the order and types of the model's inputs."""
    content = read_model(model)
    main, arrays = content["subgraphs"][0], list(values_of(d, program))
    feed = []
    for index in main["inputs"]:
        tensor = main["tensors"][index]
        named = re.search(r"\bx(\d+)\b|_x(\d+):", _text(tensor["name"]))
        array = arrays[int(next(filter(None, named.groups()))) if len(arrays) > 1 else 0]
        dtype = _TYPES[tensor["type"]]
        if array.dtype != object and array.dtype != np.dtype(dtype):
            array = d.rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, array.shape).astype(dtype)
        feed.append(array)
    return feed


def _text(name):
    return name.decode() if isinstance(name, bytes) else name


# ---------------------------------------------------------------- files


def convert_all(into, wanted):
    """Convert what has no file yet, in processes of their own; a process that dies is told from the program that it died of."""
    into.mkdir(parents=True, exist_ok=True)
    while True:
        missing = [
            name for name in wanted if not any((into / f"{name}{end}").exists() for end in (".case", FAILED, DIED))
        ]
        if not missing:
            return
        command = [sys.executable, "-m", "compat.converted.conversion", str(into), *missing]
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        started = done.stdout.decode().split()
        if done.returncode and started:
            (into / f"{started[-1]}{DIED}").write_text(f"exit code {done.returncode}")
        elif done.returncode:
            raise RuntimeError(f"the process that converts ends with {done.returncode}")


def load(into, wanted):
    """(cases, name -> why there is none)."""
    cases, without = [], {}
    for name in wanted:
        path = into / f"{name}.case"
        if path.exists():
            cases.append(pickle.loads(path.read_bytes()))
        else:
            without[name] = next(p.read_text() for p in (into / f"{name}{end}" for end in (FAILED, DIED)) if p.exists())
    return cases, without


def main(into, names):
    import tensorflow as tf

    for name in names:
        print(name, flush=True)
        family, _, seed = name.rpartition("-")
        try:
            case = make_case(tf, family, int(seed))
        except Exception as error:
            lines = str(error).strip().splitlines() or [""]
            (Path(into) / f"{name}{FAILED}").write_text(f"{type(error).__name__}: {lines[0][:300]}")
        else:
            (Path(into) / f"{name}.case").write_bytes(pickle.dumps(case))
        tf.keras.backend.clear_session()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
