"""MicroInterpreter: TFLM's rules in one arena, its own bytes where they differ, and the runtime's surface."""

import numpy as np
import pytest
from flatbuffers import flexbuffers

from compat.builder import Model, Tensor
from tests.micro.models import branches, chain, convolution, loaded
from tflm_cy import Interpreter
from tflm_cy.interpreter import OpResolverType
from tflm_cy.memory.arena import ArenaExhausted
from tflm_cy.micro import MicroInterpreter, runtime
from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.export import exported
from tflm_cy.micro.planners import plan_with


def values(model, seed=0):
    """Random int8 for a model's one input."""
    shape = MicroInterpreter(model).input_details(0)["shape"]
    return np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)


def run(interpreter, x):
    interpreter.set_input(0, x)
    interpreter.invoke()
    return interpreter.output(0)


@pytest.mark.parametrize("make", [chain, branches, convolution])
def test_an_arena_of_the_used_bytes_suffices_and_one_byte_less_does_not(make):
    model = make().to_bytes()
    size = MicroInterpreter(model).arena_used_bytes
    assert MicroInterpreter(model, size).arena_used_bytes == size
    with pytest.raises(ArenaExhausted, match="asked"):
        MicroInterpreter(model, size - 1)


def test_a_buffer_of_the_callers_holds_everything():
    model = chain().to_bytes()
    size = MicroInterpreter(model).arena_used_bytes
    buffer = bytearray(size + 16)
    interpreter = MicroInterpreter(model, buffer)
    x = values(model)
    assert (run(interpreter, x) == run(MicroInterpreter(model), x)).all()
    assert any(buffer)
    with pytest.raises(BufferError):
        buffer.clear()


@pytest.mark.parametrize("planner", ["greedy", "optimal", "overlap", "linear"])
@pytest.mark.parametrize("make", [chain, branches])
def test_every_planner_gives_the_same_bytes(make, planner):
    model = make().to_bytes()
    x = values(model)
    interpreter = MicroInterpreter(model, planner=planner)
    assert (run(interpreter, x) == run(MicroInterpreter(model), x)).all()
    assert interpreter.head_bytes == interpreter.plan.high_water_mark


@pytest.mark.parametrize("planner", ["optimal", "overlap"])
def test_an_offline_plan_changes_no_byte_even_where_it_overlaps(planner):
    model = chain()
    wanted = demand(loaded(model))
    plan, relaxed = plan_with(planner, wanted)
    planned = exported(loaded(model), wanted, plan, relaxed=relaxed, assumption="TFLM's reference kernels")
    x = values(model.to_bytes())
    assert (run(MicroInterpreter(planned), x) == run(MicroInterpreter(model.to_bytes()), x)).all()


