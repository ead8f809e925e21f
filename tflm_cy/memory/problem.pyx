"""A planning problem (buffers with sizes and lifetimes) and its answer, a plan (one offset per buffer).

    >>> from tflm_cy.memory.greedy import greedy
    >>> problem = Problem(sizes=[100, 80, 50], first_use=[0, 1, 2], last_use=[1, 2, 3], alignment=1)
    >>> plan = greedy(problem)
    >>> plan.offsets, plan.high_water_mark, plan.proven_lower_bound
    ((0, 100, 0), 180, 180)

This is the one contract of all planners: pure numbers, no tensor, no model.
- Times are integers on any clock; a buffer is alive from its first use to its last, both inclusive. Two buffers that
  are alive at a common time may not overlap in memory. A buffer that nobody uses is alive at [-1, -1], and so shares
  no memory with others of that kind (TFLM's rule).
- A buffer of s bytes occupies s rounded up to `alignment`, and offsets are multiples of it. The high water mark is
  the largest offset + rounded size.
- `fixed_offsets[i]` is -1 (the planner chooses) or the offset that buffer i must have (an offline plan).
- `relaxed` holds rows (output, input, d): these two may overlap although both are alive, if offset(input) -
  offset(output) >= d. A planner may ignore it. d = -size(input) permits every overlap.
- `order` holds per buffer the keys that decide ties in TensorFlow Lite's planner: (tensor index, producing node, node
  of a temporary, arena).
"""
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from cpython.number cimport PyNumber_Index
from libc.stdint cimport int64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy

cdef int64_t LARGEST = <int64_t> 1 << 62         # of the sum of all sizes and of an offset: their sum fits in int64


cdef struct Event:
    int64_t time
    int64_t size


cdef class Problem:
    """`Problem(sizes, first_use, last_use, fixed_offsets=None, alignment=16, relaxed=(), order=None)`, immutable.

    See the module for the arguments. Raises ValueError that names the buffer when the numbers are no problem: a
    negative size, a last use before the first, an offset below -1, rows that point to no buffer, more than 2**62 bytes.
    """

    def __cinit__(self, sizes=None, first_use=(), last_use=(), fixed_offsets=None, alignment=16, relaxed=(),
                  order=None):
        if sizes is None:                         # new_problem
            self.alignment = 1
            return
        fill_problem(self, sizes, first_use, last_use, fixed_offsets, relaxed, order)
        self.alignment = integer(alignment, "alignment")
        self.validate()

    def __dealloc__(self):
        PyMem_RawFree(self._memory)
        PyMem_RawFree(self._relaxed_memory)

    def __len__(self):
        return self.count

    def __repr__(self):
        return f"<Problem of {self.count} buffers, alignment {self.alignment}>"

    @property
    def sizes(self):
        return as_tuple(self.size_of, self.count)

    @property
    def first_use(self):
        return as_tuple(self.first_of, self.count)

    @property
    def last_use(self):
        return as_tuple(self.last_of, self.count)

    @property
    def fixed_offsets(self):
        """Offsets that are given, -1 elsewhere; None if the planner chooses all."""
        cdef Py_ssize_t i
        for i in range(self.count):
            if self.fixed_of[i] != ONLINE:
                return as_tuple(self.fixed_of, self.count)
        return None

    @property
    def relaxed(self):
        return as_rows(self.relaxed_of, self.relaxed_count, 3)

    @property
    def order(self):
        return None if self.order_of == NULL else as_rows(self.order_of, self.count, ORDER_KEYS)

    @staticmethod
    def from_csv(text, alignment=1):
        """The problem of a minimalloc CSV text, see `problem_csv.read`."""
        from tflm_cy.memory.problem_csv import read

        return read(text, alignment)

    def to_csv(self, plan=None):
        """This problem (and a plan's offsets) as minimalloc CSV text, see `problem_csv.write`."""
        from tflm_cy.memory.problem_csv import write

        return write(self, plan)

    cdef int validate(self) except -1:
        """ValueError naming what is wrong first. Every planner relies on it; who fills the arrays itself calls it."""
        cdef Py_ssize_t i
        cdef int64_t total = 0
        cdef int64_t* row
        if self.alignment < 1 or self.alignment > 1 << 30:
            raise ValueError(f"alignment must lie between 1 and 2**30, not {self.alignment}")
        for i in range(self.count):
            if self.size_of[i] < 0:
                raise ValueError(f"buffer {i} has a negative size: {self.size_of[i]}")
            if self.size_of[i] > LARGEST - (1 << 31) - total:
                raise ValueError(f"the buffers up to {i} have more than 2**62 bytes together")
            total += self.rounded(i)
            if self.first_of[i] > self.last_of[i]:
                raise ValueError(f"buffer {i} is used last at {self.last_of[i]}, but first at {self.first_of[i]}")
            if self.fixed_of[i] < ONLINE or self.fixed_of[i] > LARGEST:
                raise ValueError(f"buffer {i} has the fixed offset {self.fixed_of[i]}; an offset or -1 was expected")
        for i in range(self.relaxed_count):
            row = &self.relaxed_of[3 * i]
            if not (0 <= row[0] < self.count and 0 <= row[1] < self.count and row[0] != row[1]):
                raise ValueError(f"relaxed row {i} names the buffers {row[0]} and {row[1]} of {self.count}")
            if row[2] > LARGEST or row[2] < -LARGEST:
                raise ValueError(f"relaxed row {i} has a distance beyond 2**62: {row[2]}")
        return 0

    cdef int64_t rounded(self, Py_ssize_t i) noexcept nogil:
        return (self.size_of[i] + self.alignment - 1) // self.alignment * self.alignment

    cdef int64_t load(self) except -1:
        """A lower bound of every plan's high water mark: the most bytes alive at one time.

        Inputs of relaxed rows are left out of the sum, since an output may lie over them.
        """
        cdef Py_ssize_t n = self.count, i, counted = 0, ended = 0
        cdef int64_t most = 0, now = 0
        cdef Event* born
        cdef Event* dead
        if n == 0:
            return 0
        born = <Event*> PyMem_RawMalloc(2 * n * sizeof(Event) + n)
        if born == NULL:
            raise MemoryError(f"no memory for the lower bound of {n} buffers")
        dead = born + n
        cdef char* covered = <char*> (dead + n)
        for i in range(n):
            covered[i] = 0
        for i in range(self.relaxed_count):
            covered[self.relaxed_of[3 * i + 1]] = 1
        for i in range(n):
            most = max(most, self.rounded(i))
            if self.fixed_of[i] != ONLINE:
                most = max(most, self.fixed_of[i] + self.rounded(i))
            if not covered[i]:
                born[counted] = Event(self.first_of[i], self.rounded(i))
                dead[counted] = Event(self.last_of[i], self.rounded(i))
                counted += 1
        qsort(born, counted, sizeof(Event), by_time)
        qsort(dead, counted, sizeof(Event), by_time)
        for i in range(counted):
            while dead[ended].time < born[i].time:
                now -= dead[ended].size
                ended += 1
            now += born[i].size
            most = max(most, now)
        PyMem_RawFree(born)
        return most


