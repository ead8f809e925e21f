# tflm_cy: optimize=speed
"""Branch and bound for packing buffers into a head of a given height: the search behind `optimal` and `overlap`.

    >>> from tflm_cy.memory.problem import Problem
    >>> from tflm_cy.memory.optimal import fit
    >>> problem = Problem([100, 80, 50], [0, 2, 0], [1, 3, 3], alignment=1)
    >>> fit(problem, 150).offsets, fit(problem, 149)
    ((50, 50, 0), None)

The search is depth first over *canonical* packings: every buffer lies at `low`, the highest end of the placed ones
that it may not overlap, and buffers are placed in ascending order of (offset, rank); the rank is any fixed order. Every
packing can be let down into a canonical one of at most its height. What makes the search small:
- *Bound* (`fits`): a section (a maximal set of buffers alive together) is a machine, `low` a release time and the size
  a duration. Serving the buffers by ascending `low`, whoever comes, ends no later than any packing. One pass over the
  buffers bounds all sections at once; its inner loop is a maximum and an addition over an array.
- *Push* (`push`): a buffer that comes before the last placed one in the order, yet is not placed, must first be pushed
  up by a neighbour that is not placed either. If there is none, the node has no completion.
- *Skip break* (`solve`): before a further candidate is tried, the bound is taken with all candidates before it skipped;
  if that is too high, no later candidate can succeed.
- *Table*: key = sum of a hash of (identity, low) over the unplaced buffers, fact = nothing completes them. It holds for
  every rank and every lower height: a completion against the order belongs to a sibling that failed before.
- *Parts*: when the unplaced buffers fall apart in time, each part is solved alone, with ranks made anew from what is
  left of it.

A buffer with a fixed offset is one whose `low` starts there and may not rise. A relaxed pair (see `Problem`) shares no
section: the input's life ends half a step before the output's begins, and a `Link` keeps the distance. If an output
may start where its input starts, it must have the smaller rank, or the order would exclude the solution.

`order.pxd` has the orders, `portfolio.pyx` which of them search how long, `search_space.pyx` what is made of a problem before the search.

Source: the canonical order and the parts follow google/minimalloc (Moffitt, ASPLOS 2023); the rest is ours.
"""
from cpython.mem cimport PyMem_RawFree
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memset

from tflm_cy.memory.order cimport Key, largest_first, mixed, set_key
from tflm_cy.memory.parts cimport group_parts, order_parts
from tflm_cy.platform.clock cimport nanoseconds

cdef int PROBES = 8


