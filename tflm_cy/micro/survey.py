"""All that there is to say about a model's memory under TFLM, as plain data: what `python -m tflm_cy arena` shows.

    >>> from tflm_cy.micro.survey import Survey                  # doctest: +SKIP
    >>> survey = Survey("person_detect.tflite")                  # doctest: +SKIP
    >>> survey.plans["greedy"].high_water_mark, survey.lower_bound       # doctest: +SKIP
    (55296, 55296)

Planners are run when they are asked for, and once. A model that TFLM would refuse is planned all the same; `objections`
says why it would, `faults` which nodes would fail when it runs.
"""

from functools import cached_property

from tflm_cy.micro import decode_requests, operator_usage
from tflm_cy.micro.advice import advice
from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.device import COMPARED, REFERENCE, resolve
from tflm_cy.micro.export import REFERENCE_KERNELS, exported
from tflm_cy.micro.figures import figures
from tflm_cy.micro.graph_view import view
from tflm_cy.micro.interpreter import MicroInterpreter
from tflm_cy.micro.library_bytes import crash
from tflm_cy.micro.offline import ONLINE, check_plan
from tflm_cy.micro.ordering import STATES, better_order
from tflm_cy.micro.planners import live_bytes, plan_with, planners
from tflm_cy.micro.refusal import INVOKE, Refusal
from tflm_cy.micro.resolver import firmware
from tflm_cy.micro.safe_overlaps import aliases, relaxed_rows
from tflm_cy.micro.signal_requests import NPU
from tflm_cy.micro.target import ARENA_ALIGNMENT
from tflm_cy.micro.tflite_arena import tflite_arena
from tflm_cy.schema.model import Model

TARGETS = ("host64", "arm32")


