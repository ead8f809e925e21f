"""The models that ship: what they promise about accuracy, quantization, batches and the images."""

from pathlib import Path

import numpy as np
import pytest

import tflm_cy.demo
from compat.builder import operator_name, read_model
from compat.builder.schema import ENUMS
from tflm_cy import Interpreter, OpResolverType

FOLDER = Path(tflm_cy.demo.__file__).parent
MODES = [OpResolverType.AUTO, OpResolverType.BUILTIN_REF]


@pytest.fixture(scope="module")
def held_out():
    with np.load(FOLDER / "digits_test.npz") as data:
        return data["images"], data["labels"]


def probabilities(name, images, mode):
    """All images as one batch, through the model's signature; real numbers."""
    interpreter = Interpreter(str(FOLDER / f"digits_{name}.tflite"), experimental_op_resolver_type=mode)
    runner = interpreter.get_signature_runner("serving_default")
    x = images[..., None].astype(np.float32) / 16
    if name == "int8":
        scale, zero_point = runner.get_input_details()["image"]["quantization"]
        x = np.clip(np.round(x / scale) + zero_point, -128, 127).astype(np.int8)
    y = runner(image=x)["probabilities"]
    if name == "int8":
        scale, zero_point = runner.get_output_details()["probabilities"]["quantization"]
        y = (y.astype(float) - zero_point) * scale
    return y


@pytest.mark.parametrize("mode", MODES)
def test_both_nets_read_what_they_promise(held_out, mode):
    images, labels = held_out
    right = {name: (probabilities(name, images, mode).argmax(1) == labels).mean() for name in ("float", "int8")}
    assert right["float"] >= 0.97
    assert right["int8"] >= right["float"] - 0.01


@pytest.mark.parametrize("name, sum_error", [("float", 1e-5), ("int8", 0.03)])
def test_outputs_are_probabilities(held_out, name, sum_error):
    y = probabilities(name, held_out[0], OpResolverType.AUTO)
    assert y.min() >= 0
    np.testing.assert_allclose(y.sum(1), 1, atol=sum_error)


@pytest.mark.parametrize("name", ["float", "int8"])
@pytest.mark.parametrize("mode", MODES)
def test_a_batch_reads_as_its_images_do_alone(held_out, name, mode):
    """Bit for bit in the reference; the other arithmetics sum a float product in another order for another number of rows."""
    images = held_out[0][:9]
    together = probabilities(name, images, mode)
    alone = np.concatenate([probabilities(name, images[i : i + 1], mode) for i in range(len(images))])
    if name == "int8" or mode == OpResolverType.BUILTIN_REF:
        np.testing.assert_array_equal(together, alone)
    np.testing.assert_allclose(together, alone, rtol=1e-4, atol=1e-6)


def test_the_held_out_images_are_plain():
    with np.load(FOLDER / "digits_test.npz") as data:
        assert sorted(data) == ["images", "labels"]
        images, labels = data["images"], data["labels"]
    assert images.shape == (len(labels), 8, 8) and images.dtype == np.uint8 and images.max() == 16
    assert labels.dtype == np.uint8 and set(labels) == set(range(10))


def test_the_files_are_small():
    assert sum(path.stat().st_size for path in FOLDER.glob("digits_*")) < 100_000


def test_the_int8_net_is_int8_throughout_with_weights_per_channel():
    model = read_model((FOLDER / "digits_int8.tflite").read_bytes())
    graph = model["subgraphs"][0]
    types = {code: name for name, code in ENUMS["TensorType"].items()}
    channels = {}
    for operator in graph["operators"]:
        name = operator_name(model, operator)
        tensors = [graph["tensors"][i] for i in operator["inputs"]]
        output = graph["tensors"][operator["outputs"][0]]
        assert types[tensors[0]["type"]] == types[output["type"]] == "INT8"
        if name in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"):
            x, weights, bias = (t["quantization"] for t in tensors)
            assert [types[t["type"]] for t in tensors] == ["INT8", "INT8", "INT32"]
            np.testing.assert_allclose(bias["scale"], x["scale"][0] * weights["scale"], rtol=1e-6)
            assert not np.any(weights["zero_point"])
            channels.setdefault(name, []).append(len(weights["scale"]))
    assert channels == {"CONV_2D": [16, 16, 32], "DEPTHWISE_CONV_2D": [16], "FULLY_CONNECTED": [1]}


def test_the_held_out_images_are_the_end_of_the_data_set(held_out):
    pytest.importorskip("sklearn")
    from tflm_cy.demo.train import digits

    _, _, images, labels = digits.load()
    np.testing.assert_array_equal(images, held_out[0])
    np.testing.assert_array_equal(labels, held_out[1])