cdef class Packing:
    """Made by `search_space.packing_of`."""

    def __dealloc__(self):
        PyMem_RawFree(self._memory)
        PyMem_RawFree(self.table)
        PyMem_RawFree(self.heap)
        PyMem_RawFree(self.links)

    cdef int attempt(self, int64_t height, int order, int64_t budget) noexcept nogil:
        """Look for a packing of at most `height` bytes in one order, with so many nodes."""
        cdef int64_t units = min(height // self.unit, LARGEST)
        if units > self.capacity:
            memset(self.table, 0, (self.table_mask + 1) * sizeof(uint64_t))
        self.capacity = <int32_t> units
        self.order = order
        self.budget_end = self.nodes + budget
        return self.parts_of_root()

    cdef int64_t bound(self) noexcept nogil:
        """The bound of `fits` before anything is placed, in bytes."""
        cdef Py_ssize_t k
        cdef int32_t s, most = 0
        memset(self.reach, 0, self.sections * sizeof(int32_t))
        for k in range(self.count):
            raise_sections(self.reach, self.root[k].begin, self.root[k].end, self.root[k].low, self.root[k].size)
        for s in range(self.sections):
            most = max(most, self.reach[s])
        return most * self.unit

    # ------------------------------------------------------------------------------------------------ the search

    cdef int solve(self, const Entry* entries, int32_t count, int32_t floor_low, int32_t floor_rank) noexcept nogil:
        """Place connected buffers, sorted by `low`; the next one lies behind (floor_low, floor_rank) in the order."""
        cdef uint64_t key = 0
        cdef int32_t k, j, candidate_count = 0, min_top = 2147483647
        cdef int32_t* candidates
        cdef int verdict
        cdef char* top = self.top
        self.nodes += 1
        if self.nodes > self.budget_end or (self.nodes % 256 == 0 and late(self)):
            return SPENT
        for k in range(count):
            key += mixed(self.identity[entries[k].item], entries[k].low)
            min_top = min(min_top, entries[k].low + entries[k].size)
        if self.known(key) or not self.fits(entries, count, floor_low, floor_rank):
            return NONE
        candidates = <int32_t*> self.take(count * sizeof(int32_t))
        if candidates == NULL:
            return SPENT
        for k in range(count):
            if entries[k].low >= min_top:
                break                       # dropping the buffer of min_top would leave a better packing
            if skipped(&entries[k], floor_low, floor_rank):
                continue
            j = candidate_count
            while j > 0 and after(&entries[candidates[j - 1]], &entries[k]):
                candidates[j] = candidates[j - 1]
                j -= 1
            candidates[j] = k
            candidate_count += 1
        for j in range(candidate_count):
            k = candidates[j]
            if self.tried_before(entries, candidates, j):
                continue
            if j and not self.fits(entries, count, entries[k].low, entries[k].rank):
                break
            verdict = self.place(entries, count, k)
            if verdict != NONE:
                self.top = top
                return verdict
        self.top = top
        self.learn(key)
        return NONE

    cdef bint tried_before(self, const Entry* entries, const int32_t* candidates, int32_t j) noexcept nogil:
        """Whether an interchangeable buffer was a candidate before this one."""
        cdef int32_t i
        cdef uint64_t identity = self.identity[entries[candidates[j]].item]
        for i in range(j):
            if self.identity[entries[candidates[i]].item] == identity:
                return True
        return False

    cdef int place(self, const Entry* entries, int32_t count, int32_t k) noexcept nogil:
        """Place entry k at its `low`, then solve what is left."""
        cdef const Entry* chosen = &entries[k]
        cdef Entry* kept
        cdef Entry* raised
        cdef char* top = self.top
        cdef int verdict
        if chosen.low + chosen.size > self.capacity:
            return NONE
        self.offset[chosen.item] = chosen.low
        if count == 1:
            return FOUND
        kept = <Entry*> self.take((count - 1) * sizeof(Entry))
        raised = <Entry*> self.take((count - 1) * sizeof(Entry))
        if kept == NULL or raised == NULL:
            self.top = top
            return SPENT
        if not self.raise_others(entries, count, k, kept, raised):
            self.top = top
            return NONE
        self.top = <char*> raised
        verdict = self.solve_others(chosen, kept, count - 1)
        self.top = top
        return verdict

    cdef bint raise_others(self, const Entry* entries, int32_t count, int32_t k, Entry* kept, Entry* raised) noexcept nogil:
        """All entries but k, in the order of their lowest places, to `kept`; `raised`: room for them. False when one does not fit any more."""
        cdef const Entry* chosen = &entries[k]
        cdef int32_t ceiling = chosen.low + chosen.size, low, i, j, kept_count = 0, raised_count = 0
        cdef Py_ssize_t link, links_begin = self.link_start[chosen.item], links_end = self.link_start[chosen.item + 1]
        for link in range(links_begin, links_end):
            self.pushed[self.links[link].item] = chosen.low + self.links[link].out
        for i in range(count):
            if i == k:
                continue
            low = entries[i].low
            if low < ceiling and entries[i].begin < chosen.end and chosen.begin < entries[i].end:
                low = ceiling
            if links_end > links_begin:
                low = max(low, self.pushed[entries[i].item])
            if low == entries[i].low:
                kept[kept_count] = entries[i]
                kept_count += 1
                continue
            if self.fixed[entries[i].item] >= 0 or low + entries[i].size > self.capacity:
                break
            j = raised_count
            while j > 0 and raised[j - 1].low > low:
                raised[j] = raised[j - 1]
                j -= 1
            raised[j] = entries[i]
            raised[j].low = low
            raised_count += 1
        for link in range(links_begin, links_end):
            self.pushed[self.links[link].item] = 0
        if kept_count + raised_count < count - 1:
            return False
        merge(kept, kept_count, raised, raised_count)
        return True

    cdef int solve_others(self, const Entry* chosen, const Entry* others, int32_t count) noexcept nogil:
        """Solve what is left while one is placed; it may fall apart behind the sections that nothing else covers."""
        cdef int32_t first = chosen.begin, last = chosen.end - 1, cut_count = 0, i
        cdef Py_ssize_t link
        cdef int32_t* cuts
        cdef int verdict = SPENT
        self.placed[chosen.item] = 1
        self.cover_by(chosen, -1)
        for link in range(self.link_start[chosen.item], self.link_start[chosen.item + 1]):
            if not self.placed[self.links[link].item]:
                first = min(first, self.end_of[self.links[link].item] - 1)
                last = max(last, self.begin_of[self.links[link].item])
        cuts = <int32_t*> self.take((max(last - first, 0) + 1) * sizeof(int32_t))
        if cuts != NULL:
            for i in range(first, last):
                if self.cover[i] == 0:
                    cuts[cut_count] = i
                    cut_count += 1
            verdict = self.parts(others, count, cuts, cut_count, False, chosen.low, chosen.rank)
        self.cover_by(chosen, 1)
        self.placed[chosen.item] = 0
        return verdict

    cdef int parts_of_root(self) noexcept nogil:
        """Solve everything from the start."""
        cdef int32_t s, cut_count = 0
        cdef int32_t* cuts
        self.top = self.heap
        cuts = <int32_t*> self.take((self.sections + 1) * sizeof(int32_t))
        if cuts == NULL:
            return SPENT
        for s in range(self.sections - 1):
            if self.cover[s] == 0:
                cuts[cut_count] = s
                cut_count += 1
        return self.parts(self.root, <int32_t> self.count, cuts, cut_count, True, -1, -1)

    cdef int parts(self, const Entry* entries, int32_t count, const int32_t* cuts, int32_t cut_count, bint fresh,
                   int32_t floor_low, int32_t floor_rank) noexcept nogil:
        """Solve buffers that fall apart behind the sections `cuts`, each part alone, the small ones first."""
        cdef int32_t part_count
        cdef Entry* grouped
        cdef int32_t* start
        cdef int32_t* length
        cdef int32_t* order
        cdef char* top = self.top
        cdef int verdict
        if count == 1 and not fresh:
            self.offset[entries[0].item] = entries[0].low
            return FOUND if entries[0].low + entries[0].size <= self.capacity else NONE
        if cut_count == 0 and not fresh:
            return self.solve(entries, count, floor_low, floor_rank)
        grouped = <Entry*> self.take(count * sizeof(Entry))
        start = <int32_t*> self.take((cut_count + 2) * sizeof(int32_t))
        length = <int32_t*> self.take((cut_count + 1) * sizeof(int32_t))
        order = <int32_t*> self.take((cut_count + 1) * sizeof(int32_t))
        if grouped == NULL or start == NULL or length == NULL or order == NULL:
            self.top = top
            return SPENT
        part_count = order_parts(entries, count, cuts, cut_count, start, length, order)
        if part_count == 1 and not fresh:
            self.top = top
            return self.solve(entries, count, floor_low, floor_rank)
        group_parts(entries, count, cuts, cut_count, start, length, grouped)
        verdict = self.solve_parts(grouped, start, length, order, part_count)
        self.top = top
        return verdict

    cdef int solve_parts(
        self, Entry* grouped, const int32_t* start, const int32_t* length, const int32_t* order, int32_t part_count,
    ) noexcept nogil:
        cdef int32_t i, part
        cdef int verdict = FOUND
        for i in range(part_count):
            if not self.fits(grouped + start[order[i]], length[order[i]], -1, -1):
                return NONE
        for i in range(part_count):
            part = order[i]
            if length[part] == 1:
                self.offset[grouped[start[part]].item] = grouped[start[part]].low
                continue
            if self.rank(grouped + start[part], length[part]):
                verdict = self.solve(grouped + start[part], length[part], -1, -1)
            else:
                verdict = SPENT
            if verdict != FOUND:
                break
        return verdict

    # ------------------------------------------------------------------------------------------------ the bound

    cdef bint fits(self, const Entry* entries, int32_t count, int32_t floor_low, int32_t floor_rank) noexcept nogil:
        """Whether no section's bound exceeds the capacity, given that the next placement lies behind the floor."""
        cdef int32_t k, j, s, release, first = entries[0].begin, last = entries[0].end, late_count = 0, done = 0
        cdef int32_t* lows
        cdef int32_t* late_ones
        cdef char* top = self.top
        cdef int32_t most = 0
        lows = <int32_t*> self.take(count * sizeof(int32_t))
        late_ones = <int32_t*> self.take(count * sizeof(int32_t))
        self.top = top
        if lows == NULL or late_ones == NULL:
            return True
        for k in range(count):
            first = min(first, entries[k].begin)
            last = max(last, entries[k].end)
        for k in range(count):
            if entries[k].low > floor_low:
                break
            if not skipped(&entries[k], floor_low, floor_rank):
                continue
            release = -1 if self.fixed[entries[k].item] >= 0 else self.push(entries, count, k, floor_low)
            if release < 0:
                return False
            j = late_count
            while j > 0 and lows[j - 1] > release:
                lows[j] = lows[j - 1]
                late_ones[j] = late_ones[j - 1]
                j -= 1
            lows[j] = release
            late_ones[j] = k
            late_count += 1
        memset(self.reach + first, 0, (last - first) * sizeof(int32_t))
        for k in range(count):
            if entries[k].low <= floor_low and skipped(&entries[k], floor_low, floor_rank):
                continue
            while done < late_count and lows[done] <= entries[k].low:
                j = late_ones[done]
                raise_sections(self.reach, entries[j].begin, entries[j].end, lows[done], entries[j].size)
                done += 1
            raise_sections(self.reach, entries[k].begin, entries[k].end, entries[k].low, entries[k].size)
        while done < late_count:
            j = late_ones[done]
            raise_sections(self.reach, entries[j].begin, entries[j].end, lows[done], entries[j].size)
            done += 1
        for s in range(first, last):
            most = max(most, self.reach[s])
        return most <= self.capacity

    cdef int32_t push(self, const Entry* entries, int32_t count, int32_t k, int32_t floor_low) noexcept nogil:
        """The least offset to which an unplaced neighbour can push entry k; -1 if it has none."""
        cdef int32_t j, reached, best = -1
        cdef Py_ssize_t link
        cdef Py_ssize_t links_begin = self.link_start[entries[k].item], links_end = self.link_start[entries[k].item + 1]
        for j in range(count):
            if j == k:
                continue
            reached = -1
            if entries[j].begin < entries[k].end and entries[k].begin < entries[j].end:
                reached = max(entries[j].low, floor_low) + entries[j].size
            else:
                for link in range(links_begin, links_end):
                    if self.links[link].item == entries[j].item:
                        reached = max(entries[j].low, floor_low) + self.links[link].back
            if reached >= 0 and (best < 0 or reached < best):
                best = reached
        return best

    cdef void cover_by(self, const Entry* entry, int32_t change) noexcept nogil:
        """Add `change` to the borders that a buffer, or a link of it to an unplaced one, crosses."""
        cdef int32_t s, other
        cdef Py_ssize_t link
        for s in range(entry.begin, entry.end - 1):
            self.cover[s] += change
        for link in range(self.link_start[entry.item], self.link_start[entry.item + 1]):
            other = self.links[link].item
            if not self.placed[other]:
                for s in range(min(entry.end, self.end_of[other]) - 1, max(entry.begin, self.begin_of[other])):
                    self.cover[s] += change

    # ------------------------------------------------------------------------------------------------ ranks

    cdef bint rank(self, Entry* entries, int32_t count) noexcept nogil:
        """Rank a part by the order in turn, computed from the part alone; False if there is no memory."""
        cdef int32_t k, s, first = entries[0].begin, last = entries[0].end, next_rank = 0
        cdef int64_t most
        cdef char* top = self.top
        cdef Key* keys = <Key*> self.take(count * sizeof(Key))
        if keys == NULL:
            return False
        for k in range(count):
            first = min(first, entries[k].begin)
            last = max(last, entries[k].end)
        memset(self.load + first, 0, (last - first) * sizeof(int64_t))
        for k in range(count):
            for s in range(entries[k].begin, entries[k].end):
                self.load[s] += entries[k].size
        for k in range(count):
            most = 0
            for s in range(entries[k].begin, entries[k].end):
                most = max(most, self.load[s])
            keys[k].item = entries[k].item
            keys[k].position = k
            set_key(&keys[k], self.order, &entries[k], <double> most, self.life[entries[k].item])
            entries[k].rank = -1
            self.position[entries[k].item] = k
        qsort(keys, count, sizeof(Key), largest_first)
        for k in range(count):
            next_rank = self.rank_one(entries, keys[k].position, next_rank)
        self.top = top
        return True

    cdef int32_t rank_one(self, Entry* entries, int32_t k, int32_t next_rank) noexcept nogil:
        """Rank an entry, behind those that may lie at the same offset and must come first."""
        cdef Py_ssize_t link
        cdef int32_t other
        if entries[k].rank != -1:
            return next_rank
        entries[k].rank = -2
        for link in range(self.link_start[entries[k].item], self.link_start[entries[k].item + 1]):
            other = self.links[link].item
            if self.links[link].back == 0 and not self.placed[other]:
                next_rank = self.rank_one(entries, self.position[other], next_rank)
        entries[k].rank = next_rank
        return next_rank + 1

    # ------------------------------------------------------------------------------------------------ the table

    cdef bint known(self, uint64_t key) noexcept nogil:
        cdef int i
        for i in range(PROBES):
            if self.table[(key + i) & self.table_mask] == key:
                return True
        return False

    cdef void learn(self, uint64_t key) noexcept nogil:
        cdef int i
        cdef uint64_t at = key & self.table_mask
        for i in range(PROBES):
            if self.table[(key + i) & self.table_mask] == 0:
                at = (key + i) & self.table_mask
                break
        self.table[at] = key

    cdef void* take(self, size_t size) noexcept nogil:
        """A piece of the heap, given back by setting `top` again."""
        cdef char* piece = self.top
        size = (size + 7) & ~<size_t> 7
        if size > <size_t> (self.heap_end - piece):
            return NULL
        self.top = piece + size
        return piece


cdef inline void raise_sections(int32_t* reach, int32_t begin, int32_t end, int32_t release,
                                int32_t size) noexcept nogil:
    cdef int32_t s, at
    for s in range(begin, end):
        at = reach[s]
        reach[s] = (release if at < release else at) + size


cdef inline bint skipped(const Entry* entry, int32_t floor_low, int32_t floor_rank) noexcept nogil:
    return entry.low < floor_low or (entry.low == floor_low and entry.rank < floor_rank)


cdef inline bint after(const Entry* a, const Entry* b) noexcept nogil:
    return a.low > b.low or (a.low == b.low and a.rank > b.rank)


cdef inline void merge(Entry* kept, int32_t kept_count, const Entry* raised, int32_t raised_count) noexcept nogil:
    """Merge `raised` into `kept`, which has room for both, from the back."""
    cdef int32_t i = kept_count - 1, j = raised_count - 1, to = kept_count + raised_count - 1
    while j >= 0:
        if i >= 0 and kept[i].low > raised[j].low:
            kept[to] = kept[i]
            i -= 1
        else:
            kept[to] = raised[j]
            j -= 1
        to -= 1


cdef double seconds_now() noexcept nogil:
    return nanoseconds() * 1e-9


cdef bint late(Packing packing) noexcept nogil:
    return packing.deadline > 0 and seconds_now() > packing.deadline
