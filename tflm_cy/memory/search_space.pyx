"""What the search of `branch_and_bound.pyx` works on, made from a problem: items, the sections in which they live, links between those that may overlap.

    cdef Packing packing = packing_of(problem, relaxed=True, budget=200000, seconds=0)     # None: not one for this search

Everything that the search needs is reserved here: it allocates nothing. A buffer without bytes is no item:

    >>> from tflm_cy.memory.problem import Problem
    >>> from tflm_cy.memory.optimal import fit
    >>> fit(Problem([64, 0, 32], [0, 0, 0], [1, 1, 1]), 96).offsets
    (0, 0, 64)
"""
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawMalloc
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memset

from tflm_cy.memory.branch_and_bound cimport LARGEST, Entry, Link, Packing, seconds_now
from tflm_cy.memory.problem cimport ONLINE, Problem

from math import gcd

cdef Py_ssize_t MOST = 4096             # buffers: the recursion goes as deep
cdef size_t HEAP = 96 << 20             # bytes of the lists on the way down


cdef Packing packing_of(Problem problem, bint relaxed, int64_t budget, double seconds):
    """The search of a problem, with or without its relaxed rows. None if it is not one for this search:

    more than 4096 buffers, more than 2**30 units, fixed offsets off the alignment or in each other's way.
    """
    cdef Packing packing = Packing.__new__(Packing)
    cdef Py_ssize_t i
    cdef list items = [i for i in range(problem.count) if problem.size_of[i] > 0]
    cdef dict lives, pairs = {}
    cdef object unit = 0, units = 0
    if len(items) > MOST:
        return None
    packing.exact = True
    if relaxed:
        lives, pairs, packing.exact = relaxed_pairs(problem, items)
    else:
        lives = half_steps(problem, items)
    for i in items:
        unit = gcd(unit, problem.rounded(i))
        units += problem.rounded(i) + max(problem.fixed_of[i], 0)
    for i in range(problem.count):
        unit = gcd(unit, max(problem.fixed_of[i], 0))           # also of a buffer without bytes: it counts as height
    for distances in pairs.values():
        unit = gcd(unit, *distances)
    unit = unit or problem.alignment
    if unit % problem.alignment or units // unit >= LARGEST:
        return None
    packing.problem = problem
    packing.unit = unit
    packing.count = len(items)
    packing.deadline = seconds_now() + seconds if seconds > 0 else 0
    reserve(packing, budget)
    fill(packing, items, lives)
    fill_links(packing, items, pairs)
    for i in range(packing.count):
        packing.cover_by(&packing.root[i], 1)
        packing.placed[packing.root[i].item] = 1        # so that each link is counted once
    memset(packing.placed, 0, packing.count)
    return None if fixed_in_conflict(packing) else packing


cdef dict half_steps(Problem problem, list items):
    """{buffer: [start, stop]} on a clock of half steps: the k-th time of the problem is 2k and 2k + 1."""
    cdef Py_ssize_t i
    cdef set times = {problem.first_of[i] for i in items} | {problem.last_of[i] for i in items}
    cdef dict step = {time: 2 * k for k, time in enumerate(sorted(times))}
    return {i: [step[problem.first_of[i]], step[problem.last_of[i]] + 1] for i in items}


