"""Why TFLM would not allocate a model, or not run it: which node, at which stage, and the reason.

| stage | what TFLM does there | |
| --- | --- | --- |
| resolve | finds a registration for each node, and parses its options | refuses the model |
| init, prepare | each kernel's, in the order of the nodes, subgraph by subgraph | refuses the model |
| plan | gives every tensor and scratch buffer its place | refuses the model |
| invoke | runs | fails there, each time |
"""

from dataclasses import dataclass

from tflm_cy.micro.graph_view import Node

RESOLVE, INIT, PREPARE, PLAN, INVOKE = STAGES = ("resolve", "init", "prepare", "plan", "invoke")


@dataclass(frozen=True)
class Refusal:
    """One reason; `node` is None when it is no node's."""

    stage: str
    node: Node | None
    reason: str

    @property
    def allocates(self):
        """Whether the model is allocated all the same."""
        return self.stage == INVOKE

    @property
    def lacks_operator(self):
        return self.reason.startswith(NO_OPERATOR)

    def __str__(self):
        return self.reason if self.lacks_operator else self.placed

    @property
    def placed(self):
        """The reason behind the node's name."""
        if self.node is None:
            return self.reason
        return f"{self.node}{'' if self.reason.startswith('has ') else ':'} {self.reason}"

    def as_json(self):
        node = self.node
        return {
            "stage": self.stage,
            "subgraph": None if node is None else node.subgraph,
            "node": None if node is None else node.index,
            "op": None if node is None else node.op,
            "tensor": node.tensors[node.outputs[0]].name if node is not None and node.outputs else None,
            "reason": self.reason,
        }


NO_OPERATOR = "TFLM has no operator "
