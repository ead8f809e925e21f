"""What a model's file says, all of it, as plain data: what `python -m tflm_cy inspect` shows.

    >>> from tflm_cy.schema.contents import contents             # doctest: +SKIP
    >>> contents(model)["subgraphs"][0]["operators"][0]["options"]      # doctest: +SKIP
    {'padding': 'SAME', 'stride_w': 1, ...}

Nothing is judged: operators that no interpreter knows are told like the others. Options are all fields of the operator's table, by the
schema's names; what the file leaves out has the schema's default (`defaults`).
"""

import io
import zipfile
import zlib

from tflm_cy.schema.flexbuffer import options as flexbuffer_options
from tflm_cy.schema.layouts import OPTIONS_OF
from tflm_cy.schema.names import BUILTIN_NAMES, TENSOR_TYPE_NAMES
from tflm_cy.schema.reader import read, slots

# Defaults other than zero, by field, or by table and field.
_DEFAULTS = {
    **{f"dilation_{axis}_factor": 1 for axis in "dwh"},
    "pot_scale_int16": True,
    ("BidirectionalSequenceLSTMOptions", "time_major"): True,
    ("UniqueOptions", "idx_out_type"): 2,
}

# Fields that count the members of an enumeration.
_ENUMERATIONS = {
    "padding": ("SAME", "VALID"),
    "fused_activation_function": ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT"),
    "weights_format": ("DEFAULT", "SHUFFLED4x16INT8"),
    "kernel_type": ("FULL", "BASIC"),
    "combiner": ("SUM", "MEAN", "SQRTN"),
    "mode": ("REFLECT", "SYMMETRIC"),
    "type": ("UNKNOWN", "SPARSE", "DENSE"),
    "reduce_function": ("UNSUPPORTED", "ADD", "MUL", "MINIMUM", "MAXIMUM", "ALL", "ANY"),
    "algorithm": ("DEFAULT", "PHILOX", "THREEFRY"),
    "comparison_direction": ("EQ", "NE", "GE", "GT", "LE", "LT"),
    "compare_type": ("NOTYPE", "FLOAT", "FLOAT_TOTAL_ORDER", "SIGNED", "UNSIGNED"),
    **dict.fromkeys(
        ("quantized_bias_type", "in_data_type", "out_data_type", "output_type", "out_type", "idx_out_type"),
        TENSOR_TYPE_NAMES,
    ),
    **dict.fromkeys(("key_dtype", "value_dtype"), TENSOR_TYPE_NAMES),
}


def contents(model):
    """The dictionary of a `schema.model.Model`.

    Returns
    -------
    dict
        version, description, metadata ([{name, bytes}]), associated_files (the same, of the archive that TFLite Metadata appends),
        signatures ([{key, subgraph, inputs, outputs}], name -> tensor) and subgraphs: [{index, name, inputs, outputs, tensors,
        operators}]. A tensor: index, name, type, shape, shape_signature, role ("input", "output", "input, output", "constant", "variable"
        or ""), bytes (of a constant, in the file), sparse, quantization (None, or {scales, zero_points, axis, details}). An operator:
        index, op, custom, version, inputs, outputs (-1: left out), intermediates, options, custom_options (bytes; None when they are told
        in options), options_table (of its options, where it is not the operator's own).
    """
    root = read(model)
    buffers = root.buffers
    codes = [
        (_operator_name(code), _number(code) == BUILTIN_NAMES.index("CUSTOM"), code) for code in root.operator_codes
    ]
    return {
        "version": root.version,
        "description": root.description,
        "metadata": [{"name": entry.name, "bytes": _stored(buffers, entry.buffer)} for entry in root.metadata],
        "associated_files": associated_files(memoryview(model)),
        "signatures": [
            {"key": key, "subgraph": subgraph, "inputs": dict(inputs), "outputs": dict(outputs)}
            for key, subgraph, inputs, outputs in model.signatures
        ],
        "subgraphs": [_subgraph(index, table, buffers, codes) for index, table in enumerate(root.subgraphs)],
    }


def defaults(kind):
    """Field -> value of a table of options that a file leaves out."""
    return {field: _named(field, _default(kind, field, slot)) for field, (_, slot) in slots(kind).items()}


