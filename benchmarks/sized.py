"""compat's random material with everyday sizes: shapes whose largest tensor has about so many elements.

    case = sized_case(kind, seed=0, elements=100_000)  # None: the kind's sizes are its own, or not everyday ones
    case = sized_case(kind, 0, 100_000, UnevenDraw)  # few long rows, tall columns, flat images, two or a thousand channels

The generators of `compat.cases` ask a `Draw` for shapes (`shape`, `rows`) and for sizes of images and matrices (`side`, `channels`,
`width`); here these grow. What else they draw (axes, strides, kernels, batches) stays, so that a case is one that TensorFlow takes. A
generator that adds sizes of its own is drawn again until its largest tensor is near the size that is asked for.
"""

from math import prod

import numpy as np

from compat.cases.draw import Draw

ATTEMPTS = 8
FAR = 100  # times the elements wanted: the case is drawn smaller at once
NEAR = 2.5  # the largest tensor has between 1 / NEAR and NEAR of the elements that are asked for
UNUSUAL = (
    *(
        "special",
        "zero",
        "wrong",
        "odd ",
        "tiny",
        "infinit",
        "out of",
        "negative",
        "too ",
        "refused",
        "not ",
        "no scale",
    ),
    *("unknown", "one pixel", "scalar condition", "rank 0", "repeated", "to scalar", "to one", "one value", "jump"),
    *("no rows", "extremes", "unsorted", "nan", "other scale", "int32 state", "many", "sign bit", "saturat", "halves"),
)


class SizedDraw(Draw):
    """`elements` is what the largest tensor should have; `share` is a factor on it, corrected from one attempt to the next."""

    def __init__(self, kind, seed, elements, share=1.0):
        super().__init__(kind.op, kind.dtype, kind.variant, seed, invokes=1)
        self.rng = np.random.default_rng([seed, int(elements), *self.rng.integers(0, 2**31, 2)])
        self.elements, self.most = max(1.0, elements * share), FAR * elements

    def shape(self, rank, high):
        """Small ones (kernels, strides, batches of matrices) stay."""
        if rank == 0 or (high < 4 and rank < 5):
            return super().shape(rank, high)
        return self._spread(rank, self.elements)

    def rows(self, rank, high, last):
        """`last` is no bound here: a row has some hundred values, as those of a classifier or of attention."""
        size = max(2, round(min(self.elements, self.elements ** self.rng.uniform(0.3, 0.55))))
        return [*(self._spread(rank, self.elements / size) if rank else []), size if rank else round(self.elements)]

    def side(self, low, high):
        return self._about(self.elements**0.365)

    def channels(self, low, high):
        return self._about(self.elements**0.27)

    def width(self, low, high):
        return self._about(self.elements**0.45)

    def bound(self):
        return 8.0

    def widths(self, count, high):
        return [self.width(1, high) for _ in range(count)]

    def batch(self, rank, high):
        return [self.between(1, high) for _ in range(rank)]

    def _about(self, size):
        return max(1, round(size * self.rng.uniform(0.75, 1.3)))

    def _spread(self, rank, elements):
        """`rank` sizes with this product, roughly: few images, few channels."""
        sizes = [self.between(1, 2) for _ in range(rank - 3)]
        left = max(1.0, elements / prod(sizes))
        free = rank - len(sizes)
        last = left if free == 1 else left ** self.rng.uniform(0.2, 0.4)
        last = max(1, round(last))
        left = max(1.0, left / last)
        for more in range(free - 1, 0, -1):
            share = left ** (1 / more) * (1 if more == 1 else self.rng.uniform(0.6, 1.6))
            sizes.append(max(1, round(share)))
            left = max(1.0, left / sizes[-1])
        return [*sizes, last]

    def case(self, model, feed=list, text="", refused=False):
        if refused:
            raise UnusualError
        if _largest(model) > self.most:
            raise TooLargeError(_largest(model))
        found = super().case(model, _lengthened(self, model, feed), text)
        found.elements = _largest(model)
        return found


class UnevenDraw(SizedDraw):
    """Sizes of one shape that differ by orders of magnitude, in any order; many are 1, 2 or 3."""

    def rows(self, rank, high, last):
        return self._spread(rank + 1, self.elements)

    def side(self, low, high):
        return self._power(0.05, 0.6)

    def channels(self, low, high):
        return self._power(0.0, 0.6)

    def width(self, low, high):
        return self._power(0.05, 0.8)

    def _power(self, low, high):
        return max(1, round(self.elements ** self.rng.uniform(low, high)))

    def _spread(self, rank, elements):
        shares = self.rng.dirichlet([0.4] * rank)
        return [max(1, round(elements**share)) for share in shares]


class UnusualError(Exception):
    """TensorFlow refuses the case."""


class TooLargeError(Exception):
    """So many elements that no values are drawn for them."""


def _largest(model):
    tensors = [tensor for graph in model.subgraphs for tensor in graph.tensors]
    return max((prod(tensor.shape) for tensor in tensors), default=0) or 1


def _lengthened(draw, model, feed):
    """Generators that feed each value of a type have a length of their own: their arrays are repeated."""
    graph = model.subgraphs[0]
    shapes = {tuple(tensor.shape) for tensor in graph.tensors}
    [shape] = shapes if len(shapes) == 1 else [()]
    fixed = len(shape) == 1 and draw.variant.startswith(
        ("every value", "approximate", "exact", "wide", "same scale", "power")
    )
    if not fixed and not (len(shape) == 1 and shape[0] in (256, 1500)):
        return feed
    arrays = [np.asarray(array) for array in feed()]
    longer = draw._spread(draw.between(2, 4), draw.elements)
    for tensor in graph.tensors:
        tensor.shape = list(longer)
    return lambda: [np.resize(array, longer) for array in arrays]


def is_everyday(kind):
    """Whether a kind's inputs are what a model meets; malformed and extreme ones are not."""
    mixed = kind.dtype == "string" or " x " in kind.dtype
    return kind.op != "GRAPH" and not mixed and not any(word in f"{kind.variant} " for word in UNUSUAL)


def sized_case(kind, seed, elements, draw=SizedDraw):
    """The kind's case with a largest tensor of about so many elements; None where that cannot be."""
    share, before = 1.0, None
    for _ in range(ATTEMPTS):
        try:
            case = kind.function(draw(kind, seed, elements, share))
        except (
            UnusualError,
            ArithmeticError,
            LookupError,
            ValueError,
            MemoryError,
        ):  # a size that the generator was not made for
            return None
        except TooLargeError as error:
            case, [found] = None, error.args
        else:
            found = case.elements
        ratio = found / elements
        if 1 / NEAR <= ratio <= NEAR:
            return case
        if ratio == before:  # its sizes are its own
            break
        share, before = min(max(share / ratio, 1e-4), 1e3), ratio
    return None
