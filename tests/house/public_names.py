"""A program that uses every public name, as a user's would: what `mypy --strict` and pyright judge (`test_types`).

It runs, too: `main(folder)` on the models that the package brings.
"""

from pathlib import Path
from typing import Any

import numpy as np

import tflm_cy
import tflm_cy.demo
from tflm_cy import (
    Delegate,
    Interpreter,
    InterpreterWithCustomOps,
    OpResolverType,
    SignatureRunner,
    experimental,
    interpreter,
    load_delegate,
)
from tflm_cy.config import peaks
from tflm_cy.custom.operator import Invocation, Preparation
from tflm_cy.custom.registry import CustomOpResolver
from tflm_cy.litert import (
    CompiledModel,
    CpuKernelMode,
    CpuOptions,
    Environment,
    EnvironmentOptions,
    HardwareAccelerator,
    Options,
    TensorBuffer,
)
from tflm_cy.memory import (
    Arena,
    ArenaExhausted,
    ArenaPair,
    ArenaPlanner,
    Block,
    GrowingArena,
    Plan,
    PlannedNode,
    Problem,
    RecordingArena,
    SharedArena,
    SimpleMemoryArena,
    SingleArena,
    Tenant,
)
from tflm_cy.memory.check import check
from tflm_cy.memory.greedy import greedy
from tflm_cy.memory.linear import linear
from tflm_cy.memory.offline_plan import offline_plan
from tflm_cy.memory.optimal import fit, optimal
from tflm_cy.memory.overlap import overlap
from tflm_cy.memory.reorder import Ordering, peak_of, reorder
from tflm_cy.memory.tflite import tflite
from tflm_cy.micro import MicroInterpreter, runtime
from tflm_cy.micro.figures import Figures, Record, figures
from tflm_cy.micro.planners import plan_with, planners
from tflm_cy.micro.survey import TARGETS, Survey
from tflm_cy.profile import NodeTime, Operand, Profile, multiply_adds
from tflm_cy.schema.contents import contents
from tflm_cy.schema.errors import ModelFileError, ModelNotFoundError
from tflm_cy.schema.model import Model
from tflm_cy.shim import DEFAULT, PACKAGES

MODEL = Path(tflm_cy.demo.__file__).parent / "digits_int8.tflite"


def run_a_model() -> list[Any]:
    """tf.lite's names."""
    one: Interpreter = Interpreter(
        model_path=str(MODEL), num_threads=1, experimental_op_resolver_type=OpResolverType.AUTO
    )
    one.allocate_tensors()
    details: list[dict[str, Any]] = one.get_input_details()
    index: int = details[0]["index"]
    one.resize_tensor_input(index, [1, 8, 8, 1], strict=False)
    one.allocate_tensors()
    one.set_tensor(index, np.zeros((1, 8, 8, 1), np.int8))
    one.invoke()
    y = one.get_tensor(one.get_output_details()[0]["index"])
    view = one.tensor(index)()
    seen: tuple[int, ...] = view.shape
    del view
    one.reset_all_variables()
    runner: SignatureRunner = one.get_signature_runner()
    named: dict[str, Any] = runner(image=np.zeros((1, 8, 8, 1), np.int8))
    said: str = repr(one)
    flag: bool = one.experimental_compress_quantization_zero_points
    return [
        *(y, seen, named, said, flag, one.num_subgraphs(), one.get_tensor_details(0), one.get_signature_list()),
        *(runner.get_input_details(), runner.get_output_details(), interpreter.Interpreter is Interpreter),
        experimental.OpResolverType is OpResolverType,
    ]


def run_a_compiled_model() -> list[Any]:
    """LiteRT's names."""
    options = Options(
        hardware_accelerators=HardwareAccelerator.CPU,
        cpu_options=CpuOptions(num_threads=1, kernel_mode=CpuKernelMode.DELEGATE),
    )
    environment: Environment = Environment.create(options=EnvironmentOptions(runtime_path="anywhere"))
    with CompiledModel.from_file(MODEL, environment=environment, options=options) as model:
        key: str = model.get_signature_by_index(0)["key"]
        model.resize_input_tensor(0, [2, 8, 8, 1], strict=False)
        model.resize_input_tensor_by_name(key, "image", [1, 8, 8, 1], strict=False)
        inputs: list[TensorBuffer] = model.create_input_buffers(0)
        outputs: list[TensorBuffer] = model.create_output_buffers(0)
        inputs[0].write(np.zeros((1, 8, 8, 1), np.int8))
        model.run_by_index(0, inputs, outputs)
        mine: TensorBuffer = TensorBuffer.create_from_host_memory(np.zeros(10, np.int8))
        model.run_by_name(key, {"image": inputs[0]}, {"probabilities": mine})
        read = mine.read(10, np.int8)
        mine.destroy()
        said: list[Any] = [
            *(model.get_signature_list(), model.get_num_signatures(), model.get_signature_index(key)),
            *(model.get_input_tensor_details(key), model.get_output_tensor_details(key), model.is_fully_accelerated()),
            *(model.get_input_buffer_requirements(0), model.get_output_buffer_requirements(0), model.environment),
            *(
                model.create_input_buffer_by_name(key, "image"),
                model.create_output_buffer_by_name(key, "probabilities"),
            ),
        ]
    return [*said, read, outputs[0].array, outputs[0].get_tensor_details(), Options.create()]


