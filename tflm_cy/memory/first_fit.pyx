"""A search over orders: buffers are placed one after the other, each at the lowest offset that the placed ones leave it.

    cdef Plan better = first_fit(problem, plan, lower, budget)      # never worse than `plan`

For problems whose relaxed rows the packing of `branch_and_bound.pyx` cannot represent: an input of which a part is
needed for long after an output may lie over the rest of it, or an output that may begin inside of its input (d < 0).
Every pair that is alive together has two distances: how far the second must lie above the first if it lies above, and
the other way round; without a row these are the sizes. A buffer's forbidden offsets are one interval per placed buffer,
and the lowest offset outside of all of them is taken.

The first orders are by size, by area, by what is alive with a buffer, by the offsets of the given plan, and backwards in
time. Then two buffers are exchanged in the order, or one is moved to the other, again and again: one of those that carry
the highest buffer (each lies on the next one), and one that it meets. An order that is not worse replaces it; after
PATIENCE changes without a gain some buffers of the best order change their places. The first orders take turns, with twice
the placements each time. Placements are counted, not time, and random numbers come from a fixed seed, so the same problem
gives the same plan everywhere, and a larger budget none that is higher.

    >>> from tflm_cy.memory.overlap import overlap
    >>> from tflm_cy.memory.problem import Problem
    >>> problem = Problem([64, 32, 32], [0, 1, 2], [3, 2, 3], relaxed=[(1, 0, 16), (2, 0, 0)])
    >>> overlap(problem).high_water_mark            # of 128 bytes: buffer 2 lies over a part of 0 that nobody reads any more
    96

Source: the exchanges follow the hill climbing of Arm's Vela compiler (ethos-u-vela, HillClimbAllocator).
"""
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy

from tflm_cy.memory.problem cimport ONLINE, Plan, Problem, new_plan

cdef Py_ssize_t MOST_PAIRS = 1 << 22    # of buffers that are alive together: 100 MB
cdef enum:
    KINDS = 6                           # of first orders

    PATIENCE = 400                      # changes of an order that do not help, before it is shaken

cdef int64_t LARGEST = <int64_t> 1 << 62
cdef int PLACEMENTS = 8                 # per node of a planner's budget: a placement takes less time


cdef struct Pair:       # of one buffer with another one that is alive with it
    int64_t above       # least offset(other) - offset(this) if the other one lies above
    int64_t below       # least offset(this) - offset(other) if this one lies above
    Py_ssize_t other


cdef struct Interval:   # offsets between these two are forbidden
    int64_t low
    int64_t high


cdef struct Key:
    double value
    Py_ssize_t item


