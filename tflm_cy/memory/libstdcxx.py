"""Two parts of libstdc++ on which TensorFlow Lite's addresses depend: the order of a set, and an unstable sort.

    >>> numbers = IntSet()
    >>> for n in (3, 1, 16, 2):
    ...     numbers.add(n)
    >>> numbers.order
    [2, 1, 16, 3]
    >>> std_sort([3, 1, 2], int.__lt__)
    [1, 2, 3]

`IntSet` is `std::unordered_set<int>`: 13 buckets at first, then about twice as many, always a prime; an element goes in
front of those of its bucket, or in front of all if the bucket is empty. `std_sort` is `std::sort`: introsort down to
pieces of 16, then one insertion sort, so that equal elements keep their order up to 16 only.
"""

from collections.abc import Callable
from functools import cmp_to_key
from typing import TypeVar

Element = TypeVar("Element")

_PRIMES = (1, 13, 29, 59, 127, 257, 541, 1109, 2357, 5087, 10273, 20753, 42043)
_PIECE = 16


class IntSet:
    """The elements are in `order`, as an iteration gives them."""

    def __init__(self) -> None:
        self.order: list[int] = []
        self._known: set[int] = set()
        self._buckets = _PRIMES[0]

    def add(self, number: int) -> None:
        """Insert a number if it is not there."""
        if number in self._known:
            return
        if len(self.order) + 1 > self._buckets or self._buckets == 1:
            self._buckets = _PRIMES[_PRIMES.index(self._buckets) + 1]
            linked, self.order = self.order, []
            for other in linked:
                self._link(other)
        self._known.add(number)
        self._link(number)

    def _link(self, number: int) -> None:
        same = (k for k, other in enumerate(self.order) if other % self._buckets == number % self._buckets)
        self.order.insert(next(same, 0), number)


def std_sort(elements: list[Element], less: Callable[[Element, Element], bool]) -> list[Element]:
    """Sort a list in place and return it."""
    count = len(elements)
    _introsort(elements, 0, count, 2 * max(count.bit_length() - 1, 0), less)
    for k in range(1, min(count, _PIECE)):
        if less(elements[k], elements[0]):
            elements.insert(0, elements.pop(k))
        else:
            _sink(elements, k, less)
    for k in range(_PIECE, count):
        _sink(elements, k, less)
    return elements


def _introsort(
    elements: list[Element], low: int, high: int, depth: int, less: Callable[[Element, Element], bool]
) -> None:
    while high - low > _PIECE:
        if depth == 0:  # libstdc++ sorts by a heap here; 2 log2(n) uneven partitions have never been seen
            key = cmp_to_key(lambda a, b: -1 if less(a, b) else int(less(b, a)))
            elements[low:high] = sorted(elements[low:high], key=key)
            return
        depth -= 1
        cut = _partition(elements, low, high, less)
        _introsort(elements, cut, high, depth, less)
        high = cut


def _partition(elements: list[Element], low: int, high: int, less: Callable[[Element, Element], bool]) -> int:
    a, b, c = low + 1, low + (high - low) // 2, high - 1
    if less(elements[a], elements[b]):
        median = b if less(elements[b], elements[c]) else c if less(elements[a], elements[c]) else a
    else:
        median = a if less(elements[a], elements[c]) else c if less(elements[b], elements[c]) else b
    elements[low], elements[median] = elements[median], elements[low]
    left, right = low + 1, high
    while True:
        while less(elements[left], elements[low]):
            left += 1
        right -= 1
        while less(elements[low], elements[right]):
            right -= 1
        if left >= right:
            return left
        elements[left], elements[right] = elements[right], elements[left]
        left += 1


def _sink(elements: list[Element], k: int, less: Callable[[Element, Element], bool]) -> None:
    value = elements[k]
    while less(value, elements[k - 1]):
        elements[k] = elements[k - 1]
        k -= 1
    elements[k] = value
