"""NON_MAX_SUPPRESSION_V4 and NON_MAX_SUPPRESSION_V5: boxes chosen by score and overlap."""

import contextlib

import numpy as np
import pytest
from flatbuffers import flexbuffers

from compat.builder import Model, Tensor
from tflm_cy import Interpreter
from tflm_cy.micro import MicroInterpreter
from tflm_cy.schema.flexbuffer import numbers

from .one_operator import run, same

BOXES = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 5, 1, 6], [1, 1, 0, 0]], np.float32)
SCORES = np.array([0.9, 0.75, 0.6, 0.3], np.float32)


def suppress(op, limit=3, sigma=None, overlap=0.5, fed=False):
    outputs = [Tensor([3], "int32"), *([] if sigma is None else [Tensor([3], "float32")]), Tensor([], "int32")]
    limit = np.array(limit, np.int32)
    inputs = [(BOXES, "float32"), (SCORES, "float32"), (limit, "int32") if fed else limit]
    inputs += [np.array(v, np.float32) for v in (overlap, 0.2, *([] if sigma is None else [sigma]))]
    return run(op, inputs, outputs)


@pytest.mark.parametrize("fed", [True, False])
def test_hard(fed):
    chosen, count = suppress("NON_MAX_SUPPRESSION_V4", fed=fed)
    same(chosen, np.array([0, 2, 0], np.int32))
    same(count, np.int32(2))


def test_soft_lowers_the_scores_of_neighbours():
    chosen, scores, count = suppress("NON_MAX_SUPPRESSION_V5", sigma=0.5, overlap=1.0)
    same(chosen, np.array([0, 2, 1], np.int32))
    shared = 0.9 / 1.1
    np.testing.assert_allclose(scores, [0.9, 0.6, 0.75 * np.exp(-shared * shared)], rtol=1e-6)
    same(count, np.int32(3))


@pytest.mark.parametrize("options", [{"limit": -1}, {"limit": -1, "fed": True}, {"sigma": -1.0}])
def test_refused(options):
    with pytest.raises((ValueError, RuntimeError)):
        suppress("NON_MAX_SUPPRESSION_V5", **options)


def detection_operands(boxes, scores, **changed):
    """What `run` takes: inputs, outputs, options."""
    options = {"max_detections": 2, "max_classes_per_detection": 1, "num_classes": 2, "nms_score_threshold": 0.1}
    options |= {"nms_iou_threshold": 0.5, "y_scale": 1.0, "x_scale": 1.0, "h_scale": 1.0, "w_scale": 1.0, **changed}
    n = len(boxes)
    anchors = np.tile(np.array([0, 0, 1, 1], np.float32), (n, 1))
    outputs = [Tensor(s, "float32") for s in ([1, 2, 4], [1, 2], [1, 2], [1])]
    inputs = [(boxes[None], "float32"), (scores[None], "float32"), anchors]
    return inputs, outputs, {"custom_options": bytes(flexbuffers.Dumps(options))}


def detect(boxes, scores, **changed):
    inputs, outputs, options = detection_operands(boxes, scores, **changed)
    return run("TFLite_Detection_PostProcess", inputs, outputs, **options)


def test_boxes_without_area_fail_on_devices():
    """exp(-1000) is 0: TFLM refuses the box, TensorFlow Lite chooses it."""
    boxes, scores = np.array([[0, 0, -1000, 0]], np.float32), np.array([[0.1, 0.9, 0.2]], np.float32)
    assert detect(boxes, scores)[3].tolist() == [1]
    inputs, outputs, options = detection_operands(boxes, scores)
    shapes = [Tensor([1, 1, 4], "float32"), Tensor([1, 1, 3], "float32"), Tensor.constant(inputs[2])]
    model = Model.single("TFLite_Detection_PostProcess", shapes, outputs, **options).to_bytes()
    interpreter = MicroInterpreter(model)
    interpreter.set_input(0, boxes[None])
    interpreter.set_input(1, scores[None])
    with pytest.raises(RuntimeError, match="ValidateBoxes"):
        interpreter.invoke()


@pytest.mark.parametrize("regular", [True, False])
def test_detections(regular):
    boxes = np.array([[0, 0, 0, 0], [0.1, 0, 0, 0], [9, 0, 0, 0]], np.float32)
    scores = np.array([[0.1, 0.9, 0.2], [0.1, 0.8, 0.3], [0.1, 0.2, 0.7]], np.float32)
    found, classes, given, count = detect(boxes, scores, use_regular_nms=regular)
    assert found[0].tolist() == [[-0.5, -0.5, 0.5, 0.5], [8.5, -0.5, 9.5, 0.5]]
    assert classes[0].tolist() == [0, 1]
    assert given[0].tolist() == scores[[0, 2], [1, 2]].tolist()
    assert count.tolist() == [2]


@pytest.mark.parametrize("threads", [1, 2, 3, 5])
def test_regular_detections_lack_a_class_with_several_threads(threads):
    """That with the number of the threads; five boxes far apart, each of a class of its own."""
    boxes = np.array([[9 * i, 0, 0, 0] for i in range(5)], np.float32)
    anchors = np.tile(np.array([0, 0, 1, 1], np.float32), (5, 1))
    scores = np.diag([0.9, 0.8, 0.7, 0.6, 0.5]).astype(np.float32)
    options = {"max_detections": 5, "max_classes_per_detection": 1, "num_classes": 5, "nms_score_threshold": 0.1}
    options |= {
        "nms_iou_threshold": 0.5,
        "y_scale": 1.0,
        "x_scale": 1.0,
        "h_scale": 1.0,
        "w_scale": 1.0,
        "use_regular_nms": True,
    }
    inputs = [Tensor([1, 5, 4], "float32"), Tensor([1, 5, 5], "float32"), Tensor.constant(anchors)]
    outputs = [Tensor(s, "float32") for s in ([1, 5, 4], [1, 5], [1, 5], [1])]
    model = Model.single(
        "TFLite_Detection_PostProcess", inputs, outputs, custom_options=bytes(flexbuffers.Dumps(options))
    )
    interpreter = Interpreter(model_content=model.to_bytes(), num_threads=threads)
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), (boxes, scores), strict=True):
        interpreter.set_tensor(detail["index"], array[None])
    interpreter.invoke()
    classes, count = (interpreter.get_tensor(interpreter.get_output_details()[i]["index"]) for i in (1, 3))
    want = [label for label in range(5) if threads == 1 or label != threads]
    assert classes[0][: len(want)].tolist() == want
    assert count.tolist() == [len(want)]


@pytest.mark.parametrize(
    "options",
    [{"nms_iou_threshold": 2.0}, {"num_classes": 9}, {"max_detections": -1}, {"max_classes_per_detection": 0}],
)
def test_detections_refused(options):
    with pytest.raises((ValueError, RuntimeError)):
        detect(np.zeros((1, 4), np.float32), np.ones((1, 3), np.float32), **options)


@pytest.mark.parametrize("end", range(0, 40, 3))
def test_options_cut_short_are_refused(end):
    whole = bytes(flexbuffers.Dumps({"num_classes": 2, "max_detections": 300, "y_scale": 1.5, "nms": True}))
    assert numbers(whole) == {"num_classes": 2, "max_detections": 300, "y_scale": 1.5, "nms": True}
    with contextlib.suppress(ValueError):
        assert isinstance(numbers(whole[:end]), dict)