cdef class Orders:
    """The search; see the module."""

    cdef Problem problem
    cdef Py_ssize_t count
    cdef Pair* pairs
    cdef Py_ssize_t* start              # of a buffer's pairs
    cdef Py_ssize_t* order
    cdef Py_ssize_t* position           # in `order`
    cdef int64_t* offset                # -1: not placed
    cdef int64_t* best                  # of the present order
    cdef int64_t* kept                  # of the best one
    cdef Py_ssize_t* kept_order
    cdef int64_t kept_height
    cdef Interval* intervals
    cdef Key* keys
    cdef Py_ssize_t* chain
    cdef int64_t placements
    cdef int64_t height
    cdef int64_t target                 # nothing lower is possible
    cdef uint64_t state

    def __dealloc__(self):
        PyMem_RawFree(self.pairs)
        PyMem_RawFree(self.start)

    cdef int reserve(self, Problem problem, list rows) except -1:
        cdef Py_ssize_t n = problem.count, k, total = 0
        cdef char* memory
        self.problem = problem
        self.count = n
        for row in rows:
            total += len(row)
        self.pairs = <Pair*> PyMem_RawMalloc(max(total, 1) * sizeof(Pair))
        memory = <char*> PyMem_RawMalloc((n + 1) * (5 * sizeof(Py_ssize_t) + 3 * sizeof(int64_t) + sizeof(Interval) + sizeof(Key)))
        if self.pairs == NULL or memory == NULL:
            PyMem_RawFree(memory)
            raise MemoryError(f"no memory to plan {n} buffers")
        self.start = <Py_ssize_t*> memory
        self.order = self.start + n + 1
        self.position = self.order + n + 1
        self.chain = self.position + n + 1
        self.offset = <int64_t*> (self.chain + n + 1)
        self.best = self.offset + n + 1
        self.kept = self.best + n + 1
        self.kept_order = <Py_ssize_t*> (self.kept + n + 1)
        self.intervals = <Interval*> (self.kept_order + n + 1)
        self.keys = <Key*> (self.intervals + n + 1)
        total = 0
        for k in range(n):
            self.start[k] = total
            for other, above, below in rows[k]:
                self.pairs[total] = Pair(above, below, other)
                total += 1
        self.start[n] = total
        return 0

    cdef int64_t place_all(self, const Py_ssize_t* order, int64_t limit) noexcept nogil:
        """The height of the plan of an order; more than `limit` as soon as it is known to be."""
        cdef Py_ssize_t i, k
        cdef int64_t most = 0
        for i in range(self.count):
            self.offset[i] = self.problem.fixed_of[i]
            if self.offset[i] != ONLINE:
                most = max(most, self.offset[i] + self.problem.rounded(i))
        for k in range(self.count):
            i = order[k]
            if self.problem.fixed_of[i] != ONLINE:
                continue
            self.offset[i] = self.lowest(i)
            self.placements += 1
            most = max(most, self.offset[i] + self.problem.rounded(i))
            if most > limit:
                break
        return most

    cdef int64_t lowest(self, Py_ssize_t i) noexcept nogil:
        """The lowest offset that the placed buffers leave a buffer."""
        cdef Py_ssize_t k, j, count = 0, at
        cdef int64_t low, high, found = 0
        for k in range(self.start[i], self.start[i + 1]):
            j = self.pairs[k].other
            if self.offset[j] == ONLINE:
                continue
            low = self.offset[j] - self.pairs[k].above
            high = self.offset[j] + self.pairs[k].below
            if high <= 0 or low >= high:
                continue
            at = count
            while at > 0 and self.intervals[at - 1].low > low:
                self.intervals[at] = self.intervals[at - 1]
                at -= 1
            self.intervals[at] = Interval(low, high)
            count += 1
        for k in range(count):
            if self.intervals[k].low >= found:
                break
            found = max(found, self.intervals[k].high)
        return found

    cdef bint attempt(self, const Py_ssize_t* order) noexcept nogil:
        """Place in an order; whether it is not worse than the best, which it then becomes."""
        cdef int64_t height = self.place_all(order, self.height)
        if height > self.height:
            return False
        self.height = height
        memcpy(self.best, self.offset, self.count * sizeof(int64_t))
        return True

    cdef void adopt(self, const Key* keys) noexcept nogil:
        """Take over an order."""
        cdef Py_ssize_t k
        for k in range(self.count):
            self.order[k] = keys[k].item
            self.position[keys[k].item] = k

    cdef void climb(self, int64_t budget) noexcept nogil:
        """Change the order until nothing lower is possible or the placements are spent; after many changes that did not
        help, perturb the best order that was found."""
        cdef int64_t end = self.placements + budget, found = self.height, tried = 0
        cdef Py_ssize_t a, b, links, back
        self.keep()
        while self.placements < end and self.kept_height > self.target:
            if self.height < found:
                found, tried = self.height, 0
            if self.height < self.kept_height:
                self.keep()
            if tried > PATIENCE:
                self.perturb()
                found, tried = self.height, 0
            tried += 1
            self.placements += 1        # also where all that is moved has a fixed offset
            links = self.carriers()
            a = self.chain[self.random() % links]
            b = self.neighbour(a) if self.random() % 4 else self.random() % self.count
            if a == b:
                continue
            if self.random() % 2:
                self.exchange(a, b)
                if not self.attempt(self.order):
                    self.exchange(a, b)
            else:
                back = self.position[a]
                self.move(a, self.position[b])
                if not self.attempt(self.order):
                    self.move(a, back)
        if self.height < self.kept_height:
            self.keep()

    cdef void keep(self) noexcept nogil:
        """The present order and plan are the best so far."""
        self.kept_height = self.height
        memcpy(self.kept_order, self.order, self.count * sizeof(Py_ssize_t))
        memcpy(self.kept, self.best, self.count * sizeof(int64_t))

    cdef void perturb(self) noexcept nogil:
        """Go on from the best order with some buffers moved, whatever that gives."""
        cdef Py_ssize_t k, a, links
        memcpy(self.order, self.kept_order, self.count * sizeof(Py_ssize_t))
        memcpy(self.best, self.kept, self.count * sizeof(int64_t))
        for k in range(self.count):
            self.position[self.order[k]] = k
        for k in range(2 + self.random() % 4):
            links = self.carriers()
            a = self.chain[self.random() % links]
            if self.random() % 2:
                a = self.neighbour(a)
            self.move(a, self.random() % self.count)
        self.height = LARGEST
        self.attempt(self.order)

    cdef Py_ssize_t carriers(self) noexcept nogil:
        """The highest buffer of the best plan, what it lies on, and so on down; how many they are."""
        cdef Py_ssize_t i, k, count = 0, top = 0, next_one
        cdef int64_t most = -1
        for i in range(self.count):
            if self.best[i] + self.problem.rounded(i) > most:
                most = self.best[i] + self.problem.rounded(i)
                top = i
        while count < self.count:
            self.chain[count] = top
            count += 1
            next_one = -1
            for k in range(self.start[top], self.start[top + 1]):
                i = self.pairs[k].other
                if self.best[i] + self.pairs[k].below == self.best[top] and self.best[i] < self.best[top]:
                    if next_one < 0 or self.random() % 2:
                        next_one = i
            if next_one < 0:
                break
            top = next_one
        return count

    cdef Py_ssize_t neighbour(self, Py_ssize_t i) noexcept nogil:
        """One that is alive with a buffer."""
        cdef Py_ssize_t pairs = self.start[i + 1] - self.start[i]
        return i if pairs == 0 else self.pairs[self.start[i] + self.random() % pairs].other

    cdef void exchange(self, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
        cdef Py_ssize_t at = self.position[a], other = self.position[b]
        self.order[at], self.order[other] = b, a
        self.position[a], self.position[b] = other, at

    cdef void move(self, Py_ssize_t i, Py_ssize_t to) noexcept nogil:
        """Take a buffer out of the order and put it in at another position."""
        cdef Py_ssize_t k = self.position[i]
        while k < to:
            self.order[k] = self.order[k + 1]
            self.position[self.order[k]] = k
            k += 1
        while k > to:
            self.order[k] = self.order[k - 1]
            self.position[self.order[k]] = k
            k -= 1
        self.order[to] = i
        self.position[i] = to

    cdef uint64_t random(self) noexcept nogil:
        """The next number of splitmix64."""
        cdef uint64_t x
        self.state += <uint64_t> 0x9E3779B97F4A7C15
        x = self.state
        x = (x ^ (x >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
        x = (x ^ (x >> 27)) * <uint64_t> 0x94D049BB133111EB
        return (x ^ (x >> 31)) >> 1


cdef Plan first_fit(Problem problem, Plan incumbent, int64_t lower, int64_t budget):
    """The lowest plan that the search finds; `incumbent` itself if that is none, or if there are too many pairs."""
    cdef Orders search = Orders()
    cdef list rows = pairs_of(problem)
    cdef Plan plan = new_plan(problem)
    cdef Py_ssize_t i
    cdef int64_t end = PLACEMENTS * budget, step = 8 * problem.count + 64
    cdef int kind, round_number = 0
    if rows is None or problem.count == 0:
        return incumbent
    search.reserve(problem, rows)
    search.target = lower
    plan.high_water_mark = incumbent.high_water_mark
    memcpy(plan.offset_of, incumbent.offset_of, problem.count * sizeof(int64_t))
    while search.placements < end and plan.high_water_mark > lower and chooses(problem):
        for kind in range(KINDS):
            order_by(search, kind, incumbent)
            search.state = <uint64_t> (round_number * KINDS + kind + 1) * <uint64_t> 0x9E3779B97F4A7C15
            search.height = LARGEST
            with nogil:
                search.attempt(search.order)
                search.climb(min(step, end - search.placements))
            if search.kept_height < plan.high_water_mark:
                plan.high_water_mark = search.kept_height
                for i in range(problem.count):
                    plan.offset_of[i] = search.kept[i]
            if plan.high_water_mark <= lower or search.placements >= end:
                break
        round_number += 1
        step *= 2
    plan.lower_bound = min(lower, plan.high_water_mark)
    return plan


cdef bint chooses(Problem problem):
    """Whether some offset is not fixed."""
    cdef Py_ssize_t i
    for i in range(problem.count):
        if problem.fixed_of[i] == ONLINE:
            return True
    return False


cdef int order_by(Orders search, int kind, Plan incumbent) except -1:
    """By size, by area, by the bytes alive with a buffer (each the largest first); by the incumbent's offsets; the last
    one that is written, or read, first: outputs lie below what they overlap."""
    cdef Problem problem = search.problem
    cdef Py_ssize_t i, k
    cdef double size, life, load
    for i in range(search.count):
        size, life = problem.rounded(i), problem.last_of[i] - problem.first_of[i] + 1
        if kind == 0:
            load = size
        elif kind == 1:
            load = size * life
        elif kind == 2:
            load = size
            for k in range(search.start[i], search.start[i + 1]):
                load += problem.rounded(search.pairs[k].other)
        elif kind == 3:
            load = -incumbent.offset_of[i]
        elif kind == 4:
            load = problem.first_of[i]
        else:
            load = problem.last_of[i]
        search.keys[i] = Key(load, i)
    qsort(search.keys, search.count, sizeof(Key), largest_first)
    search.adopt(search.keys)
    return 0


cdef list pairs_of(Problem problem):
    """Per buffer [(other, above, below)] of those alive with it; None when they are too many.

    A fixed offset off the alignment would spoil the others' alignment: such a problem is none of this search.
    """
    cdef Py_ssize_t i, j, total = 0, n = problem.count
    cdef object alignment = problem.alignment
    cdef dict least = {}
    cdef list rows = [[] for _ in range(n)], alive = [], starts
    for i, j, distance in problem.relaxed:
        distance = -(-distance // alignment) * alignment         # of Python's integers: division rounds down
        least[i, j] = max(distance, least.get((i, j), distance))
    for i in range(n):
        if problem.fixed_of[i] != ONLINE and problem.fixed_of[i] % alignment:
            return None
    starts = sorted([(problem.first_of[i], i) for i in range(n) if problem.size_of[i] > 0])
    for first, i in starts:
        alive = [j for j in alive if problem.last_of[j] >= first]
        for j in alive:
            above = min(least.get((i, j), problem.rounded(i)), problem.rounded(i))
            below = min(least.get((j, i), problem.rounded(j)), problem.rounded(j))
            if above + below > 0:
                rows[i].append((j, above, below))
                rows[j].append((i, below, above))
                total += 2
        if total > MOST_PAIRS:
            return None
        alive.append(i)
    return rows


cdef int largest_first(const void* x, const void* y) noexcept nogil:
    cdef const Key* a = <const Key*> x
    cdef const Key* b = <const Key*> y
    if a.value != b.value:
        return 1 if a.value < b.value else -1
    return 1 if a.item > b.item else -1
