"""Structures out of the ordinary, of models that are otherwise a generator's: what converters, editors and people write into files.

`STRUCTURES` maps a name to a function of a model (nested dicts, see `builder`) and a random generator; it changes the model
and gives back feeds' places: `places[i]` is the old position of what is fed to the new input i (None: an array of its own, see `unread`).
None: the model has nothing to change.
"""

import numpy as np

from .builder import pack_strings
from .builder.schema import ENUMS, OPERATORS

STRUCTURES = {}
SECOND = "second"  # the key of a signature whose graph is not the main one
_TYPES = ENUMS["TensorType"]


def structure(name):
    def register(function):
        STRUCTURES[name] = function
        return function

    return register


def main_graph(model):
    return model["subgraphs"][0]


def _same(model):
    return list(range(len(main_graph(model)["inputs"])))


def _constants(model, graph):
    """Places of a graph's tensors that are constants."""
    sizes = [0 if b["data"] is None else len(b["data"]) for b in model["buffers"]]
    return [t for t, tensor in enumerate(graph["tensors"]) if sizes[tensor["buffer"]]]


def constant_results(model, graph):
    """Tensors that nodes compute from constants alone."""
    constants, found = set(_constants(model, graph)), set()
    for node in graph["operators"]:
        if node["inputs"] is not None and {int(t) for t in node["inputs"] if t >= 0} <= constants | found:
            found.update(int(t) for t in node["outputs"] if t >= 0)
    return found


def code_of(name):
    code = OPERATORS.index(name)
    return {"deprecated_builtin_code": min(code, 127), "builtin_code": code, "version": 1, "custom_code": None}


def add_tensor(graph, **fields):
    graph["tensors"].append({"type": _TYPES["FLOAT32"], "shape": [2], "name": "added", "buffer": 0, **fields})
    return len(graph["tensors"]) - 1


# ---- inputs and outputs


@structure("an output twice")
def output_twice(model, rng):
    outputs = list(main_graph(model)["outputs"])
    main_graph(model)["outputs"] = [*outputs, outputs[rng.integers(len(outputs))]]
    return _same(model)


@structure("outputs turned")
def outputs_turned(model, rng):
    main_graph(model)["outputs"] = list(main_graph(model)["outputs"])[::-1]
    return _same(model) if len(main_graph(model)["outputs"]) > 1 else None


@structure("inputs turned")
def inputs_turned(model, rng):
    inputs = list(main_graph(model)["inputs"])
    main_graph(model)["inputs"] = inputs[::-1]
    return list(range(len(inputs)))[::-1] if len(inputs) > 1 else None


@structure("inputs as outputs")
def inputs_as_outputs(model, rng):
    graph = main_graph(model)
    graph["outputs"] = (
        [*graph["inputs"], *graph["outputs"]] if rng.random() < 0.5 else [*graph["outputs"], *graph["inputs"]]
    )
    return _same(model)


@structure("constants as outputs")
def constants_as_outputs(model, rng):
    graph = main_graph(model)
    found = [t for t in _constants(model, graph) if graph["tensors"][t]["sparsity"] is None]
    graph["outputs"] = [*graph["outputs"], *found]
    return _same(model) if found else None


@structure("all that is computed as outputs")
def all_as_outputs(model, rng):
    graph = main_graph(model)
    unwritten = constant_results(model, graph)  # by a delegate that unpacks constants for itself
    computed = [t for node in graph["operators"] for t in node["outputs"] if t >= 0 and t not in unwritten]
    graph["outputs"] = [*graph["outputs"], *(t for t in computed if t not in graph["outputs"])]
    return _same(model) if len(computed) > 1 else None


@structure("no outputs")
def no_outputs(model, rng):
    main_graph(model)["outputs"] = []
    return _same(model)


