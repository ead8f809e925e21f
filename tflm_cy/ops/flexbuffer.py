"""A flexbuffer's map of numbers, as the custom operators' options are: {key: int, float or bool}.

Content is a model's and may be anything: whatever does not lie inside raises ValueError. Other values than numbers are left out.

Source of the format: google/flatbuffers:docs/source/internals.md (FlexBuffers).
"""

import struct

_INT, _UINT, _FLOAT, _BOOL, _MAP = 1, 2, 3, 26, 9
_INDIRECT = {6: _INT, 7: _UINT, 8: _FLOAT}
_FORMATS = {
    _INT: {1: "<b", 2: "<h", 4: "<i", 8: "<q"},
    _UINT: {1: "<B", 2: "<H", 4: "<I", 8: "<Q"},
    _FLOAT: {2: "<e", 4: "<f", 8: "<d"},
}


def _number(data, at, width, kind):
    """The number at a place."""
    if at < 0 or at + width > len(data) or width not in _FORMATS[kind]:
        raise ValueError("the custom options are no flexbuffer")
    return struct.unpack_from(_FORMATS[kind][width], data, at)[0]


def _follow(data, at, width):
    return at - _number(data, at, width, _UINT)


def read_numbers(data):
    """Return the numbers of the map that a flexbuffer holds."""
    if len(data) < 3:
        raise ValueError("the custom options are no flexbuffer")
    width, packed = data[-1], data[-2]
    if packed >> 2 != _MAP:
        raise ValueError("the custom options are no flexbuffer map")
    values = _follow(data, len(data) - 2 - width, width)
    width = 1 << (packed & 3)
    count = _number(data, values - width, width, _UINT)
    keys, key_width = _follow(data, values - 3 * width, width), _number(data, values - 2 * width, width, _UINT)
    if count > len(data):
        raise ValueError("the custom options are no flexbuffer")
    found = {}
    for i in range(count):
        start = _follow(data, keys + i * key_width, key_width)
        end = data.find(b"\0", start) if start >= 0 else -1
        packed, at = _number(data, values + count * width + i, 1, _UINT), values + i * width
        kind, size = packed >> 2, width
        if end < 0:
            raise ValueError("the custom options are no flexbuffer")
        if kind in _INDIRECT:
            at, kind, size = _follow(data, at, width), _INDIRECT[kind], 1 << (packed & 3)
        if kind == _BOOL:
            found[data[start:end].decode(errors="replace")] = bool(_number(data, at, size, _UINT))
        elif kind in _FORMATS:
            found[data[start:end].decode(errors="replace")] = _number(data, at, size, kind)
    return found
