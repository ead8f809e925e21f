"""An independent reader: plain Python that follows every reference of a file and fails where the bytes end.

    tree = read(content)             # nested dicts by the names of `layouts`; IndexError, AssertionError: not readable
    judge(content)                   # also reads every constant as an engine would

What the verifier lets pass must read without error, whatever the bytes: that is the property that the fuzz tests
check. Nothing here knows the verifier or its code.
"""

import struct
from itertools import pairwise

from tflm_cy.schema.layouts import UNIONS

from .flat import slots_of

FORMATS = {
    "i8": "b",
    "u8": "B",
    "bool": "?",
    "i16": "h",
    "u16": "H",
    "i32": "i",
    "u32": "I",
    "f32": "f",
    "i64": "q",
    "u64": "Q",
}
TYPE_BITS = [32, 16, 32, 8, 64, 0, 8, 16, 64, 8, 64, 128, 64, 0, 0, 32, 16, 4, 16, 2, 4]


def take(content, at, count):
    """`count` bytes at `at`, all of which exist."""
    if at < 0 or at + count > len(content):
        raise IndexError(f"bytes {at} to {at + count} of {len(content)}")
    return content[at : at + count]


def number(content, at, kind):
    return struct.unpack("<" + FORMATS[kind], take(content, at, struct.calcsize(FORMATS[kind])))[0]


def read_table(content, at, table):
    """A table's present fields."""
    vtable = at - number(content, at, "i32")
    length = number(content, vtable, "u16")
    fields = {}
    for slot, (name, kind) in enumerate(slots_of(table)):
        offset = number(content, vtable + 4 + 2 * slot, "u16") if 4 + 2 * slot + 2 <= length else 0
        if offset == 0:
            continue
        if kind in FORMATS:
            fields[name] = number(content, at + offset, kind)
            continue
        if kind[0] == "<":
            members = UNIONS[kind[1:-1]].split()
            member = fields.get(name + "_type", 0)
            if not 1 <= member <= len(members):
                continue
            kind = members[member - 1]
        target = at + offset + number(content, at + offset, "u32")
        fields[name] = read(content, target, kind)
    return fields


def read(content, at=None, kind="Model"):
    """What lies at `at`."""
    if at is None:
        at = number(content, 0, "u32")
    if kind != "str" and kind[0] != "[":
        return read_table(content, at, kind)
    length = number(content, at, "u32")
    if kind == "str":
        return take(content, at + 4, length)
    if kind == "[u8]":
        return take(content, at + 4, length)
    if kind[1:-1] in FORMATS:
        size = struct.calcsize(FORMATS[kind[1:-1]])
        return list(struct.unpack(f"<{length}{FORMATS[kind[1:-1]]}", take(content, at + 4, size * length)))
    places = range(at + 4, at + 4 + 4 * length, 4)
    return [read(content, place + number(content, place, "u32"), kind[1:-1]) for place in places]


def payload(content, buffer):
    """The bytes of a buffer, None when it has none."""
    if "data" in buffer:
        return buffer["data"]
    if buffer.get("offset", 0) > 1:
        return take(content, buffer["offset"], buffer.get("size", 0))
    return None


def judge(content):
    """Read everything that an engine would."""
    model = read(content)
    for buffer in model["buffers"]:
        payload(content, buffer)
    for subgraph in model["subgraphs"]:
        for tensor in subgraph["tensors"]:
            if tensor.get("buffer", 0):
                data = payload(content, model["buffers"][tensor["buffer"]])
                if data is not None:
                    read_constant(tensor, data)
        for operator in subgraph.get("operators", []):
            assert operator.get("opcode_index", 0) < len(model["operator_codes"])


def read_constant(tensor, data):
    """Every value of a constant is there."""
    kind = tensor.get("type", 0)
    shape = tensor.get("shape", [])
    elements = 1
    for size in shape:
        assert size >= 0
        elements *= size
    if kind == 5:
        assert number(data, 0, "i32") == elements
        ends = [number(data, 4 + 4 * index, "i32") for index in range(elements + 1)]
        for start, end in pairwise(ends):
            assert 0 <= start <= end
            take(data, start, end - start)
    elif "sparsity" in tensor:
        seen = list(sparse_coordinates(tensor["sparsity"], shape))
        take(data, 0, (len(seen) * TYPE_BITS[kind] + 7) // 8)
        for coordinates in seen:
            assert all(0 <= at < size for at, size in zip(coordinates, shape, strict=True))
        assert len(set(seen)) <= elements
    else:
        take(data, 0, (elements * TYPE_BITS[kind] + 7) // 8)


def sparse_coordinates(sparsity, shape):
    """Coordinates of the stored values, in their order, walking the tree depth first."""
    order, levels = sparsity["traversal_order"], sparsity["dim_metadata"]
    blocks = {len(shape) + place: dimension for place, dimension in enumerate(sparsity.get("block_map", []))}
    block_sizes = {order[level]: levels[level].get("dense_size", 0) for level in range(len(shape), len(order))}

    def walk(level, node, at):
        if level == len(order):
            place = [at[dimension] for dimension in range(len(shape))]
            for dimension in sorted(blocks):
                place[blocks[dimension]] = place[blocks[dimension]] * block_sizes[dimension] + at[dimension]
            yield tuple(place)
            return
        metadata = levels[level]
        if metadata.get("format", 0) == 0:
            size = metadata.get("dense_size", 0)
            for child in range(size):
                yield from walk(level + 1, node * size + child, {**at, order[level]: child})
        else:
            segments, indices = metadata["array_segments"]["values"], metadata["array_indices"]["values"]
            for child in range(segments[node], segments[node + 1]):
                yield from walk(level + 1, child, {**at, order[level]: indices[child]})

    yield from walk(0, 0, {})
