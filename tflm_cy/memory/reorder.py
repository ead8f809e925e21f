"""The order of operators with the least memory alive at one time, on plain data.

    >>> sizes = [10, 100, 100, 10, 10, 20]          # buffer 0 is read by two branches, each large in the middle
    >>> reads, writes = [[0], [0], [1], [2], [3, 4]], [[1], [2], [3], [4], [5]]
    >>> reorder(sizes, reads, writes, inputs=[0], outputs=[5])
    Ordering(order=(0, 2, 1, 3, 4), peak=120, proven=True, states=7)
    >>> peak_of(range(5), sizes, reads, writes, inputs=[0], outputs=[5])
    210

`reads[k]` and `writes[k]` hold the buffers of operator k, which come in a valid order; `scratch[k]` bytes are alive
during operator k only. What is not planned (constants) has size 0. Every other order must keep each read between the
same writes, and the pairs `before`: the caller puts in what must not change places for other reasons (stateful
operators, random numbers).

The cost of a step is the bytes alive before it, its outputs and its scratch; the peak of an order is its largest cost,
a lower bound of every plan's high water mark. Searched is over sets of executed operators, the least peak first
(Dijkstra), with three rules that keep the least peak and make it small:
- a ready operator that stays within the peak and leaves no more bytes alive than before is executed at once, alone;
- an operator without planned inputs and scratch waits until directly before its first reader;
- the peak starts at the largest need of a single operator, and steps above the given order's peak are dropped.

With `overlaps` ({(output, input): d}, see `Problem`), an output costs only what it adds above a dying input. That is a
guide to a good order and no bound, so nothing is proven: plan both orders and keep the better. If `states` sets do not
suffice, the given order is the answer.
"""

from collections import namedtuple
from heapq import heappop, heappush

Ordering = namedtuple("Ordering", "order peak proven states")


def reorder(
    sizes, reads, writes, inputs=(), outputs=(), scratch=None, before=(), keep_inputs=False, overlaps=None, states=4000
):
    """The best `Ordering`: the order, its peak in bytes, whether no order has a lower one, and the sets searched.

    The given order is kept unless another one has a lower peak.
    """
    graph = Graph(sizes, reads, writes, inputs, outputs, scratch, before, keep_inputs, overlaps)
    given = tuple(range(graph.count))
    given_peak = graph.peak(given)
    bound = 0 if overlaps else graph.bound()
    if given_peak == bound:
        return Ordering(given, given_peak, True, 0)
    order, peak, visited = search(graph, bound, given_peak, states)
    if order is None:
        return Ordering(given, given_peak, visited < states and not overlaps, visited)
    return Ordering(order, peak, not overlaps, visited)


def peak_of(
    order, sizes, reads, writes, inputs=(), outputs=(), scratch=None, before=(), keep_inputs=False, overlaps=None
):
    """The most bytes alive during one operator when they run in this order; ValueError if it is not a valid one."""
    return Graph(sizes, reads, writes, inputs, outputs, scratch, before, keep_inputs, overlaps).peak(tuple(order))


