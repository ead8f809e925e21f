# tflm_cy: optimize=speed
"""From claimed nodes to partitions, one DELEGATE node each, and a new execution plan.

    delegate(subgraph, mine, clustering=True)

The rules are TensorFlow Lite's, so that plans, and which tensors a user can read, are the same:

    subset k: its kind (claimed or not) is that of the first ready node in plan order
    repeat passes over the plan: take every ready node of that kind, until a pass takes none; then open subset k + 1
    ready: all inputs are constant, graph inputs or computed already, and so is the control predecessor
    control edges: the nodes that touch a resource, and IF, WHILE, CALL_ONCE, form one chain in plan order

Without clustering there are no control edges, and a pass ends the subset at the first node that cannot join. A graph
that preserves all tensors has one node per subset.

Source: LiteRT:tflite/graph_info.cc.
"""
cimport cython
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy, memset

from tflm_cy.graph.context cimport Node
from tflm_cy.graph.graph cimport Graph, Step, new_steps
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport RESOURCE
from tflm_cy.memory.arena cimport KIND_NODE, KIND_SUBGRAPH
from tflm_cy.memory.block cimport Block, new_block
from tflm_cy.schema.builtins cimport BUILTIN_CALL_ONCE, BUILTIN_IF, BUILTIN_WHILE

cdef enum:
    NOT_YET = -1
    ALWAYS = -2


cdef class Partition:
    """Claimed nodes that run as one DELEGATE node."""

    def __init__(self, delegate, int index, list nodes, list inputs, list outputs):
        self.delegate = delegate
        self.index = index
        self.nodes = nodes
        self.inputs = inputs
        self.outputs = outputs
        self.steps = [index]
        self.shown = []
        self.shapes, self.moved, self.channels = {}, set(), {}
        self.largest, self.first_shapes, self.sides, self.padded = {}, {}, {}, {}


cdef bint has_side_effect(Subgraph g, int n) noexcept:
    cdef const Node* node = &g.graph.nodes[n]
    cdef int i
    for i in range(node.input_count):
        if node.inputs[i] >= 0 and g.tensors[node.inputs[i]].type == RESOURCE:
            return True
    for i in range(node.output_count):
        if node.outputs[i] >= 0 and g.tensors[node.outputs[i]].type == RESOURCE:
            return True
    return node.code == BUILTIN_IF or node.code == BUILTIN_WHILE or node.code == BUILTIN_CALL_ONCE


@cython.final
cdef class Scheduler:
    """The subsets so far, and who computes what."""
    cdef Subgraph g
    cdef Block memory
    cdef int32_t* epoch              # per tensor: the subset that computes it, NOT_YET or ALWAYS
    cdef int32_t* reader             # per tensor: the newest subset that has it among its inputs
    cdef int32_t* plan
    cdef int32_t* after              # per node: its control successor, or -1
    cdef uint8_t* given              # per tensor: it is an output of its subset
    cdef uint8_t* claimed            # per node
    cdef uint8_t* waits              # per node: for its control predecessor
    cdef uint8_t* done
    cdef int count                   # of the plan
    cdef int first                   # nodes of the plan before it are done
    cdef int kind                    # of the newest subset; -1: it is empty
    cdef list subsets                # [kind, nodes, inputs, outputs]

    def __init__(self, Subgraph g, set claimed, bint control):
        cdef Py_ssize_t nodes = g.graph.node_count, tensors = g.graph.tensor_count
        cdef const Node* node
        cdef int i, k, n, last = -1
        self.g = g
        self.subsets = []
        self.count = len(g.execution_plan)
        self.memory = new_block((2 * tensors + nodes + self.count) * sizeof(int32_t) + 3 * nodes + tensors + 1, 16)
        self.epoch = <int32_t*>self.memory.data
        self.reader = self.epoch + tensors
        self.plan = self.reader + tensors
        self.after = self.plan + self.count
        self.claimed = <uint8_t*>(self.after + nodes)
        self.waits = self.claimed + nodes
        self.done = self.waits + nodes
        self.given = self.done + nodes
        for i in range(tensors):
            self.epoch[i] = ALWAYS
            self.reader[i] = -1
        for n in range(nodes):
            self.after[n] = -1
        for n in claimed:
            self.claimed[n] = True
        for k in range(self.count):
            n = self.plan[k] = g.execution_plan[k]
            node = &g.graph.nodes[n]
            for i in range(node.output_count):
                if node.outputs[i] >= 0:
                    self.epoch[node.outputs[i]] = NOT_YET
            if control and has_side_effect(g, n):
                if last >= 0:
                    self.after[last] = n
                    self.waits[n] = True
                last = n

    cdef int open(self) except -1:
        """A new subset."""
        self.subsets.append([None, [], [], []])
        self.kind = -1
        return 0

    cdef bint schedule(self, int n) except -1:
        """Put a node into the newest subset; False when it does not fit or is not ready."""
        cdef const Node* node = &self.g.graph.nodes[n]
        cdef int k = <int>len(self.subsets) - 1
        cdef int i, t
        cdef list subset
        if self.done[n] or self.waits[n] or (self.kind >= 0 and (self.kind != self.claimed[n] or self.g.graph.preserve_all)):
            return False
        for i in range(node.input_count):
            if node.inputs[i] >= 0 and self.epoch[node.inputs[i]] == NOT_YET:
                return False
        subset = self.subsets[k]
        if self.kind < 0:
            self.kind = self.claimed[n]
            subset[0] = self.kind == 1
        self.done[n] = True
        subset[1].append(n)
        for i in range(node.output_count):
            if node.outputs[i] >= 0:
                self.epoch[node.outputs[i]] = k
        for i in range(node.input_count):
            t = node.inputs[i]
            if t >= 0 and self.epoch[t] != k and self.reader[t] != k:
                self.reader[t] = k
                (<list>subset[2]).append(t)
                self.give(t)
        if self.after[n] >= 0:
            self.waits[self.after[n]] = False
        return True

    cdef int give(self, int t) except -1:
        """A tensor is an output of the subset that computes it, if there is one."""
        if self.epoch[t] >= 0 and not self.given[t]:
            self.given[t] = True
            (<list>(<list>self.subsets[self.epoch[t]])[3]).append(t)
        return 0


