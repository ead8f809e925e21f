"""`interpreter._interpreter`: the methods of TensorFlow's private wrapper. `compat --programs` compares them with TensorFlow's."""

import gc
import weakref

import numpy as np
import pytest

from compat.builder import Model, Sparsity, Tensor
from compat.inside import TENSOR_METHODS, Inside, told
from tests.harness import same
from tflm_cy import Interpreter
from tflm_cy.core import Core

BAD = ["0", 0.5, None]


def model():
    x = Tensor([1, 4], "int8", scale=0.5, zero_point=-3, name="x", shape_signature=[-1, 4])
    w = Tensor.constant(np.array([[2, 0, 0, 0], [0, 0, 3, 0]], np.int8), scale=[0.25, 0.125], axis=0, name="w")
    b = Tensor.constant(np.zeros(2, np.int32), scale=[0.125, 0.0625], name="b")
    y = Tensor([1, 2], "int8", scale=1.0, zero_point=5, name="y", shape_signature=[-1, 2])
    made = Model.single("FULLY_CONNECTED", [x, w, b], [y], 12)
    made.signature("first", {"in": 0}, {"out": 3})
    return made.to_bytes()


@pytest.fixture
def interpreter():
    return Interpreter(model_content=model())


@pytest.fixture
def wrapper(interpreter):
    return interpreter._interpreter


def test_the_graph(wrapper):
    assert (wrapper.NumSubgraphs(), wrapper.NumTensors(0), wrapper.NumNodes()) == (1, 4, 1)
    same(wrapper.InputIndices(), [0], np.int32)
    same(wrapper.OutputIndices(), [3], np.int32)
    assert wrapper.NodeName(0) == "FULLY_CONNECTED"
    same(wrapper.NodeInputs(0), [0, 1, 2], np.int32)
    same(wrapper.NodeOutputs(0), [3], np.int32)
    assert wrapper.GetSignatureDefs() == {"first": {"inputs": {"in": 0}, "outputs": {"out": 3}}}
    assert wrapper.GetSubgraphIndexFromSignature("first") == 0


def test_tensors(wrapper):
    assert [wrapper.TensorName(t, 0) for t in range(4)] == ["x", "w", "b", "y"]
    assert [wrapper.TensorType(t, 0) for t in range(4)] == [np.int8, np.int8, np.int32, np.int8]
    same(wrapper.TensorSize(0, 0), [1, 4], np.int32)
    same(wrapper.TensorSizeSignature(0, 0), [-1, 4], np.int32)
    assert wrapper.TensorQuantization(0, 0) == (0.5, -3) and wrapper.TensorQuantization(1, 0) == (0.0, 0)
    scales, zero_points, dimension, block = wrapper.TensorQuantizationParameters(1, 0)
    same(scales, [0.25, 0.125], np.float32)
    same(zero_points, [0, 0], np.int32)
    assert (dimension, block, wrapper.TensorSparsityParameters(1, 0)) == (0, 0, {})


def test_a_sparse_tensor():
    made = Model.single("NEG", [Tensor([2, 2], "float32")], [Tensor([2, 2], "float32")])
    stored = Sparsity([0, 1], [("dense", 2), ("csr", [0, 1, 2], [1, 0])])
    made.subgraphs[0].tensor(Tensor([2, 2], "float32", data=np.array([7, 8], np.float32), sparsity=stored))
    wrapper = Interpreter(model_content=made.to_bytes())._interpreter
    assert list(wrapper.TensorSparsityParameters(2, 0)) == ["traversal_order", "dim_metadata"]


def test_a_run_by_its_methods_alone(wrapper):
    with pytest.raises(RuntimeError):
        wrapper.Invoke()
    wrapper.ResizeInputTensor(0, np.array([2, 4], np.int32), False)
    wrapper.AllocateTensors()
    wrapper.AllocateTensors(0)
    wrapper.SetTensor(0, np.int8([[1, 2, 3, 4], [-3, -3, -3, -3]]))
    wrapper.SetTensor(i=0, value=np.int8([[1, 2, 3, 4], [-3, -3, -3, -3]]), subgraph_index=0)
    assert wrapper.Invoke() is None
    assert wrapper.ResetVariableTensors() is None
    same(wrapper.GetTensor(3), [[6, 6], [5, 5]], np.int8)
    same(wrapper.GetTensor(tensor_index=3, subgraph_index=0), [[6, 6], [5, 5]], np.int8)


