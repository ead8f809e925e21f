"""A plan, and if wanted another order of operators, written into a copy of a model, for a build that runs TFLM.

    >>> from tflm_cy.micro.export import exported                # doctest: +SKIP
    >>> demand = demand.demand(model)                           # doctest: +SKIP
    >>> content = exported(model, demand, optimal(demand.problem()))     # doctest: +SKIP

The file gets the metadata entry `OfflineMemoryAllocation`; other runtimes do not look at it. Scratch buffers cannot be
fixed: TFLM's greedy planner places them around the tensors, wherever the exporter planned them. `exported` therefore
plans the copy as TFLM will and says when the head is higher than that of the plan.

A plan that lets an output overlap an input that dies there holds only for kernels that read ahead of what they write, as TFLM's portable
reference kernels do; others (CMSIS-NN, Ethos-U, Xtensa) read inputs again after they have begun to write. Such a plan is
written only with the assumption that it was made under, which becomes a second entry.
"""

from tflm_cy.memory.check import check
from tflm_cy.micro.arena_usage import demand as demand_of
from tflm_cy.micro.offline import ASSUMPTION, ENTRY, ONLINE, OfflinePlan
from tflm_cy.micro.partial_reads import counted_reads, partial_rows
from tflm_cy.micro.safe_overlaps import kernel_rows
from tflm_cy.schema.model import Model
from tflm_cy.schema.writer import rewritten

REFERENCE_KERNELS = "tflite-micro reference kernels: an output may overlap an input that is read ahead of the writes"

# Operators that keep something between invokes, or draw from it: their order among each other is part of the result.
_STATEFUL = (
    *("VAR_HANDLE", "ASSIGN_VARIABLE", "READ_VARIABLE", "CALL_ONCE", "IF", "WHILE", "SVDF"),
    *("UNIDIRECTIONAL_SEQUENCE_LSTM", "RANDOM_UNIFORM", "RANDOM_STANDARD_NORMAL", "MULTINOMIAL"),
)


def exported(model, demand, plan, *, relaxed=(), assumption=None, write=None):
    """The bytes of a copy of the model that carries the plan.

    Parameters
    ----------
    model : schema.model.Model
    demand : demand.Demand
        Of this model.
    plan : memory.Plan
        Of `demand.buffers`.
    relaxed : sequence of (int, int, int)
        The overlaps that the plan may make use of, as in `memory.Problem`.
    assumption : str, optional
        About whose kernels the relaxed rows speak; needed where the plan relies on kernels.
    write : function of a dict of metadata, optional
        Gives the bytes of the copy; by default those of the model with the metadata.

    Raises
    ------
    ValueError
        The plan is not sound; it overlaps and there is no assumption; or TFLM, with its own planner for the scratch
        buffers, would need a larger head than the plan.
    """
    given = _given(demand)
    check(demand.problem([*relaxed, *given]), plan)
    check_reads(demand, plan, [*relaxed, *given])
    metadata = {ENTRY: _offline_plan(demand, plan).to_bytes()}
    if relies_on_kernels(demand, plan):
        if assumption is None:
            raise ValueError("the plan overlaps outputs and inputs; say for whose kernels (assumption=...)")
        metadata[ASSUMPTION] = assumption.encode()
    content = write(metadata) if write else rewritten(model, metadata)
    keeps = {"refuse": False} if demand.objections else {}
    head = demand_of(Model.from_buffer(content), demand.target.name, **keeps).plan().high_water_mark
    if head > plan.high_water_mark:
        raise ValueError(
            f"TFLM places the scratch buffers itself and would need {head} bytes, {head - plan.high_water_mark} more "
            "than the plan; plan again with that much room"
        )
    return content


def reordered(model, order, demand):
    """A Model with the main graph's operators in another order.

    Parameters
    ----------
    order : sequence of int
        The operators' present indices in their new order.

    Raises
    ------
    ValueError
        The order is no permutation, reads a tensor before it is written, or exchanges operators with state.
    """
    nodes = demand.graph.subgraphs[0].nodes
    if sorted(order) != list(range(len(nodes))):
        raise ValueError(f"the order is no permutation of {len(nodes)} operators")
    written_by = {t: node.index for node in nodes for t in node.outputs}
    done = set()
    stateful = [i for i in order if is_stateful(nodes[i])]
    if stateful != sorted(stateful):
        raise ValueError("the order exchanges operators that keep state")
    for i in order:
        for t in nodes[i].inputs:
            if written_by.get(t, -1) not in done | {-1}:
                raise ValueError(f"{nodes[i]} would run before node {written_by[t]}, whose output it reads")
        done.add(i)
    return Model.from_buffer(rewritten(model, orders={0: order}))


def is_stateful(node):
    """Whether its place among others of the kind is part of the result."""
    return node.custom or node.op in _STATEFUL or any(node.tensors[t].variable for t in node.inputs if t >= 0)


def _offline_plan(demand, plan):
    places = demand.graph.tensor_places
    offsets = dict.fromkeys(places, ONLINE)
    for buffer, offset in zip(demand.buffers, plan.offsets, strict=True):
        if not buffer.scratch:
            offsets[buffer.place] = offset
    return OfflinePlan([offsets[place] for place in places], subgraphs=len(demand.graph.subgraphs))


def check_reads(demand, plan, rows, strict=False):
    """The judge's look at tensors that are read in parts: ValueError when a byte of them is lost before it is read.

    It counts the elements that each SLICE reads, one by one. Rows of such tensors are not believed: in their place stand
    the kernels' distances, which count for one step each; `strict`: no kernel is relied on.
    """
    reads = counted_reads(demand)
    parts = {read[0] for read in reads}
    kernels = {} if strict else kernel_rows(demand, dying=False)
    permitted = [row for row in rows if row[1] not in parts]
    permitted += [(*pair, d) for pair, d in kernels.items() if pair[1] in parts]
    check(demand.problem(permitted), plan, reads)


def relies_on_kernels(demand, plan):
    """Whether the plan makes use of an overlap that only a kernel's order of access permits."""
    try:
        rows = [*_given(demand), *((*pair, d) for pair, d in partial_rows(demand).items())]
        check(demand.problem(rows), plan)
    except ValueError:
        return True
    return False


def _given(demand):
    """Rows that permit what an offline plan in the file already does: Vela lays tensors over the arena that it uses."""
    fixed = [(i, buffer) for i, buffer in enumerate(demand.buffers) if buffer.fixed != ONLINE]
    return [
        (i, j, b.fixed - a.fixed)
        for i, a in fixed
        for j, b in fixed
        if i != j and a.fixed < b.fixed + b.size and b.fixed < a.fixed + a.size
    ]