def look_inside() -> list[NodeTime]:
    """What every interpreter has beyond tf.lite's names."""
    one = Interpreter(model_content=MODEL.read_bytes(), fuse=False, disable_passes=["tile"])
    one.allocate_tensors()
    plan: list[int] = one.execution_plan()
    taken: dict[int, tuple[list[int], list[int], list[int]]] = one.delegate_nodes()
    odd: list[dict[str, Any]] = one.quirks()
    done: list[dict[str, Any]] = one.explain()
    profile: Profile = one.profile()
    with profile:
        one.invoke()
    nodes: list[NodeTime] = profile.nodes()
    seconds: float = float(profile.seconds().sum()) + profile.runs(0).shape[0]
    for node in nodes:
        operand: Operand | None = node.inputs[0]
        if operand is not None and operand.constant:
            seconds += node.seconds + node.macs_per_second + node.bytes_per_second
        multiply_adds(node.op_name, node.inputs, node.outputs)
    profile.stop()
    assert plan and done and taken is not None and odd is not None and seconds > 0
    return nodes


def prepare(node: Preparation) -> None:
    node.set_shape(0, node.inputs[0].shape)


def invoke(node: Invocation) -> None:
    np.negative(node.inputs[0], out=node.outputs[0])


def register(resolver: CustomOpResolver) -> None:
    resolver.register_custom_op("Negate", prepare, invoke)


def bring_operators() -> Interpreter:
    """Custom operators, of the process and of one interpreter."""
    tflm_cy.register_custom_op("Negate", prepare, invoke)
    tflm_cy.unregister_custom_op("Negate")
    return InterpreterWithCustomOps(custom_op_registerers=[register], model_path=MODEL)


def look_for_delegates() -> list[str]:
    """There are none, with the exceptions that programs expect."""
    said = []
    for make in (Delegate, load_delegate, experimental.load_delegate):
        try:
            make("libnone.so")
        except (OSError, ValueError) as error:
            said.append(str(error))
    return said


def replace_other_packages() -> dict[str, str]:
    """Stand-ins, and what this process runs with."""
    assert set(DEFAULT) <= set(PACKAGES)
    tflm_cy.install("tflite_runtime")
    tflm_cy.uninstall("tflite_runtime")
    known: dict[str, float] = peaks()
    config: dict[str, str] = tflm_cy.show_config()
    return {**config, "version": tflm_cy.__version__, "peaks": str(known)}


def plan_memory() -> list[Plan]:
    """Arenas, problems and planners."""
    problem = Problem(sizes=[100, 80, 50], first_use=[0, 1, 2], last_use=[1, 2, 3])
    plans: list[Plan] = [
        *(greedy(problem), linear(problem), optimal(problem), tflite(problem), overlap(problem)),
        offline_plan(problem, [0, 112, 0]),
    ]
    for plan in plans:
        check(problem, plan)
    fitting: Plan | None = fit(problem, 10_000)
    order: Ordering = reorder([4, 8], [[0]], [[1]], inputs=[0], outputs=[1])
    assert fitting is not None and peak_of(order.order, [4, 8], [[0]], [[1]], inputs=[0], outputs=[1]) == order.peak
    block = Block(4096)
    shared = SharedArena(SingleArena(4096))
    arenas: list[Arena] = [SingleArena(block), GrowingArena(), ArenaPair(4096, 4096), Tenant(shared)]
    arenas.append(RecordingArena(SingleArena(4096)))
    for arena in arenas:
        arena.tail(16)
    try:
        arenas[0].tail(1 << 20)
    except ArenaExhausted as error:
        assert error.asked == 1 << 20
    simple = SimpleMemoryArena(16)
    simple.allocate(10, 0, 1)
    planner = ArenaPlanner([4, 8], [PlannedNode([0], [1])], [0], [1])
    planner.plan()
    planner.execute()
    assert planner.arena_bytes > 0 and simple.high_water_mark > 0
    return plans


def ask_about_a_microcontroller() -> Figures:
    """TFLM's rules and figures."""
    micro = MicroInterpreter(MODEL, planner="optimal")
    micro.set_input(0, np.zeros((1, 8, 8, 1), np.int8))
    code: int = micro.invoke()
    used: int = micro.arena_used_bytes + micro.head_bytes + micro.tail_bytes
    other = runtime.Interpreter.from_file(str(MODEL), intrepreter_config=runtime.InterpreterConfig.kPreserveAllTensors)
    other.set_input(np.zeros((1, 8, 8, 1), np.int8), 0)
    survey = Survey(MODEL, targets=TARGETS)
    found: Figures = figures(Model.from_path(MODEL), "arm32")
    records: dict[str, Record] = found.kinds
    assert code == other.invoke() == 0 and used > 0 and records
    assert plan_with(planners()[0], survey.demand)[0].high_water_mark == survey.figures().head
    return found


def read_a_file() -> dict[str, Any]:
    """What is in a file, and what is no model."""
    model: Model = Model.from_buffer(MODEL.read_bytes())
    try:
        Model.from_path("none.tflite")
    except ModelNotFoundError as error:
        assert isinstance(error, ModelFileError) and error.errno
    return contents(model)


def main() -> None:
    """Everything once."""
    for part in (
        run_a_model,
        run_a_compiled_model,
        look_inside,
        bring_operators,
        look_for_delegates,
        replace_other_packages,
    ):
        assert part()
    assert plan_memory() and ask_about_a_microcontroller().fits and read_a_file()["subgraphs"]


if __name__ == "__main__":
    main()