@structure("unread inputs")
def unread(model, rng):
    graph, places = main_graph(model), _same(model)
    for k, dtype in enumerate(rng.permutation(["FLOAT32", "INT8", "BOOL", "INT64", "UINT32"])[:2]):
        shape = [[], [3], [1, 0], [2, 1, 2, 1, 1]][rng.integers(4)]
        at = int(rng.integers(len(places) + 1))
        inputs = list(graph["inputs"])
        inputs.insert(at, add_tensor(graph, type=_TYPES[dtype], shape=shape, name=f"unread{k}"))
        graph["inputs"] = inputs
        places.insert(at, np.zeros(shape, dtype.lower()))
    return places


# ---- constants


@structure("a buffer shared")
def shared_buffers(model, rng):
    """Constants with the same bytes have one buffer, and a tensor that nobody reads has it, too."""
    seen, changed = {}, False
    for graph in model["subgraphs"]:
        for t in _constants(model, graph):
            tensor = graph["tensors"][t]
            content = bytes(model["buffers"][tensor["buffer"]]["data"])
            changed |= content in seen
            tensor["buffer"] = seen.setdefault(content, tensor["buffer"])
    if not seen:
        return None
    content, buffer = next(iter(seen.items()))
    add_tensor(main_graph(model), type=_TYPES["UINT8"], shape=[len(content)], buffer=buffer)
    return _same(model)


@structure("constants in an order of their own")
def buffers_permuted(model, rng):
    order = [0, *(1 + rng.permutation(len(model["buffers"]) - 1))]
    model["buffers"] = [model["buffers"][i] for i in order]
    for graph in model["subgraphs"]:
        for tensor in graph["tensors"]:
            tensor["buffer"] = order.index(tensor["buffer"])
    for entry in model["metadata"] or ():
        entry["buffer"] = order.index(entry["buffer"])
    return _same(model)


@structure("a buffer of its own for each tensor")
def empty_buffers(model, rng):
    """What is computed has buffers that hold nothing, as converters write them."""
    for graph in model["subgraphs"]:
        for tensor in graph["tensors"]:
            if not tensor["buffer"]:
                model["buffers"].append({"data": None})
                tensor["buffer"] = len(model["buffers"]) - 1
    return _same(model)


@structure("constants that nobody reads")
def unread_constants(model, rng):
    model["buffers"].append({"data": bytes(8)})
    add_tensor(main_graph(model), buffer=len(model["buffers"]) - 1)
    add_tensor(main_graph(model), shape=[3, 0], type=_TYPES["INT32"])
    add_tensor(main_graph(model), shape=None)
    model["buffers"].append({"data": pack_strings([b"", b"one"])})
    add_tensor(main_graph(model), shape=[2], type=_TYPES["STRING"], buffer=len(model["buffers"]) - 1)
    return _same(model)


# ---- names and what describes


@structure("no names")
def no_names(model, rng):
    for graph in model["subgraphs"]:
        graph["name"] = None
        for tensor in graph["tensors"]:
            tensor["name"] = None
    model["description"] = None
    return _same(model)


@structure("one name")
def one_name(model, rng):
    name = ["x", "", "a" * 300, "größe/π:0;x\n", "%s%n"][rng.integers(5)]
    for graph in model["subgraphs"]:
        graph["name"] = name
        for tensor in graph["tensors"]:
            tensor["name"] = name
    return _same(model)


@structure("signatures")
def signatures(model, rng):
    """One of all tensors, one under other names, one of some."""
    graph = main_graph(model)
    if len(set(graph["inputs"])) < len(graph["inputs"]):
        return None
    names = ["b", "a", "größe", "", "c", "d", "e", "f", "g", "h", "i", "j"]

    def fields(key, inputs, outputs, shift):
        named = (
            [
                {"name": f"{names[(k + shift) % len(names)]}{k // len(names) or ''}", "tensor_index": t}
                for k, t in enumerate(ts)
            ]
            for ts in (inputs, outputs)
        )
        return dict(zip(("inputs", "outputs", "signature_key", "subgraph_index"), (*named, key, 0), strict=True))

    model["signature_defs"] = [
        fields("serving_default", graph["inputs"], graph["outputs"], 0),
        fields("other", graph["inputs"], list(graph["outputs"])[::-1], 1),
        fields("some", graph["inputs"], graph["outputs"][:1], 2),
    ]
    return _same(model)


