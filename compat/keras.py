"""Well-known networks as .tflite files, with random weights: models whose size and structure are real.

    python -m compat.keras DIR                               # eight networks of tf.keras.applications, four forms each
    python -m compat.keras DIR --net MobileNetV2 --form int8 --size 96
    python -m compat --models DIR --mode AUTO

A file is DIR/<network>_<form>.tflite; what is there is not made again. Forms: float32, float16 (constants), dynamic_range
(int8 weights, float32 activations), int8 (all of it, input and output too). The outputs are the logits and their softmax.

Weights are drawn so that numbers stay lively through all layers (He's initialisation, batch normalization with the
statistics of random images), and a network whose outputs do not tell two images apart is refused.
"""

import argparse
import gc
import os
import sys
import warnings
from contextlib import redirect_stdout
from io import StringIO
from itertools import chain
from pathlib import Path
from zlib import crc32

import numpy as np

from .progress import track

FORMS = ("float32", "float16", "dynamic_range", "int8")
# network -> its constructor in tf.keras.applications and the range of its input (two bring their own preprocessing)
NETWORKS = {
    "MobileNetV1": ("MobileNet", -1, 1),
    "MobileNetV2": ("MobileNetV2", -1, 1),
    "MobileNetV3Small": ("MobileNetV3Small", 0, 255),
    "EfficientNetB0": ("EfficientNetB0", 0, 255),
    "ResNet50": ("ResNet50", -1, 1),
    "DenseNet121": ("DenseNet121", -1, 1),
    "NASNetMobile": ("NASNetMobile", -1, 1),
    "InceptionV3": ("InceptionV3", -1, 1),
}
IMAGES = 8  # that statistics and ranges are measured on


