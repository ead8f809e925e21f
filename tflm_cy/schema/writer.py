"""A copy of a model with other metadata, another order of operators or other operators; the rest stays the byte that it is.

    >>> from tflm_cy.schema.writer import rewritten
    >>> content = rewritten(model, metadata={"name": b"..."}, orders={0: [1, 0, 2]})     # doctest: +SKIP

A new root table stands before the old content (`front`), which moves by a multiple of 64 bytes and so keeps every
alignment. The new root has the old one's fields, except that its vectors of buffers and of metadata are new; their old
entries are referred to, not copied. The old root and vectors remain, unreachable: a few hundred bytes. Operators are put
in order by exchanging offsets in place. Positions that count from the file's start (contents of buffers behind the
flatbuffer, large custom options) move along.
"""

import struct
from dataclasses import dataclass, field

from tflm_cy.schema.contents import associated_files
from tflm_cy.schema.front import Front, Old, present
from tflm_cy.schema.reader import read

_LARGEST = (1 << 31) - 1


@dataclass(frozen=True)
class MainGraph:
    """What the copy's first subgraph consists of; its inputs, outputs and name stay.

    `operators` and `tensors` hold `schema.reader.Table`s of the model or dicts of fields (`front`). New buffers and
    operator codes are numbered behind the old ones.
    """

    tensors: list
    operators: list
    buffers: list[bytes] = field(default_factory=list)
    operator_codes: list[dict] = field(default_factory=list)


def rewritten(model, metadata=None, orders=None, main=None):
    """The bytes of the copy.

    Parameters
    ----------
    model : schema.model.Model
    metadata : dict of str to bytes, optional
        Entries to add; those of the same name are replaced.
    orders : dict of int to sequence of int, optional
        Per subgraph, its operators' present indices in their new order.
    main : MainGraph, optional
        Other tensors and operators for the first subgraph. All tables are written anew then, if nothing in the file
        counts from its start or stands behind the flatbuffer (`_is_closed`), so that what is replaced takes no bytes.

    Raises
    ------
    ValueError
        An order is no permutation; the file would be larger than a flatbuffer can be.
    """
    content = bytearray(memoryview(model))
    root = read(model)
    for subgraph, order in (orders or {}).items():
        _reorder(content, root, subgraph, order)
    if not metadata and main is None:
        return bytes(content)
    fields = _root(root, metadata or {}, main)
    if main is not None and _is_closed(root):
        return Front(root, whole=True).bytes(fields)
    front = Front(root).bytes(fields)
    _move_absolute(content, root, len(front))
    if len(front) + len(content) > _LARGEST:
        raise ValueError(f"a flatbuffer has at most {_LARGEST} bytes")
    return front + bytes(content)


def _root(root, metadata, main):
    """The fields of the new root."""
    fields = {name: value for name, value in present(root).items() if isinstance(value, Old) or name == "version"}
    buffers = list(root.buffers)
    if main is not None:
        buffers += [{"data": data} for data in main.buffers]
        graph = {**present(root.subgraphs[0]), "tensors": main.tensors, "operators": main.operators}
        fields["subgraphs"] = [graph, *root.subgraphs[1:]]
        if main.operator_codes:
            fields["operator_codes"] = [*root.operator_codes, *main.operator_codes]
    if metadata:
        kept = [entry for entry in root.metadata if entry.name not in metadata]
        added = [{"name": name, "buffer": len(buffers) + i} for i, name in enumerate(metadata)]
        fields["metadata"] = [*kept, *added]
        buffers += [{"data": data} for data in metadata.values()]
    return {**fields, "buffers": buffers}


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


def _is_closed(root):
    """Whether a file is a flatbuffer and nothing else: no contents of buffers or options behind it, no archive."""
    outside = [buffer for buffer in root.buffers if buffer.offset > 1]
    outside += [op for graph in root.subgraphs for op in graph.operators if op.large_custom_options_offset > 1]
    return not outside and not associated_files(root.content)


def _move_absolute(content, root, shift):
    """Add `shift` to the positions that count from the file's start; 0 and 1 stand for none."""
    tables = [(buffer, "offset") for buffer in root.buffers]
    tables += [(op, "large_custom_options_offset") for graph in root.subgraphs for op in graph.operators]
    for at in {table.field_position(name) for table, name in tables} - {0}:
        position = struct.unpack_from("<Q", content, at)[0]
        if position > 1:
            struct.pack_into("<Q", content, at, position + shift)