def associated_files(content):
    """[{name, bytes}] of the zip archive behind the flatbuffer; none when there is no archive, or a damaged one."""
    if bytes(content[-_ARCHIVE_END:]).rfind(b"PK\x05\x06") < 0:
        return []
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return [{"name": info.filename, "bytes": info.file_size} for info in archive.infolist()]
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError, EOFError, OverflowError, zlib.error):
        return []


_ARCHIVE_END = (1 << 16) + 22  # an archive ends in a record of 22 bytes and a comment


def _number(code):
    return max(code.builtin_code, code.deprecated_builtin_code)


def _operator_name(code):
    number = _number(code)
    if not 0 <= number < len(BUILTIN_NAMES):
        return f"operator {number}"
    return code.custom_code if BUILTIN_NAMES[number] == "CUSTOM" else BUILTIN_NAMES[number]


def _stored(buffers, index):
    """Bytes of a buffer, wherever it lies."""
    if not 0 <= index < len(buffers):
        return 0
    return len(buffers[index].data) or (buffers[index].size if buffers[index].offset > 1 else 0)


def _subgraph(index, table, buffers, codes):
    return {
        "index": index,
        "name": table.name,
        "inputs": list(table.inputs),
        "outputs": list(table.outputs),
        "tensors": [_tensor(t, tensor, table, buffers) for t, tensor in enumerate(table.tensors)],
        "operators": [_operator(n, operator, codes) for n, operator in enumerate(table.operators)],
    }


def _tensor(index, table, graph, buffers):
    stored = _stored(buffers, table.buffer) if table.buffer else 0
    roles = [role for role, tensors in (("input", graph.inputs), ("output", graph.outputs)) if index in tensors]
    other = "variable" if table.is_variable else "constant" if stored or table.external_buffer else ""
    number = table.type
    return {
        "index": index,
        "name": table.name,
        "type": TENSOR_TYPE_NAMES[number] if 0 <= number < len(TENSOR_TYPE_NAMES) else f"type {number}",
        "shape": list(table.shape),
        "shape_signature": list(table.shape_signature),
        "role": ", ".join(roles) or other,
        "bytes": stored,
        "sparse": table.sparsity is not None,
        "quantization": _quantization(table.quantization),
    }


def _quantization(table):
    if table is None or not (table.scale or table.zero_point or table.details):
        return None
    details = table.details
    return {
        "scales": list(table.scale),
        "zero_points": list(table.zero_point),
        "axis": table.quantized_dimension,
        "details": None if details is None else {"table": details.kind, **_fields(details)},
    }


def _operator(index, table, codes):
    name, custom, code = codes[table.opcode_index]
    options, own = {}, OPTIONS_OF.get(name)
    found = [t for t in (table.builtin_options, table.builtin_options_2) if t is not None]
    for given in found:
        options.update(_fields(given))
    custom_bytes = bytes(table.custom_options)
    size = len(custom_bytes) or table.large_custom_options_size
    if custom_bytes:
        try:
            options.update(flexbuffer_options(custom_bytes))
            size = None
        except ValueError:
            pass
    foreign = [t.kind for t in found if own and t.kind != own]
    return {
        "index": index,
        "op": name,
        "custom": custom,
        "version": code.version or 1,
        "inputs": list(table.inputs),
        "outputs": list(table.outputs),
        "intermediates": list(table.intermediates),
        "options": options,
        "custom_options": size or None,
        "options_table": foreign[0] if foreign else None,
    }


def _fields(table):
    """Field -> value of a table of scalars, texts and vectors."""
    found = {}
    for field, (_, kind) in slots(table.kind).items():
        value = getattr(table, field) if table.field_position(field) else _default(table.kind, field, kind)
        found[field] = _named(field, value)
    return found


def _default(kind, field, slot):
    value = _DEFAULTS.get((kind, field), _DEFAULTS.get(field))
    if value is not None:
        return value
    return () if slot[0] == "[" else "" if slot == "str" else False if slot == "bool" else 0.0 if slot == "f32" else 0


def _named(field, value):
    """An enumeration's number as its name, a vector as a list, bytes as they are."""
    names = _ENUMERATIONS.get(field)
    if names and isinstance(value, int):
        return names[value] if 0 <= value < len(names) else value
    if isinstance(value, memoryview):
        return bytes(value)
    return list(value) if isinstance(value, tuple) else value