def parser():
    p = argparse.ArgumentParser(
        "python -m compat.keras", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("folder", metavar="DIR", type=Path, help="where the models are written")
    p.add_argument("--net", action="append", choices=NETWORKS, metavar="NAME", help=f"repeatable: {' '.join(NETWORKS)}")
    p.add_argument("--form", action="append", choices=FORMS, metavar="NAME", help=f"repeatable: {' '.join(FORMS)}")
    p.add_argument("--size", type=int, default=128, help="height and width of the images, 75 or more (%(default)s)")
    p.add_argument("--seed", type=int, default=0, help="another seed gives other weights (default %(default)s)")
    return p


def images(name, size, seed, count=IMAGES):
    """Random images in the network's input range, each smooth in parts and noisy in parts."""
    rng = np.random.default_rng([seed, crc32(name.encode())])
    _, low, high = NETWORKS[name]
    coarse = rng.uniform(0, 1, [count, 4, 4, 3]).repeat(-(-size // 4), 1).repeat(-(-size // 4), 2)[:, :size, :size]
    share = rng.uniform(0.2, 0.8, [count, 1, 1, 1])
    return (low + (high - low) * (share * coarse + (1 - share) * rng.uniform(0, 1, coarse.shape))).astype(np.float32)


def build(tf, name, size, seed):
    """The network with random weights; its outputs are logits and softmax."""
    constructor, *_ = NETWORKS[name]
    classifier = getattr(tf.keras.applications, constructor)(
        weights=None, input_shape=(size, size, 3), classifier_activation=None
    )
    network = tf.keras.Model(classifier.input, [classifier.output, tf.keras.layers.Softmax()(classifier.output)])
    set_random_weights(
        network, np.random.default_rng([seed, crc32(f"weights of {name}".encode())]), images(name, size, seed)
    )
    return network


def set_random_weights(network, rng, inputs):
    """Random weights; batch normalization gets the statistics of the inputs, a tensor or a list of them."""
    normalizations = []
    for layer in network.layers:
        if type(layer).__name__ == "BatchNormalization":
            normalizations.append((layer, layer.momentum))
            layer.momentum = 0.0
        layer.set_weights([_weights(rng, variable.path, value) for variable, value in _variables(layer)])
    # One pass as in training, without memory of earlier ones: every layer keeps the statistics of what it has seen.
    network(inputs, training=True)
    for layer, momentum in normalizations:
        layer.momentum = momentum


def _variables(layer):
    return zip(layer.weights, layer.get_weights(), strict=True)


def _weights(rng, path, value):
    """Random values for one variable of a layer, by the variable's name."""
    name = path.rsplit("/", 1)[-1]
    if "kernel" in name:
        # A depthwise kernel [h, w, channels, 1] adds h * w products, any other all but its last axis.
        count = np.prod(value.shape[:2] if "depthwise" in path and value.ndim == 4 else value.shape[:-1])
        gain = 3.0 if value.ndim == 2 else np.sqrt(2.0)
        return (rng.standard_normal(value.shape) * gain / np.sqrt(count)).astype(value.dtype)
    if name == "gamma":
        return rng.uniform(0.7, 1.3, value.shape).astype(value.dtype)
    if name in ("beta", "bias"):
        return (rng.standard_normal(value.shape) * 0.2).astype(value.dtype)
    return value


def convert(tf, converter, form, samples):
    """The bytes of one form, without what the converter prints about each of its tensors; a sample is a list of inputs."""
    if form != "float32":
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
    if form == "float16":
        converter.target_spec.supported_types = [tf.float16]
    if form in ("int8", "int16x8"):
        converter.representative_dataset = lambda: iter(samples)
    if form == "int8":
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
    if form == "int16x8":
        of_int16 = tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
        converter.target_spec.supported_ops = [of_int16, tf.lite.OpsSet.TFLITE_BUILTINS]
    with redirect_stdout(StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return converter.convert()


def liveliness(tf, model, pictures):
    """How many of the logits of two images differ, from 0 to 1; 0 also where they are not finite."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        interpreter = tf.lite.Interpreter(model_content=model)
    interpreter.allocate_tensors()
    (given,), found = interpreter.get_input_details(), []
    for picture in pictures[:2]:
        scale, zero_point = given["quantization"]
        if given["dtype"] is np.int8:
            picture = np.clip(np.round(picture / scale) + zero_point, -128, 127).astype(np.int8)
        interpreter.set_tensor(given["index"], picture[None])
        interpreter.invoke()
        found.append([interpreter.get_tensor(output["index"]) for output in interpreter.get_output_details()])
    if not all(np.isfinite(value).all() for outputs in found for value in outputs):
        return 0.0
    return max(float((one != other).mean()) for one, other in zip(*found, strict=True))


def make(tf, folder, name, forms, size, seed):
    """Write the forms of one network; a line for people as each is there."""
    network, pictures = build(tf, name, size, seed), images(name, size, seed)
    for form in forms:
        converter = tf.lite.TFLiteConverter.from_keras_model(network)
        model = convert(tf, converter, form, [[picture[None]] for picture in pictures])
        differing = liveliness(tf, model, pictures)
        if differing < 0.5:
            raise SystemExit(f"compat.keras: {name} {form} gives {differing:.0%} different logits for two images")
        file = folder / f"{name}_{form}.tflite"
        partial = file.with_suffix(".partial")
        partial.write_bytes(model)
        partial.replace(file)
        yield f"{file}: {len(model) / 1e6:.1f} MB, {differing:.0%} of the logits differ between two images"
    tf.keras.backend.clear_session()
    gc.collect()


def main(argv=None):
    args = parser().parse_args(argv)
    if args.size < 75:
        parser().error(f"--size {args.size}: InceptionV3 needs 75")
    args.folder.mkdir(parents=True, exist_ok=True)
    todo = {
        name: [form for form in args.form or FORMS if not (args.folder / f"{name}_{form}.tflite").exists()]
        for name in args.net or NETWORKS
    }
    count = sum(map(len, todo.values()))
    if not count:
        print(f"compat.keras: all of it is in {args.folder}")
        return 0
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        import tensorflow as tf
    except ImportError as error:
        print(f"compat.keras: {error}; pip install -e '.[compat]'", file=sys.stderr)
        return 2
    made = (make(tf, args.folder, name, forms, args.size, args.seed) for name, forms in todo.items() if forms)
    for line in track(chain.from_iterable(made), count):
        print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
