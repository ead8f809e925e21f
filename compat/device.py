"""TFLM's figures for boards and libraries of kernels, against figures that were measured on builds of TFLM.

    python -m compat.device --figures FILE.json --models DIR

FILE holds {target: {model: {head, tail, total, plain, kinds: {kind: [used, requested, count]}}}}: what
RecordingMicroInterpreter prints, and `plain`, the total of an interpreter that does not record. A target is a name of
`tflm_cy.micro.device`, or a title that contains the device and the kernels, such as "cortex-m55, CMSIS-NN (MVE)". A
model is a path below DIR without .tflite. Instead of figures a model may have {error: text}: TFLM refused it, which must
be so here; where the text says that the process died (`rc`), nothing was measured and nothing is compared.

Exit code: 0 all equal, 1 a difference, 2 wrong usage.
"""

import argparse
import json
import re
import sys
from pathlib import Path

from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.device import CMSIS_NN, ESP_NN, REFERENCE, resolve
from tflm_cy.micro.figures import figures
from tflm_cy.micro.graph_view import view
from tflm_cy.report import text_table
from tflm_cy.schema.model import Model

from .verdict import UsageError, judge

_ARENA = 1 << 24
_DIED = "rc "


def named(title):
    """The name in `device` of a target's title."""
    try:
        return resolve(title).name
    except ValueError:
        pass
    words = title.lower().replace("esp32-", "esp32")
    device = re.search(r"cortex-m\d+(plus)?|esp32\w*|arm-linux", words)
    kernels = next((name for name in (CMSIS_NN, ESP_NN, REFERENCE) if name in words), None)
    try:
        return resolve(device.group() if device else "esp32" if kernels == ESP_NN else title, kernels).name
    except ValueError as error:
        raise UsageError(f"target {title!r}: {error}") from None


def computed(graph, target):
    """A model's figures in the form of the file; {error: text} when TFLM would refuse it."""
    recorded, plain = (demand(graph, target, recording=recording, refuse=False) for recording in (True, False))
    if recorded.objections:
        return {"error": str(recorded.objections[0])}
    found = figures(recorded, arena_size=_ARENA)
    return {
        "head": found.head,
        "tail": found.tail,
        "total": found.total,
        "plain": figures(plain, arena_size=_ARENA).total,
        "kinds": {kind: [r.used, r.requested, r.count] for kind, r in found.kinds.items()},
    }


def difference(measured, ours):
    """None when equal, else what differs."""
    if "error" in measured or "error" in ours:
        same = "error" in measured and "error" in ours
        return None if same else f"measured {measured.get('error', 'figures')}, here {ours.get('error', 'figures')}"
    wrong = [key for key in ours if measured.get(key) != ours[key]]
    return "; ".join(f"{key} measured {measured.get(key)}, here {ours[key]}" for key in wrong) or None


@judge("compat.device")
def main(argv=None):
    p = argparse.ArgumentParser(
        "python -m compat.device", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--figures", required=True, metavar="FILE", help="the measured figures")
    p.add_argument("--models", required=True, metavar="DIR", help="the models are below this folder")
    args = p.parse_args(argv)
    try:
        measured = json.loads(Path(args.figures).read_text())
    except (OSError, ValueError) as error:
        raise UsageError(f"{args.figures}: {error}") from None
    rows, wrong, graphs = [], [], {}
    for title, models in measured.items():
        target = named(title)
        counts = {"equal": 0, "refused": 0, "different": 0, "unmeasured": 0}
        for name, wanted in models.items():
            path = Path(args.models) / f"{name}.tflite"
            if not path.is_file():
                raise UsageError(f"no model {path}")
            if str(wanted.get("error", "")).startswith(_DIED):
                counts["unmeasured"] += 1
                continue
            graphs[name] = graphs.get(name) or view(Model.from_path(path))
            found = difference(wanted, computed(graphs[name], target))
            counts["different" if found else "refused" if "error" in wanted else "equal"] += 1
            if found:
                wrong.append(f"  {target} {name}: {found}")
        rows.append([title, target, *counts.values()])
    if not rows:
        raise UsageError(f"{args.figures} has no figures")
    print(text_table(["figures of", "target", "equal", "refused by both", "different", "not measured"], rows))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
