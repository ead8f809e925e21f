"""Signatures of a model: its named inputs and outputs, and how one is run."""

import numpy as np


def _as_int32(index):
    """An unsigned index of the file as the int that readers take it for; none that exists is negative."""
    return index - (1 << 32) if index >= 1 << 31 else index


def definitions(model):
    """Key -> (subgraph, name -> tensor index of the inputs, the same of the outputs); names in byte order."""
    found = {}
    for key, subgraph, *sides in model.signatures:
        inputs, outputs = ({name: _as_int32(index) for name, index in sorted(side)} for side in sides)
        found.setdefault(key, (_as_int32(subgraph), inputs, outputs))
    return found


_PLAIN = (list, tuple, bool, int, float, complex, bytes)  # what has no shape, but is an array's


class SignatureRunner:
    """Runs one signature of a model: `runner(x=..., y=...)` gives `{name: array}`.

    Made by `Interpreter.get_signature_runner`. Every call resizes the inputs to the shapes that are given, so any shape
    that the model can compute is accepted; results are copies.
    """

    def __init__(self, interpreter=None, signature_key=None):
        if not interpreter:
            raise ValueError("None interpreter provided.")
        if not signature_key:
            raise ValueError("None signature_key provided.")
        signatures = interpreter._signature_defs
        if signature_key not in signatures:
            raise ValueError(f'Invalid signature_key provided: "{signature_key}".')
        self._interpreter = interpreter
        self._interpreter_wrapper = interpreter._interpreter
        self._signature_key = signature_key
        self._signature_def = signatures[signature_key]
        self._subgraph_index, self._inputs, self._outputs = self._signature_def

    def __call__(self, /, **kwargs):
        """Run the signature.

        Parameters
        ----------
        **kwargs
            One array per input name, of the tensor's dtype and any shape that the model can compute.

        Returns
        -------
        dict
            Output name -> array (a copy), names in byte order.

        Raises
        ------
        ValueError
            The number or a name of the inputs, or a dtype, is wrong.
        RuntimeError
            The model refuses the shapes, or fails while it runs.
        """
        inputs = self._inputs
        if len(kwargs) != len(inputs):
            raise ValueError(
                "Invalid number of inputs provided for running a SignatureDef, "
                f"expected {len(inputs)} vs provided {len(kwargs)}"
            )
        for name in kwargs:
            if name not in inputs:
                raise ValueError(f"Invalid Input name ({name}) for SignatureDef")
        values = {name: np.asarray(value) if isinstance(value, _PLAIN) else value for name, value in kwargs.items()}
        return self._interpreter_wrapper.run_signature(self._subgraph_index, inputs, self._outputs, values)

    def _details(self, tensors):
        core = self._interpreter_wrapper
        return {name: core.tensor_details(index, self._subgraph_index) for name, index in tensors.items()}

    def get_input_details(self):
        """Input name -> details dictionary, as `Interpreter.get_input_details` gives them."""
        return self._details(self._inputs)

    def get_output_details(self):
        """Output name -> details dictionary, as `Interpreter.get_output_details` gives them."""
        return self._details(self._outputs)