class Graph:
    """What must come before what, and what a step costs. Sets of operators are the bits of an int."""

    def __init__(self, sizes, reads, writes, inputs, outputs, scratch, before, keep_inputs, overlaps):
        self.sizes = list(sizes)
        self.reads = [sorted({t for t in tensors if t >= 0}) for tensors in reads]
        self.writes = [sorted({t for t in tensors if t >= 0}) for tensors in writes]
        self.count = len(self.reads)
        self.scratch = [0] * self.count if scratch is None else list(scratch)
        self.overlaps = dict(overlaps or {})
        if len(self.writes) != self.count or len(self.scratch) != self.count:
            raise ValueError("reads, writes and scratch must have one entry per operator")
        if min(self.sizes, default=0) < 0 or min(self.scratch, default=0) < 0:
            raise ValueError("a size is negative")
        self.kept = set(outputs) | (set(inputs) if keep_inputs else set())
        self.find_needs(before)
        self.find_users(set(inputs))
        free = {k for pair in before for k in pair}
        self.sources = {k for k in range(self.count) if k not in free and self.is_source(k)}

    def find_needs(self, before):
        """The operators that must come before each one: reads stay between the same writes."""
        self.needs = [0] * self.count
        writer, readers = {}, {}
        for k in range(self.count):
            for t in self.reads[k]:
                self.needs[k] |= writer.get(t, 0)
            for t in self.writes[k]:
                self.needs[k] |= (writer.get(t, 0) | readers.get(t, 0)) & ~(1 << k)
            for t in self.reads[k]:
                readers[t] = readers.get(t, 0) | 1 << k
            for t in self.writes[k]:
                writer[t], readers[t] = 1 << k, 0
        for first, second in before:
            if not 0 <= first < second < self.count:
                raise ValueError(f"operator {first} is to come before {second}, which the given order contradicts")
            self.needs[second] |= 1 << first

    def find_users(self, inputs):
        """The operators that use each buffer; those alive at the start have no writer before their first reader."""
        self.users = {}
        written = set()
        self.at_start = set(inputs)
        for k in range(self.count):
            self.at_start |= {t for t in self.reads[k] if t not in written}
            written |= set(self.writes[k])
            for t in {*self.reads[k], *self.writes[k]}:
                self.users[t] = self.users.get(t, 0) | 1 << k

    def is_source(self, k):
        """Whether an operator reads nothing that is planned and each of its outputs waits for a reader.

        With scratch it is none: what it needs for itself may have room only early.
        """
        if self.needs[k] or self.scratch[k] or self.kept & set(self.writes[k]):
            return False
        if any(self.sizes[t] for t in self.reads[k]):
            return False
        return bool(self.writes[k]) and all(self.users[t] & ~(1 << k) for t in self.writes[k])

    def start(self):
        """The bytes alive before the first operator."""
        return sum([self.sizes[t] for t in self.at_start if t in self.kept or self.users.get(t)])

    def born(self, k, done):
        """The outputs that are not alive yet."""
        return [t for t in self.writes[k] if t not in self.at_start and not self.users[t] & done]

    def dying(self, k, done):
        """What nobody uses after operator k, which runs behind the operators `done`."""
        done |= 1 << k
        return [t for t in {*self.reads[k], *self.writes[k]} if t not in self.kept and not self.users[t] & ~done]

    def step(self, k, done, live):
        """The cost of operator k behind `done` and the bytes alive after it."""
        born, dying = self.born(k, done), self.dying(k, done)
        made = sum([self.sizes[t] for t in born])
        after = live + made - sum([self.sizes[t] for t in dying])
        return live + made - self.saved(born, dying) + self.scratch[k], after

    def saved(self, born, dying):
        """The bytes that outputs share with dying inputs, each input with one output at most."""
        saved, used = 0, set()
        for output in born if self.overlaps else ():
            best, chosen = 0, None
            for t in dying:
                if (output, t) in self.overlaps and t not in used:
                    extra = max(self.sizes[output], max(self.overlaps[output, t], 0) + self.sizes[t]) - self.sizes[t]
                    if self.sizes[output] - extra > best:
                        best, chosen = self.sizes[output] - extra, t
            saved += best
            used.add(chosen)
        return saved

    def peak(self, order):
        if sorted(order) != list(range(self.count)):
            raise ValueError("an order must name every operator once")
        done, live = 0, self.start()
        peak = live
        for k in order:
            if self.needs[k] & ~done:
                raise ValueError(f"operator {k} comes before one that it needs")
            cost, live = self.step(k, done, live)
            peak = max(peak, cost)
            done |= 1 << k
        return peak

    def bound(self):
        """The largest need of one operator."""
        needs = [
            sum([self.sizes[t] for t in {*self.reads[k], *self.writes[k]}]) + self.scratch[k] for k in range(self.count)
        ]
        return max([self.start(), *needs])

    def moves(self, done):
        """The sequences of operators that may come next: a ready one, its waiting sources before it."""
        waiting = 0
        for k in self.sources:
            if not done >> k & 1:
                waiting |= 1 << k
        for k in range(self.count):
            if not (done | waiting) >> k & 1 and not self.needs[k] & ~(done | waiting):
                first = [s for s in self.sources if self.needs[k] >> s & waiting >> s & 1]
                yield (*sorted(first), k)


def search(graph, bound, given_peak, states):
    """The order with the least peak below the given one, or None; its peak; the number of sets that were visited."""
    whole = (1 << graph.count) - 1
    came_from = {}
    seen = set()
    heap = [(max(bound, graph.start()), 0, 0, graph.start(), None, ())]
    while heap and heap[0][0] < given_peak:
        peak, _, done, live, previous, moved = heappop(heap)
        if done in seen:
            continue
        seen.add(done)
        came_from[done] = (previous, moved)
        if done == whole:
            return path(came_from, done), peak, len(seen)
        if len(seen) >= states:
            return None, given_peak, len(seen)
        for following in followers(graph, done, live, peak, given_peak):
            if following[2] not in seen:
                heappush(heap, following)
    return None, given_peak, len(seen)


def followers(graph, done, live, peak, given_peak):
    """The sets behind one, as entries of the heap; only one if a step is free."""
    found = []
    for move in graph.moves(done):
        after, now, highest = done, live, 0
        for k in move:
            cost, now = graph.step(k, after, now)
            highest = max(highest, cost)
            after |= 1 << k
        entry = (max(peak, highest), -after.bit_count(), after, now, done, move)
        if highest <= peak and now <= live:
            return [entry]
        if highest < given_peak:
            found.append(entry)
    return found


def path(came_from, done):
    order = []
    while done:
        done, moved = came_from[done]
        order[:0] = moved
    return tuple(order)
