"""`python -m tflm_cy inspect MODEL`: what is in a model, as tables; nothing is run."""

from pathlib import Path

from tflm_cy.cli.errors import refused
from tflm_cy.cli.model import add_model_argument, dtype_text, open_model, scale_text, shape_text
from tflm_cy.report import byte_size, printable, text_table

_HELP = "show a model's tensors, operators and signatures"
_DESCRIPTION = """Show a model's tensors, operators and signatures.

Shapes are those of the file; ? is a dimension that it leaves open. A scale is "scale, zero point" or the number of
scales and the axis that they lie along. Operators are those of the main subgraph."""


def add_parser(subparsers):
    parser = subparsers.add_parser("inspect", help=_HELP, description=_DESCRIPTION)
    add_model_argument(parser)
    parser.set_defaults(command=inspect)


def inspect(args):
    """Print the tables."""
    interpreter = open_model(args.model)
    with refused(args.model):
        sections = [_summary(args.model, interpreter)]
        for subgraph in range(interpreter.num_subgraphs()):
            sections.append(_tensors(interpreter, subgraph))
        sections += [_operators(interpreter), _signatures(interpreter)]
    print("\n\n".join(section for section in sections if section))


def _summary(path, interpreter):
    operators = len(interpreter._get_ops_details())
    tensors = len(interpreter.get_tensor_details())
    subgraphs = interpreter.num_subgraphs()
    text = f"{printable(Path(path).name)}: {byte_size(Path(path).stat().st_size)}, "
    if subgraphs > 1:
        text += f"{subgraphs} subgraphs, the main one of "
    return text + f"{_count(operators, 'operator')}, {_count(tensors, 'tensor')}"


def _count(number, noun):
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _tensors(interpreter, subgraph):
    roles = _roles(interpreter) if subgraph == 0 else {}
    rows = [
        [
            details["index"],
            details["name"],
            dtype_text(details),
            shape_text(details),
            scale_text(details),
            roles.get(details["index"]) or _constant(interpreter, details["index"], subgraph),
        ]
        for details in interpreter.get_tensor_details(subgraph)
    ]
    title = "Tensors" if interpreter.num_subgraphs() == 1 else f"Tensors of subgraph {subgraph}"
    return f"{title}\n" + text_table(["index", "name", "type", "shape", "scale", "role"], rows, "><<<<<")


def _roles(interpreter):
    """Tensor index -> "input" or "output"."""
    roles = {details["index"]: "input" for details in interpreter.get_input_details()}
    for details in interpreter.get_output_details():
        index = details["index"]
        roles[index] = "input, output" if roles.get(index, "").startswith("input") else "output"
    return roles


def _constant(interpreter, index, subgraph):
    """The role "constant" when the file holds the value: before allocate_tensors nothing else can be read."""
    try:
        interpreter.get_tensor(index, subgraph)
    except (ValueError, RuntimeError):
        return ""
    return "constant"


def _operators(interpreter):
    rows = [
        [details["index"], details["op_name"], _indices(details["inputs"]), _indices(details["outputs"])]
        for details in interpreter._get_ops_details()
    ]
    return "Operators\n" + text_table(["index", "operator", "inputs", "outputs"], rows, "><<<") if rows else ""


def _indices(tensors):
    """Tensor indices; a dash where an optional input is left out."""
    return " ".join("-" if index < 0 else str(index) for index in tensors)


def _signatures(interpreter):
    rows = [
        [key, role[:-1], name, index]
        for key, maps in interpreter._get_full_signature_list().items()
        for role in ("inputs", "outputs")
        for name, index in maps[role].items()
    ]
    return "Signatures\n" + text_table(["key", "role", "name", "tensor"], rows, "<<<>") if rows else ""