@structure("a graph of a signature's own")
def second_graph(model, rng):
    """The main graph again, whose signature is the only way to run it; variables and tables are shared."""
    if signatures(model, rng) is None:
        return None
    model["subgraphs"].append({**main_graph(model), "name": "second"})
    fields = model["signature_defs"][0]
    model["signature_defs"].append({**fields, "signature_key": SECOND, "subgraph_index": len(model["subgraphs"]) - 1})
    return _same(model)


@structure("metadata")
def metadata(model, rng):
    model["buffers"] += [{"data": b"1.5.0\0\0\0\0\0\0\0\0\0\0\0"}, {"data": b""}]
    last = len(model["buffers"]) - 1
    model["metadata"] = [
        *(model["metadata"] or ()),
        {"name": "min_runtime_version", "buffer": last - 1},
        {"name": "", "buffer": last},
        {"name": None, "buffer": 0},
        {"name": "min_runtime_version", "buffer": last - 1},
    ]
    model["metadata_buffer"] = [last, last - 1]
    return _same(model)


@structure("shape signatures")
def shape_signatures(model, rng):
    for tensor in (
        main_graph(model)["tensors"][t] for t in {*main_graph(model)["inputs"], *main_graph(model)["outputs"]} if t >= 0
    ):
        shape = [] if tensor["shape"] is None else [int(d) for d in tensor["shape"]]
        before = shape if tensor["shape_signature"] is None else [int(d) for d in tensor["shape_signature"]]
        tensor["shape_signature"] = [-1 if rng.random() < 0.5 else d for d in before]
        tensor["has_rank"] = bool(rng.random() < 0.5)
    return _same(model)


@structure("shapes that are not there")
def no_shapes(model, rng):
    """What is computed has no shape in the file."""
    for graph in model["subgraphs"]:
        for node in graph["operators"]:
            for tensor in (graph["tensors"][t] for t in node["outputs"] if t >= 0):
                if not tensor["is_variable"]:
                    tensor["shape"] = None
    return _same(model)


@structure("ranges")
def ranges(model, rng):
    """Least and largest values beside scales, or without any."""
    for graph in model["subgraphs"]:
        for tensor in graph["tensors"]:
            tensor["quantization"] = {**(tensor["quantization"] or {}), "min": [-1.0], "max": [1.0]}
    return _same(model)


# ---- graphs and nodes


@structure("subgraphs that nobody calls")
def more_graphs(model, rng):
    fields = {"tensors": [], "inputs": [], "outputs": [], "operators": [], "name": "empty"}
    model["subgraphs"].append(fields)
    if len(model["subgraphs"]) == 2:
        main = main_graph(model)
        model["subgraphs"].append({**main, "name": "again"})
    return _same(model)


@structure("operator codes that nobody uses")
def more_codes(model, rng):
    unused = {"deprecated_builtin_code": 0, "builtin_code": 0, "version": 1, "custom_code": None}
    custom = {**unused, "deprecated_builtin_code": 32, "builtin_code": 32, "custom_code": "NobodyHasThis"}
    count = len(model["operator_codes"])
    model["operator_codes"] = [unused, *model["operator_codes"], *model["operator_codes"], unused]
    if rng.random() < 0.3:
        model["operator_codes"].append(custom)
    for graph in model["subgraphs"]:
        for node in graph["operators"]:
            node["opcode_index"] += 1 + (count if rng.random() < 0.5 else 0)
    return _same(model)


@structure("codes as old files have them")
def old_codes(model, rng):
    for code in model["operator_codes"]:
        if code["builtin_code"] > 126:
            return None
        code["deprecated_builtin_code"], code["builtin_code"] = code["builtin_code"], 0
    return _same(model)


