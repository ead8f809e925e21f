"""Options of custom operators: a FlexBuffer map of scalars.

    >>> options(bytes.fromhex("6e0001030101010304022401"))
    {'n': 3}

Files are read backwards: the last byte is the width of the root, the byte before it the root's type. A map is a vector
of values, then a type per value; in front of the values stand an offset to the vector of keys, its width and the length.
Offsets point backwards from where they stand. The file's verifier does not look into these bytes, so every position is
checked here. Strings and vectors in a map, which no known operator needs, read as None.

A Flex operator's options are a vector of strings instead, whose bytes need not be text:

    >>> strings(bytes.fromhex("0141000280ff0206041464042801"))
    [b'A', b'\\x80\\xff']

Source of the format: google/flatbuffers:docs/source/internals.md, section FlexBuffers.
"""

import struct

_STRING, _VECTOR, _BLOB = 5, 10, 25
_INT, _UINT, _FLOAT, _INDIRECT_INT, _INDIRECT_UINT, _INDIRECT_FLOAT, _MAP, _BOOL = 1, 2, 3, 6, 7, 8, 9, 26
_FORMATS = {_INT: "bhiq", _UINT: "BHIQ", _FLOAT: " efd", _BOOL: "BHIQ"}
_DIRECT = {_INDIRECT_INT: _INT, _INDIRECT_UINT: _UINT, _INDIRECT_FLOAT: _FLOAT}


def options(content):
    """The map of an operator's custom options; {} when there are none.

    Raises
    ------
    ValueError
        The bytes are no FlexBuffer, or its root is no map.
    """
    return _read(bytes(content), lambda content: dict(_values(content)))


def numbers(content):
    """The map's numbers: `options` without what reads as None.

    Raises
    ------
    ValueError
        The bytes are no FlexBuffer, or its root is no map.
    """
    return _read(bytes(content), lambda content: {key: value for key, value in _values(content) if value is not None})


def float_slot(content, key):
    """The first four bytes of a float's place in the map, as a float32, as TensorFlow's delegate reads it; None when there is no float.

    What is stored as float32 is read rightly. Of a double this is the lower half, of an indirect float its offset.

    Raises
    ------
    ValueError
        The bytes are no FlexBuffer, or its root is no map.
    """
    return _read(bytes(content), lambda content: _float_slot(content, key))


def strings(content):
    """The strings of a vector of them, as bytes.

    Raises
    ------
    ValueError
        The bytes are no FlexBuffer, or its root is no vector of strings.
    """
    return _read(bytes(content), _strings)


def _read(content, reader):
    try:
        return reader(content)
    except (IndexError, struct.error) as error:
        raise ValueError(f"custom options of {len(content)} bytes are no FlexBuffer: {error}") from None


def _float_slot(content, key):
    at, _, packed = dict(_places(content)).get(key, (0, 0, 0))
    return struct.unpack_from("<f", content, at)[0] if packed >> 2 in (_FLOAT, _INDIRECT_FLOAT) else None


def _strings(content):
    width, packed = content[-1], content[-2]
    if packed >> 2 != _VECTOR or width not in (1, 2, 4, 8):
        raise ValueError(f"custom options: the root has type {packed >> 2}, not a vector")
    start = _follow(content, len(content) - 2 - width, width)
    width = 1 << (packed & 3)
    length = _unsigned(content, start - width, width)
    if length > len(content):
        raise ValueError(f"custom options: a vector of {length} values")
    return [_text(content, start + i * width, width, content[start + length * width + i]) for i in range(length)]


def _text(content, at, width, packed):
    kind, own = packed >> 2, 1 << (packed & 3)
    if kind not in (_STRING, _BLOB):
        raise ValueError(f"custom options: a value of type {kind}, not a string")
    start = _follow(content, at, width)
    length = _unsigned(content, start - own, own)
    if start + length > len(content):
        raise IndexError(f"position {start + length}")
    return content[start : start + length]


def _places(content):
    """(key, (position, width, packed type)) of each value of the map."""
    if not content:
        return []
    width, packed = content[-1], content[-2]
    if width not in (1, 2, 4, 8):
        raise ValueError(f"custom options: a root of {width} bytes")
    if packed >> 2 != _MAP:
        raise ValueError(f"custom options: the root has type {packed >> 2}, not a map")
    values = _follow(content, len(content) - 2 - width, width)
    width = 1 << (packed & 3)
    length = _unsigned(content, values - width, width)
    keys = _follow(content, values - 3 * width, width)
    key_width = _unsigned(content, values - 2 * width, width)
    if key_width not in (1, 2, 4, 8) or length > len(content):
        raise ValueError(f"custom options: {length} keys of {key_width} bytes each")
    found = []
    for i in range(length):
        start = _follow(content, keys + i * key_width, key_width)
        key = content[start : content.index(b"\0", start)].decode(errors="replace")  # TensorFlow compares bytes
        found.append((key, (values + i * width, width, content[values + length * width + i])))
    return found


def _values(content):
    return ((key, _value(content, *place)) for key, place in _places(content))


def _value(content, at, width, packed):
    kind = packed >> 2
    if kind in _DIRECT:
        at, width, kind = _follow(content, at, width), 1 << (packed & 3), _DIRECT[kind]
    if kind not in _FORMATS:
        return None
    value = struct.unpack_from("<" + _FORMATS[kind][width.bit_length() - 1].strip(), content, _inside(content, at))[0]
    return bool(value) if kind == _BOOL else value


def _follow(content, at, width):
    return _inside(content, at - _unsigned(content, at, width))


def _unsigned(content, at, width):
    return struct.unpack_from("<" + _FORMATS[_UINT][width.bit_length() - 1], content, _inside(content, at))[0]


def _inside(content, at):
    if not 0 <= at < len(content):
        raise IndexError(f"position {at}")
    return at
