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
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy, memset

from tflm_cy.graph.context cimport Node
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport RESOURCE
from tflm_cy.memory.arena cimport KIND_NODE, KIND_SUBGRAPH

cdef enum:
    NOT_YET = -1
    ALWAYS = -2

CONTROL_FLOW = ("IF", "WHILE", "CALL_ONCE")


cdef class Partition:
    """Claimed nodes that run as one DELEGATE node."""

    def __init__(self, delegate, int index, list nodes, list inputs, list outputs):
        self.delegate = delegate
        self.index = index
        self.nodes = nodes
        self.inputs = inputs
        self.outputs = outputs
        self.steps = [index]


cdef bint has_side_effect(Subgraph g, int n):
    cdef const Node* node = &g.nodes[n]
    cdef int i
    for i in range(node.input_count):
        if node.inputs[i] >= 0 and g.tensors[node.inputs[i]].type == RESOURCE:
            return True
    for i in range(node.output_count):
        if node.outputs[i] >= 0 and g.tensors[node.outputs[i]].type == RESOURCE:
            return True
    return g.operator_names[n] in CONTROL_FLOW and n not in g.custom_nodes


cdef class Scheduler:
    """The subsets so far, and who computes what."""
    cdef Subgraph g
    cdef set claimed
    cdef dict epoch                  # tensor -> the subset that computes it
    cdef dict waits                  # node -> control predecessors not scheduled yet
    cdef dict after                  # node -> its control successors
    cdef set done
    cdef list subsets                # [kind, nodes, inputs, outputs]

    def __init__(self, Subgraph g, set claimed, bint control):
        cdef const Node* node
        cdef int i, n
        self.g = g
        self.claimed = claimed
        self.epoch = {}
        self.waits = {}
        self.after = {}
        self.done = set()
        self.subsets = []
        for n in g.execution_plan:
            node = &g.nodes[n]
            for i in range(node.output_count):
                if node.outputs[i] >= 0:
                    self.epoch[node.outputs[i]] = NOT_YET
        if control:
            chain = [n for n in g.execution_plan if has_side_effect(g, n)]
            for i in range(1, len(chain)):
                self.after[chain[i - 1]] = chain[i]
                self.waits[chain[i]] = 1

    cdef bint schedule(self, int n):
        """Put a node into the newest subset; False when it does not fit or is not ready."""
        cdef list subset = self.subsets[len(self.subsets) - 1]
        cdef const Node* node = &self.g.nodes[n]
        cdef int k = len(self.subsets) - 1
        cdef int i, t
        if n in self.done or self.waits.get(n) or (self.g.preserve_all and subset[1]):
            return False
        for i in range(node.input_count):
            if node.inputs[i] >= 0 and self.epoch.get(node.inputs[i], ALWAYS) == NOT_YET:
                return False
        if subset[0] is None:
            subset[0] = n in self.claimed
        if subset[0] != (n in self.claimed):
            return False
        self.done.add(n)
        subset[1].append(n)
        for i in range(node.output_count):
            if node.outputs[i] >= 0:
                self.epoch[node.outputs[i]] = k
        for i in range(node.input_count):
            t = node.inputs[i]
            made = self.epoch.get(t, ALWAYS)
            if t >= 0 and made != k:
                subset[2].add(t)
                if made >= 0:
                    self.subsets[made][3].add(t)
        if n in self.after:
            self.waits[self.after[n]] = 0
        return True


cdef list cut(Subgraph g, set claimed, bint clustering):
    """[(claimed or not, nodes, inputs, outputs)] in the order of execution."""
    cdef Scheduler scheduler = Scheduler(g, claimed, clustering)
    cdef bint took, ended
    cdef int n, i
    while True:
        scheduler.subsets.append([None, [], set(), set()])
        ended = False
        while not ended:
            took = False
            for n in g.execution_plan:
                if scheduler.schedule(n):
                    took = True
                elif took and not clustering:
                    ended = True
                    break
            if not took:
                break
        if not scheduler.subsets[len(scheduler.subsets) - 1][1]:
            scheduler.subsets.pop()
            break
    for i in range(g.output_count):
        if g.outputs[i] >= 0 and scheduler.epoch.get(g.outputs[i], ALWAYS) >= 0:
            scheduler.subsets[scheduler.epoch[g.outputs[i]]][3].add(g.outputs[i])
    return [(kind, nodes, sorted(ins), sorted(outs)) for kind, nodes, ins, outs in scheduler.subsets]


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
    g.listed_nodes = len(g.operator_names)
    g.partitions += made
    for partition in made:
        mine.build(g, partition)
    lay_out(g)


