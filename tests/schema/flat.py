"""Small models as nested dicts, written with the flatbuffers package by the names of `tflm_cy.schema.layouts`.

    build({"version": 3, "subgraphs": [{"tensors": [{"shape": [1, 4], "name": "x"}]}], "buffers": [{}]})

A union is `(member, {...})`, member a name or a number. A list or dict that occurs twice is written once, so
`[table] * 9` shares.
"""

import flatbuffers
import numpy as np

from tflm_cy.schema.layouts import TABLES, UNIONS

DTYPES = {"i8": "i1", "u8": "u1", "bool": "?", "i16": "<i2", "u16": "<u2", "i32": "<i4"}
DTYPES |= {"u32": "<u4", "f32": "<f4", "i64": "<i8", "u64": "<u8"}
PREPEND = {"i8": "Int8", "u8": "Uint8", "bool": "Bool", "i16": "Int16", "u16": "Uint16", "i32": "Int32"}
PREPEND |= {"u32": "Uint32", "f32": "Float32", "i64": "Int64", "u64": "Uint64"}


def slots_of(table):
    """[(name, kind)] by slot; the type of a union is `name_type`."""
    slots = []
    for word in TABLES[table].split():
        name, kind = word.split(":")
        if kind[0] == "<":
            slots.append((name + "_type", "u8"))
        slots.append((name, kind))
    return slots


def build(model, identifier=b"TFL3"):
    """The file."""
    builder = flatbuffers.Builder(1024)
    builder.Finish(put(builder, model, "Model", {}), file_identifier=identifier)
    return bytes(builder.Output())


def put(builder, value, kind, written):
    """Write `value` of `kind`, return its offset."""
    if id(value) in written and isinstance(value, (list, dict)):
        return written[id(value)]
    if kind == "str":
        offset = builder.CreateString(value)
    elif kind == "[u8]" and isinstance(value, bytes):
        offset = builder.CreateByteVector(value)
    elif kind[0] == "[" and kind[1:-1] in DTYPES:
        offset = builder.CreateNumpyVector(np.asarray(value, DTYPES[kind[1:-1]]))
    elif kind[0] == "[":
        offsets = [put(builder, item, kind[1:-1], written) for item in value]
        builder.StartVector(4, len(offsets), 4)
        for item in reversed(offsets):
            builder.PrependUOffsetTRelative(item)
        offset = builder.EndVector()
    else:
        offset = put_table(builder, value, kind, written)
    written[id(value)] = offset
    return offset


def put_table(builder, fields, table, written):
    slots = slots_of(table)
    assert set(fields) <= {name for name, _ in slots}, set(fields) - {name for name, _ in slots}
    ready = {}
    for slot, (name, kind) in enumerate(slots):
        if name not in fields:
            continue
        value = fields[name]
        if kind[0] == "<":
            member, value = value
            members = UNIONS[kind[1:-1]].split()
            number = members.index(member) + 1 if isinstance(member, str) else member
            ready[slot - 1] = ("u8", number)
            kind = member if isinstance(member, str) else members[0]
        ready[slot] = (kind, value if kind in DTYPES else put(builder, value, kind, written))
    builder.StartObject(len(slots))
    for slot, (kind, value) in ready.items():
        if kind in DTYPES:
            getattr(builder, f"Prepend{PREPEND[kind]}Slot")(slot, value, None)
        else:
            builder.PrependUOffsetTRelativeSlot(slot, value, 0)
    return builder.EndObject()


def strings(*values):
    """The buffer of a string tensor."""
    encoded = [value.encode() for value in values]
    ends = np.cumsum([4 * (len(values) + 2)] + [len(value) for value in encoded])
    return np.array([len(values), *ends], "<i4").tobytes() + b"".join(encoded)


def with_tensor(tensor, data=None, **model):
    """A model whose only tensor is this, constant when it has data."""
    tensor = {"name": "t", **tensor}
    if data is not None:
        tensor["buffer"] = 1
    return {
        "version": 3,
        "subgraphs": [{"tensors": [tensor], "inputs": [], "outputs": []}],
        "buffers": [{}, {} if data is None else {"data": data}],
        **model,
    }


def rich_tensors():
    csr = {
        "format": 1,
        "array_segments": ("Uint8Vector", {"values": [0, 1, 2]}),
        "array_indices": ("Uint16Vector", {"values": [1, 0]}),
    }
    return [
        {"shape": [1, 4], "type": 9, "name": "x", "quantization": {"scale": [0.5], "zero_point": [-1]}},
        {
            "shape": [2, 4],
            "type": 9,
            "buffer": 1,
            "name": "w",
            "quantization": {"scale": [0.25, 0.5], "zero_point": [0, 0], "quantized_dimension": 0, "min": [0.0]},
        },
        {"shape": [2], "type": 5, "buffer": 2, "name": "words"},
        {
            "shape": [2, 2],
            "buffer": 3,
            "name": "sparse",
            "sparsity": {"traversal_order": [0, 1], "dim_metadata": [{"dense_size": 2}, csr]},
        },
        {"shape": [1, 2], "type": 9, "name": "y", "shape_signature": [-1, 2], "has_rank": True},
        {
            "shape": [2, 32],
            "type": 17,
            "buffer": 4,
            "name": "blocks",
            "quantization": {"details": ("BlockwiseQuantization", {"scales": 5, "zero_points": -1, "block_size": 32})},
        },
        {"shape": [1], "is_variable": True, "name": "state"},
    ]


def rich_operators():
    return [
        {
            "opcode_index": 0,
            "inputs": [0, 1, -1],
            "outputs": [4],
            "builtin_options": ("FullyConnectedOptions", {"fused_activation_function": 1, "keep_num_dims": True}),
        },
        {"opcode_index": 1, "inputs": [4], "outputs": [4], "custom_options": b"flex", "intermediates": [6]},
        {
            "opcode_index": 2,
            "inputs": [0],
            "outputs": [4],
            "builtin_options_2": ("StableHLOCompositeOptions", {"name": "norm", "composite_attributes": b"abc"}),
        },
        {
            "opcode_index": 3,
            "outputs": [4],
            "builtin_options": ("VarHandleOptions", {"container": "", "shared_name": "v"}),
        },
    ]


def rich():
    """A small model with something of everything."""
    return {
        "version": 3,
        "description": "something of everything",
        "operator_codes": [
            {"deprecated_builtin_code": 9, "builtin_code": 9, "version": 2},
            {"deprecated_builtin_code": 32, "custom_code": "MyOp"},
            {"deprecated_builtin_code": 127, "builtin_code": 206},
            {"deprecated_builtin_code": 127, "builtin_code": 142},
        ],
        "subgraphs": [
            {"tensors": rich_tensors(), "inputs": [0], "outputs": [4], "operators": rich_operators(), "name": "main"}
        ],
        "buffers": [
            {},
            {"data": bytes(range(8))},
            {"data": strings("first", "second")},
            {"data": np.float32([7, 8]).tobytes()},
            {"data": bytes(32)},
            {"data": b"1.14.0"},
        ],
        "metadata": [{"name": "min_runtime_version", "buffer": 5}, {"name": "nothing", "buffer": 99}],
        "signature_defs": [
            {
                "signature_key": "serve",
                "inputs": [{"name": "in", "tensor_index": 0}],
                "outputs": [{"name": "b", "tensor_index": 4}, {"name": "a", "tensor_index": 77}],
                "subgraph_index": 5,
            }
        ],
    }
