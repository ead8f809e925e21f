"""New tables in front of a model's bytes, which stay as they are: how a copy of a model gets what the model has not.

    front = Front(root)                                  # of `schema.reader.read`
    content = front.bytes({**present(root), "description": "a copy"})

Offsets in a flatbuffer are relative and point forward, so a file can grow at its front: new tables refer to old ones
behind them, not the other way round. A table is written from a dict of its fields, by `schema.layouts`:

- a scalar is a number; None leaves a field out;
- a string is a str, a vector of bytes a bytes-like object (its first byte lies on 16), other vectors are sequences;
- a table is a dict, or a `schema.reader.Table`, which is referred to where it is, not copied; so is a vector that is
  given as `Old(position)`; a union is (name of the member, dict or Table).

What is one object in several places (a dict of options, a sequence) is written once; so are equal strings and equal
vectors of scalars. A front can also be `whole`: then old tables and vectors are copied, and the old content is not needed
behind it.
"""

import struct
from collections import deque
from typing import NamedTuple

from tflm_cy.schema.layouts import UNIONS
from tflm_cy.schema.reader import SCALARS, Table, slots

SHIFT = 64  # what is aligned in the file stays aligned
_BYTES = 16  # where contents of buffers begin


class Old(NamedTuple):
    """A vector or string of the old content, where it is."""

    position: int


def present(table):
    """{field: value} of the fields that a Table has; what it refers to is kept where it is."""
    found, layout = {}, slots(table.kind)
    for field, (_, kind) in layout.items():
        at = table.field_position(field)
        is_union_type = field.endswith("_type") and layout.get(field[:-5], (0, ""))[1].startswith("<")
        if not at or is_union_type:
            continue
        if kind in SCALARS:
            found[field] = getattr(table, field)
        elif kind[0] == "<":
            value = getattr(table, field)
            if value is not None:
                found[field] = (value.kind, value)
        elif kind == "str" or kind[0] == "[":
            found[field] = Old(at + struct.unpack_from("<I", table.content, at)[0])
        else:
            found[field] = getattr(table, field)
    return found


