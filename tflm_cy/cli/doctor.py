"""`python -m tflm_cy doctor MODEL --target cortex-m4 --arena N`: for somebody whose AllocateTensors failed.

Keys of --json: model, and those of `tflm_cy.micro.diagnosis.Diagnosis.as_json`: target, kernels, version, runs, allocates,
arena, first (what stops it: call, stage, node, words, reason), reasons, changes, peak, operators, macs, flash, resolver,
other_bytes; and outputs ({equal, compared, nodes: [{node, op, differing, elements, largest, unit}]}, null without them).
"""

import argparse

from tflm_cy.cli import targets
from tflm_cy.cli.arena_layouts import size_of
from tflm_cy.cli.diff import compare_nodes, compare_outputs
from tflm_cy.cli.errors import UserError, refused
from tflm_cy.cli.model import MICRO, ModelFile, add_model_argument
from tflm_cy.cli.output import add_json_argument, as_json, check_outputs, deliver, exit_codes
from tflm_cy.cli.plan_picture import picture
from tflm_cy.micro.device import FIRMWARE
from tflm_cy.micro.diagnosis import Diagnosis
from tflm_cy.profile import Operand, multiply_adds
from tflm_cy.report import byte_size, doctor_page, printable, shortened, text_table

_HELP = "why a model does not run on a microcontroller, and what to change"
_DESCRIPTION = """Say whether TensorFlow Lite Micro runs a model on a board, what stops it first, and what to change.

Give the board, and the size of the firmware's arena if it has one. The model's outputs under TFLM's reference kernels
are compared with the desktop's (BUILTIN_REF) on random inputs.

"""
_REFERENCE = "BUILTIN_REF"
_MOST_MACS = 2_000_000_000  # of a model whose outputs are compared: more takes longer than people wait
_MOST_BUFFERS = 6
_NAME = 56


