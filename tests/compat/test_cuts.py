"""compat.cuts: every distinct operator once, able to run alone."""

import numpy as np

import tflm_cy
from compat import cuts
from compat.builder import Model, Tensor, operator_name, read_model


def write_model(folder, name):
    """A call of a subgraph, which cannot run alone, two equal RELU, and an ADD of a constant."""
    x, a, b = (Tensor([2, 3], "float32") for _ in range(3))
    y, bias = Tensor([2, 3], "float32"), Tensor([3], "float32", data=np.arange(3, dtype=np.float32))
    model = Model()
    main, init = model.subgraph("main"), model.subgraph("init")
    main.op("CALL_ONCE", [], [], init_subgraph_index=init)
    main.op("RELU", [x], [a])
    main.op("RELU", [a], [b])
    main.op("ADD", [b, bias], [y], fused_activation_function="RELU")
    path = folder / name
    path.write_bytes(model.to_bytes())
    return path


def test_distinct_operators_once(tmp_path):
    write_model(tmp_path, "a.tflite")
    write_model(tmp_path, "b.tflite")
    (tmp_path / "damaged.tflite").write_bytes(b"no model")
    assert cuts.main(["--models", str(tmp_path), "--into", str(tmp_path / "cuts")]) == 0
    names = sorted(path.name for path in (tmp_path / "cuts").rglob("*.tflite"))
    assert names == ["a_1_RELU.tflite", "a_3_ADD.tflite"]


def test_a_cut_computes_what_its_operator_does(tmp_path):
    path = write_model(tmp_path, "a.tflite")
    found = dict(cuts.cuts([("a.tflite", path)]))
    model = read_model(found["a_3_ADD.tflite"])
    assert [operator_name(model, operator) for operator in model["subgraphs"][0]["operators"]] == ["ADD"]
    interpreter = tflm_cy.Interpreter(model_content=found["a_3_ADD.tflite"])
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.full([2, 3], -1, np.float32))
    interpreter.invoke()
    out = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    assert out.tolist() == [[0, 0, 1], [0, 0, 1]]


def test_meaningless_quantized_dimensions_are_left_out(tmp_path):
    x, y = Tensor([1, 4], "int8", scale=0.5, zero_point=0), Tensor([1, 2], "int8", scale=1.0, zero_point=0)
    w = Tensor([2, 4], "int8", scale=0.5, zero_point=0, data=np.ones([2, 4], np.int8))
    bias = Tensor([2], "int32", scale=0.25, zero_point=0, data=np.zeros(2, np.int32))
    blob = read_model(Model.single("FULLY_CONNECTED", [x, w, bias], [y], 4).to_bytes())
    for tensor in blob["subgraphs"][0]["tensors"]:
        if len(tensor["shape"]) == 1:
            tensor["quantization"]["quantized_dimension"] = 3
    path = tmp_path / "m.tflite"
    path.write_bytes(cuts.write_model(blob))
    [(_, cut)] = cuts.cuts([("m.tflite", path)])
    tensors = read_model(cut)["subgraphs"][0]["tensors"]
    assert {tensor["quantization"]["quantized_dimension"] for tensor in tensors} == {0}