cdef int32_t* indices(Subgraph g, list values) except NULL:
    cdef int32_t* copy = <int32_t*>g.arena.allocate_tail(len(values) * sizeof(int32_t), 4, KIND_SUBGRAPH)
    cdef int i
    for i in range(len(values)):
        copy[i] = values[i]
    return copy


cdef Node* grow(Subgraph g) except NULL:
    """One more node at the end, zeroed; the others move."""
    cdef Node* larger
    if g.node_count == g.node_capacity:
        g.node_capacity = 2 * g.node_count + 8
        larger = <Node*>g.arena.allocate_tail(g.node_capacity * sizeof(Node), 8, KIND_NODE)
        memcpy(larger, g.nodes, g.node_count * sizeof(Node))
        g.nodes = larger
    memset(&g.nodes[g.node_count], 0, sizeof(Node))
    g.nodes[g.node_count].index = g.node_count
    g.node_count += 1
    return &g.nodes[g.node_count - 1]


cpdef int add_node(Subgraph g, str name, list inputs, list outputs) except -1:
    """A new node without options or registration; returns its index."""
    cdef Node* node = grow(g)
    node.inputs = indices(g, inputs)
    node.input_count = len(inputs)
    node.outputs = indices(g, outputs)
    node.output_count = len(outputs)
    g.registrations.append(None)
    g.operator_names.append(name)
    return node.index


cpdef int add_variant(Subgraph g, int origin, list inputs, list outputs) except -1:
    """A node that runs in the place of another one, with its options; returns its index."""
    cdef int n = add_node(g, g.operator_names[origin], inputs, outputs)
    cdef Node* node = &g.nodes[n]
    cdef const Node* old = &g.nodes[origin]
    node.options = old.options
    node.custom_options = old.custom_options
    node.custom_options_size = old.custom_options_size
    node.version = old.version
    node.arithmetic = old.arithmetic
    g.registrations[n] = g.registrations[origin]
    return n


cdef int hide(Subgraph g, Partition partition) except -1:
    """Tensors that only the partition's own nodes see have no memory that a user could look at."""
    cdef const Node* node
    cdef int n, i
    if g.hidden == NULL:
        g.hidden = <uint8_t*>g.arena.allocate_tail(g.tensor_count, 1, KIND_SUBGRAPH)
    for n in partition.nodes:
        node = &g.nodes[n]
        for i in range(node.output_count):
            if node.outputs[i] >= 0 and node.outputs[i] not in partition.outputs:
                g.hidden[node.outputs[i]] = True
    return 0


cdef int lay_out(Subgraph g) except -1:
    """The steps that the engine runs: nodes of the plan, each partition replaced by its own steps."""
    cdef dict partitions = {(<Partition>partition).index: partition for partition in g.partitions}
    cdef list steps = []
    cdef Partition partition
    cdef int i
    for n in g.execution_plan:
        partition = partitions.get(n)
        steps += [(n, None)] if partition is None else [(step, partition) for step in partition.steps]
    g.plan_count = len(steps)
    g.plan = <int32_t*>g.arena.allocate_tail(max(g.plan_count, 1) * sizeof(int32_t), 4, KIND_SUBGRAPH)
    g.flushes = <uint8_t*>g.arena.allocate_tail(max(g.plan_count, 1), 1, KIND_SUBGRAPH)
    g.step_partitions = [partition for _, partition in steps]
    for i in range(g.plan_count):
        g.plan[i] = steps[i][0]
        partition = steps[i][1]
        g.flushes[i] = partition is not None and partition.flushes
    g.loaded = g.arena.mark()
    return 0