def add_parser(subparsers):
    parser = subparsers.add_parser(
        "doctor",
        help=_HELP,
        description=_DESCRIPTION + targets.TEXT,
        epilog=exit_codes("the model does not run so on this board"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_model_argument(parser)
    targets.add_target_arguments(parser, FIRMWARE)
    parser.add_argument(
        "--arena", type=size_of, metavar="N", help="the firmware's kTensorArenaSize; K and M may follow"
    )
    parser.add_argument("--no-outputs", action="store_true", help="do not run the model")
    parser.add_argument("--html", metavar="F.html", help="write a page with a picture of the memory")
    add_json_argument(parser)
    parser.set_defaults(command=doctor)


def doctor(args):
    """Print the diagnosis; 1 when the model does not run."""
    check_outputs([args.html, args.json], args.model)
    file = ModelFile(args.model)
    target = targets.chosen_target(args, FIRMWARE)
    with refused(file.name):
        found = Diagnosis(file.source, target, args.arena, macs_of)
        outputs = None if args.no_outputs else _outputs(file, found)
        sections = list(_sections(found, outputs))
        files = []
        if args.html:
            drawn = picture(file.title, found.survey, "greedy")
            files.append((args.html, doctor_page(file.title, _verdict(found), sections, drawn)))
        if args.json:
            files.append((args.json, as_json({"model": file.title, **found.as_json(), "outputs": outputs})))
    runs, sentence = _verdict(found)
    lines = [f"{printable(file.title)} {'runs' if runs else 'does not run'} {sentence}\n"]
    for title, body in sections:
        lines.append(f"{title}\n{_body(body)}\n")
    deliver("\n".join(lines), files)
    return int(not found.runs)


def macs_of(node):
    """Multiply-adds of a `micro.graph_view.Node`."""
    return multiply_adds(node.op, [_operand(node, t) for t in node.inputs], [_operand(node, t) for t in node.outputs])


def _operand(node, t):
    if t < 0:
        return None
    tensor = node.tensors[t]
    nbytes = tensor.nbytes if tensor.has_size else tensor.elements
    return Operand(t, tensor.name, tensor.type, tensor.shape, nbytes, tensor.constant)


def _body(body):
    if isinstance(body, tuple):
        return text_table(*body)
    return "\n".join(f"  {printable(line)}" for line in body)


def _verdict(found):
    """(whether it runs, a sentence)."""
    where = f"on {found.build.device} with {found.build.version}"
    given = "" if found.arena_size is None else f" in an arena of {found.arena_size} bytes"
    if found.runs:
        npu = "; the figures hold for firmware with the kernel for Arm's Ethos-U" if found.survey.npu_nodes else ""
        return True, f"{where}{given}. It needs {found.needed} bytes{npu}."
    return False, f"{where}{given}: {found.first.call} fails."


def _sections(found, outputs):
    """(title, lines or a table) of the page, the most important first."""
    first = found.first
    if first is not None:
        what = [*(f"TFLM says: {line}" for line in first.words.split("\n") if line), f"That means: {first.plain}"]
        yield "What fails first", what
        if len(found.reasons) > 1:
            yield f"All {len(found.reasons)} reasons", found.reasons
    if found.changes:
        yield ("What to change" if not found.runs else "How to need less"), found.changes
    yield "Memory", _memory(found)
    yield "At the peak", _peak(found)
    yield "Operators", _operators(found)
    yield (
        "In flash",
        [
            f"the model's file: {found.graph.file_bytes} bytes ({byte_size(found.graph.file_bytes)}), "
            f"of which weights {found.weights} bytes"
        ],
    )
    yield "Outputs", list(_said(outputs, found))
    yield "For the firmware", found.resolver.split("\n")


def _memory(found):
    rows = [
        ["head", found.figures.head, "tensors and scratch buffers, which share memory"],
        ["tail", found.figures.tail, "what TFLM keeps about the model"],
        ["needed", found.needed, "also room to make the plan: kTensorArenaSize"],
    ]
    if found.arena_size is not None:
        enough = found.arena_size >= found.figures.smallest_arena
        missing = f"too small by {found.needed - found.arena_size}"
        rows.append(["given", found.arena_size, "enough" if enough else missing])
    return ["", "bytes", ""], rows


def _peak(found):
    node, live = found.peak
    rows = []
    for buffer in found.peak_buffers[:_MOST_BUFFERS]:
        kind = "scratch" if buffer.scratch else found.graph.tensor(buffer.place).type.lower()
        shape = "" if buffer.scratch else " x ".join(map(str, found.graph.tensor(buffer.place).shape))
        rows.append([shortened(str(buffer), _NAME), buffer.size, kind, shape])
    rows.append([f"alive at {node or 'the input'}", live, "", ""])
    return ["buffer", "bytes", "type", "shape"], rows


def _operators(found):
    rows = [[r.op, r.nodes, r.macs, r.weights, r.persistent, r.scratch] for r in found.operators]
    rows.append(["all", len(found.graph.nodes), found.macs, found.weights, None, None])
    return ["operator", "nodes", "multiply-adds", "weights", "in the tail", "scratch, largest"], rows


def _outputs(file, found):
    """Whether MICRO gives the desktop's bytes; None where that cannot be asked."""
    if not found.survey.runs or found.survey.npu_nodes or found.macs > _MOST_MACS:
        return None
    try:
        compared, inputs = compare_nodes(file, _REFERENCE, MICRO)
        whole = compare_outputs(file, _REFERENCE, MICRO, inputs)
    except (UserError, RuntimeError, ValueError, NotImplementedError) as error:
        return {"equal": None, "compared": 0, "why": " ".join(str(error).split()), "nodes": []}
    apart = [c for c in compared if c is not None and c.distance.differing]
    nodes = [
        {
            "node": c.node,
            "op": c.op,
            "differing": c.distance.differing,
            "elements": c.distance.elements,
            "largest": c.distance.largest,
            "unit": c.distance.unit,
            "why": c.reason,
        }
        for c in apart
    ]
    equal = not any(d.differing for _, d in whole)
    return {"equal": equal, "compared": len(compared), "nodes": nodes}


def _said(outputs, found):
    if outputs is None and found.survey.npu_nodes:
        yield "not compared with the desktop's, which has no Ethos-U"
    elif outputs is None:
        yield "not compared with the desktop's: the model does not run, or takes too long" + (
            f" ({found.macs} multiply-adds)" if found.macs > _MOST_MACS else ""
        )
    elif outputs["equal"] is None:
        yield f"not compared with the desktop's: {outputs['why']}"
    else:
        what = "equal" if outputs["equal"] else "differ from"
        yield f"TFLM's reference kernels {what} the desktop's bytes (BUILTIN_REF) on random inputs"
        if outputs["nodes"]:
            n = outputs["nodes"][0]
            yield (
                f"the first node that differs is node {n['node']} {n['op']}: {n['differing']} of {n['elements']} elements, "
                f"at most {n['largest']} {n['unit']}; {n['why']}"
            )
    notes = {}
    for name, text in found.other_bytes.items():
        notes.setdefault(text, []).append(name)
    for text, names in notes.items():
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        yield f"{names[0]}{more} with {found.build.version}: {text}"
