"""Programs that go on after an allocation that was refused: part of `python -m compat --programs`, `--case ", program, refused"`.

The generators' nodes stand between others: some of their inputs are computed, some outputs are computed further, and other
outputs do not depend on them. After a run the inputs are resized to shapes that an operator may refuse, then all that can be read
is read, before and after an invoke, and at the end the model runs in its own shapes.
"""

from .builder.schema import ENUMS
from .structures import add_tensor, code_of, main_graph

REFUSED = "refused"
_TYPES = ENUMS["TensorType"]
# operators of one kind of values that give as many: some of them are taken by the default delegate, some are not
_SINGLE = {
    _TYPES["FLOAT32"]: ("ABS", "NEG", "SIN", "SIGN", "MAXIMUM", "ADD_N"),
    _TYPES["INT8"]: ("MAXIMUM", "MINIMUM"),
    _TYPES["UINT8"]: ("MAXIMUM", "MINIMUM"),
    _TYPES["INT16"]: ("MAXIMUM",),
    _TYPES["INT32"]: ("ABS", "MAXIMUM", "ADD_N"),
    _TYPES["INT64"]: ("NEG", "MINIMUM"),
    _TYPES["BOOL"]: ("LOGICAL_NOT",),
}
_TWICE = ("MAXIMUM", "MINIMUM", "ADD_N")
_CHANGES = ("more", "one", "taller", "rank", "wider", "flat", "less", "none")


def surrounded(model, rng):
    """A structure as those of `structures`: places of what is fed, or None where no type has such an operator."""
    graph = main_graph(model)
    before, behind, shown = [], [], []
    for t in dict.fromkeys(int(i) for i in graph["inputs"] if i >= 0):
        front = _single(model, rng, t, before) if rng.random() < 0.6 else None
        if front is not None:
            for node in graph["operators"]:
                node["inputs"] = [front if int(i) == t else int(i) for i in _operands(node)]
            shown += [front] if rng.random() < 0.6 else []
        side = _single(model, rng, t, behind) if rng.random() < 0.5 else None
        shown += [side] if side is not None else []
    for y in [int(t) for t in graph["outputs"] if t >= 0]:
        back = _single(model, rng, y, behind) if rng.random() < 0.7 else None
        shown += [back] if back is not None else []
    if not before and not behind:
        return None
    graph["operators"] = [*before, *graph["operators"], *behind]
    outputs = [*graph["outputs"], *shown]
    graph["outputs"] = [outputs[i] for i in rng.permutation(len(outputs))] if rng.random() < 0.5 else outputs
    return list(range(len(graph["inputs"])))


def _single(model, rng, t, nodes):
    """A new tensor, computed of another one by a node that is put to the end of the nodes; None for a type without such an operator."""
    graph = main_graph(model)
    like = graph["tensors"][t]
    names = _SINGLE.get(like["type"], ())
    if not names or like["is_variable"]:
        return None
    name = names[rng.integers(len(names))]
    model["operator_codes"].append(code_of(name))
    fields = {k: like.get(k) for k in ("type", "shape", "shape_signature", "quantization")}
    made = add_tensor(graph, **fields, name=f"{name} {t}")
    inputs = [t, t] if name in _TWICE else [t]
    nodes.append({"opcode_index": len(model["operator_codes"]) - 1, "inputs": inputs, "outputs": [made]})
    return made


def _operands(node):
    return () if node["inputs"] is None else node["inputs"]


def refused_program(rng, inputs, tensors):
    """Runs, is resized to what may be refused, once or twice, and runs again."""
    calls = [("allocate_tensors",), ("set_tensor", 0), ("invoke",), ("get_outputs",)]
    for _ in range(int(rng.integers(1, 3))):
        for _ in range(int(rng.integers(1, 3))):
            calls.append(("resize_tensor_input", int(rng.integers(inputs)), str(rng.choice(_CHANGES))))
        calls += [("allocate_tensors",), ("read_after_refusal",), ("invoke",), ("read_after_refusal",)]
        calls += [("allocate_tensors",), ("read_after_refusal",)] if rng.random() < 0.5 else []
    end = ("resize_all", "own"), ("allocate_tensors",), ("set_tensor", 1), ("invoke",), ("get_outputs",)
    return (*calls, *end, ("get_details",))
