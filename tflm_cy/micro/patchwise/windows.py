"""How positions of an output and of an input belong together, along one axis.

    >>> Window(extent=3, stride=2, before=1).reach(4, 6)         # output rows 4 and 5 read these input rows
    (7, 12)
    >>> Spread(extent=4, stride=2, before=1).reach(4, 6)         # these input rows add to output rows 4 and 5
    (1, 4)
    >>> Spread(extent=4, stride=2, before=1).made((1, 4), (4, 6))        # what they make; the rest is cut away
    (1, 9)

All intervals are [first, end).
"""

from typing import NamedTuple


class Window(NamedTuple):
    """Output position o reads the input positions from o * stride - before on, `extent` of them."""

    extent: int
    stride: int
    before: int

    def reach(self, first, end):
        """The input positions that output positions [first, end) read; some may lie outside of the image."""
        return first * self.stride - self.before, (end - 1) * self.stride - self.before + self.extent

    def margins(self, first, end, size):
        """How many positions before and behind an image of this size are read, which a PAD must write."""
        low, high = self.reach(first, end)
        return max(-low, 0), max(high - size, 0)

    def made(self, read, wanted):
        """The output positions that an operator makes of the input positions `read`."""
        return wanted

    def work(self, read, made):
        """How many positions are computed."""
        return made[1] - made[0]


POINT = Window(1, 1, 0)


class Whole(NamedTuple):
    """Each output position reads all `size` input positions."""

    size: int

    def reach(self, first, end):
        return 0, self.size

    def margins(self, first, end, size):
        return 0, 0

    def made(self, read, wanted):
        return wanted

    def work(self, read, made):
        return made[1] - made[0]


class Spread(NamedTuple):
    """Input position i writes, or adds to, the output positions from i * stride - before on, `extent` of them.

    `halo`: how many input positions before and behind these are read besides. `clips`: whether an operator may end
    within what an input position makes.
    """

    extent: int
    stride: int
    before: int = 0
    halo: tuple[int, int] = (0, 0)
    clips: bool = False

    def reach(self, first, end):
        low = -((self.extent - 1 - first - self.before) // self.stride)
        high = (end - 1 + self.before) // self.stride + 1
        return low - self.halo[0], high + self.halo[1]

    def margins(self, first, end, size):
        return 0, 0

    def made(self, read, wanted):
        first = read[0] * self.stride - self.before
        end = (read[1] - 1) * self.stride - self.before + self.extent
        if self.clips:  # not below a window, for which VALID would pad
            end = max(min(end, wanted[1]), first + self.extent)
        return first, end

    def work(self, read, made):
        """How many pairs of an input and an output position there are."""
        starts = (i * self.stride - self.before for i in range(*read))
        return sum(max(min(made[1], s + self.extent) - max(made[0], s), 0) for s in starts)
