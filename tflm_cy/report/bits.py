"""How far two arrays of one type are apart, in units of the last place (floats) or of one (integers)."""

from dataclasses import dataclass

import numpy as np

BOUNDS = (1, 2, 4, 8, 16, 64, 256, 65536)


@dataclass(frozen=True)
class Distance:
    """Result of `distance`.

    Attributes
    ----------
    elements : int
    differing : int
        Elements whose bytes differ.
    largest : int
        The greatest distance; 0 when only signs of zeros, or NaN, differ.
    unit : str
        "ULP" or "LSB".
    first : tuple of int or None
        Index of the first element that differs.
    histogram : dict
        "1", "2", "3-4", ..., "> 65536", "NaN" and "-0" -> number of differing elements.
    """

    elements: int
    differing: int
    largest: int
    unit: str
    first: tuple | None
    histogram: dict


def _ordered(values):
    """Floats as integers in their order, neighbours one apart; -0 and +0 are both 0."""
    width = values.dtype.itemsize
    bits = values.view(f"i{width}").astype(object if width == 8 else np.int64)
    return np.where(bits < 0, -(bits & ((1 << (8 * width - 1)) - 1)), bits)


def _label(low, high):
    return str(high) if low == high else f"{low}-{high}"


def _counts(far):
    """How many differences there are of each size: label -> number."""
    counts, low = {}, 1
    for high in BOUNDS:
        hits = int(((far >= low) & (far <= high)).sum())
        if hits:
            counts[_label(low, high)] = hits
        low = high + 1
    if (far >= low).any():
        counts[f"> {low - 1}"] = int((far >= low).sum())
    return counts


def distance(a, b):
    """Compare two arrays of one shape and type.

    Parameters
    ----------
    a, b : numpy.ndarray
        Of equal shape and dtype (floats, integers or bool).

    Returns
    -------
    Distance

    Raises
    ------
    ValueError
        Shapes or types differ.

    Examples
    --------
    >>> import numpy as np
    >>> one = np.float32([1, 2, 3])
    >>> distance(one, np.nextafter(one, np.float32(9))).histogram
    {'1': 3}
    """
    a, b = np.asarray(a, order="C"), np.asarray(b, order="C")
    if a.shape != b.shape or a.dtype != b.dtype:
        raise ValueError(f"{a.dtype} {list(a.shape)} and {b.dtype} {list(b.shape)} cannot be compared")
    if a.dtype.kind == "c":
        part = a.dtype.type(0).real.dtype
        return distance(a.view(part), b.view(part))
    is_float = a.dtype.kind == "f"
    size = a.dtype.itemsize
    flat_a, flat_b = a.reshape(-1), b.reshape(-1)
    raw = (flat_a.view(np.uint8).reshape(-1, size) != flat_b.view(np.uint8).reshape(-1, size)).any(axis=1)
    where = np.flatnonzero(raw)
    unit = "ULP" if is_float else "LSB"
    if not len(where):
        return Distance(a.size, 0, 0, unit, None, {})
    x, y = flat_a[where], flat_b[where]
    histogram = {}
    if is_float:
        nan = np.isnan(x) | np.isnan(y)
        far = np.abs(_ordered(x[~nan]) - _ordered(y[~nan]))
        if nan.any():
            histogram["NaN"] = int(nan.sum())
        if (far == 0).any():
            histogram["-0"] = int((far == 0).sum())
    else:
        wide = object if size == 8 else np.int64
        far = np.abs(x.astype(wide) - y.astype(wide))
    histogram = _counts(far) | histogram
    first = tuple(int(i) for i in np.unravel_index(where[0], a.shape)) if a.ndim else ()
    largest = int(max(far)) if len(far) else 0
    return Distance(a.size, len(where), largest, unit, first, histogram)
