"""An interpreter used through its private wrapper, `interpreter._interpreter`, as TensorFlow's own Python class and some programs do."""

import numpy as np

from .details import details_text

TENSOR_METHODS = (
    "TensorName",
    "TensorType",
    "TensorSize",
    "TensorSizeSignature",
    "TensorQuantization",
    "TensorQuantizationParameters",
    "TensorSparsityParameters",
)


class Inside:
    """The calls of an interpreter that change something, by the wrapper's methods; the others are the interpreter's."""

    def __init__(self, interpreter):
        self._outside, self._wrapper = interpreter, interpreter._interpreter

    def __getattr__(self, name):
        return getattr(self._outside, name)

    def allocate_tensors(self):
        self._wrapper.AllocateTensors()

    def invoke(self):
        self._wrapper.Invoke()

    def set_tensor(self, index, value):
        self._wrapper.SetTensor(index, value)

    def get_tensor(self, index):
        return self._wrapper.GetTensor(index)

    def resize_tensor_input(self, index, shape, strict=False):
        self._wrapper.ResizeInputTensor(index, np.array(shape, np.int32), strict)

    def reset_all_variables(self):
        self._wrapper.ResetVariableTensors()


def told(interpreter, tensors):
    """What the wrapper says about signatures, nodes, and the primary subgraph's tensors of these indices, in one line."""
    wrapper = interpreter._interpreter
    nodes = [
        (wrapper.NodeName(n), wrapper.NodeInputs(n).tolist(), wrapper.NodeOutputs(n).tolist())
        for n in range(wrapper.NumNodes())
    ]
    signatures = wrapper.GetSignatureDefs()
    subgraphs = [wrapper.GetSubgraphIndexFromSignature(key) for key in signatures]
    sides = wrapper.InputIndices().tolist(), wrapper.OutputIndices().tolist()
    found = [[getattr(wrapper, name)(t, 0) for name in TENSOR_METHODS] for t in tensors]
    return details_text([wrapper.NumSubgraphs(), sides, nodes, signatures, subgraphs, found])