def test_convolutions_are_the_reference_ones():
    model = convolution().to_bytes()
    x = values(model)
    reference = Interpreter(model_content=model, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    reference.allocate_tensors()
    reference.set_tensor(reference.get_input_details()[0]["index"], x)
    reference.invoke()
    assert (run(MicroInterpreter(model), x) == reference.get_tensor(reference.get_output_details()[0]["index"])).all()


def test_an_input_dies_at_its_last_read():
    sizes = {kept: MicroInterpreter(chain().to_bytes(), preserve_all_tensors=kept).head_bytes for kept in (False, True)}
    assert sizes[False] < sizes[True]


def test_tensors_can_be_read_when_they_are_preserved():
    model = chain().to_bytes()
    interpreter = MicroInterpreter(model, preserve_all_tensors=True)
    x = values(model)
    run(interpreter, x)
    assert (interpreter.tensor(interpreter.inputs[0]) == x).all()
    with pytest.raises(RuntimeError, match="preserve_all_tensors"):
        MicroInterpreter(model).tensor(0)


def test_what_the_arena_holds_is_recorded():
    interpreter = MicroInterpreter(chain().to_bytes(), recording=True)
    assert {"tensor", "node", "op data"} <= set(interpreter.records)
    assert "total" in interpreter.table()
    with pytest.raises(ValueError, match="not recorded"):
        MicroInterpreter(chain().to_bytes()).table()


def test_arguments_are_checked():
    model = chain().to_bytes()
    with pytest.raises(ValueError, match="no planner"):
        MicroInterpreter(model, planner="none")
    with pytest.raises(ValueError, match="TFLM has no operator"):
        unknown = Model.single(
            "TILE", [Tensor([2], "int8"), Tensor.constant(np.array([2], np.int32))], [Tensor([4], "int8")]
        )
        MicroInterpreter(unknown.to_bytes())


def test_a_dynamic_shape_is_the_files():
    """TFLM never looks at the shape that a RESHAPE is given at run time."""
    model = Model.single("RESHAPE", [Tensor([2, 3], "int8"), Tensor([2], "int32")], [Tensor([3, 2], "int8")])
    interpreter = MicroInterpreter(model.to_bytes())
    interpreter.set_input(0, np.arange(6, dtype=np.int8).reshape(2, 3))
    interpreter.set_input(1, np.array([3, 2], np.int32))
    interpreter.invoke()
    assert interpreter.output(0).tolist() == [[0, 1], [2, 3], [4, 5]]


# ---------------------------------------------------------------- bytes that are TFLM's own


def single(op, inputs, output, **options):
    return MicroInterpreter(Model.single(op, inputs, [output], **options).to_bytes())


def test_a_sum_of_int8_is_signed():
    axis = Tensor.constant(np.array([0], np.int32))
    interpreter = single(
        "SUM", [Tensor([2], "int8", scale=1.0, zero_point=0), axis], Tensor([], "int8", scale=1.0, zero_point=0)
    )
    assert run(interpreter, np.array([-1, -1], np.int8)) == -2


def test_the_output_of_tanh_has_steps_of_a_128th():
    interpreter = single(
        "TANH", [Tensor([3], "int8", scale=1.0, zero_point=0)], Tensor([3], "int8", scale=0.5, zero_point=7)
    )
    assert run(interpreter, np.array([-9, 0, 9], np.int8)).tolist() == [-128, 0, 127]


def test_relu6_is_not_rescaled():
    interpreter = single(
        "RELU6", [Tensor([3], "int8", scale=1.0, zero_point=1)], Tensor([3], "int8", scale=2.0, zero_point=0)
    )
    assert run(interpreter, np.array([-5, 4, 90], np.int8)).tolist() == [1, 4, 7]


def test_casting_saturates():
    interpreter = single("CAST", [Tensor([4], "float32")], Tensor([4], "int8"))
    assert run(interpreter, np.array([200, -300, np.nan, 1.9], np.float32)).tolist() == [127, -128, 0, 1]


def test_space_to_batch_pads_with_zero_bytes():
    block, pads = Tensor.constant(np.array([2], np.int32)), Tensor.constant(np.array([[1, 0]], np.int32))
    quantized = {"scale": 1.0, "zero_point": 9}
    interpreter = single(
        "SPACE_TO_BATCH_ND",
        [Tensor([1, 1, 1], "int8", **quantized), block, pads],
        Tensor([2, 1, 1], "int8", **quantized),
    )
    assert run(interpreter, np.array([[[5]]], np.int8)).ravel().tolist() == [0, 5]


@pytest.mark.parametrize("options", [{"fused_activation_function": "TANH"}, {"weights_format": "SHUFFLED4x16INT8"}])
def test_fully_connected_ignores_what_tflm_does(options):
    x, w = Tensor([2, 3], "float32"), Tensor.constant(np.eye(3, dtype=np.float32) * 5)
    model = Model.single("FULLY_CONNECTED", [x, w], [Tensor([2, 3], "float32")], **options).to_bytes()
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert run(MicroInterpreter(model), values).tolist() == (values * 5).tolist()


@pytest.mark.parametrize(
    ("op", "inputs", "shape"),
    [
        ("FULLY_CONNECTED", [Tensor.constant(np.ones((1, 3), np.float32))], [1, 1, 2, 1]),
        ("SUM", [Tensor.constant(np.array([1], np.int32))], [1, 2, 1]),
        ("SQUEEZE", [], [2, 3, 1]),
    ],
)
def test_an_output_keeps_the_files_shape(op, inputs, shape):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    model = Model.single(op, [Tensor(x.shape, "float32"), *inputs], [Tensor(shape, "float32")]).to_bytes()
    y = run(MicroInterpreter(model), x)
    assert y.shape == tuple(shape)
    assert y.ravel().tolist() == (x.ravel() if op == "SQUEEZE" else x.sum(1)).tolist()


@pytest.mark.parametrize("op", ["MAX_POOL_2D", "CONV_2D", "DEPTHWISE_CONV_2D"])
@pytest.mark.parametrize("padding", ["SAME", "VALID", 9])
def test_windows_are_as_many_as_the_file_says(op, padding):
    x = np.arange(1, 7, dtype=np.float32).reshape(1, 2, 3, 1)
    inputs = [] if op == "MAX_POOL_2D" else [Tensor.constant(np.ones((1, 1, 1, 1), np.float32))]
    options = {"filter_height": 1, "filter_width": 1} if op == "MAX_POOL_2D" else {}
    options |= {"padding": padding, "stride_h": 1, "stride_w": 1}
    model = Model.single(op, [Tensor(x.shape, "float32"), *inputs], [Tensor([1, 1, 2, 1], "float32")], **options)
    assert run(MicroInterpreter(model.to_bytes()), x).ravel().tolist() == [1, 2]
    beyond = Model.single(op, [Tensor(x.shape, "float32"), *inputs], [Tensor([1, 1, 5, 1], "float32")], **options)
    outside = np.finfo(np.float32).min if op == "MAX_POOL_2D" else 0
    assert run(MicroInterpreter(beyond.to_bytes()), x).ravel().tolist() == [1, 2, 3, outside, outside]


def test_int32_is_added_without_an_activation():
    x = Tensor([2], "int32")
    interpreter = single(
        "ADD", [x, Tensor.constant(np.array([1, 1], np.int32))], Tensor([2], "int32"), fused_activation_function="RELU"
    )
    assert run(interpreter, np.array([-5, 5], np.int32)).tolist() == [-4, 6]


# ---------------------------------------------------------------- operators that only TFLM has


def signal(op, options, inputs, outputs):
    model = Model()
    main = model.subgraph("main")
    main.op(op, inputs, outputs, custom_options=None if options is None else bytes(flexbuffers.Dumps(options)))
    main.inputs, main.outputs = [x for x in inputs if x.data is None], outputs
    return MicroInterpreter(model.to_bytes())


def test_a_window_is_a_product_shifted():
    weights = Tensor.constant(np.array([256, 128, 0], np.int16))
    interpreter = signal("SignalWindow", {"shift": 8}, [Tensor([3], "int16"), weights], [Tensor([3], "int16")])
    assert run(interpreter, np.array([-7, 7, 7], np.int16)).tolist() == [-7, 3, 0]


def test_a_spectrum_and_back():
    rfft = signal("SignalRfft", {"T": 0, "fft_length": 16}, [Tensor([16], "float32")], [Tensor([18], "float32")])
    irfft = signal("SignalIrfft", {"T": 0, "fft_length": 16}, [Tensor([18], "float32")], [Tensor([16], "float32")])
    x = np.random.default_rng(0).standard_normal(16).astype(np.float32)
    spectrum = run(rfft, x)
    assert np.allclose(spectrum[::2] + 1j * spectrum[1::2], np.fft.rfft(x), atol=1e-5)
    assert np.allclose(run(irfft, spectrum), x, atol=1e-5)


def test_a_delay_keeps_a_history_until_it_is_reset():
    interpreter = signal("SignalDelay", {"delay_length": 2}, [Tensor([3], "int16")], [Tensor([3], "int16")])
    assert run(interpreter, np.array([1, 2, 3], np.int16)).tolist() == [0, 0, 1]
    assert run(interpreter, np.array([4, 5, 6], np.int16)).tolist() == [2, 3, 4]
    interpreter.reset()
    assert run(interpreter, np.array([7, 8, 9], np.int16)).tolist() == [0, 0, 7]


def test_a_stacker_says_when_it_is_full():
    options = {"num_channels": 1, "stacker_left_context": 1, "stacker_right_context": 1, "stacker_step": 2}
    interpreter = signal("SignalStacker", options, [Tensor([1], "int16")], [Tensor([3], "int16"), Tensor([], "bool")])
    seen = []
    for k in (1, 2, 3, 4):
        frame = run(interpreter, np.array([k], np.int16)).tolist()
        seen.append(frame if interpreter.output(1) else None)
    assert seen == [None, [1, 1, 2], None, [2, 3, 4]]


def test_a_circular_buffer_stops_the_graph_between_its_cycles():
    shapes = [Tensor([1, 1, 1, 1], "int8")], [Tensor([1, 2, 1, 1], "int8")]
    interpreter = signal("CIRCULAR_BUFFER", {"cycles_max": 2}, *shapes)
    codes = []
    for k in (1, 2, 3):
        interpreter.set_input(0, np.full((1, 1, 1, 1), k, np.int8))
        codes.append(interpreter.invoke())
    assert codes == [15, 0, 15]
    assert interpreter.output(0).ravel().tolist() == [2, 3]


@pytest.mark.parametrize("options", [None, {"shift": "8"}, {"shift": 99}])
def test_bad_options_are_refused(options):
    with pytest.raises((RuntimeError, ValueError)):
        signal("SignalWindow", options, [Tensor([3], "int16"), Tensor([3], "int16")], [Tensor([3], "int16")])


# ---------------------------------------------------------------- the runtime's surface


def test_the_runtime_runs_a_model():
    model = chain().to_bytes()
    x = values(model)
    interpreter = runtime.Interpreter.from_bytes(model)
    interpreter.set_input(x, 0)
    assert interpreter.invoke() == 0
    assert (interpreter.get_output(0) == run(MicroInterpreter(model), x)).all()
    details = interpreter.get_input_details(0)
    assert set(details) == {"dtype", "shape", "quantization_parameters"}
    assert interpreter.reset() == 0


def test_the_runtime_reads_a_file(tmp_path):
    path = tmp_path / "model.tflite"
    path.write_bytes(chain().to_bytes())
    assert runtime.Interpreter.from_file(path).get_output_details(0)["shape"].tolist() == [1, 128]
    with pytest.raises(ValueError, match="Invalid model file path"):
        runtime.Interpreter.from_file(tmp_path / "none")


def test_the_runtimes_errors():
    model = chain().to_bytes()
    interpreter = runtime.Interpreter.from_bytes(model)
    with pytest.raises(ValueError, match="Got value of type FLOAT32 but expected type INT8 for input 0"):
        interpreter.set_input(np.zeros((1, 8, 8, 4), np.float32), 0)
    with pytest.raises(ValueError, match=r"Dimension mismatch\. Got 1 but expected 4 for input 0"):
        interpreter.set_input(np.zeros(1, np.int8), 0)
    with pytest.raises(ValueError, match="Got 2 but expected 1 for dimension 0 of input 0"):
        interpreter.set_input(np.zeros((2, 8, 8, 4), np.int8), 0)
    with pytest.raises(IndexError, match="out of bound"):
        interpreter.get_output(1)
    with pytest.raises(ValueError, match="non-negative"):
        interpreter.get_output(-1)
    with pytest.raises(RuntimeError, match="GetTensor"):
        interpreter.GetTensor(0, 0)
    with pytest.raises(RuntimeError, match="TFLM failed to allocate tensors"):
        runtime.Interpreter.from_bytes(model, arena_size=100)
    with pytest.raises(ValueError, match="must not be None"):
        runtime.Interpreter.from_bytes(None)
    with pytest.raises(RuntimeError, match="could not register"):
        runtime.Interpreter.from_bytes(model, ["None"])


def test_the_runtime_prints_tflms_figures(capfd):
    interpreter = runtime.Interpreter.from_bytes(chain().to_bytes())
    interpreter.print_allocations()
    assert "Arena allocation total" in capfd.readouterr().err
    preserving = runtime.Interpreter.from_bytes(
        chain().to_bytes(), intrepreter_config=runtime.InterpreterConfig.kPreserveAllTensors
    )
    assert set(preserving.GetTensor(0, 0)) == {"dtype", "shape", "tensor_data"}
    with pytest.raises(ValueError, match="not recorded"):
        preserving.print_allocations()
