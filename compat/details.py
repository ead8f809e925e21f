"""What get_tensor_details() says of a graph's tensors, as text that compares: shapes, signatures, types, quantization, sparsity, names.

TensorFlow's kernels add tensors of their own behind the file's, whose number and shapes are the kernels' business: only tensors that both
sides list are compared, and the deciding side must list all that the judged one lists.
"""

import zlib

import numpy as np

LONGEST = 16  # values of an array that are shown; of more a checksum


def described(interpreter):
    """{index: {key: text}} of the main graph's tensors; None where an interpreter has no such list."""
    if not hasattr(interpreter, "get_tensor_details"):
        return None
    return {
        str(int(d["index"])): {key: _text(value) for key, value in d.items()} for d in interpreter.get_tensor_details()
    }


def details_text(many):
    """What several tensors' details say."""
    return "; ".join(_text(details) for details in many)


def _text(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_text(value[key])}" for key in value) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, np.ndarray):
        shown = value.tolist() if value.size <= LONGEST else f"{value.size} values, {zlib.crc32(value.tobytes()):08x}"
        return f"{value.dtype.name} {shown}"
    return repr(value.item() if isinstance(value, np.generic) else value)


def details_difference(a, b):
    """The first key of the first tensor that differs, for people; None when there is none."""
    if a is None or b is None:
        return None
    for index, ours in b.items():
        theirs = a.get(index)
        if theirs is None:
            return f"details of tensor {index}: none <> {ours['name']}"
        if list(theirs) != list(ours):
            return f"details of tensor {index}: keys {list(theirs)} <> {list(ours)}"
        for key, text in theirs.items():
            if text != ours[key]:
                return f"details of tensor {index}: {key} {text} <> {ours[key]}"
    return None
