"""Signatures of a model; see signature.py, whose class is tf.lite's and carries no annotations."""

from typing import Any

import numpy.typing as npt

from tflm_cy.interpreter import Interpreter
from tflm_cy.schema.model import Model

Array = npt.NDArray[Any]
Details = dict[str, Any]

def definitions(model: Model) -> dict[str, tuple[int, dict[str, int], dict[str, int]]]: ...

class SignatureRunner:
    def __init__(self, interpreter: Interpreter | None = None, signature_key: str | None = None) -> None: ...
    def __call__(self, /, **kwargs: npt.ArrayLike) -> dict[str, Array]: ...
    def get_input_details(self) -> dict[str, Details]: ...
    def get_output_details(self) -> dict[str, Details]: ...
