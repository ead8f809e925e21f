"""`python -m tflm_cy inspect MODEL`: what is in a model, as tables or as JSON; nothing is run.

With --passes also what each pass of the optimizer does to it, which takes an allocation.

Keys of --json: model (the file's name), bytes (of the file), and those of `tflm_cy.schema.contents.contents`: version, description,
metadata, associated_files, signatures, subgraphs with tensors and operators. With --passes also passes: [{subgraph, pass, node, op_name,
effect}].
"""

import argparse

from tflm_cy.cli.errors import refused
from tflm_cy.cli.model import ModelFile, add_mode_argument, add_model_argument, shape_text
from tflm_cy.cli.output import add_json_argument, as_json, check_outputs, deliver, exit_codes
from tflm_cy.report import byte_size, printable, shortened, text_table
from tflm_cy.schema.contents import contents, defaults
from tflm_cy.schema.layouts import OPTIONS_OF, TABLES
from tflm_cy.schema.model import Model

_HELP = "show a model's tensors, operators, signatures and metadata"
_DESCRIPTION = """Show a model's tensors, operators, signatures, metadata and associated files, of all subgraphs.

Shapes are those of the file; ? is a dimension that it leaves open. A scale is "scale, zero point" or the number of
scales and the axis that they lie along. Options that have the schema's default are left out, but not a padding; long
names lose their middle. --json has everything in full."""

_LONGEST_NAME = 64
_LONGEST_VALUE = 48


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "inspect",
        help=_HELP,
        description=_DESCRIPTION,
        epilog=exit_codes(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_model_argument(parser)
    parser.add_argument(
        "--passes", action="store_true", help="show what each pass did, per node, once the model is allocated"
    )
    add_mode_argument(parser)
    parser.add_argument(
        "--threads", type=int, default=1, metavar="N", help="num_threads, with --passes (default %(default)s)"
    )
    add_json_argument(parser)
    parser.set_defaults(command=inspect)


def inspect(args):
    """Print the tables."""
    check_outputs([args.json], args.model)
    file = ModelFile(args.model)
    with refused(file.name):
        model = Model.from_buffer(file.content) if file.path is None else Model.from_path(file.path)
        document = {"model": file.title, "bytes": model.nbytes, **contents(model)}
    if args.passes:
        document["passes"] = _passes(file, args)
    text = "\n\n".join(section for section in _sections(document) if section)
    deliver(text, [(args.json, as_json(document) if args.json else None)])


def _sections(document):
    yield _summary(document)
    single = len(document["subgraphs"]) == 1
    for graph in document["subgraphs"]:
        yield _tensors(graph, single)
    for graph in document["subgraphs"]:
        yield _operators(graph, single)
    yield _signatures(document["signatures"])
    yield _files("Metadata", document["metadata"])
    yield _files("Associated files", document["associated_files"])
    if "passes" in document:
        yield _effects(document["passes"], single)


def _passes(file, args):
    """What each pass did, of all subgraphs."""
    with refused(file.name):
        interpreter = file.open(args.mode, num_threads=args.threads)
        interpreter.allocate_tensors()
        return [
            {"subgraph": subgraph, **row}
            for subgraph in range(interpreter.num_subgraphs())
            for row in interpreter.explain(subgraph)
        ]


def _effects(passes, single):
    rows = [
        [
            row["pass"],
            None if row["node"] < 0 else row["node"] if single else f"{row['subgraph']}:{row['node']}",
            row["op_name"],
            row["effect"],
        ]
        for row in passes
    ]
    return "Passes\n" + text_table(["pass", "node", "operator", "effect"], rows, "<><<")


def _summary(document):
    main, count = document["subgraphs"][0], len(document["subgraphs"])
    text = f"{printable(document['model'])}: {byte_size(document['bytes'])}, "
    if count > 1:
        text += f"{count} subgraphs, the main one of "
    text += f"{_count(len(main['operators']), 'operator')}, {_count(len(main['tensors']), 'tensor')}"
    description = document["description"]
    return text + (f"\n{printable(shortened(description, 200))}" if description else "")


def _count(number, noun):
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _title(what, graph, single):
    if single:
        return what
    name = f" '{printable(shortened(graph['name'], _LONGEST_NAME))}'" if graph["name"] and graph["index"] else ""
    return f"{what} of subgraph {graph['index']}" + (name if what == "Operators" else "")


def _tensors(graph, single):
    rows = [
        [
            tensor["index"],
            shortened(tensor["name"], _LONGEST_NAME),
            tensor["type"].lower(),
            shape_text(tensor),
            _scale(tensor["quantization"]),
            tensor["role"] + (", sparse" if tensor["sparse"] else ""),
        ]
        for tensor in graph["tensors"]
    ]
    table = text_table(["index", "name", "type", "shape", "scale", "role"], rows, "><<<<<")
    return f"{_title('Tensors', graph, single)}\n{table}"


def _scale(quantization):
    """ "0.00392157, -128", "16 scales, axis 0", or empty."""
    if quantization is None:
        return ""
    scales, zero_points = quantization["scales"], quantization["zero_points"]
    if quantization["details"] is not None:
        return quantization["details"]["table"]
    if len(scales) == 1:
        return f"{scales[0]:.6g}, {zero_points[0] if zero_points else 0}"
    return f"{len(scales)} scales, axis {quantization['axis']}" if scales else ""


def _operators(graph, single):
    rows = [
        [
            operator["index"],
            shortened(operator["op"], _LONGEST_NAME),
            _indices(operator["inputs"]),
            _indices(operator["outputs"]),
            _options(operator),
        ]
        for operator in graph["operators"]
    ]
    if not rows:
        return ""
    table = text_table(["index", "operator", "inputs", "outputs", "options"], rows, "><<<<")
    return f"{_title('Operators', graph, single)}\n{table}"


def _indices(tensors):
    """Tensor indices; a dash where an optional input is left out."""
    return " ".join("-" if index < 0 else str(index) for index in tensors)


def _options(operator):
    """name=value of what is not the schema's default, with every padding."""
    kind = operator["options_table"] or OPTIONS_OF.get(operator["op"])
    usual = defaults(kind) if kind in TABLES else {}
    words = [
        f"{name}={_value(value)}"
        for name, value in operator["options"].items()
        if name == "padding" or name not in usual or value != usual[name]
    ]
    if operator["custom_options"]:
        words.append(f"custom_options={operator['custom_options']} bytes")
    if operator["options_table"]:
        words.insert(0, f"({operator['options_table']}, which are another operator's)")
    return " ".join(words)


def _value(value):
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return shortened(f"[{','.join(map(_value, value))}]", _LONGEST_VALUE)
    return shortened(value, _LONGEST_VALUE)


def _signatures(signatures):
    rows = [
        [shortened(signature["key"], _LONGEST_NAME), role[:-1], shortened(name, _LONGEST_NAME), index]
        for signature in signatures
        for role in ("inputs", "outputs")
        for name, index in signature[role].items()
    ]
    return "Signatures\n" + text_table(["key", "role", "name", "tensor"], rows, "<<<>") if rows else ""


def _files(title, entries):
    rows = [[shortened(entry["name"], _LONGEST_NAME), entry["bytes"]] for entry in entries]
    return f"{title}\n" + text_table(["name", "bytes"], rows, "<>") if rows else ""
