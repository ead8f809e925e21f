"""LiteRT's second surface: a `CompiledModel` that reads and writes `TensorBuffer`s, as in the package ai_edge_litert.

>>> import numpy as np
>>> from tflm_cy.litert import CompiledModel
>>> model = CompiledModel.from_file("tflm_cy/demo/digits_float.tflite")
>>> inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)
>>> inputs[0].write(np.zeros((1, 8, 8, 1), np.float32))
>>> model.run_by_index(0, inputs, outputs)
>>> outputs[0].read(10, np.float32).shape
(10,)
"""

from tflm_cy.litert.accelerator import HardwareAccelerator
from tflm_cy.litert.compiled_model import CompiledModel
from tflm_cy.litert.environment import Environment, EnvironmentOptions
from tflm_cy.litert.options import CpuKernelMode, CpuOptions, Options
from tflm_cy.litert.tensor_buffer import TensorBuffer

__all__ = [
    "CompiledModel",
    "CpuKernelMode",
    "CpuOptions",
    "Environment",
    "EnvironmentOptions",
    "HardwareAccelerator",
    "Options",
    "TensorBuffer",
]
