"""Constants as TFLM_DECODE wants them: encoded values, and the ancillary tensor that says how, both as bytes.

    encoded, ancillary = tables(values, width=3, axis=0)      # look-up tables; axis None: one for the whole tensor
    encoded, ancillary = pruned(values, zero=-3)              # `zero` broadcasts: a number, or one per channel
    encoded, ancillary = huffman(values, first_bits=4, wide=True)
    main.op("TFLM_DECODE", [*constants(encoded, ancillary)], [Tensor(values.shape, values.dtype)])

Bits are written from the highest of each byte. See `tflm_cy/ops/decode.pyx` for the format.
"""

import heapq
from collections import Counter

import numpy as np

from .tensor import Tensor

LOOK_UP_TABLES, HUFFMAN, PRUNING = range(3)
WHOLE = 15  # the axis that byte 5 names when there is one table
_OFFSET_BITS = {False: 11, True: 27}


def header(method, parameters=0, stride=0, version=1, method_version=1):
    """The ancillary tensor's first 16 bytes."""
    return bytes([method, version, 0, 0, method_version, parameters, stride]) + bytes(9)


def constants(encoded, ancillary):
    """The two tensors."""
    return [Tensor.constant(np.frombuffer(data, np.uint8)) for data in (encoded, ancillary)]


def packed(text):
    """A text of 0 and 1 as bytes."""
    text += "0" * (-len(text) % 8)
    return int(text or "0", 2).to_bytes(max(len(text) // 8, 1), "big")


def tables(values, width, axis=None, stride=None):
    """Look-up tables of the values along an axis, or of all; ValueError when `width` bits are too few for the indices."""
    channels = [values] if axis is None else list(np.moveaxis(values, axis, 0))
    known, places = zip(*(np.unique(channel, return_inverse=True) for channel in channels), strict=True)
    stride = max(map(len, known)) if stride is None else stride
    if max(map(len, known)) > 1 << width:
        raise ValueError(f"{max(map(len, known))} values want more than {width} bits")
    places = np.stack([place.reshape(channel.shape) for place, channel in zip(places, channels, strict=True)])
    places = places[0] if axis is None else np.moveaxis(places, 0, axis)
    rows = b"".join(np.resize(np.append(row, row[:1]), max(stride, len(row)))[:stride].tobytes() for row in known)
    numbers = (WHOLE if axis is None else axis) << 4 | width
    return packed("".join(f"{i:0{width}b}" for i in places.ravel())), header(LOOK_UP_TABLES, numbers, stride) + rows


def pruned(values, zero=0):
    """The values that are not `zero`, and a bit for each."""
    given = values != np.broadcast_to(zero, values.shape)
    return packed("".join(f"{bit:d}" for bit in given.ravel().tolist())), header(PRUNING) + values[given].tobytes()


def code_lengths(values):
    """{value: bits of its code}, the fewest in all."""
    counts = Counter(values)
    if len(counts) == 1:
        return dict.fromkeys(counts, 1)
    heap = [(n, i, [value]) for i, (value, n) in enumerate(sorted(counts.items()))]
    heapq.heapify(heap)
    lengths = dict.fromkeys(counts, 0)
    while len(heap) > 1:
        (n, i, left), (m, _, right) = heapq.heappop(heap), heapq.heappop(heap)
        for value in left + right:
            lengths[value] += 1
        heapq.heappush(heap, (n + m, i, left + right))
    return lengths


def codes_of(lengths):
    """{value: its code as a text of 0 and 1}, shorter codes first."""
    found, code, before = {}, 0, 0
    for length, value in sorted((length, value) for value, length in lengths.items()):
        code <<= length - before
        found[value], before = f"{code:0{length}b}", length
        code += 1
    return found


def code_table(codes, first_bits, wide, next_bits=2):
    """The entries that the codes are looked up by: `first_bits` at first, at most `next_bits` in each table behind."""
    shift, most = (27, (1 << 16) - 1) if wide else (11, (1 << 8) - 1)
    entries, waiting = [0] * (1 << first_bits), [(0, first_bits, {code: value for value, code in codes.items()})]
    for start, bits, inside in waiting:  # which grows
        for i in range(1 << bits):
            text = f"{i:0{bits}b}"
            whole = [code for code in inside if text.startswith(code)]
            if whole:
                entries[start + i] = 1 << (shift + 4) | len(whole[0]) << shift | (inside[whole[0]] & most)
                continue
            rest = {code[bits:]: value for code, value in inside.items() if code.startswith(text)}
            if not rest:  # no code begins like this
                entries[start + i] = 1 << (shift + 4) | 1 << shift
                continue
            longer = min(max(map(len, rest)), next_bits)
            offset = len(entries) - (start + i)
            if offset >> _OFFSET_BITS[wide]:
                raise ValueError(f"a table lies {offset} entries behind, which {_OFFSET_BITS[wide]} bits do not tell")
            entries[start + i] = (longer - 1) << shift | offset
            waiting.append((len(entries), longer, rest))
            entries += [0] * (1 << longer)
    return np.array(entries, "<u4" if wide else "<u2").tobytes()


def huffman(values, first_bits=3, wide=False, next_bits=2, word=4):
    """Codes and their table; the codes are filled up to a multiple of `word` bytes."""
    codes = codes_of(code_lengths(values.ravel().tolist()))
    encoded = packed("".join(codes[value] for value in values.ravel().tolist()))
    table = code_table(codes, first_bits, wide, next_bits)
    return encoded + bytes(-len(encoded) % word), header(HUFFMAN, (first_bits - 1) << 4 | wide) + table
