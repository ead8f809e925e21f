"""How the default delegate cuts a plan: TensorFlow's order, its DELEGATE nodes, and who may look inside."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from tests.machine import delegated
from tflm_cy import Interpreter, OpResolverType

pytestmark = delegated


def f32(*shape):
    return Tensor(list(shape), "float32")


def two_branches():
    """sin-like example of the documents: S1 A1 M S2 A2 with LOG for what is left and ADD, MUL for what is taken."""
    x, s1, a1, m, s2, y = (f32(4) for _ in range(6))
    model = Model()
    main = model.subgraph("main")
    main.op("LOG", [x], [s1])
    main.op("ADD", [s1, x], [a1])
    main.op("MUL", [x, Tensor.constant(np.float32([2]))], [m])
    main.op("LOG", [m], [s2])
    main.op("ADD", [a1, s2], [y])
    main.outputs = [y]
    return model.to_bytes()


@pytest.mark.parametrize(
    ("options", "plan"),
    [
        ({}, [0, 5, 3, 6]),
        ({"experimental_disable_delegate_clustering": True}, [0, 5, 3, 6]),
        ({"experimental_preserve_all_tensors": True}, [0, 5, 6, 3, 7]),
        ({"experimental_op_resolver_type": OpResolverType.BUILTIN_REF}, [0, 1, 2, 3, 4]),
        ({"experimental_op_resolver_type": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES}, [0, 1, 2, 3, 4]),
    ],
)
def test_plans(options, plan):
    interpreter = Interpreter(model_content=two_branches(), **options)
    assert interpreter.execution_plan() == [0, 1, 2, 3, 4]  # the delegate comes with the first allocation
    interpreter.allocate_tensors()
    assert interpreter.execution_plan() == plan
    x = np.float32([1, 2, 3, 4])
    interpreter.set_tensor(0, x)
    interpreter.invoke()
    got = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    np.testing.assert_allclose(got, np.log(x) + x + np.log(2 * x), rtol=1e-6)


def test_what_a_user_sees_of_a_partition():
    interpreter = Interpreter(model_content=two_branches())
    interpreter.allocate_tensors()
    names = [op["op_name"] for op in interpreter._get_ops_details()]
    assert names == ["LOG", "ADD", "MUL", "LOG", "ADD", "DELEGATE", "DELEGATE"]
    nodes, inputs, outputs = interpreter.delegate_nodes()[5]
    assert nodes == [1, 2]
    assert outputs == sorted(interpreter._get_ops_details()[i]["outputs"][0] for i in nodes)
    assert inputs == sorted(inputs)


def test_the_inside_of_a_partition_has_no_memory():
    x, a, y = f32(4), f32(4), f32(4)
    model = Model()
    main = model.subgraph("main")
    main.op("NEG", [x], [a])
    main.op("ABS", [a], [y])
    blob = model.to_bytes()
    interpreter = Interpreter(model_content=blob)
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.float32([1, -2, 3, -4]))
    interpreter.invoke()
    with pytest.raises(ValueError, match="Tensor data is null"):
        interpreter.get_tensor(1)
    with pytest.raises(ValueError, match="Tensor data is null"):
        interpreter.tensor(1)()
    with pytest.raises(ValueError, match="Tensor is unallocated"):
        interpreter.set_tensor(1, np.zeros(4, np.float32))
    everything = Interpreter(model_content=blob, experimental_preserve_all_tensors=True)
    everything.allocate_tensors()
    everything.set_tensor(0, np.float32([1, -2, 3, -4]))
    everything.invoke()
    assert everything.get_tensor(1).tolist() == [-1, 2, -3, 4]


def test_a_claimed_node_that_cannot_be_created_fails_allocation():
    """TRANSPOSE whose two sides have different scales: claimed, then refused, as in TensorFlow."""
    x, y = Tensor([2, 3], "int8", scale=0.5, zero_point=0), Tensor([3, 2], "int8", scale=0.25, zero_point=0)
    blob = Model.single("TRANSPOSE", [x, Tensor.constant(np.int32([1, 0]))], [y]).to_bytes()
    interpreter = Interpreter(model_content=blob)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"parameters of input and output differ.*Node number 1"):
            interpreter.allocate_tensors()
    plain = Interpreter(
        model_content=blob, experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    )
    plain.allocate_tensors()


def test_denormals_count_as_zeros_only_inside_of_the_delegate():
    """FTZ and DAZ hold for delegated nodes; numpy and the nodes around them keep denormals."""
    x, y = f32(2), f32(2)
    blob = Model.single("MUL", [x, Tensor.constant(np.float32([1, 1]))], [y]).to_bytes()
    tiny = np.float32([1e-40, -1e-40])
    results = {}
    for mode in (OpResolverType.AUTO, OpResolverType.BUILTIN_REF):
        interpreter = Interpreter(model_content=blob, experimental_op_resolver_type=mode)
        interpreter.allocate_tensors()
        interpreter.set_tensor(0, tiny)
        interpreter.invoke()
        results[mode] = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
        assert (tiny + np.float32(0)).tobytes() == tiny.tobytes()
    assert results[OpResolverType.AUTO].tobytes() == np.float32([0.0, -0.0]).tobytes()
    assert results[OpResolverType.BUILTIN_REF].tobytes() == tiny.tobytes()


@pytest.mark.parametrize("chain", [[], ["NEG"], ["NEG", "ABS", "EXP"]])
@pytest.mark.parametrize("read", [True, False])
def test_nodes_that_nobody_reads_are_left_out_with_what_they_refuse(chain, read):
    """Shapes that cannot be broadcast: XNNPACK does not look at nodes without readers, nor at those that only such nodes read."""
    x, y, out = f32(3, 5), f32(3, 5), f32(3, 5)
    model = Model()
    main = model.subgraph("main")
    [last] = main.op("MUL", [x, y], [f32(3, 5)])
    for name in chain:
        [last] = main.op(name, [last], [f32(3, 5)])
    main.op("ADD", [x, x], [out])
    main.inputs, main.outputs = [x, y], [out, *([last] if read else [])]
    interpreter = Interpreter(model_content=model.to_bytes())
    interpreter.allocate_tensors()
    interpreter.resize_tensor_input(0, [4, 5])
    if read:
        with pytest.raises(RuntimeError, match="not broadcastable"):
            interpreter.allocate_tensors()
        return
    interpreter.allocate_tensors()
    interpreter.set_tensor(0, np.full([4, 5], 3, np.float32))
    interpreter.invoke()
    assert interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).tolist() == [[6] * 5] * 4
    [(nodes, _, outputs)] = interpreter.delegate_nodes().values()  # TensorFlow's plan has them
    assert nodes == list(range(len(chain) + 2)) and len(outputs) == 1
    reference = Interpreter(model_content=model.to_bytes(), experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    reference.resize_tensor_input(0, [4, 5])
    with pytest.raises(RuntimeError, match="broadcast"):
        reference.allocate_tensors()


def test_a_node_that_cannot_be_created_is_refused_also_where_nobody_reads_it():
    """A copy between different scales, in a graph without outputs."""
    x, y = (Tensor([2], "int8", scale=scale, zero_point=0) for scale in (0.5, 0.25))
    model = Model()
    main = model.subgraph("main")
    main.op("TRANSPOSE", [x, Tensor.constant(np.array([0], np.int32))], [y])
    main.inputs, main.outputs = [x], []
    interpreter = Interpreter(model_content=model.to_bytes())
    with pytest.raises(RuntimeError, match="differ"):
        interpreter.allocate_tensors()
