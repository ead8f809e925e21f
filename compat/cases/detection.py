"""Boxes chosen by score: NON_MAX_SUPPRESSION_V4, NON_MAX_SUPPRESSION_V5, TFLite_Detection_PostProcess; equal scores included."""

import numpy as np
from flatbuffers import flexbuffers

from ..builder import Model, Tensor
from . import cases


@cases("NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5", dtypes=("float32",), variants=("random", "ties", "fed"))
def suppression(d):
    soft, n, limit = d.op.endswith("5"), d.width(1, 30), np.array(d.width(1, 20), np.int32)
    thresholds = [
        d.uniform(0.1, 0.9),
        d.uniform(0, 0.4),
        *([d.choice(np.float32(0), d.uniform(0.1, 1))] if soft else []),
    ]
    boxes, scores, fed = Tensor([n, 4], "float32"), Tensor([n], "float32"), d.variant == "fed"
    inputs = [boxes, scores, Tensor([], "int32") if fed else Tensor.constant(limit)]
    inputs += [Tensor.constant(np.array(t, np.float32)) for t in thresholds]
    outputs = [Tensor([int(limit)], "int32"), *([Tensor([int(limit)], "float32")] if soft else []), Tensor([], "int32")]
    model = Model.single(d.op, inputs, outputs)

    def feed():
        corners = d.rng.random((n, 2)).astype(np.float32) * 2
        values = np.concatenate([corners, corners + d.rng.random((n, 2)).astype(np.float32)], -1)
        given = d.rng.random(n).astype(np.float32)
        given = np.round(given * 4) / 4 if d.variant == "ties" else given
        return [values, given.astype(np.float32), *([limit] if fed else [])]

    return d.case(model, feed)


@cases("TFLite_Detection_PostProcess", dtypes=("float32", "uint8"), variants=("fast", "regular"))
@cases("TFLite_Detection_PostProcess", dtypes=("uint8",), variants=("regular equal scores",))
def post_process(d):
    """As many detections as boxes where TensorFlow leaves the rest of its outputs unwritten. Scores of bytes differ, but in the last."""
    n, classes, background, regular = d.width(2, 20), d.channels(1, 5), d.between(0, 1), d.variant != "fast"
    most = d.between(1, n)
    builder = flexbuffers.Builder()
    with builder.Map():
        builder.Int("max_detections", most)
        builder.Int("max_classes_per_detection", 1)
        builder.Int("detections_per_class", d.between(1, 30))
        builder.Bool("use_regular_nms", regular)
        builder.Float("nms_score_threshold", float(d.uniform(0, 0.5)) if regular else 0.0)
        builder.Float("nms_iou_threshold", float(d.uniform(0.2, 0.8)) if regular else 1.0)
        builder.Int("num_classes", classes)
        for key, value in (("y_scale", 10.0), ("x_scale", 10.0), ("h_scale", 5.0), ("w_scale", 5.0)):
            builder.Float(key, value)
    shapes = [[1, n, 4], [1, n, classes + background], [n, 4]]
    if d.dtype == "uint8":
        low, high = 0, 256
        inputs = [
            Tensor(s, "uint8", scale=k, zero_point=z)
            for s, k, z in zip(shapes, (0.05, 1 / 256, 0.004), (120, 0, 0), strict=True)
        ]
    else:
        inputs = [Tensor(s, "float32") for s in shapes]
    outputs = [Tensor(s, "float32") for s in ([1, most, 4], [1, most], [1, most], [1])]
    model = Model.single(d.op, inputs, outputs, custom_options=bytes(builder.Finish()))

    def feed():
        if d.dtype == "uint8":
            given = [d.rng.integers(low, high, s).astype(np.uint8) for s in shapes]
            if d.variant == "regular":
                given[1] = d.rng.permutation(256)[: given[1].size].reshape(shapes[1]).astype(np.uint8)
            return given
        return [d.normal(shapes[0], 2), *(d.rng.random(s).astype(np.float32) for s in shapes[1:])]

    return d.case(model, feed)