cdef class Plan:
    """`Plan(offsets, high_water_mark, proven_lower_bound=0)`: the answer of a planner, or a given one; immutable.

    `proven_lower_bound`: no plan of the problem has a lower high water mark; the plan is optimal when both are equal.
    """

    def __cinit__(self, offsets=(), high_water_mark=0, proven_lower_bound=0):
        cdef list values
        if offsets is None:                       # new_plan
            return
        values = integers(offsets, "offsets")
        reserve_plan(self, len(values))
        copy(self.offset_of, values, "offsets")
        self.high_water_mark = integer(high_water_mark, "high_water_mark")
        self.lower_bound = integer(proven_lower_bound, "proven_lower_bound")
        if self.lower_bound < 0:
            raise ValueError(f"the lower bound is negative: {self.lower_bound}")

    def __dealloc__(self):
        PyMem_RawFree(self.offset_of)

    def __len__(self):
        return self.count

    def __repr__(self):
        return f"<Plan of {self.count} buffers in {self.high_water_mark} bytes>"

    @property
    def offsets(self):
        return as_tuple(self.offset_of, self.count)

    @property
    def proven_lower_bound(self):
        """In bytes. If the planner proved none: the most bytes alive at one time, computed when it is first asked."""
        if self.lower_bound < 0:
            self.lower_bound = self.problem.load()
        return self.lower_bound


cdef Problem new_problem(Py_ssize_t count, int64_t alignment, bint ordered=False):
    """A problem whose arrays the caller fills, all offsets to be planned; then it must call `validate`."""
    cdef Problem problem = Problem.__new__(Problem)
    cdef Py_ssize_t i
    problem.alignment = alignment
    reserve(problem, count, ordered)
    for i in range(count):
        problem.fixed_of[i] = ONLINE
    return problem


cdef Problem problem_from_arrays(Py_ssize_t count, const int64_t* sizes, const int64_t* first_use,
                                 const int64_t* last_use, const int64_t* fixed_offsets, int64_t alignment):
    """A validated copy of the caller's arrays; `fixed_offsets` may be NULL."""
    cdef Problem problem = new_problem(count, alignment)
    if count:
        memcpy(problem.size_of, sizes, count * sizeof(int64_t))
        memcpy(problem.first_of, first_use, count * sizeof(int64_t))
        memcpy(problem.last_of, last_use, count * sizeof(int64_t))
        if fixed_offsets != NULL:
            memcpy(problem.fixed_of, fixed_offsets, count * sizeof(int64_t))
    problem.validate()
    return problem


