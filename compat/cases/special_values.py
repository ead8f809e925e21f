"""NaN, infinities and other floats that kernels go wrong on, for every operator that has floats: the variant "special values".

    python -m compat --case "special values" --mode all --seeds 20

A case of it is a case of one of the operator's other variants, drawn by the seed, in whose feeds and constants floats are replaced and
whose rows are often longer than a vector. The replaced ones are a few, whole rows or many of an array, at drawn lanes: NaN of both signs
and of several payloads, signalling ones too, infinities, numbers whose differences overflow, subnormal numbers, negative zero. Now and then
all are NaN of which no two are equal.
"""

import numpy as np

from .draw import Draw

VARIANT = "special values"
_LABELS = ("float", "hybrid", "complex", "dynamic_range", "mixed")
# What fails or ends early, what has no values, and what is fed every pattern as it is.
_LEFT_OUT = (
    "wrong",
    "bounds",
    "out of",
    "mixture",
    "zero size",
    "zero batch",
    "not broadcastable",
    "failing",
    "every value",
)
# RANGE's operands are sizes, and so are the logits of a draw that nothing ends.
_WITHOUT = ("RANGE", "MULTINOMIAL")

_BITS = {
    np.dtype(np.float16): (
        "7e00 fe00 7e12 fd21 7c01 fc12",
        "7c00 fc00",
        "7bff fbff 7800 f801",
        "0001 8001 0200 83ff 8000",
    ),
    np.dtype(np.float32): (
        "7fc00000 ffc00000 7fc12345 ffc54321 7f800001 ff812345",
        "7f800000 ff800000",
        "7f7fffff ff7fffff 7f000000 ff000001 5f000000 df000000",
        "00000001 80000001 00400000 807fffff 80000000",
    ),
    np.dtype(np.float64): (
        "7ff8000000000000 fff8000000000000 7ff8000000012345",
        "7ff0000000000000 fff0000000000000",
        "7fefffffffffffff ffefffffffffffff",
        "0000000000000001 8000000000000001 8000000000000000",
    ),
}
_GROUPS = {
    dtype: [np.array([int(bits, 16) for bits in group.split()], f"u{dtype.itemsize}") for group in groups]
    for dtype, groups in _BITS.items()
}

_MIXTURES = (
    (0, 1, 2, 3),
    (0,),
    (1,),
    (0, 1),
    (2,),
    (1, 2),
    (3,),
)  # of the groups: NaN, infinities, large and small numbers


def has_floats(dtype):
    return any(label in dtype for label in _LABELS)


def fits(kind):
    """Whether cases of a kind are drawn from for "special values"."""
    return has_floats(kind.dtype) and kind.op not in _WITHOUT and not any(word in kind.variant for word in _LEFT_OUT)


def scattered(rng, values):
    """A copy of an array with special values at places of a drawn law; arrays of other types as they are."""
    if values.dtype.kind == "c":
        parts = np.ascontiguousarray(values).view(values.real.dtype)
        return scattered(rng, parts).view(values.dtype).reshape(values.shape)
    if values.dtype not in _GROUPS or not values.size:
        return values
    groups = [_GROUPS[values.dtype][i] for i in _MIXTURES[rng.integers(len(_MIXTURES))]]
    if rng.random() < 0.5:
        groups = [group[: rng.integers(1, len(group) + 1)] for group in groups]
    pool = np.concatenate(groups)
    if values.dtype == np.float32 and rng.random() < 0.25:
        picked = _numbered(rng, values.shape)
    else:
        picked = pool[rng.integers(0, len(pool), values.shape)]
    bits = np.array(values).view(picked.dtype)  # as integers, so that signalling NaN stay what they are
    return np.where(_places(rng, values.shape), picked, bits).astype(picked.dtype).view(values.dtype)


def _numbered(rng, shape):
    """NaN of which no two are equal: where several meet, the one that comes out says in which order they did. A few are signalling."""
    first = rng.integers(1, 1 << 20)
    payloads = (first + np.arange(np.prod(shape, dtype=int))) % (1 << 21) + 1
    signs, quiet = rng.integers(0, 2, payloads.size) << 31, (rng.random(payloads.size) < 0.95).astype(int) << 22
    return (0x7F800000 | payloads | signs | quiet).astype(np.uint32).reshape(shape)


def _places(rng, shape):
    """Where: nowhere, at 1 to 3 places, in one row, in a third of all, everywhere."""
    found, law = np.zeros(shape, bool), rng.choice(["none", "few", "few", "few", "row", "many", "many", "all"])
    if law == "few":
        found.flat[rng.integers(0, found.size, rng.integers(1, 4))] = True
    elif law == "row":
        rows = found.reshape(-1, shape[-1] if shape else 1)
        rows[rng.integers(len(rows))] = True
    elif law == "many":
        found |= rng.random(shape) < 0.35
    elif law == "all":
        found[...] = True
    return found


class SpecialDraw(Draw):
    """Material of another variant, whose case has special values."""

    _SPREAD = 0.3  # how often an extent is drawn beyond a vector

    def shape(self, rank, high):
        """As for others, the last extent now and then 1 to 40, or 100 and more."""
        sizes = super().shape(rank, high)
        if sizes and high >= 5 and self.flag(self._SPREAD):
            sizes[-1] = super().between(1, 40) if self.flag(0.8) else super().between(100, 140)
        return sizes

    def between(self, low, high):
        """Channels are drawn from 1 to 8 or 9; here now and then up to 40."""
        if low == 1 and high in (8, 9) and self.flag(self._SPREAD):
            high = 40
        return super().between(low, high)

    def case(self, model, feed=list, text="", refused=None):
        for graph in model.subgraphs:
            for tensor in graph.tensors:
                if isinstance(getattr(tensor, "data", None), np.ndarray) and tensor.data.size > 1 and self.flag(0.3):
                    tensor.data = scattered(self.rng, tensor.data)
        # the values and longer rows decide what is refused
        found = super().case(model, lambda: [scattered(self.rng, np.asarray(array)) for array in feed()], text, None)
        found.origins, found.text, found.variant = (found.id,), f"{found.text} ({self.variant})", VARIANT
        return found