class Survey:
    """A model's memory; see the module.

    Parameters
    ----------
    path : str, os.PathLike, bytes-like or schema.model.Model
        A path, or the model itself.
    arena_size : int, optional
        Of the figures; by default the tflite_micro package's, ten times the file.
    targets : sequence of str
        Of `device.NAMES`, with kernels or without; the first one's demands are those that are planned.
    keep_inputs : bool
        Whether plans leave the graph's inputs as they are, which TFLM does not: it reuses their memory after the last
        read. The figures that are TFLM's own do not change.

    Raises
    ------
    OSError, ValueError
        The file cannot be used.
    """

    def __init__(self, path, arena_size=None, targets=TARGETS, keep_inputs=False):
        self.model = path if isinstance(path, Model) else _opened(path)
        self.graph = view(self.model)
        self.arena_size = arena_size
        self.targets = tuple(targets)
        self._keep_inputs = keep_inputs
        self._demands = {}
        self.demand = self.demand_of(self.targets[0])
        self._plans = {}
        self._orders = {}

    def demand_of(self, target_name, recording=None):
        """The `arena_usage.Demand` of a target."""
        key = (resolve(target_name).name, recording)
        if key not in self._demands:
            found = demand(self.graph, key[0], recording=recording, refuse=False)
            self._demands[key] = found.keeping_inputs() if self._keep_inputs else found
        return self._demands[key]

    @property
    def objections(self):
        """`Refusal`s: why TFLM would not allocate the model, in its order; it stops at the first."""
        return self.demand.objections

    @property
    def refusals(self):
        """The objections as texts, each once."""
        return self.demand.refusals

    @property
    def allocates(self):
        """Whether TFLM allocates the model, in an arena that is large enough."""
        return not self.objections

    @property
    def runs(self):
        """Whether it runs it, too, as far as is known without its inputs."""
        return self.allocates and not self.faults

    @cached_property
    def faults(self):
        """`Refusal`s of nodes where every invoke fails that reaches them: what TFLM's kernels say, and where they are not
        asked what `MicroInterpreter`'s do, which look at shapes that TFLM reads or writes beyond."""
        found = list(self.demand.faults)
        crashes = [(node, crash(node, self.demand.target)) for node in self.graph.nodes]
        found += [Refusal(INVOKE, node, reason) for node, reason in crashes if reason]
        if not self.allocates or self.npu_nodes:
            return found
        known = {(fault.node.subgraph, fault.node.index) for fault in found}
        try:
            interpreter = MicroInterpreter(self.model)
        except (ValueError, RuntimeError, MemoryError) as error:
            return [*found, Refusal(INVOKE, None, str(error))]
        for g, node, why in interpreter.refused:
            if (g, node) not in known:
                reason = f"{why.rstrip('.')}; TFLM does not ask, and computes from what is not the tensors' values"
                found.append(Refusal(INVOKE, self.graph.subgraphs[g].nodes[node], reason))
        return found

    @property
    def npu_nodes(self):
        """The nodes that Vela made for an Ethos-U."""
        return [node for node in self.graph.nodes if node.custom and node.op == NPU]

    @property
    def advice(self):
        """What to change in the conversion, where TFLM refuses the model or fails."""
        return advice([*self.objections, *self.faults])

    @cached_property
    def offline_problems(self):
        """What is wrong with the offline plan in the file, if it has one."""
        if not self.demand.offline:
            return []
        rows, copies = relaxed_rows(self.demand), aliases(self.demand)
        return check_plan(self.demand.offline, self.demand.buffers, rows, graph=self.graph, copies=copies)

    @property
    def misread(self):
        """Compressed constants that TFLM decodes to other values than those compressed, as texts."""
        return [text for node in self.graph.nodes for text in decode_requests.misread(node)]

    def plan(self, name):
        """The plan of one planner, for the buffers of `demand`."""
        return self._planned(name)[0]

    def relaxed(self, name):
        """The overlaps that this plan may make use of."""
        return self._planned(name)[1]

    def _planned(self, name, asked=None):
        """The plan of a target's buffers, which differ where its kernels ask for other scratch buffers."""
        asked = asked or self.demand
        own = [(buffer.size, buffer.first, buffer.last, buffer.fixed) for buffer in asked.buffers]
        key = (name, asked.target.kernels, tuple(own))
        if key not in self._plans:
            self._plans[key] = plan_with(name, asked)
        return self._plans[key]

    @property
    def planners(self):
        """The planners that can plan this model: `linear` keeps no offsets of an offline plan."""
        fixed = any(buffer.fixed != ONLINE for buffer in self.demand.buffers)
        return [name for name in planners() if not (fixed and name == "linear")]

    @property
    def plans(self):
        """Planner -> plan, of all planners."""
        return {name: self.plan(name) for name in self.planners}

    def better_order(self, planner, states=STATES):
        """`ordering.Ordered`: the order of operators in which this planner needs the least head, as far as found."""
        if (planner, states) not in self._orders:
            self._orders[planner, states] = better_order(self.model, self.demand, planner, states)
        return self._orders[planner, states]

    def in_better_order(self, planner, states=STATES):
        """The Survey of the model in that order; this one if none is better."""
        ordered = self.better_order(planner, states)
        if not ordered.changed:
            return self
        return Survey(ordered.model, self.arena_size, self.targets, self.demand.keeps_inputs)

    @cached_property
    def lower_bound(self):
        """No plan without overlaps has a lower head."""
        return max(self.plan(name).proven_lower_bound for name in ("greedy", "optimal") if name in self.planners)

    @cached_property
    def tflite(self):
        """`tflite_arena.Arena`: TensorFlow Lite's own, for the same tensors."""
        return tflite_arena(self.graph)

    def figures(self, target_name=None, planner=None, recording=None):
        """`figures.Figures` of a target, with TFLM's own plan or another one.

        `recording`: with the allocator that counts, which is larger, or without; by default the target's usual one.
        """
        asked = self.demand_of(target_name or self.targets[0], recording)
        plan = self._planned(planner, asked)[0] if planner else None
        return figures(asked, arena_size=self.arena_size, plan=plan)

    def operators(self, target_name=None):
        """{operator: `operator_usage.Usage`}: what a target's kernels ask for, besides the tensors."""
        return operator_usage.usage(self.demand_of(target_name or self.targets[0]))

    @cached_property
    def steps(self):
        """What runs at each time of the clock, from 0: a Node, or None (at 0, and where child graphs begin)."""
        last = max([0, *(buffer.last for buffer in self.demand.buffers), *(t for t, _ in self.demand.node_times)])
        found = [None] * (last + 1)
        for time, node in self.demand.node_times:
            found[time] = node
        return found

    @cached_property
    def live_bytes(self):
        """Bytes alive at each time."""
        live = live_bytes(self.demand.buffers)
        return live + [0] * (len(self.steps) - len(live))

    @property
    def peak(self):
        """The first time at which most is alive."""
        return max(range(len(self.live_bytes)), key=self.live_bytes.__getitem__)

    def writer(self, buffer):
        """The node that writes a tensor; None for a graph's input and for scratch."""
        if buffer.scratch or buffer.first < 0:
            return None
        for time in range(buffer.first, len(self.steps)):
            node = self.steps[time]
            if node and node.subgraph == buffer.place[0] and buffer.place[1] in node.outputs:
                return node
        return None

    def readers(self, buffer):
        """The nodes that read a tensor."""
        if buffer.scratch:
            return []
        nodes = self.graph.subgraphs[buffer.place[0]].nodes
        return [node for node in nodes if buffer.place[1] in node.inputs]

    def firmware(self, target_name, planner="greedy"):
        """The lines of C++ for a firmware, and whose kernels the arena's size is for."""
        size = self.figures(target_name, planner).smallest_arena
        return "\n".join([firmware(self.graph, size), *self._other_kernels(target_name, planner)])

    def _other_kernels(self, target_name, planner):
        """What the same array would have to hold with other kernels."""
        build = resolve(target_name)
        families = ("cortex-m", "esp32")
        family = next((family for family in families if build.device.startswith(family)), None)
        if family is None:
            return
        yield f"// {build.device} with {build.version}; other kernels need another size:"
        others = dict.fromkeys([f"{build.device}+{REFERENCE}", *(name for name in COMPARED if name.startswith(family))])
        for name in others:
            if name != build.name:
                size = -(-self.figures(name, planner).smallest_arena // ARENA_ALIGNMENT) * ARENA_ALIGNMENT
                yield f"//   {name}: {size}"

    def csv(self, planner):
        """The planning problem and a plan, as minimalloc's CSV."""
        return self.demand.problem().to_csv(self.plan(planner))

    def export(self, planner):
        """The bytes of a copy of the model that carries the plan."""
        relaxed = self.relaxed(planner)
        assumption = REFERENCE_KERNELS if relaxed else None
        if relaxed and self.demand.target.kernels != REFERENCE:
            assumption += f", and what {resolve(self.targets[0]).version} computes is kept apart"
        return exported(self.model, self.demand, self.plan(planner), relaxed=relaxed, assumption=assumption)

    def as_json(self):
        """Everything as dicts, lists, numbers and texts."""
        return {
            "planners": {name: self._plan_json(name) for name in self.planners},
            "lower_bound": self.lower_bound,
            "reorder": {planner: self._order_json(planner, states) for planner, states in self._orders},
            "peak": {
                "time": self.peak,
                "node": str(self.steps[self.peak] or ""),
                "live_bytes": self.live_bytes[self.peak],
            },
            "tflite": self.tflite._asdict(),
            "tflm": {name: self._figures_json(name) for name in dict.fromkeys([*self.targets, *COMPARED])},
            "operators": {
                name: {op: asked._asdict() for op, asked in self.operators(name).items()} for name in self.targets
            },
            "allocates": self.allocates,
            "runs": self.runs,
            "refusals": [refusal.as_json() for refusal in (*self.objections, *self.faults)],
            "failures": [str(fault) for fault in self.faults],
            "advice": self.advice,
            "resource_variables": len(self.graph.variables),
            "misread": self.misread,
            "offline_plan": None if self.demand.offline is None else {"problems": self.offline_problems},
            "live_bytes": self.live_bytes,
            "nodes": [None if node is None else node.op for node in self.steps],
            "buffers": [
                {
                    "name": buffer.label,
                    "scratch": buffer.scratch,
                    "subgraph": buffer.place[0],
                    "index": buffer.place[1],
                    "bytes": buffer.nbytes,
                    "size": buffer.size,
                    "first": buffer.first,
                    "last": buffer.last,
                    "offsets": {name: plan.offsets[i] for name, plan in self.plans.items()},
                }
                for i, buffer in enumerate(self.demand.buffers)
            ],
        }

    def _plan_json(self, name):
        plan = self.plan(name)
        bound = plan.proven_lower_bound
        return {"head": plan.high_water_mark, "proven": bound == plan.high_water_mark, "lower_bound": bound}

    def _order_json(self, planner, states):
        ordered = self.better_order(planner, states)
        head = ordered.plan.high_water_mark
        order = ordered.order if ordered.changed else None
        return {"head": head, "proven": ordered.proven, "order": order, "states": ordered.states}

    def _figures_json(self, name):
        build = resolve(name)
        found = self.figures(name, recording=True if build.device != build.name else None)
        kinds = {kind: {"used": r.used, "requested": r.requested, "count": r.count} for kind, r in found.kinds.items()}
        return {
            "head": found.head,
            "tail": found.tail,
            "total": found.total,
            "kinds": kinds,
            "plain": self.figures(name, recording=False).total,
            "smallest": self.figures(name, recording=False).smallest_arena,
            "kernels": build.version,
            "smallest_arena": found.smallest_arena,
            "arena_size": found.arena_size,
            "recording": found.demand.target.recording,
        }


def _opened(model):
    if isinstance(model, str) or hasattr(model, "__fspath__"):
        return Model.from_path(model)
    return Model.from_buffer(model)
