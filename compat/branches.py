"""The branch that a case of `placeholders` calls as a case of its own: what holds of the graph holds of the branch."""

from dataclasses import replace

from .builder import operator_name, read_model, write_model

_BRANCH = {  # how the node names the branch that is the case's graph (`placeholders.as_branch`)
    "IF": ("builtin_options", lambda options: options["else_subgraph_index"]),
    "STABLEHLO_CASE": ("builtin_options_2", lambda options: options["branch_subgraph_indices"][1]),
}


def branch_case(case):
    """The case whose main graph is the branch; its feeds are those behind the choice. For a case of another form it is the case itself."""
    model = read_model(case.model)
    graphs = model["subgraphs"]
    nodes = graphs[0]["operators"]
    name = operator_name(model, nodes[0]) if len(nodes) == 1 else ""
    if name not in _BRANCH:
        return case
    slot, number = _BRANCH[name]
    branch = int(number(nodes[0][slot][1]))
    graphs[0], graphs[branch] = graphs[branch], graphs[0]
    before = case.before[1:] if case.before else case.before
    return replace(case, model=write_model(model), feeds=[feed[1:] for feed in case.feeds], before=before)