def test_a_view_guards_as_that_of_the_interpreter(interpreter, wrapper):
    wrapper.AllocateTensors()
    view = wrapper.tensor(wrapper, 0)
    view[:] = 7
    assert not interpreter._safe_to_run()
    with pytest.raises(RuntimeError, match="reference to internal data"):
        wrapper.Invoke()
    del view
    wrapper.Invoke()
    assert interpreter.get_tensor(0).tolist() == [[7] * 4]


@pytest.mark.parametrize("name", TENSOR_METHODS)
def test_indices_that_lead_nowhere(wrapper, name):
    method = getattr(wrapper, name)
    for t in (-1, 4, 1 << 30):
        if name == "TensorName":
            assert method(t, 0) == ""
        else:
            with pytest.raises(ValueError, match="Invalid tensor index"):
                method(t, 0)
    for bad in BAD:
        with pytest.raises(TypeError):
            method(bad, 0)
    with pytest.raises(TypeError):
        method(0)
    for g in (-1, 1):  # TensorFlow reads beyond its memory
        with pytest.raises(ValueError, match="Invalid subgraph index"):
            method(0, g)


def test_nodes_and_signatures_that_do_not_exist(wrapper):
    for n in (-1, 1):
        assert wrapper.NodeName(n) == ""
        for method in (wrapper.NodeInputs, wrapper.NodeOutputs):
            with pytest.raises(ValueError, match="Invalid node index"):
                method(n)
    with pytest.raises(ValueError, match="No matching signature"):
        wrapper.GetSubgraphIndexFromSignature("second")
    for method in (wrapper.NodeName, wrapper.NodeInputs, wrapper.AllocateTensors, wrapper.Invoke, wrapper.GetTensor):
        for bad in BAD:
            with pytest.raises(TypeError):
                method(bad)
    for bad in (0, None, []):
        with pytest.raises(TypeError):
            wrapper.GetSubgraphIndexFromSignature(bad)


@pytest.mark.parametrize(
    ("shape", "error"),
    [
        (np.array([2, 4], np.int64), "Shape must be type int32"),
        ([2, 1 << 40], "Shape must be type int32"),
        (np.array([[2, 4]], np.int32), "Shape should be 1D"),
    ],
)
def test_shapes_are_int32_arrays(wrapper, shape, error):
    with pytest.raises(ValueError, match=error):
        wrapper.ResizeInputTensor(0, shape, False)


def test_what_needs_native_code_says_so(wrapper):
    for call in (wrapper.interpreter, lambda: wrapper.ModifyGraphWithDelegate(0x1234)):
        with pytest.raises(NotImplementedError, match="CPU only"):  # a RuntimeError: programs fall back
            call()
    with pytest.raises(TypeError):
        wrapper.ModifyGraphWithDelegate("delegate.so")


def test_threads_are_set_before_the_first_allocation(wrapper):
    wrapper.SetNumThreads(3)
    assert wrapper.num_threads == 3
    wrapper.SetNumThreads(-1)
    assert wrapper.num_threads == 1
    wrapper.SetNumThreads(2)
    wrapper.AllocateTensors()
    wrapper.SetNumThreads(4)
    assert wrapper.num_threads == 2
    with pytest.raises(ValueError, match="-2"):
        wrapper.SetNumThreads(-2)
    for bad in BAD:
        with pytest.raises(TypeError):
            wrapper.SetNumThreads(bad)


def test_it_is_the_interpreters_inside_and_holds_nothing_else(interpreter, wrapper):
    assert isinstance(wrapper, Core) and wrapper is interpreter._interpreter and bool(wrapper)
    with pytest.raises(AttributeError):
        wrapper.note = "mine"
    gone = weakref.ref(Interpreter(model_content=model())._interpreter)
    gc.collect()
    assert gone() is None


def test_what_programs_of_compat_do_with_it(interpreter):
    inside = Inside(interpreter)
    inside.resize_tensor_input(0, [3, 4])
    inside.allocate_tensors()
    inside.set_tensor(0, np.full([3, 4], 1, np.int8))
    inside.invoke()
    inside.reset_all_variables()
    assert inside.get_tensor(3).shape == (3, 2) and inside.get_input_details()[0]["shape"].tolist() == [3, 4]
    text = told(interpreter, [0, 3])
    assert "FULLY_CONNECTED" in text and "{first: " in text and "int32 [3, 2]" in text
