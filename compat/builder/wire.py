"""Any table of the schema to and from bytes: nested dicts in, nested dicts out.

    offset = write_table(builder, "Tensor", {"shape": [1, 2], "type": "INT8", "name": "x"})
    read_table(blob, position, "Tensor")["shape"]          # array([1, 2], dtype=int32)

A table is a dict of its fields, an enumeration a name or a number, a union the pair (table name, dict), a vector of
numbers any sequence, a `[ubyte]` vector also bytes. Fields that are absent or None are not written. Reading gives every
field, with the schema's default (None for absent vectors, strings and tables); enumerations are read as numbers. The
reader trusts its input: it is for models that a runtime has accepted, or that we have just written.
"""

import struct

import numpy as np

from .schema import ENUMS, TABLES, UNIONS, enum_width

# scalar type -> (struct code, numpy type, suffix of flatbuffers' slot method)
_SCALARS = {
    "bool": ("?", np.bool_, "Bool"),
    "byte": ("b", np.int8, "Int8"),
    "ubyte": ("B", np.uint8, "Uint8"),
    "ushort": ("H", np.uint16, "Uint16"),
    "int": ("i", np.int32, "Int32"),
    "uint": ("I", np.uint32, "Uint32"),
    "long": ("q", np.int64, "Int64"),
    "ulong": ("Q", np.uint64, "Uint64"),
    "float": ("f", np.float32, "Float32"),
}

# Vectors whose bytes must start on a wider boundary than their elements need.
_VECTOR_ALIGNMENT = {("Buffer", "data"): 16, ("CustomQuantization", "custom"): 16}


def _scalar_of(kind):
    """The scalar type a field is stored as, or None for strings, vectors, tables and unions."""
    return enum_width(kind) if kind in ENUMS else kind if kind in _SCALARS else None


def _number(kind, value):
    """A scalar field's number: enumerations by name, the rest as given."""
    if isinstance(value, str):
        return ENUMS[kind][value] if kind in ENUMS else {"true": 1, "false": 0}.get(value) or float(value)
    return value


def _layout(name):
    """Fields of a table with their slots: (slot, field, type, scalar type or None, default number)."""
    slot, fields = 0, []
    for field, kind, default in TABLES[name]:
        slot += kind in UNIONS
        fields.append((slot, field, kind, _scalar_of(kind), 0 if default is None else _number(kind, default)))
        slot += 1
    return slot, fields


_LAYOUTS = {name: _layout(name) for name in TABLES}


# ---- writing


def write_table(builder, name, values):
    """Write a table and all that it refers to; its offset."""
    slots, fields = _LAYOUTS[name]
    given = [(*field, values[field[1]]) for field in fields if values.get(field[1]) is not None]
    if len(given) < len(values) and (unknown := set(values) - {field[1] for field in fields}):
        raise ValueError(f"{name} has no field {sorted(unknown)}; it has {[field[1] for field in fields]}")
    offsets = {}
    for _, field, kind, scalar, _, value in given:
        if scalar is None:
            offsets[field] = _write_reference(builder, kind, value, _VECTOR_ALIGNMENT.get((name, field)))
    builder.StartObject(slots)
    for slot, field, kind, scalar, default, value in given:
        if scalar is not None:
            _put_scalar(builder, scalar, slot, _number(kind, value), default)
        else:
            if kind in UNIONS:
                builder.PrependUint8Slot(slot - 1, UNIONS[kind].index(value[0]), 0)
            builder.PrependUOffsetTRelativeSlot(slot, offsets[field], 0)
    return builder.EndObject()


def _put_scalar(builder, scalar, slot, value, default):
    value = float(value) if scalar == "float" else bool(value) if scalar == "bool" else int(value)
    getattr(builder, f"Prepend{_SCALARS[scalar][2]}Slot")(slot, value, default)


def _write_reference(builder, kind, value, alignment):
    """A string, vector, table or union value; its offset."""
    if kind == "string":
        return builder.CreateString(value)
    if kind in UNIONS:
        return write_table(builder, *value)
    if kind in TABLES:
        return write_table(builder, kind, value)
    return _write_vector(builder, kind[1:-1], value, alignment)


def _write_vector(builder, element, values, alignment):
    if element == "string" or element in TABLES:
        write = builder.CreateString if element == "string" else lambda v: write_table(builder, element, v)
        offsets = [write(value) for value in values]
        builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            builder.PrependUOffsetTRelative(offset)
        return builder.EndVector()
    dtype = np.dtype(_SCALARS[_scalar_of(element)][1]).newbyteorder("<")
    if isinstance(values, (bytes, bytearray, memoryview)):
        values = np.frombuffer(values, dtype)
    elif element in ENUMS:
        values = [_number(element, value) for value in values]
    data = np.asarray(values).astype(dtype).tobytes()
    builder.StartVector(dtype.itemsize, len(data) // dtype.itemsize, alignment or dtype.itemsize)
    builder.head -= len(data)
    builder.Bytes[builder.head : builder.head + len(data)] = data
    return builder.EndVector()


# ---- reading


def read_table(blob, position, name):
    """The table at `position` as a dict."""
    vtable = position - struct.unpack_from("<i", blob, position)[0]
    size = struct.unpack_from("<H", blob, vtable)[0]

    def at(slot):
        entry = 4 + 2 * slot
        offset = struct.unpack_from("<H", blob, vtable + entry)[0] if entry < size else 0
        return position + offset if offset else None

    found = {}
    for slot, field, kind, scalar, default in _LAYOUTS[name][1]:
        where = at(slot)
        if scalar is not None:
            found[field] = default if where is None else struct.unpack_from("<" + _SCALARS[scalar][0], blob, where)[0]
        elif where is None:
            found[field] = None
        elif kind in UNIONS:
            table = UNIONS[kind][blob[at(slot - 1)]]
            found[field] = (table, read_table(blob, _follow(blob, where), table))
        else:
            found[field] = _read_reference(blob, _follow(blob, where), kind)
    return found


def _follow(blob, position):
    return position + struct.unpack_from("<I", blob, position)[0]


def _read_reference(blob, position, kind):
    if kind in TABLES:
        return read_table(blob, position, kind)
    count = struct.unpack_from("<I", blob, position)[0]
    start = position + 4
    if kind == "string":
        return bytes(blob[start : start + count]).decode("utf-8", "surrogateescape")
    element = kind[1:-1]
    scalar = _scalar_of(element)
    if scalar is not None:
        return np.frombuffer(blob, np.dtype(_SCALARS[scalar][1]).newbyteorder("<"), count, start)
    return [_read_reference(blob, _follow(blob, start + 4 * i), element) for i in range(count)]