class Front:
    """The tables in front; see the module.

    Parameters
    ----------
    root : schema.reader.Table
        The old content's root.
    whole : bool
        Whether what is referred to is copied, so that nothing of the old content is needed behind the tables.
    """

    def __init__(self, root, whole=False):
        self._whole = whole
        self._old = root.content
        self._content = bytearray(struct.pack("<I", 0) + bytes(root.content[4:8]))
        self._waiting = deque()  # (key, kind, value), written in this order: parents before children
        self._places = {}  # key -> where offsets to what is waiting stand
        self._vtables = {}
        self._into_old = []  # (place, position in the old content)

    def bytes(self, fields):
        """All that stands before the old content, when `fields` are those of the new root."""
        self._refer(0, "Model", fields)
        while self._waiting:
            key, kind, value = self._waiting.popleft()
            places = self._places.pop(key)
            start = self._write(kind, value)
            for place in places:
                self._put(place, start - place)
        self._pad(SHIFT)
        for place, position in self._into_old:
            self._put(place, len(self._content) + position - place)
        return bytes(self._content)

    def _refer(self, place, kind, value):
        """The offset at `place` will lead to the value."""
        if isinstance(value, (Old, Table)):
            if not self._whole:
                self._into_old.append((place, value.position))
                return
            key = (kind, "old", value.position)
        else:
            equal = kind == "str" or (kind[0] == "[" and kind[1:-1] in SCALARS and kind != "[u8]")
            key = (kind, value if kind == "str" else tuple(value)) if equal else (kind, id(value))
        if key not in self._places:
            self._places[key] = []
            self._waiting.append((key, kind, value))
        self._places[key].append(place)

    def _write(self, kind, value):
        """Write a table, vector or string; where it begins."""
        if isinstance(value, Table):
            value = present(value)
        elif isinstance(value, Old):
            value = self._read(kind, value.position)
        if kind == "str":
            return self._bytes(value.encode("utf-8", "surrogateescape"), 4, b"\0")
        if kind == "[u8]":
            return self._bytes(value, _BYTES)
        if kind[0] != "[":
            return self._table(kind, value)
        element = kind[1:-1]
        if element in SCALARS:
            letter = SCALARS[element]
            return self._bytes(struct.pack(f"<{len(value)}{letter}", *value), struct.calcsize(letter), count=len(value))
        self._pad(4)
        start = len(self._content)
        self._content += struct.pack("<I", len(value)) + bytes(4 * len(value))
        for i, item in enumerate(value):
            self._refer(start + 4 + 4 * i, element, item)
        return start

    def _read(self, kind, position):
        """A vector or string of the old content."""
        (count,) = struct.unpack_from("<I", self._old, position)
        element = kind[1:-1] if kind[0] == "[" else "u8"
        if element in SCALARS and kind != "[u8]" and kind != "str":
            return struct.unpack_from(f"<{count}{SCALARS[element]}", self._old, position + 4)
        if element in SCALARS:
            data = bytes(self._old[position + 4 : position + 4 + count])
            return data.decode("utf-8", "surrogateescape") if kind == "str" else data
        places = range(position + 4, position + 4 + 4 * count, 4)
        offsets = struct.unpack_from(f"<{count}I", self._old, position + 4)
        if element == "str":
            return [Old(place + offset) for place, offset in zip(places, offsets, strict=True)]
        return [Table(self._old, place + offset, element) for place, offset in zip(places, offsets, strict=True)]

    def _bytes(self, data, alignment, end=b"", count=None):
        """A vector whose elements begin at a multiple of `alignment`."""
        while len(self._content) % 4 or (len(self._content) + 4) % alignment:
            self._content.append(0)
        start = len(self._content)
        self._content += struct.pack("<I", len(data) if count is None else count) + bytes(data) + end
        return start

    def _table(self, name, values):
        """The fields in the order of their size, so that each is aligned."""
        layout = slots(name)
        unknown = values.keys() - layout.keys()
        if unknown:
            raise ValueError(f"{name} has no field {sorted(unknown)}")
        fields = [
            entry for field, value in values.items() if value is not None for entry in _entries(field, value, layout)
        ]
        fields.sort(key=lambda entry: (-struct.calcsize(entry[1]), entry[0]))
        wide = bool(fields) and struct.calcsize(fields[0][1]) == 8
        offsets, end = {}, 4
        for slot, letter, _, _ in fields:
            offsets[slot] = end
            end += struct.calcsize(letter)
        vtable = self._vtable(offsets, end)
        while len(self._content) % 4 or (wide and len(self._content) % 8 != 4):
            self._content.append(0)
        start = len(self._content)
        self._content += struct.pack("<i", start - vtable) + bytes(end - 4)
        for slot, letter, kind, value in fields:
            if kind is None:
                struct.pack_into("<" + letter, self._content, start + offsets[slot], value)
            else:
                self._refer(start + offsets[slot], kind, value)
        return start

    def _vtable(self, offsets, end):
        """Where a table's vtable stands; equal ones are one."""
        count = max(offsets, default=-1) + 1
        data = struct.pack(f"<{2 + count}H", 4 + 2 * count, end, *(offsets.get(slot, 0) for slot in range(count)))
        if data not in self._vtables:
            self._pad(2)
            self._vtables[data] = len(self._content)
            self._content += data
        return self._vtables[data]

    def _put(self, place, value):
        struct.pack_into("<I", self._content, place, value)

    def _pad(self, alignment):
        self._content += b"\0" * (-len(self._content) % alignment)


def _entries(field, value, layout):
    """(slot, format, kind of what an offset leads to or None, value) of a field; a union has two."""
    slot, kind = layout[field]
    if kind in SCALARS:
        return [(slot, SCALARS[kind], None, value)]
    if kind[0] == "<":
        member, table = value
        number = UNIONS[kind[1:-1]].split().index(member) + 1
        return [(slot - 1, "B", None, number), (slot, "I", member, table)]
    return [(slot, "I", kind, value)]