cdef tuple relaxed_pairs(Problem problem, list items):
    """Lives, {(i, j): (least j - i, least i - j)} of the pairs that these part, and whether that is every row.

    An input that may be overlapped ends with the first half of the step in which it dies, its output begins with the
    second half. Pairs that are parted by this without a row keep their full distance. A row can be used if the input's
    last step is the output's first one; one that permits a part of the offsets below the output (d < 0) counts as 0.
    """
    cdef dict lives = half_steps(problem, items), distances = {}, pairs = {}
    cdef set sized = set(items), ends = set(), starts = set(), free = set()
    cdef bint exact = True
    cdef Py_ssize_t i, o
    for o, i, distance in problem.relaxed:
        if o in sized and i in sized:
            distance = -(-distance // problem.alignment) * problem.alignment
            distances[o, i] = max(distance, distances.get((o, i), distance))
    for (o, i), distance in distances.items():
        if distance >= problem.rounded(o) or not meet(problem, o, i):
            continue
        step = problem.last_of[i]
        if (problem.first_of[o] != step or (i in starts and problem.first_of[i] == step)
                or (o in ends and problem.last_of[o] == step)):
            exact = False
            continue
        ends.add(i)
        starts.add(o)
        if distance <= -problem.rounded(i):
            free.add((o, i))
        elif distance < 0:
            exact = False
    for i in ends:
        lives[i][1] -= 1
    for o in starts:
        lives[o][0] += 1
    for i in sorted(ends):
        for o in sorted(starts):
            if i == o or problem.last_of[i] != problem.first_of[o] or (o, i) in free:
                continue
            least = min(max(distances.get((o, i), LARGEST), 0), problem.rounded(o))
            back = min(max(distances.get((i, o), LARGEST), 0), problem.rounded(i))
            if least or back:
                pairs[o, i] = (least, back)
    return lives, pairs, exact


cdef bint meet(Problem problem, Py_ssize_t i, Py_ssize_t j):
    return problem.first_of[i] <= problem.last_of[j] and problem.first_of[j] <= problem.last_of[i]


cdef int reserve(Packing packing, int64_t budget) except -1:
    """All arrays, zeroed; their number of sections is at most that of the buffers."""
    cdef size_t n = packing.count + 1, table = 1 << 10
    cdef size_t heap = min(HEAP, n * n * 64 + 65536)
    cdef char* memory
    while table < <size_t> (1 << 21) and table < <size_t> (2 * max(budget, 0)):
        table *= 2
    packing._memory = PyMem_RawCalloc(n, 4 * sizeof(Py_ssize_t) + sizeof(Entry) + 10 * sizeof(int64_t))
    packing.table = <uint64_t*> PyMem_RawCalloc(table, sizeof(uint64_t))
    packing.heap = <char*> PyMem_RawMalloc(heap)
    if packing._memory == NULL or packing.table == NULL or packing.heap == NULL:
        raise MemoryError(f"no memory to search for a packing of {packing.count} buffers")
    packing.table_mask = table - 1
    packing.heap_end = packing.heap + heap
    memory = <char*> packing._memory
    packing.buffer_of = <Py_ssize_t*> memory
    packing.link_start = packing.buffer_of + n
    packing.identity = <uint64_t*> (packing.link_start + n)
    packing.life = <double*> (packing.identity + n)
    packing.load = <int64_t*> (packing.life + n)
    packing.root = <Entry*> (packing.load + n)
    packing.fixed = <int32_t*> (packing.root + n)
    packing.offset = packing.fixed + n
    packing.begin_of = packing.offset + n
    packing.end_of = packing.begin_of + n
    packing.reach = packing.end_of + n
    packing.cover = packing.reach + n
    packing.pushed = packing.cover + n
    packing.position = packing.pushed + n
    packing.placed = <char*> (packing.position + n)
    return 0


cdef int fill(Packing packing, list items, dict lives) except -1:
    """Items in order of `low`, and the sections: one for every death that follows a birth."""
    cdef Problem problem = packing.problem
    cdef Py_ssize_t k, i
    cdef bint born = False
    cdef Entry* entry
    cdef list events = sorted([(lives[i][0], 0, k) for k, i in enumerate(items)]
                              + [(lives[i][1], 1, k) for k, i in enumerate(items)])
    for _, dies, k in events:
        if not dies:
            packing.begin_of[k] = packing.sections
            born = True
            continue
        if born:
            packing.sections += 1
            born = False
        packing.end_of[k] = packing.sections
    for k, i in enumerate(items):
        packing.buffer_of[k] = i
        packing.life[k] = <double> problem.last_of[i] - <double> problem.first_of[i] + 1
        packing.fixed[k] = -1 if problem.fixed_of[i] == ONLINE else <int32_t> (problem.fixed_of[i] // packing.unit)
    for i, k in enumerate(sorted(range(len(items)), key=lambda k: (packing.fixed[k], k))):
        entry = &packing.root[i]
        entry.item = <int32_t> k
        entry.low = max(packing.fixed[k], 0)
        entry.size = <int32_t> (problem.rounded(packing.buffer_of[k]) // packing.unit)
        entry.begin = packing.begin_of[k]
        entry.end = packing.end_of[k]
        packing.identity[k] = (<uint64_t> entry.begin << 43) | (<uint64_t> entry.end << 30) | <uint64_t> entry.size
        if packing.fixed[k] >= 0:
            packing.identity[k] = (<uint64_t> 1 << 63) | <uint64_t> k
    return 0


cdef int fill_links(Packing packing, list items, dict pairs) except -1:
    cdef Py_ssize_t k, count = 0
    cdef dict item_of = {i: k for k, i in enumerate(items)}
    cdef list rows = [[] for _ in items]
    for (o, i), (least, back) in pairs.items():
        rows[item_of[o]].append((item_of[i], least // packing.unit, back // packing.unit))
        rows[item_of[i]].append((item_of[o], back // packing.unit, least // packing.unit))
    packing.links = <Link*> PyMem_RawMalloc(2 * len(pairs) * sizeof(Link))
    if packing.links == NULL:
        raise MemoryError(f"no memory for {len(pairs)} relaxed pairs")
    for k in range(packing.count):
        packing.link_start[k] = count
        for other, out, back in rows[k]:
            packing.links[count] = Link(other, out, back)
            count += 1
            packing.identity[k] = (<uint64_t> 1 << 63) | <uint64_t> k
    packing.link_start[packing.count] = count
    return 0


cdef bint fixed_in_conflict(Packing packing):
    """Whether two buffers with fixed offsets are too near to each other."""
    cdef Py_ssize_t k, j, link
    cdef Entry* a
    cdef Entry* b
    for k in range(packing.count):
        a = &packing.root[k]
        if packing.fixed[a.item] < 0:
            continue
        for j in range(packing.count):
            b = &packing.root[j]
            if j == k or packing.fixed[b.item] < a.low:
                continue
            if a.begin < b.end and b.begin < a.end and b.low < a.low + a.size:
                return True
            for link in range(packing.link_start[a.item], packing.link_start[a.item + 1]):
                if packing.links[link].item == b.item and b.low < a.low + packing.links[link].out and (
                        b.low > a.low or packing.links[link].back > 0):
                    return True
    return False
