"""What `python -m tflm_cy arena` says of a model besides its memory: whether TFLM allocates it and runs it, and why not.

Every reason has its line, however many there are.
"""

from tflm_cy.report import printable


def remarks(survey):
    """Paragraphs."""
    yield _verdict(survey)
    if survey.objections:
        behind = "; the figures leave out what these nodes ask for" if any(o.node for o in survey.objections) else ""
        yield _listed("TFLM would refuse the model for", survey.objections, behind)
    if survey.faults:
        yield _listed("These nodes would be allocated, and fail when the model runs", survey.faults)
    if survey.misread:
        lines = [f"  {printable(text)}" for text in survey.misread]
        yield "\n".join([f"TFLM would not decode what was compressed ({len(lines)}):", *lines])
    if survey.advice:
        yield "\n".join(["What to change:", *(f"  {printable(sentence)}" for sentence in survey.advice)])
    if survey.npu_nodes:
        yield (
            f"{_nodes(survey.npu_nodes)} for Arm's Ethos-U: the figures hold for firmware with that kernel and its driver, which "
            "runs them. Without it, and in the tflite_micro package for Python, the model is refused."
        )
    count = len(survey.graph.variables)
    if count:
        yield (
            f"The model has {count} resource variable{'s' if count > 1 else ''}: the firmware makes room for "
            f"{'them' if count > 1 else 'it'} with MicroResourceVariables::Create(allocator, {count})."
        )
    yield from _offline(survey)


def exit_code(survey, found, arena):
    """1 where TFLM refuses the model, fails, or the arena that was asked about is too small; 0 where it runs."""
    return int(not survey.runs or (arena is not None and not found.fits))


def _verdict(survey):
    if survey.runs:
        needs = ", where it is built with the kernel for Arm's Ethos-U" if survey.npu_nodes else ""
        return f"TFLM will allocate this model and run it{needs}."
    if survey.allocates:
        return f"TFLM will allocate this model, but not run it: {_first(survey.faults[0])}."
    return f"TFLM will not allocate this model: {_first(survey.objections[0])}."


def _first(refusal):
    node = refusal.node
    where = f"in {refusal.stage}" if refusal.stage != "resolve" else "before it prepares anything"
    if node is None:
        return f"it stops {where}: {printable(refusal.reason)}"
    name = f" '{printable(node.tensors[node.outputs[0]].name)}'" if node.outputs else ""
    return f"it stops {where} at {node}{name}: {printable(refusal.reason)}"


def _listed(title, refusals, behind=""):
    lines = []
    for refusal in refusals:
        where = "the model" if refusal.node is None else f"{refusal.node}"
        lines.append(f"  {where} ({refusal.stage}): {printable(refusal.reason)}")
    noun = "reason" if len(lines) == 1 else "reasons"
    return "\n".join([f"{title} ({len(lines)} {noun}{behind}):", *lines])


def _nodes(nodes):
    return f"{nodes[0]} is" if len(nodes) == 1 else f"{len(nodes)} nodes are"


def _offline(survey):
    if survey.demand.offline is None:
        return
    yield "The file carries an offline plan; every planner keeps its offsets."
    problems = survey.offline_problems
    if problems:
        lines = [f"  {printable(problem)}" for problem in problems]
        yield "\n".join([f"Its offline plan is wrong ({len(lines)}), and TFLM does not notice:", *lines])