cdef list cut(Subgraph g, set claimed, bint clustering):
    """[(claimed or not, nodes, inputs, outputs)] in the order of execution."""
    cdef Scheduler scheduler = Scheduler(g, claimed, clustering)
    cdef bint took, ended
    cdef int i, k
    while True:
        scheduler.open()
        ended = False
        while not ended:
            took = False
            while scheduler.first < scheduler.count and scheduler.done[scheduler.plan[scheduler.first]]:
                scheduler.first += 1
            for k in range(scheduler.first, scheduler.count):
                if scheduler.schedule(scheduler.plan[k]):
                    took = True
                elif took and not clustering:
                    ended = True
                    break
            if not took:
                break
        if scheduler.kind < 0:
            scheduler.subsets.pop()
            break
    for i in range(g.graph.output_count):
        if g.graph.outputs[i] >= 0:
            scheduler.give(g.graph.outputs[i])
    return [(kind, nodes, sorted(ins), sorted(outs)) for kind, nodes, ins, outs in scheduler.subsets]


cdef class Snapshot:
    """What a delegate may change of a subgraph: `restore` gives it back where the delegate fails."""
    cdef Subgraph subgraph
    cdef Graph graph
    cdef bytes nodes
    cdef list registrations, operator_names, execution_plan, partitions
    cdef size_t loaded

    def __init__(self, Subgraph g):
        self.subgraph, self.graph, self.loaded = g, g.graph, g.loaded
        self.nodes = (<const char*>g.graph.nodes)[:g.graph.node_count * sizeof(Node)] if g.graph.node_count else b""
        self.registrations, self.operator_names = list(g.registrations), list(g.operator_names)
        self.execution_plan, self.partitions = list(g.execution_plan), list(g.partitions)

    def restore(self):
        cdef Subgraph g = self.subgraph
        g.graph, g.loaded = self.graph, self.loaded
        memcpy(g.graph.nodes, <const char*>self.nodes, len(self.nodes))
        g.registrations[:], g.operator_names[:] = self.registrations, self.operator_names     # who compiles the graph has the same lists
        g.execution_plan, g.partitions[:] = self.execution_plan, self.partitions


def delegate_all(list subgraphs, mine, bint clustering):
    """Let a delegate take its nodes of all subgraphs; where it fails it has none."""
    before = [Snapshot(g) for g in subgraphs]
    try:
        for g in subgraphs:
            delegate(g, mine, clustering)
    except BaseException:
        for snapshot in before:
            snapshot.restore()
        raise


def delegate(Subgraph g, mine, bint clustering):
    """Let a delegate take its nodes of a subgraph; once, before the subgraph is prepared."""
    if g.allocate_defect is not None:
        return
    try:
        take(g, mine, clustering)
    finally:
        mine.finish(g)


