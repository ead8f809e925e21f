"""The tables of a verified model, read from Python by the names of their fields.

    >>> from tflm_cy.schema.reader import Table, read
    >>> root = read(model)                                       # doctest: +SKIP
    >>> root.subgraphs[0].tensors[3].shape                       # doctest: +SKIP
    (1, 49, 40, 1)

For what a person waits for once (figures, reports, exports); kernels read through `schema.table`. A field is what
`schema.layouts` says: a scalar is an int, float or bool; a string is a str; a vector of bytes a memoryview; a vector of
other scalars a tuple; a table a Table or None; a vector of tables a list; a union its value, and `<field>_type` its
number. What the file leaves out reads as 0, empty or None: the schema has a few other defaults (a dilation's is 1),
which whoever needs them must know. Positions count from the file's first byte.
"""

import struct
from functools import cache

from tflm_cy.schema.layouts import TABLES, UNIONS

SCALARS = {"i8": "b", "u8": "B", "bool": "?", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "f32": "f", "i64": "q"}
SCALARS["u64"] = "Q"


@cache
def slots(name):
    """Field -> (slot, kind) of a table; the type of a union stands as `<field>_type`, the slot before its value."""
    found, slot = {}, 0
    for word in TABLES[name].split():
        field, kind = word.split(":")
        if kind[0] == "<":
            found[field + "_type"] = (slot, "u8")
            slot += 1
        found[field] = (slot, kind)
        slot += 1
    return found


def read(model):
    """The root table of a `schema.model.Model`."""
    content = memoryview(model)
    return Table(content, _u32(content, 0), "Model")


def absent(name):
    """A table that the file does not have: every field reads as left out."""
    return Table(memoryview(b""), 0, name)


class Table:
    """One table of a model; see the module."""

    __slots__ = ("content", "kind", "position")

    def __init__(self, content, position, kind):
        self.content = content
        self.position = position
        self.kind = kind

    def __repr__(self):
        return f"<{self.kind} at byte {self.position}>"

    def __getattr__(self, field):
        try:
            kind = slots(self.kind)[field][1]
        except KeyError:
            raise AttributeError(f"a table {self.kind} has no field {field}") from None
        at = self.field_position(field)
        if kind in SCALARS:
            return struct.unpack_from("<" + SCALARS[kind], self.content, at)[0] if at else _ZERO[kind]
        if kind == "str":
            return bytes(self._bytes(at)).split(b"\0", 1)[0].decode("utf-8", "surrogateescape")
        if kind == "[u8]":
            return self._bytes(at)
        if kind[0] == "<":
            return self._union(field, kind[1:-1], at)
        if kind[0] != "[":
            return Table(self.content, at + _u32(self.content, at), kind) if at else None
        return self._vector(kind[1:-1], at)

    def field_position(self, field):
        """Where a field's scalar or offset stands; 0 when the file leaves it out."""
        if not self.position:
            return 0
        slot = slots(self.kind)[field][0]
        vtable = self.position - struct.unpack_from("<i", self.content, self.position)[0]
        if 4 + 2 * slot + 2 > struct.unpack_from("<H", self.content, vtable)[0]:
            return 0
        offset = struct.unpack_from("<H", self.content, vtable + 4 + 2 * slot)[0]
        return self.position + offset if offset else 0

    def vector_position(self, field):
        """Where the elements of a vector begin; 0 when the file leaves it out."""
        at = self.field_position(field)
        return at + _u32(self.content, at) + 4 if at else 0

    def _bytes(self, at):
        if not at:
            return self.content[:0]
        start = at + _u32(self.content, at)
        return self.content[start + 4 : start + 4 + _u32(self.content, start)]

    def _vector(self, kind, at):
        if not at:
            return () if kind in SCALARS else []
        start = at + _u32(self.content, at)
        count = _u32(self.content, start)
        if kind in SCALARS:
            return struct.unpack_from(f"<{count}{SCALARS[kind]}", self.content, start + 4)
        places = range(start + 4, start + 4 + 4 * count, 4)
        return [Table(self.content, place + _u32(self.content, place), kind) for place in places]

    def _union(self, field, union, at):
        number = getattr(self, field + "_type")
        members = UNIONS[union].split()
        if not at or not 1 <= number <= len(members):
            return None
        return Table(self.content, at + _u32(self.content, at), members[number - 1])


_ZERO = dict.fromkeys(SCALARS, 0) | {"f32": 0.0, "bool": False}


def _u32(content, at):
    return struct.unpack_from("<I", content, at)[0]
