"""A copy of a model with other metadata, or another order of operators; everything else stays the byte that it is.

    >>> from tflm_cy.schema.writer import rewritten
    >>> content = rewritten(model, metadata={"name": b"..."}, orders={0: [1, 0, 2]})     # doctest: +SKIP

Offsets in a flatbuffer are relative and point forward, so a file can grow at its front: a new root table stands
before the old content, which moves by a multiple of 64 bytes and so keeps every alignment. The new root has the old
one's fields, except that its vectors of buffers and of metadata are new; their old entries are referred to, not
copied. The old root and vectors remain, unreachable: a few hundred bytes. Operators are put in order by exchanging
offsets in place. Positions that count from the file's start (contents of buffers behind the flatbuffer, large custom
options) move along.
"""

import struct

from tflm_cy.schema.reader import read, slots

_SHIFT = 64  # what is aligned in the file stays aligned
_LARGEST = (1 << 31) - 1


def rewritten(model, metadata=None, orders=None):
    """The bytes of the copy.

    Parameters
    ----------
    model : schema.model.Model
    metadata : dict of str to bytes, optional
        Entries to add; those of the same name are replaced.
    orders : dict of int to sequence of int, optional
        Per subgraph, its operators' present indices in their new order.

    Raises
    ------
    ValueError
        An order is no permutation; the file would be larger than a flatbuffer can be.
    """
    content = bytearray(memoryview(model))
    root = read(model)
    for subgraph, order in (orders or {}).items():
        _reorder(content, root, subgraph, order)
    if not metadata:
        return bytes(content)
    front = _Front(root, metadata)
    _move_absolute(content, root, len(front.content))
    if len(front.content) + len(content) > _LARGEST:
        raise ValueError(f"a flatbuffer has at most {_LARGEST} bytes")
    return bytes(front.content) + bytes(content)


def _reorder(content, root, subgraph, order):
    if not 0 <= subgraph < len(root.subgraphs):
        raise ValueError(f"there is no subgraph {subgraph}")
    graph = root.subgraphs[subgraph]
    operators = [operator.position for operator in graph.operators]
    if sorted(order) != list(range(len(operators))):
        raise ValueError(f"the order of subgraph {subgraph} is no permutation of its {len(operators)} operators")
    start = graph.vector_position("operators")
    for k, index in enumerate(order):
        place = start + 4 * k
        if operators[index] <= place:
            raise ValueError("the file's operators stand before their own vector")
        struct.pack_into("<I", content, place, operators[index] - place)


def _move_absolute(content, root, shift):
    """Add `shift` to the positions that count from the file's start; 0 and 1 stand for none."""
    tables = [(buffer, "offset") for buffer in root.buffers]
    tables += [(op, "large_custom_options_offset") for graph in root.subgraphs for op in graph.operators]
    for at in {table.field_position(field) for table, field in tables} - {0}:
        position = struct.unpack_from("<Q", content, at)[0]
        if position > 1:
            struct.pack_into("<Q", content, at, position + shift)


class _Front:
    """What stands before the old content: header, vtable, root, vectors, the new entries and their bytes.

    The old content follows at `len(content)`; while this is built, offsets into it are noted and filled in at the end,
    when that length is known.
    """

    def __init__(self, root, metadata):
        self._root = root
        self.content = bytearray(struct.pack("<I", 0) + bytes(root.content[4:8]))
        self._into_old = []  # (place, position in the old content)
        self._build(metadata)
        self._pad(_SHIFT)
        for place, position in self._into_old:
            self._put(place, len(self.content) + position - place)

    def _build(self, metadata):
        root, names = self._root, list(metadata)
        kept = [entry for entry in root.metadata if entry.name not in metadata]
        table = self._table()
        buffers = [buffer.position for buffer in root.buffers]
        vector = self._vector(table["buffers"], len(buffers) + len(names))
        self._refer(vector, buffers)
        buffer_places = [vector + 4 * (len(buffers) + i) for i in range(len(names))]
        vector = self._vector(table["metadata"], len(kept) + len(names))
        self._refer(vector, [entry.position for entry in kept])
        entry_places = [vector + 4 * (len(kept) + i) for i in range(len(names))]
        for i, name in enumerate(names):
            text = name.encode()
            fields = self._small_table(entry_places[i], 2)
            struct.pack_into("<I", self.content, fields + 4, len(buffers) + i)
            self._bytes(fields, text, b"\0")
            self._bytes(self._small_table(buffer_places[i], 1), metadata[name])

    def _table(self):
        """The new root with the old one's fields; {field: where its offset stands}."""
        fields = slots("Model")
        present = {name for name in fields if self._root.field_position(name)} | {"buffers", "metadata"}
        last = 1 + max(fields[name][0] for name in present)
        vtable = len(self.content)
        self.content += bytes(4 + 2 * last)
        self._pad(4)
        table = len(self.content)
        self._put(0, table)
        self.content += struct.pack("<i", table - vtable)
        places = {}
        for name in sorted(present, key=lambda name: fields[name][0]):
            slot, kind = fields[name]
            places[name] = place = len(self.content)
            struct.pack_into("<H", self.content, vtable + 4 + 2 * slot, place - table)
            self.content += bytes(4)
            if name == "version":
                self._put(place, self._root.version)
            elif kind == "str" or kind[0] == "[":
                old = self._root.field_position(name)
                if old and name not in ("buffers", "metadata"):
                    target = old + struct.unpack_from("<I", self._root.content, old)[0]
                    self._into_old.append((place, target))
        struct.pack_into("<HH", self.content, vtable, 4 + 2 * last, len(self.content) - table)
        return places

    def _small_table(self, place, count):
        """A table of `count` fields of four bytes; the offset at `place` refers to it. Where its fields begin."""
        self._pad(4)
        vtable = len(self.content)
        size = 4 + 2 * count
        self.content += struct.pack(f"<{2 + count}H", size, 4 + 4 * count, *(4 + 4 * i for i in range(count)))
        self._pad(4)
        table = len(self.content)
        self.content += struct.pack("<i", table - vtable) + bytes(4 * count)
        self._put(place, table - place)
        return table + 4

    def _vector(self, place, count):
        """A vector of offsets, still empty; where its elements begin."""
        self._pad(4)
        self._put(place, len(self.content) - place)
        self.content += struct.pack("<I", count) + bytes(4 * count)
        return len(self.content) - 4 * count

    def _bytes(self, place, data, end=b""):
        """A vector of bytes, whose first byte lies on 16; the offset at `place` refers to it."""
        while len(self.content) % 16 != 12:
            self.content.append(0)
        self._put(place, len(self.content) - place)
        self.content += struct.pack("<I", len(data)) + data + end

    def _refer(self, vector, positions):
        self._into_old += [(vector + 4 * i, position) for i, position in enumerate(positions)]

    def _put(self, place, value):
        struct.pack_into("<I", self.content, place, value)

    def _pad(self, alignment):
        self.content += bytes(-len(self.content) % alignment)
