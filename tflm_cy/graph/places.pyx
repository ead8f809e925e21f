"""Where a subgraph's tensors lie in the head, once its nodes are prepared.

    self.divide_steps(first, end)                 # which steps are computed range by range
    self.plan_memory(first, end)                  # lifetimes -> planner -> addresses

Outputs lie over inputs that nobody needs any more (`Node.in_place`), and with inputs whose bytes they have (`Node.passes`), also where two nodes undo
each other (`turned_back`). All tensors of a group (`groups`) are alive from its first step to its last.
Of what only a group sees, the part that it looks at is in memory (`ranges`), once for each of its bands: those behind the first have copies of the
group's nodes, which find tensors of the band's own behind the subgraph's.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from tflm_cy.graph.context cimport Node
from tflm_cy.graph.groups cimport Group, Steps, group_steps
from tflm_cy.graph.late_values cimport LateValues
from tflm_cy.graph.lifetimes cimport tflite_lifetimes
from tflm_cy.graph.ranges cimport measure_rolls
from tflm_cy.graph.tensor cimport PLANNED, STRING, Tensor
from tflm_cy.graph.turned_back cimport lie_still
from tflm_cy.graph.workspace cimport HEAD_ALIGNMENT, SLACK
from tflm_cy.memory.block cimport Block, new_block
from tflm_cy.memory.greedy cimport greedy, greedy_by_area
from tflm_cy.memory.problem cimport Plan, Problem, new_problem

cdef int64_t LARGEST = <int64_t>1 << 47   # bytes of all tensors together

cdef int64_t WORTH_PLANNING = 1 << 16    # bytes

# A load waits for a store in front of it whose address has the same low bits, as if it read what is stored: where a filter's input and output lie a
# multiple of CACHE_PLACES apart, it takes up to twice as long. So large tensors are a little longer than they are.
cdef int64_t CACHE_PLACES = 1 << 12      # bytes
cdef int64_t STAGGER = 9 * 64

cdef uint8_t[64] EMPTY                    # where tensors of zero bytes point to


cdef class Places(LateValues):
    """See the module."""

    def __cinit__(self):
        self.stage_blocks = []

    def __dealloc__(self):
        free(self.groups)

    cdef int divide_steps(self, int first, int end) except -1:
        """Which steps are computed range by range."""
        cdef Steps steps = self.steps()
        cdef Group* groups = self.groups
        if first == 0:
            groups = <Group*>realloc(self.groups, (self.plan_count + 1) * sizeof(Group))
            if groups == NULL:
                raise MemoryError()
            self.groups = groups
            self.band_blocks = []
            self.band_tensors = 0
        self.shared_time += group_steps(&steps, groups, first, end)
        return 0

    cdef Steps steps(self) noexcept:
        cdef Steps steps
        self.program.context = <void*>self
        self.program.tensors = self.tensors
        self.program.nodes = self.nodes
        self.program.plan = self.plan
        steps.program = &self.program
        steps.flushes = self.flushes
        steps.hands = self.hands
        steps.join = self.may_join()
        steps.slide = self.hidden != NULL
        return steps

    cdef bint may_join(self) noexcept:
        """Nodes may be computed together, and tensors share memory: nobody looks at what is between them."""
        return self.fuse and not self.preserve_all

    cdef int merge(self, int first, int end) except -1:
        """Outputs that lie where an input of their node does: `merged`, and from when to when memory is needed.

        A group's tensors are all needed from its first step to its last: while one range is at its end, another begins.
        """
        cdef int32_t* ends = self.merged + self.tensor_count
        cdef int32_t* begins = ends + self.tensor_count
        cdef int32_t t, x, root, best
        cdef const Node* node
        cdef int step, i, j
        cdef bint fits
        for t in range(self.tensor_count):
            if self.first_use[t] >= first:
                self.merged[t] = -1
                begins[t] = self.first_use[t]
                ends[t] = self.last_use[t]
        for step in range(first, end if self.may_join() else first):
            node = &self.nodes[self.plan[step]]
            if node.turned_rows > 0 and self.hidden != NULL:
                self.turn_back(step, first, end)
            t = node.outputs[0] if (node.in_place != 0 or node.passes) and node.output_count > 0 else -1
            if t < 0 or self.first_use[t] != step or self.tensors[t].allocation != PLANNED or self.tensors[t].bytes == 0 or self.merged[t] >= 0:
                continue
            best = self.passed_on(step, first)
            for i in range(min(node.input_count, 32)):
                x = node.inputs[i]
                if not node.in_place >> i & 1 or x < 0 or x == t or not self.is_hidden(x) or self.first_use[x] < first:
                    continue
                fits = self.last_use[x] == step and self.tensors[x].allocation == PLANNED and self.tensors[x].bytes == self.tensors[t].bytes
                for j in range(node.input_count):
                    fits = fits and (node.inputs[j] != x or (j < 32 and node.in_place >> j & 1))
                root = self.root_of(x)
                if fits and ends[root] == step and not self.needed_elsewhere(x, step) and self.goes_over(step, root):
                    best = root if best < 0 else self.earlier(best, root, step)
            if best >= 0:
                self.merged[t] = best
                ends[best] = max(ends[best], self.last_use[t])
        for t in range(self.tensor_count):
            if self.first_use[t] >= first:
                if begins[t] < end and self.is_written(begins[t], t):
                    begins[t] = self.groups[begins[t]].first
                if first <= ends[t] < end:
                    ends[t] = self.groups[ends[t]].last
        return 0

    cdef int turn_back(self, int step, int first, int end) noexcept:
        """A step that turns a matrix: if another one turns it back, neither does."""
        cdef Steps steps = self.steps()
        cdef int32_t x = self.nodes[self.plan[step]].inputs[0]
        if self.merged[self.nodes[self.plan[step]].outputs[0]] < 0 and self.first_use[x] >= first and self.tensors[x].allocation == PLANNED:
            lie_still(&steps, self.groups, self.first_use, self.last_use, self.merged, self.merged + self.tensor_count, step, end)
        return 0

    cdef int32_t passed_on(self, int step, int first) noexcept:
        """Where a step's output lies with the input that it equals, which may be needed later; -1: it has a place of its own. Outputs of the graph
        share theirs with nothing that is alive."""
        cdef const int32_t* ends = self.merged + self.tensor_count
        cdef const Node* node = &self.nodes[self.plan[step]]
        cdef int32_t t = node.outputs[0]
        cdef int32_t x = node.inputs[0] if node.passes else -1
        cdef int32_t root
        if x < 0 or x == t or self.first_use[x] < first or self.tensors[x].allocation != PLANNED or self.tensors[x].bytes != self.tensors[t].bytes:
            return -1
        root = self.root_of(x)
        if ends[root] != step and self.last_use[t] == self.plan_count or not self.goes_over(step, root):
            return -1
        return root

    cdef int32_t earlier(self, int32_t a, int32_t b, int step) noexcept:
        """Of two tensors that die at a step, the one that is there first, if nobody reads it since the other one is made, or in that step's group: so
        whoever makes that one may write over it (`finishing`)."""
        cdef int32_t early = a if self.first_use[a] <= self.first_use[b] else b
        cdef int32_t late = b if early == a else a
        return late if self.count_reads(self.groups[self.first_use[late]].first, step, early) > 0 else early

    cdef int32_t root_of(self, int32_t t) noexcept nogil:
        """The tensor whose memory it has."""
        return self.merged[t] if self.merged[t] >= 0 else t

    cdef int count_reads(self, int first, int end, int root) noexcept:
        """How often the steps first .. end - 1 read what lies in a tensor's memory."""
        cdef const Node* node
        cdef int32_t x
        cdef int step, i, n = 0
        for step in range(first, end):
            node = &self.nodes[self.plan[step]]
            for i in range(node.input_count):
                x = node.inputs[i]
                n += x >= 0 and self.root_of(x) == root
        return n

    cdef bint goes_over(self, int step, int root) noexcept:
        """Bands write the rows near their borders twice: in place only where each has a place of its own."""
        cdef int head = self.groups[step].first
        cdef int writer = self.first_use[root]
        if self.groups[head].bands == 1:
            return True
        return self.is_inner(step) and head <= writer < step and self.is_written(writer, root) and self.is_inner(writer)

    cdef int settle_bands(self, int first, int end) except -1:
        """Of a group of several bands nobody else sees an output but the last: it ends where one is seen."""
        cdef Steps steps = self.steps()
        cdef int head = first
        cdef int step, last
        while head < end:
            last = self.groups[head].last
            if self.groups[head].bands == 1:
                head = last + 1
                continue
            step = head
            while step < last and self.is_inner(step) and self.tensors[self.nodes[self.plan[step]].outputs[0]].allocation == PLANNED:
                step += 1
            steps.slide = self.band_tensors + (self.groups[head].bands - 1) * (last - head + 1) <= self.band_capacity
            if step == last and steps.slide:
                head = last + 1
                continue
            group_steps(&steps, self.groups, head, step + 1)
            group_steps(&steps, self.groups, step + 1, last + 1)
            if step == head and self.groups[head + 1].bands == 1:
                steps.slide = False
                group_steps(&steps, self.groups, head, last + 1)
        return 0

    cdef int let_roll(self, int first, int end) except -1:
        """Where a group slides, the outputs that nobody sees outside of it roll, if that is true of all that lie at their place."""
        cdef Group* groups = self.groups
        cdef int head = first
        cdef int step, last
        while head < end:
            last = groups[head].last
            if groups[head].alone and last > head and (self.hands == 1 or groups[head].bands > 1):
                for step in range(head, last + 1):
                    groups[step].place = max(self.step_of_place(step) - head, -1)
                for step in range(head, last + 1):
                    if groups[step].place >= 0 and not self.is_inner(step):
                        groups[head + groups[step].place].place = -1
                for step in range(head, last + 1):
                    if groups[step].place >= 0 and groups[head + groups[step].place].place < 0:
                        groups[step].place = -1
                measure_rolls(&groups[head])
                if groups[head].bands > 1:
                    self.copy_nodes(&groups[head])
            head = last + 1
        return 0

    cdef int copy_nodes(self, Group* group) except -1:
        """For each band but the first: the group's nodes, which find what rolls in tensors of the band's own."""
        cdef int nodes = group.last - group.first + 1
        cdef int64_t operands = 0
        cdef int band, i, j, k
        cdef Node* node
        cdef int32_t* at
        cdef Block block
        for i in range(nodes):
            node = &self.nodes[self.plan[group.first + i]]
            operands += node.input_count + node.output_count
        block = new_block((group.bands - 1) * (nodes * sizeof(Node) + operands * sizeof(int32_t)), 64)
        self.band_blocks.append(block)
        group.band_nodes = <Node*>block.data
        at = <int32_t*>(group.band_nodes + (group.bands - 1) * nodes)
        node = group.band_nodes
        for band in range(1, group.bands):
            for i in range(nodes):
                node[0] = self.nodes[self.plan[group.first + i]]
                for k in range(node.input_count):
                    at[k] = node.inputs[k]
                    for j in range(i):
                        if group[j].place >= 0 and node.inputs[k] == self.nodes[self.plan[group.first + j]].outputs[0]:
                            at[k] = self.band_tensor(band, j)
                node.inputs = at
                at += node.input_count
                at[0] = node.outputs[0]
                if group[i].place >= 0:
                    at[0] = self.band_tensor(band, i)
                    self.tensors[at[0]] = self.tensors[node.outputs[0]]
                node.outputs = at
                at += node.output_count
                node += 1
            self.band_tensors += nodes
        return 0

    cdef int32_t band_tensor(self, int band, int i) noexcept:
        """The index of what the group's node i makes, while `copy_nodes` is at this band."""
        return self.tensor_count + self.band_tensors + i

    cdef int place_bands(self, int first, int end) noexcept:
        """What rolls has its places one behind the other."""
        cdef const Group* group
        cdef const Node* node
        cdef int head = first
        cdef int band, i, nodes, step
        while head < end:
            group = &self.groups[head]
            nodes = group.last - head + 1
            for band in range(1, group.bands):
                for i in range(nodes):
                    node = &group.band_nodes[(band - 1) * nodes + i]
                    if group[i].place >= 0:
                        step = head + group[i].place
                        self.tensors[node.outputs[0]].data = (
                            <char*>self.tensors[self.nodes[self.plan[head + i]].outputs[0]].data + band * self.groups[step].rolled)
            head = group.last + 1
        return 0

    cdef int step_of_place(self, int step) noexcept:
        """The step whose output has the place of this one's; -1: no step's."""
        cdef int t = self.nodes[self.plan[step]].outputs[0]
        if self.tensors[t].allocation != PLANNED:
            return -1
        t = self.root_of(t)
        return self.first_use[t] if self.is_written(self.first_use[t], t) else -1

    cdef bint is_inner(self, int step) noexcept:
        """Only the step's group sees its output."""
        cdef int t = self.nodes[self.plan[step]].outputs[0]
        return self.is_hidden(t) and self.last_use[t] <= self.groups[step].last

    cdef bint needed_elsewhere(self, int x, int step) noexcept:
        """Earlier nodes of the step's group read the tensor at other positions than their own."""
        cdef const Node* node
        cdef int i, j
        for j in range(self.groups[step].first, step):
            node = &self.nodes[self.plan[j]]
            for i in range(node.input_count):
                if node.inputs[i] == x and (i >= 32 or not node.extent.local >> i & 1):
                    return True
        return False

    cdef bint is_written(self, int step, int t) noexcept:
        """By this step; a graph's inputs are there before the first one."""
        cdef const Node* node = &self.nodes[self.plan[step]]
        cdef int i
        for i in range(node.output_count):
            if node.outputs[i] == t:
                return True
        return False

    cdef bint rolls(self, int t) noexcept:
        """A part of the tensor is in memory at once."""
        cdef int step = self.first_use[t]
        return step < self.plan_count and self.groups[step].rolled > 0 and self.is_written(step, t)

    cdef int64_t rolled_bytes(self, int t) noexcept:
        """Of all bands."""
        cdef const Group* group = &self.groups[self.first_use[t]]
        return group.rolled * self.groups[group.first].bands

    cdef bint is_hidden(self, int index) noexcept nogil:
        """True for a tensor inside of a delegate's partition, whose memory is nobody else's business."""
        return self.hidden != NULL and self.hidden[index]

    cdef int end_of_scratch(self, int t) noexcept:
        """Behind the requests for scratch memory of the same steps: they have one place."""
        cdef int group = self.groups[self.scratch_requests[t].step].first
        while t < self.scratch_count and self.groups[self.scratch_requests[t].step].first == group:
            t += 1
        return t

    cdef int64_t scratch_bytes(self, int t) noexcept:
        return (max(self.scratch_requests[t].bytes, 1) + HEAD_ALIGNMENT - 1) // HEAD_ALIGNMENT * HEAD_ALIGNMENT

    cdef int plan_memory(self, int first, int end) except -1:
        """Lifetimes -> planner -> offsets -> addresses, for the steps first .. end - 1."""
        cdef int scratch_first = self.scratch_planned      # 0 at the first stage
        cdef Block shared = self.largest_block() if first > 0 else None
        cdef int t, stop, i, n = 0
        cdef int64_t total
        cdef Problem problem
        cdef Plan plan
        cdef char* base
        cdef Block block
        cdef void** buffers
        cdef Tensor* tensor
        cdef const int32_t* ends = self.merged + self.tensor_count
        cdef const int32_t* begins = ends + self.tensor_count
        cdef bint fresh = True
        tflite_lifetimes(
            self.tensors, self.tensor_count, self.nodes, self.plan, self.plan_count, first, end, self.inputs, self.input_count,
            self.outputs, self.output_count, self.preserve_all or self.keep_all, self.first_use, self.last_use)
        self.settle_bands(first, end)
        self.merge(first, end)
        self.let_roll(first, end)
        for t in range(self.tensor_count):
            if self.first_use[t] >= first and self.tensors[t].bytes > 0 and self.merged[t] < 0:
                n += 1
        t = scratch_first
        while t < self.scratch_count:
            t = self.end_of_scratch(t)
            n += 1
        problem = new_problem(n + self.count_living(shared, first), HEAD_ALIGNMENT)
        i = 0
        for t in range(self.tensor_count):
            if self.first_use[t] >= first and self.tensors[t].bytes > 0 and self.merged[t] < 0:
                problem.size_of[i] = self.tensors[t].bytes
                if self.rolls(t):
                    problem.size_of[i] = self.rolled_bytes(t)
                if self.may_join() and problem.size_of[i] >= CACHE_PLACES:
                    problem.size_of[i] += STAGGER
                problem.first_of[i] = begins[t]
                problem.last_of[i] = ends[t]
                i += 1
        t = scratch_first
        while t < self.scratch_count:
            problem.first_of[i] = self.groups[self.scratch_requests[t].step].first
            problem.last_of[i] = self.groups[self.scratch_requests[t].step].last
            problem.size_of[i] = 0
            stop = self.end_of_scratch(t)
            for t in range(t, stop):
                problem.size_of[i] += self.scratch_bytes(t)
            t = stop
            i += 1
        total = 0
        for i in range(n):
            total += problem.size_of[i] + HEAD_ALIGNMENT
            if total > LARGEST:
                raise MemoryError(f"no memory for {n} tensors of together more than {LARGEST} bytes")
        i = n
        for t in range(self.tensor_count if problem.count > n else 0):
            if self.lives_in(shared, t, first):
                problem.size_of[i] = self.tensors[t].bytes
                problem.first_of[i] = begins[t]
                problem.last_of[i] = ends[t]
                problem.fixed_of[i] = <char*>self.tensors[t].data - shared.data
                i += 1
        plan = lowest_plan(problem)
        if first == 0:
            owner = self.arena.head_owner()
            base = <char*>self.arena.set_head(plan.high_water_mark)
            self.trim_bulk()
            fresh = self.arena.head_owner() is not owner        # zeroed: pages cost nothing before they are used
        elif shared is not None and plan.high_water_mark + SLACK <= <int64_t>shared.size:
            base = shared.data
        else:
            block = new_block(plan.high_water_mark + SLACK, HEAD_ALIGNMENT)
            self.stage_blocks.append(block)
            base = block.data
        i = 0
        for t in range(self.tensor_count):
            tensor = &self.tensors[t]
            if self.first_use[t] >= first and self.merged[t] < 0:
                if tensor.bytes > 0:
                    tensor.data = base + plan.offset_of[i]
                    i += 1
                else:
                    tensor.data = EMPTY
        for t in range(self.tensor_count):
            if self.first_use[t] >= first and self.merged[t] >= 0:
                self.tensors[t].data = self.tensors[self.merged[t]].data
        self.place_bands(first, end)
        buffers = <void**>realloc(self.scratch_buffers, (self.scratch_count + 1) * sizeof(void*))
        if buffers == NULL:
            raise MemoryError()
        self.scratch_buffers = buffers
        t = scratch_first
        while t < self.scratch_count:
            total = plan.offset_of[i]
            stop = self.end_of_scratch(t)
            for t in range(t, stop):
                self.scratch_buffers[t] = base + total
                total += self.scratch_bytes(t)
            t = stop
            i += 1
        self.scratch_planned = self.scratch_count
        for i in range(self.output_count):
            t = self.outputs[i]
            if not fresh and t >= 0 and self.first_use[t] >= first:
                memset(self.tensors[t].data, 0, self.tensors[t].bytes)
        if first == 0:
            for i in range(self.input_count):
                t = self.inputs[i]
                if t >= 0 and self.tensors[t].allocation == PLANNED:
                    if not fresh:
                        memset(self.tensors[t].data, 0, self.tensors[t].bytes)
                elif t >= 0 and self.tensors[t].type == STRING and self.tensors[t].data == NULL:
                    self.set_text(t, self.text(t))
        return 0

    cdef Block largest_block(self):
        """Of the stages before: where the next one may find room, once their values are not needed any more."""
        cdef Block block, largest = None
        for block in self.stage_blocks:
            if largest is None or block.size > largest.size:
                largest = block
        return largest

    cdef bint lives_in(self, Block block, int t, int first) noexcept:
        """A tensor that an earlier stage has put there, and that is needed from step `first` on."""
        cdef const Tensor* tensor = &self.tensors[t]
        cdef const int32_t* ends = self.merged + self.tensor_count
        if tensor.allocation != PLANNED or tensor.bytes == 0 or self.merged[t] >= 0 or not 0 <= self.first_use[t] < first:
            return False
        return ends[t] >= first and block.data <= <char*>tensor.data < block.data + block.size

    cdef int count_living(self, Block block, int first) noexcept:
        cdef int t, n = 0
        for t in range(self.tensor_count if block is not None else 0):
            n += self.lives_in(block, t, first)
        return n


cdef Plan lowest_plan(Problem problem):
    """The lower of two quick plans; the second is looked for where the first one leaves memory unused that is worth it."""
    cdef Plan plan = greedy(problem)
    cdef Plan other
    if plan.high_water_mark >= WORTH_PLANNING and plan.high_water_mark > problem.load():
        other = greedy_by_area(problem)
        if other.high_water_mark < plan.high_water_mark:
            return other
    return plan
