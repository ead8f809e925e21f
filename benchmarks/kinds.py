"""What kind of model a file is: the groups in which ratios are averaged.

| kind | |
| --- | --- |
| int8, uint8, int16 | activations of this type |
| dynamic range | float32 activations, 8-bit or smaller weights |
| float16 | float32 activations, weights stored as float16 |
| float32 | all of it |
| other | no products, or a file that cannot be read |

The kind is that of most weights, in elements.
"""

from collections import Counter
from functools import cache

import numpy as np

KINDS = ("int8", "uint8", "float32", "float16", "dynamic range", "int16", "other")
WEIGHTS = {  # operator -> where its values and its weights stand among the inputs
    "CONV_2D": (0, 1),
    "CONV_3D": (0, 1),
    "DEPTHWISE_CONV_2D": (0, 1),
    "FULLY_CONNECTED": (0, 1),
    "TRANSPOSE_CONV": (2, 1),
    "Convolution2DTransposeBias": (0, 1),
    "BATCH_MATMUL": (0, 1),
    "LSTM": (0, 1),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (0, 1),
    "SVDF": (0, 1),
}
SMALL = ("int8", "uint8")


@cache
def kind_of(model):
    """The kind of a model, given as bytes or as a path."""
    from tflm_cy import Interpreter, OpResolverType

    source = {"model_content": model} if isinstance(model, bytes) else {"model_path": str(model)}
    try:
        interpreter = Interpreter(**source, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    except (ValueError, RuntimeError, NotImplementedError):
        return "other"
    tensors = {details["index"]: details for details in interpreter.get_tensor_details()}
    nodes = interpreter._get_ops_details()
    made = {int(output): node for node in nodes for output in node["outputs"]}
    elements = Counter()
    for node in nodes:
        if node["op_name"] not in WEIGHTS:
            continue
        values, weights = (int(node["inputs"][k]) if k < len(node["inputs"]) else -1 for k in WEIGHTS[node["op_name"]])
        if values < 0 or weights < 0:
            continue
        # weights stored as something else than what the product reads
        while weights in made and made[weights]["op_name"] in ("DEQUANTIZE", "DENSIFY"):
            weights = int(made[weights]["inputs"][0])
        kind = _kind(*(np.dtype(tensors[t]["dtype"]).name for t in (values, weights)))
        elements[kind] += int(np.prod(tensors[weights]["shape"]))
    return elements.most_common(1)[0][0] if elements else "other"


def _kind(values, weights):
    if values == "float32":
        return "float16" if weights == "float16" else "dynamic range" if weights in SMALL else "float32"
    return values if values in KINDS else "other"
