"""Cut models into models of one operator each, every distinct operator once.

    python -m compat.cuts --models DIR --into CUTS         # prints how many
    python -m compat --models CUTS --mode all --seeds 1

Two operators are the same where types, shapes, options and which inputs are constants agree. A cut is named after its model and node.
Left out are operators that only make sense in their model: those that run subgraphs, and those that keep variables or resources.
"""

import argparse
import sys
from pathlib import Path

from .builder import operator_name, read_model, write_model
from .builder.schema import ENUMS
from .models import find_models

_STATES = {ENUMS["TensorType"][name] for name in ("RESOURCE", "VARIANT")}
_CALLS = ("IF", "WHILE", "CALL_ONCE", "STABLEHLO_CASE", "STABLEHLO_COMPOSITE", "STABLEHLO_REDUCE", "STABLEHLO_WHILE")


def cuts(models):
    """Yield (name, bytes) of every distinct operator of the models' main graphs; models are (name, path)."""
    seen = set()
    for name, path in models:
        try:
            model = read_model(path.read_bytes())
            graph = model["subgraphs"][0]
        except Exception as error:  # damaged on purpose
            print(f"{name} is left out: it cannot be read ({type(error).__name__})", file=sys.stderr)
            continue
        for node, operator in enumerate(graph["operators"]):
            key = _key(model, graph, operator)
            cut = None if key is None or key in seen else _cut(model, graph, operator)
            if cut is not None:
                seen.add(key)
                yield f"{name.removesuffix('.tflite')}_{node}_{operator_name(model, operator)}.tflite", cut


def _key(model, graph, operator):
    """What makes an operator distinct; None where it cannot run alone."""
    name = operator_name(model, operator)
    tensors = [graph["tensors"][i] for i in _mentioned(operator)]
    if name in _CALLS or any(tensor["is_variable"] or tensor["type"] in _STATES for tensor in tensors):
        return None
    roles = tuple(len(operator[role]) if operator[role] is not None else 0 for role in ("inputs", "outputs"))
    kinds = tuple((_shape(tensor), tensor["type"], _constant(model, tensor)) for tensor in tensors)
    options = [operator[field] for field in ("builtin_options", "builtin_options_2", "custom_options")]
    return name, roles, kinds, repr([value.tobytes() if hasattr(value, "tobytes") else value for value in options])


def _cut(model, graph, operator):
    """The bytes of a model with one operator; None where it has no input left."""
    kept, buffers, tensors = _mentioned(operator), [{}], []
    for index in kept:
        tensor = dict(graph["tensors"][index], buffer=0)
        if _constant(model, graph["tensors"][index]):
            tensor["buffer"] = len(buffers)
            buffers.append({"data": model["buffers"][graph["tensors"][index]["buffer"]]["data"]})
        if tensor["quantization"] is not None and len(_shape(tensor)) == 1:
            # It has no meaning there, and TensorFlow refuses the model.
            tensor["quantization"] = dict(tensor["quantization"], quantized_dimension=0)
        tensors.append(tensor)
    alone = dict(operator, opcode_index=0)
    for role in ("inputs", "outputs", "intermediates"):
        if operator[role] is not None:
            alone[role] = [kept.index(index) if index >= 0 else -1 for index in operator[role]]
    inputs = [i for i in dict.fromkeys(alone["inputs"]) if i >= 0 and tensors[i]["buffer"] == 0]
    if not inputs:
        return None
    only = {"tensors": tensors, "inputs": inputs, "outputs": alone["outputs"], "operators": [alone], "name": "main"}
    code = model["operator_codes"][operator["opcode_index"]]
    return write_model({"version": 3, "operator_codes": [code], "subgraphs": [only], "buffers": buffers})


def _mentioned(operator):
    """Indices of an operator's tensors, each once."""
    roles = (operator[role] for role in ("inputs", "outputs", "intermediates"))
    return list(dict.fromkeys(int(index) for role in roles if role is not None for index in role if index >= 0))


def _shape(tensor):
    return tuple(map(int, tensor["shape"])) if tensor["shape"] is not None else ()


def _constant(model, tensor):
    data = model["buffers"][tensor["buffer"]]["data"]
    return data is not None and len(data) > 0


def main(argv=None):
    p = argparse.ArgumentParser(
        "python -m compat.cuts", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--models", required=True, action="append", metavar="DIR", help="models, or folders of them")
    p.add_argument("--into", required=True, type=Path, metavar="DIR", help="where the cuts are written")
    args = p.parse_args(argv)
    count = 0
    for name, blob in cuts(find_models(args.models)):
        path = args.into / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(blob)
        count += 1
    print(count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
