"""One operator as a model that the default delegate takes."""

from compat.builder import Model
from tflm_cy import Interpreter


def run(op, inputs, outputs, feeds, version=1, **options):
    """The outputs after two invokes in the default mode, the node being delegated."""
    interpreter = Interpreter(model_content=Model.single(op, inputs, outputs, version, **options).to_bytes())
    interpreter.allocate_tensors()
    assert any(node["op_name"] == "DELEGATE" for node in interpreter._get_ops_details())
    for detail, value in zip(interpreter.get_input_details(), feeds, strict=True):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]