cdef int set_relaxed(Problem problem, Py_ssize_t count, const int64_t* rows) except -1:
    """Copy `count` rows (output, input, d) into a new problem, before `validate`."""
    if count == 0:
        return 0
    if problem._relaxed_memory != NULL:
        raise RuntimeError("the relaxed rows are set already")
    problem._relaxed_memory = PyMem_RawMalloc(3 * count * sizeof(int64_t))
    if problem._relaxed_memory == NULL:
        raise MemoryError(f"no memory for {count} relaxed rows")
    problem.relaxed_of = <int64_t*> problem._relaxed_memory
    if rows != NULL:
        memcpy(problem.relaxed_of, rows, 3 * count * sizeof(int64_t))
    problem.relaxed_count = count
    return 0


cdef Plan new_plan(Problem problem):
    """A plan whose offsets the planner fills; it sets the high water mark too."""
    cdef Plan plan = Plan.__new__(Plan, None)
    if problem is None:
        raise TypeError("a Problem was expected, not None")
    reserve_plan(plan, problem.count)
    plan.problem = problem
    plan.lower_bound = -1
    return plan


cdef int fill_problem(Problem problem, sizes, first_use, last_use, fixed_offsets, relaxed, order) except -1:
    # everything becomes lists of int before memory is reserved: iterating runs foreign code
    cdef list size_list = integers(sizes, "sizes")
    cdef list first_list = integers(first_use, "first_use")
    cdef list last_list = integers(last_use, "last_use")
    cdef Py_ssize_t count = len(size_list)
    cdef list fixed_list = [ONLINE] * count if fixed_offsets is None else integers(fixed_offsets, "fixed_offsets")
    cdef list relaxed_list = flat_rows(relaxed, 3, "relaxed")
    cdef list order_list = None if order is None else flat_rows(order, ORDER_KEYS, "order")
    for name, values in (("first_use", first_list), ("last_use", last_list), ("fixed_offsets", fixed_list)):
        if len(values) != count:
            raise ValueError(f"{name} has {len(values)} entries for {count} sizes")
    if order_list is not None and len(order_list) != ORDER_KEYS * count:
        raise ValueError(f"order has {len(order_list) // ORDER_KEYS} rows for {count} sizes")
    reserve(problem, count, order_list is not None)
    copy(problem.size_of, size_list, "sizes")
    copy(problem.first_of, first_list, "first_use")
    copy(problem.last_of, last_list, "last_use")
    copy(problem.fixed_of, fixed_list, "fixed_offsets")
    if order_list is not None:
        copy(problem.order_of, order_list, "order")
    set_relaxed(problem, len(relaxed_list) // 3, NULL)
    copy(problem.relaxed_of, relaxed_list, "relaxed")
    return 0


cdef int reserve(Problem problem, Py_ssize_t count, bint ordered) except -1:
    cdef Py_ssize_t columns = 4 + (ORDER_KEYS if ordered else 0)
    cdef int64_t* memory
    if count < 0 or count > 1 << 40:
        raise ValueError(f"a problem of {count} buffers")
    memory = <int64_t*> PyMem_RawMalloc(columns * count * sizeof(int64_t))
    if memory == NULL:
        raise MemoryError(f"no memory for a problem of {count} buffers")
    problem._memory = memory
    problem.count = count
    problem.size_of = memory
    problem.first_of = memory + count
    problem.last_of = memory + 2 * count
    problem.fixed_of = memory + 3 * count
    problem.order_of = memory + 4 * count if ordered else NULL
    return 0


cdef int reserve_plan(Plan plan, Py_ssize_t count) except -1:
    plan.offset_of = <int64_t*> PyMem_RawMalloc(count * sizeof(int64_t))
    if plan.offset_of == NULL:
        raise MemoryError(f"no memory for a plan of {count} buffers")
    plan.count = count
    return 0


cdef object integer(object value, str name):
    value = PyNumber_Index(value)
    if not -(1 << 63) <= value < 1 << 63:
        raise ValueError(f"{name}: {value} does not fit in 64 bits")
    return value


cdef list integers(object values, str name):
    return [integer(value, name) for value in values]


cdef list flat_rows(object rows, Py_ssize_t width, str name):
    cdef list flat = []
    cdef list row
    for values in rows:
        row = integers(values, name)
        if len(row) != width:
            raise ValueError(f"{name}: a row has {len(row)} entries, {width} were expected")
        flat += row
    return flat


cdef int copy(int64_t* destination, list values, str name) except -1:
    cdef Py_ssize_t i
    for i in range(len(values)):
        destination[i] = values[i]
    return 0


cdef tuple as_tuple(const int64_t* values, Py_ssize_t count):
    return tuple([values[i] for i in range(count)])


cdef tuple as_rows(const int64_t* values, Py_ssize_t count, Py_ssize_t width):
    return tuple([as_tuple(values + i * width, width) for i in range(count)])


cdef int by_time(const void* a, const void* b) noexcept nogil:
    cdef int64_t x = (<const Event*> a).time, y = (<const Event*> b).time
    return (x > y) - (x < y)
