"""TensorFlow Lite Micro: models run by its rules, its figures for a model without running it, and plans for the device.

from tflm_cy.micro import MicroInterpreter, runtime
from tflm_cy.micro.figures import figures
print(figures(Model.from_path("model.tflite"), "arm32").text())

`MicroInterpreter` is this package's own surface, `runtime` that of the tflite_micro package.
"""

__all__ = ["MicroInterpreter"]


def __getattr__(name: str):
    if name != "MicroInterpreter":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from tflm_cy.micro.interpreter import MicroInterpreter

    globals()[name] = MicroInterpreter
    return MicroInterpreter


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