cdef int take(Subgraph g, mine, bint clustering) except -1:
    cdef list plan = []
    cdef list made = []
    cdef Partition partition
    cdef set claimed = set(mine.claim(g))
    if not claimed:
        return 0
    for kind, nodes, inputs, outputs in cut(g, claimed, clustering):
        if not kind:
            plan += nodes
            continue
        partition = Partition(mine, add_node(g, "DELEGATE", inputs, outputs), nodes, inputs, outputs)
        plan.append(partition.index)
        made.append(partition)
        hide(g, partition)
    g.execution_plan = plan
    g.graph.listed_nodes = len(g.operator_names)
    g.partitions += made
    for partition in made:
        mine.build(g, partition)
    lay_out(g)


cdef int32_t* indices(Subgraph g, list values) except NULL:
    cdef int32_t* copy = <int32_t*>g.allocator.arena.allocate_tail(len(values) * sizeof(int32_t), 4, KIND_SUBGRAPH)
    cdef int i
    for i in range(len(values)):
        copy[i] = values[i]
    return copy


cdef Node* grow(Subgraph g) except NULL:
    """One more node at the end, zeroed; the others move."""
    cdef Node* larger
    cdef int capacity
    if g.graph.node_count == g.graph.node_capacity:
        capacity = 2 * g.graph.node_count + 8
        larger = <Node*>g.allocator.arena.allocate_tail(capacity * sizeof(Node), 8, KIND_NODE)
        memcpy(larger, g.graph.nodes, g.graph.node_count * sizeof(Node))
        g.graph.nodes, g.graph.node_capacity = larger, capacity
    memset(&g.graph.nodes[g.graph.node_count], 0, sizeof(Node))
    g.graph.nodes[g.graph.node_count].index = g.graph.node_count
    g.graph.node_count += 1
    return &g.graph.nodes[g.graph.node_count - 1]


cpdef int add_node(Subgraph g, str name, list inputs, list outputs) except -1:
    """A new node without options or registration; returns its index."""
    cdef Node* node = grow(g)
    node.inputs = indices(g, inputs)
    node.input_count = len(inputs)
    node.outputs = indices(g, outputs)
    node.output_count = len(outputs)
    node.code = -1
    g.registrations.append(None)
    g.operator_names.append(name)
    return node.index


cpdef int add_variant(Subgraph g, int origin, list inputs, list outputs) except -1:
    """A node that runs in the place of another one, with its options; returns its index."""
    cdef int n = add_node(g, g.operator_names[origin], inputs, outputs)
    cdef Node* node = &g.graph.nodes[n]
    cdef const Node* old = &g.graph.nodes[origin]
    node.options = old.options
    node.custom_options = old.custom_options
    node.custom_options_size = old.custom_options_size
    node.version = old.version
    node.code = old.code
    node.arithmetic = old.arithmetic
    g.registrations[n] = g.registrations[origin]
    return n


cdef int hide(Subgraph g, Partition partition) except -1:
    """Tensors that only the partition's own nodes see have no memory that a user could look at."""
    cdef const Node* node
    cdef int n, i, t
    if g.graph.internal == NULL:
        g.graph.internal = <uint8_t*>g.allocator.arena.allocate_tail(g.graph.tensor_count, 1, KIND_SUBGRAPH)
    for n in partition.nodes:
        node = &g.graph.nodes[n]
        for i in range(node.output_count):
            if node.outputs[i] >= 0:
                g.graph.internal[node.outputs[i]] = True
    for t in partition.outputs:
        g.graph.internal[t] = False
    return 0


cdef int lay_out(Subgraph g) except -1:
    """The steps that the engine runs: nodes of the plan, each partition replaced by its own steps."""
    cdef Graph* graph = &g.graph
    cdef dict numbers = {(<Partition>partition).index: number for number, partition in enumerate(g.partitions)}
    cdef Partition partition
    cdef int number, count = 0, step = 0
    for n in g.execution_plan:
        number = numbers.get(n, -1)
        count += 1 if number < 0 else <int>len((<Partition>g.partitions[number]).steps)
    graph.step_count = count
    new_steps(graph, g.allocator.arena)
    for n in g.execution_plan:
        number = numbers.get(n, -1)
        if number < 0:
            step = set_step(graph, step, n, -1, False)
            continue
        partition = g.partitions[number]
        for source in partition.steps:
            step = set_step(graph, step, source, number, partition.flushes)
    memcpy(graph.steps, graph.laid_out, graph.step_count * sizeof(Step))
    g.loaded = g.allocator.arena.mark()
    return 0


cdef int set_step(Graph* graph, int step, int source, int number, bint flushes) noexcept:
    """Of a node of a partition, or of none (-1). The next step."""
    graph.laid_out[step].source = source
    graph.laid_out[step].node = &graph.nodes[source]
    graph.laid_out[step].partition = number
    graph.laid_out[step].flushes = flushes
    return step + 1
