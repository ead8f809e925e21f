"""Sides: the interpreters that are measured, each opened with a number of threads.

    side = load_side("tensorflow")
    open_interpreter = side.start()  # imports the runtime
    interpreter = open_interpreter(path_or_bytes, "BUILTIN_REF", 1)

Nothing is imported before `start`. `statement` is the import that a program begins with. A side is named by its entry
in SIDES, or by an importable module that has a `SIDE`.
"""

import importlib
import importlib.metadata
import importlib.util
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from compat.sides import load_side as load_compat_side

MODES = ("AUTO", "BUILTIN", "BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES")


@dataclass(frozen=True)
class Side:
    """`package` is the top-level package whose folder is the installation; `modes` are the op resolvers that it has."""

    name: str
    package: str
    statement: str
    start: Callable
    modes: tuple = MODES
    distributions: tuple = ()

    def installed(self):
        return importlib.util.find_spec(self.package) is not None

    def mode(self, asked):
        """The mode to open when `asked` is asked: a side of one arithmetic has only its own."""
        return asked if asked in self.modes else self.modes[0]

    def version(self):
        """The version of the first distribution that is installed; "" when none is."""
        for distribution in self.distributions:
            try:
                return importlib.metadata.version(distribution)
            except importlib.metadata.PackageNotFoundError:
                continue
        return ""


def _lookalike(module_name):
    """`open_interpreter` of a module that looks like tf.lite.Interpreter's."""
    module = importlib.import_module(module_name)
    warnings.filterwarnings("ignore", message=".*tf.lite.Interpreter is deprecated.*")

    def open_interpreter(model, mode, threads):
        source = {"model_content": model} if isinstance(model, bytes) else {"model_path": model}
        resolver = getattr(module.OpResolverType, mode)
        return module.Interpreter(**source, num_threads=threads, experimental_op_resolver_type=resolver)

    return open_interpreter


def _micro():
    """The microcontroller runtime behind the same calls; it has one thread."""
    opened = load_compat_side("tflite_micro").start()
    return lambda model, mode, threads: opened(model, mode)


def _openvino():
    """OpenVINO's CPU plugin, which reads .tflite files, behind the same calls; its arithmetic is its own."""
    import openvino

    core = openvino.Core()

    class Adapter:
        def __init__(self, model, threads):
            self._model, self._threads = self._read(model), threads
            self.allocate_tensors()

        def _read(self, model):
            if not isinstance(model, bytes):
                return core.read_model(model)
            with tempfile.NamedTemporaryFile(suffix=".tflite") as file:  # bytes are taken for OpenVINO's own format
                file.write(model)
                file.flush()
                return core.read_model(file.name)

        def get_input_details(self):
            shapes = [port.get_partial_shape() for port in self._model.inputs]
            fixed = [list(shape.to_shape()) if shape.is_static else [] for shape in shapes]
            return [{"index": i, "shape": shape} for i, shape in enumerate(fixed)]

        def get_output_details(self):
            return [{"index": len(self._model.inputs) + i} for i in range(len(self._model.outputs))]

        def resize_tensor_input(self, index, shape):
            self._model.reshape({self._model.inputs[index]: openvino.PartialShape(list(map(int, shape)))})

        def allocate_tensors(self):
            config = {"INFERENCE_NUM_THREADS": self._threads, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"}
            self._compiled = core.compile_model(self._model, "CPU", config)
            self._request = self._compiled.create_infer_request()

        def set_tensor(self, index, value):
            self._request.get_input_tensor(index).data[...] = value

        def invoke(self):
            self._request.infer()

        def get_tensor(self, index):
            return self._request.get_output_tensor(index - len(self._model.inputs)).data.copy()

    return lambda model, mode, threads: Adapter(model, threads)


SIDES = {
    side.name: side
    for side in (
        Side(
            "tflm_cy",
            "tflm_cy",
            "import tflm_cy",
            partial(_lookalike, "tflm_cy.interpreter"),
            distributions=("tflm-cy",),
        ),
        Side(
            "tensorflow",
            "tensorflow",
            "import tensorflow",
            partial(_lookalike, "tensorflow.lite.python.interpreter"),
            distributions=("tensorflow", "tensorflow-cpu"),
        ),
        Side(
            "ai_edge_litert",
            "ai_edge_litert",
            "import ai_edge_litert.interpreter",
            partial(_lookalike, "ai_edge_litert.interpreter"),
            distributions=("ai-edge-litert",),
        ),
        Side(
            "openvino",
            "openvino",
            "import openvino",
            _openvino,
            modes=("OPENVINO",),
            distributions=("openvino",),
        ),
        Side(
            "tflite_micro",
            "tflite_micro",
            "from tflite_micro import runtime",
            _micro,
            modes=("MICRO",),
            distributions=("tflite-micro",),
        ),
    )
}
OURS = "tflm_cy"


def load_side(name):
    """The side of this name."""
    return SIDES[name] if name in SIDES else importlib.import_module(name).SIDE


def source(case):
    """A case's model as runtimes take it: bytes, or a path as text."""
    return case.model if isinstance(case.model, bytes) else str(case.model)


def allocate(interpreter, arrays):
    """Make an interpreter ready for these inputs: resize those whose shape differs, then allocate."""
    for details, array in zip(interpreter.get_input_details(), arrays, strict=True):
        if [int(d) for d in details["shape"]] != list(np.shape(array)):
            interpreter.resize_tensor_input(details["index"], np.shape(array))
    interpreter.allocate_tensors()


def _with_numpys_dtype(array):
    """A copy as a program would have made it.

    Cases come pickled, and an unpickled array has a dtype object of its own, for which a runtime may take a slower way.
    """
    return array.astype(array.dtype.type)


class Session:
    """A side's interpreter, ready, with its inputs; the steps are named so that a failure says where it happened."""

    def __init__(self, side, open_interpreter, case, mode, threads, stage=lambda text: None):
        stage(f"{side.name} in construct")
        self.interpreter = open_interpreter(source(case), side.mode(mode), threads)
        stage(f"{side.name} in allocate_tensors")
        allocate(self.interpreter, case.feeds[0])
        stage(f"{side.name} in set_tensor")
        self.inputs = [
            (details["index"], _with_numpys_dtype(np.asarray(array)))
            for details, array in zip(self.interpreter.get_input_details(), case.feeds[0], strict=True)
        ]
        self.set()
        stage(f"{side.name} in invoke")
        self.interpreter.invoke()
        self.outputs = [details["index"] for details in self.interpreter.get_output_details()]
        stage(f"{side.name} in get_tensor")
        self.first = [np.asarray(value) for value in self.get()]

    def set(self):
        for index, array in self.inputs:
            self.interpreter.set_tensor(index, array)

    def get(self):
        return [self.interpreter.get_tensor(index) for index in self.outputs]


def same_bytes(a, b):
    """Whether two sessions' first outputs agree in every byte: times of different results are not comparable."""
    return len(a.first) == len(b.first) and all(
        x.dtype == y.dtype
        and x.shape == y.shape
        and (x.tolist() == y.tolist() if x.dtype == object else x.tobytes() == y.tobytes())
        for x, y in zip(a.first, b.first, strict=True)
    )
