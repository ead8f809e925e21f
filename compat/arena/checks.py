"""Whether what `python -m tflm_cy arena` says of a model is what the tflite_micro package does with it.

    check_verdicts("single operators", [(name, content, feed)])     # allocated, run, and which node is blamed
    check_smallest("models", [(name, content)])                     # the smallest arena, to 16 bytes

Both print what differs and return how many did. Where the package's process dies the model counts as refused. Where it
runs a node that fails here, it has read or written beyond its tensors, which is counted and no difference.
"""

from tflm_cy.micro.figures import figures
from tflm_cy.micro.interpreter import MicroInterpreter
from tflm_cy.micro.signal_requests import NPU
from tflm_cy.micro.survey import Survey
from tflm_cy.schema.model import Model

from .runtime import in_children
from .verdicts import verdicts

STEP = 16

# the part of a name: why TFLM gets by with less than it is safe to give it
_LESS = {
    "EMBEDDING_LOOKUP/hybrid_i8": "the op data lie over a tensor that is open, and is not looked at again",
    "TFLM_DECODE/": "the state lies over fields of a tensor that it happens not to write",
}


def check_verdicts(title, models):
    wrong = beyond = 0
    theirs = verdicts([(content, feed) for _, content, feed in models])
    for (name, content, feed), said in zip(models, theirs, strict=True):
        try:
            model = Model.from_buffer(content)
        except ValueError:
            continue  # no model for this package
        difference, looked = _difference(model, feed, said)
        beyond += looked
        if difference:
            wrong += 1
            print(f"  {name}: {difference}")
    print(
        f"{title}: {len(models) - wrong} of {len(models)} are allocated, refused and blamed as by tflite_micro "
        f"({beyond} run there beyond their tensors)",
        flush=True,
    )
    return wrong


def _difference(model, feed, said):
    """(what differs or None, whether TFLM runs beyond the tensors)."""
    survey = Survey(model, targets=("host64",))
    if survey.npu_nodes:
        return None, False  # the package has no Ethos-U
    first = survey.objections[0] if survey.objections else None
    if said is None:
        return (None if first or not survey.runs else "tflite_micro dies of it, here it runs"), False
    if said.allocates != survey.allocates:
        return f"tflite_micro: {said.stage} {said.log!r}, here: {first}", False
    if not said.allocates:
        blamed = (first.node.op, first.node.index) if first.node else None
        if said.number is not None and blamed != (said.op, said.number):
            return f"tflite_micro blames {said.op} {said.number}, here: {first}", False
        return None, False
    ran = _runs(model, feed)
    if said.stage is None:
        return None, not ran
    return (f"tflite_micro fails: {said.log!r}, here it runs" if ran else None), False


def _runs(model, feed):
    interpreter = MicroInterpreter(model)
    for i, array in enumerate(feed):
        try:
            interpreter.set_input(i, array)
        except (ValueError, RuntimeError, IndexError):
            break  # as `verdicts` does
    try:
        interpreter.invoke()
    except RuntimeError:
        return False
    return True


def check_smallest(title, models):
    """(name, content) of models; those that TFLM refuses are left out."""
    asked = []
    for name, content in models:
        try:
            ours = figures(Model.from_buffer(content), "host64")
        except ValueError:
            continue
        if not any(node.op == NPU for node in ours.demand.graph.nodes):
            asked.append((name, content, -(-ours.smallest_arena // STEP) * STEP, bool(ours.demand.faults)))
    found = in_children("smallest", [(content, ours) for _, content, ours, _ in asked], {})
    wrong = 0
    for (name, _, ours, fails), theirs in zip(asked, found, strict=True):
        if theirs is None and fails:  # its process dies where a node reads what it has not
            continue
        if ours == theirs or (theirs and theirs < ours and any(part in name for part in _LESS)):
            continue
        wrong += 1
        print(f"  {name}: the smallest arena is {theirs} bytes, here {ours}")
    print(f"{title}: {len(asked) - wrong} of {len(asked)} have the smallest arena that is said", flush=True)
    return wrong