@structure("a node twice")
def node_twice(model, rng):
    graph = main_graph(model)
    if any(t["is_variable"] for t in graph["tensors"]):
        return None
    k = int(rng.integers(len(graph["operators"])))
    graph["operators"] = [*graph["operators"][: k + 1], dict(graph["operators"][k]), *graph["operators"][k + 1 :]]
    return _same(model)


@structure("a node in place")
def node_in_place(model, rng):
    """A value is overwritten by its absolute value, which some readers see. int32: with float32 TensorFlow's delegate runs without end."""
    graph = main_graph(model)
    written = [
        (k + 1, t)
        for k, node in enumerate(graph["operators"])
        for t in node["outputs"]
        if t >= 0 and graph["tensors"][t]["type"] == _TYPES["INT32"] and not graph["tensors"][t]["is_variable"]
    ]
    if not written:
        return None
    first, t = written[rng.integers(len(written))]
    at = int(rng.integers(first, len(graph["operators"]) + 1))
    model["operator_codes"].append(code_of("ABS"))
    node = {"opcode_index": len(model["operator_codes"]) - 1, "inputs": [t], "outputs": [t]}
    graph["operators"] = [*graph["operators"][:at], node, *graph["operators"][at:]]
    return _same(model)


@structure("a node again, unread")
def node_unread(model, rng):
    """A copy of a node that writes tensors of its own, which nobody reads, or one of which is an output."""
    graph = main_graph(model)
    if any(t["is_variable"] for t in graph["tensors"]):
        return None
    k = int(rng.integers(len(graph["operators"])))
    node = graph["operators"][k]
    outputs = [add_tensor(graph, **{**graph["tensors"][t], "name": "again"}) if t >= 0 else t for t in node["outputs"]]
    graph["operators"] = [*graph["operators"], {**node, "outputs": outputs}]
    if outputs and outputs[0] >= 0 and rng.random() < 0.5:
        graph["outputs"] = [*graph["outputs"], outputs[0]]
    return _same(model)


@structure("operands that are one tensor")
def one_operand(model, rng):
    graph = main_graph(model)
    for node in graph["operators"]:
        tensors = [graph["tensors"][t] for t in node["inputs"] if t >= 0]
        if len(node["inputs"]) == len(tensors) == 2 and node["custom_options"] is None:
            a, b = tensors
            alike = all(str(a[key]) == str(b[key]) for key in ("shape", "type", "quantization"))
            if alike and not {*node["inputs"]}.intersection(_constants(model, graph)):
                node["inputs"] = [node["inputs"][0]] * 2
                return _same(model)
    return None


@structure("a chain of views behind an output")
def views(model, rng):
    """RESHAPE of an output into one axis, and an output that is a view of it."""
    graph = main_graph(model)
    outputs = [t for t in graph["outputs"] if t >= 0 and graph["tensors"][t]["type"] != _TYPES["STRING"]]
    if not outputs:
        return None
    model["operator_codes"].append(code_of("RESHAPE"))
    source = outputs[rng.integers(len(outputs))]
    model["buffers"].append({"data": np.array([-1], np.int32).tobytes()})
    shape = add_tensor(graph, type=_TYPES["INT32"], shape=[1], name="flat", buffer=len(model["buffers"]) - 1)
    added = []
    for k in range(2):
        like = {**graph["tensors"][source], "name": f"view{k}", "buffer": 0, "shape": [1], "shape_signature": [-1]}
        added.append(add_tensor(graph, **like))
        node = {"opcode_index": len(model["operator_codes"]) - 1, "inputs": [source, shape], "outputs": [added[-1]]}
        graph["operators"] = [*graph["operators"], node]
        source = added[-1]
    graph["outputs"] = [*graph["outputs"], *added] if rng.random() < 0.5 else [*graph["outputs"], added[-1]]
    return _same(model)
