"""What `interpreter._interpreter` is: `core.Core`, with the methods of TensorFlow's private InterpreterWrapper.

    interpreter._interpreter.NumNodes()
    interpreter._interpreter.TensorName(3, 0)

TensorFlow's Python class is written on top of these methods, and programs call them, too. Names, arguments, results and exception
types are TensorFlow's; where the index of a subgraph leads TensorFlow outside of its memory, ValueError is raised. What the binding takes
by position only is taken by position only.
"""
# ruff: noqa: N802 - the names are TensorFlow's

import operator

import numpy as np

from tflm_cy.core import Core
from tflm_cy.signature import definitions

_WITHOUT_NATIVE = "there is no native tf.lite interpreter behind this object; tflm_cy runs on the CPU only"


def _indices(found):
    return np.array(found, np.int32)


class InterpreterWrapper(Core):
    """See the module; made by `Interpreter`."""

    __slots__ = ()

    # ---------------------------------------------------------------- life cycle

    def AllocateTensors(self, subgraph_index=-1):
        """Prepare a subgraph; -1 is the primary one."""
        self.allocate(0 if subgraph_index == -1 else subgraph_index)

    def Invoke(self, subgraph_index=0):
        """Run a subgraph once."""
        self.invoke(subgraph_index)

    def ResetVariableTensors(self):
        """As `Interpreter.reset_all_variables`."""
        self.reset_variables()

    def ResizeInputTensor(self, i, value, strict, subgraph_index=0):
        """As `Interpreter.resize_tensor_input`, of any subgraph; the shape is an int32 array."""
        shape = np.asarray(value)
        if shape.dtype != np.int32:
            raise ValueError(f"Shape must be type int32 (was {shape.dtype}).")
        if shape.ndim != 1:
            raise ValueError(f"Shape should be 1D instead of {shape.ndim}.")
        self.resize(i, shape.tolist(), bool(strict), subgraph_index)

    def SetNumThreads(self, num_threads, /):
        """How many threads may share a node, 0 and -1 being 1; has an effect before the first allocation only."""
        threads = operator.index(num_threads)
        if threads < -1:
            raise ValueError(f"num_threads should be above 0, or -1, not {threads}")
        self.set_num_threads(max(1, threads))

    def ModifyGraphWithDelegate(self, address, /):
        """Raises: delegates of native code do not run here."""
        operator.index(address)
        raise NotImplementedError(_WITHOUT_NATIVE)

    def interpreter(self):
        """Raises: programs take the address of a C++ object from it."""
        raise NotImplementedError(_WITHOUT_NATIVE)

    # ---------------------------------------------------------------- values

    def SetTensor(self, i, value, subgraph_index=0):
        """As `Interpreter.set_tensor`, of any subgraph."""
        self.set_tensor(i, value, subgraph_index)

    def GetTensor(self, tensor_index, subgraph_index=0):
        """As `Interpreter.get_tensor`."""
        return self.get_tensor(tensor_index, subgraph_index)

    def tensor(self, base_object, tensor_index, subgraph_index=0):
        """The array that the function of `Interpreter.tensor` gives; it keeps the memory alive, whatever the first argument is."""
        return self.view(tensor_index, subgraph_index)

    # ---------------------------------------------------------------- the graph

    def NumSubgraphs(self):
        """Number of subgraphs."""
        return self.num_subgraphs()

    def GetSignatureDefs(self):
        """`{signature key: {"inputs": {name: tensor index}, "outputs": {name: tensor index}}}`."""
        return {
            key: {"inputs": inputs, "outputs": outputs} for key, (_, inputs, outputs) in definitions(self.model).items()
        }

    def GetSubgraphIndexFromSignature(self, signature_key, /):
        """Index of the subgraph that a signature runs."""
        if not isinstance(signature_key, (str, bytes)):
            raise TypeError(f"a signature's key is wanted, not {type(signature_key).__name__}")
        key = signature_key if isinstance(signature_key, str) else signature_key.decode()
        known = definitions(self.model)
        if key not in known:
            raise ValueError("No matching signature.")
        return known[key][0]

    def InputIndices(self):
        """Tensor indices of the primary subgraph's inputs, int32."""
        return _indices(self.inputs())

    def OutputIndices(self):
        """Tensor indices of the primary subgraph's outputs, int32."""
        return _indices(self.outputs())

    def NumNodes(self):
        """Number of the primary subgraph's nodes, those of delegates included."""
        return self.node_count()

    def NodeName(self, node_index, /):
        """Name of a node's operator; "" of a node that does not exist."""
        try:
            return self.node_details(node_index)["op_name"]
        except ValueError:
            return ""

    def NodeInputs(self, node_index, /):
        """Tensor indices of a node's inputs, -1 where one is omitted."""
        return self.node_details(node_index)["inputs"]

    def NodeOutputs(self, node_index, /):
        """Tensor indices of a node's outputs."""
        return self.node_details(node_index)["outputs"]

    # ---------------------------------------------------------------- tensors

    def NumTensors(self, subgraph_index, /):
        """Number of the file's tensors in a subgraph; TensorFlow counts those that its kernels have added, too."""
        return self.tensor_count(subgraph_index)

    def TensorName(self, tensor_index, subgraph_index, /):
        """Name of a tensor; "" of one that does not exist."""
        if not 0 <= tensor_index < self.tensor_count(subgraph_index):
            return ""
        return self.tensor_details(tensor_index, subgraph_index)["name"]

    def TensorType(self, tensor_index, subgraph_index, /):
        """The numpy scalar type of a tensor's elements."""
        return self.tensor_details(tensor_index, subgraph_index)["dtype"]

    def TensorSize(self, tensor_index, subgraph_index, /):
        """Shape of a tensor, int32."""
        return self.tensor_details(tensor_index, subgraph_index)["shape"]

    def TensorSizeSignature(self, tensor_index, subgraph_index, /):
        """Shape of a tensor with -1 for what a resize may change, int32."""
        return self.tensor_details(tensor_index, subgraph_index)["shape_signature"]

    def TensorQuantization(self, tensor_index, subgraph_index, /):
        """(scale, zero point) of a tensor that has one of each, else (0.0, 0)."""
        return self.tensor_details(tensor_index, subgraph_index)["quantization"]

    def TensorQuantizationParameters(self, tensor_index, subgraph_index, /):
        """(scales, zero points, quantized dimension, block size)."""
        return tuple(self.tensor_details(tensor_index, subgraph_index)["quantization_parameters"].values())

    def TensorSparsityParameters(self, tensor_index, subgraph_index, /):
        """How a sparse tensor is stored; {} of a dense one."""
        return self.tensor_details(tensor_index, subgraph_index)["sparsity_parameters"]
