"""Every address that TensorFlow gives to a tensor, from the planner `memory.ArenaPlanner` alone.

python -m compat.addresses --models DIR [--mode BUILTIN_WITHOUT_DEFAULT_DELEGATES]

TensorFlow allocates each model in a child process and shows shapes and addresses; from the shapes, the nodes and what
`kernels` knows of them the planner says where every tensor lies. Compared are the distances inside each arena. What
TensorFlow refuses or has no memory for is counted and left out. Exit code: 0 all equal, 1 a difference, 2 wrong usage.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from tflm_cy.memory.arena_planner import PERSISTENT, READ_WRITE, ArenaPlanner, PlannedNode
from tflm_cy.micro.tflite_arena import TAKES_OVER
from tflm_cy.schema.model import Model
from tflm_cy.schema.reader import read

from ..models import find_models
from ..verdict import UsageError, judge
from .kernels import NONE, arenas, first_dynamic, temporaries

MODES = ("BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES")


@judge("compat.addresses")
def main(argv=None):
    p = argparse.ArgumentParser(
        "python -m compat.addresses", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--models", action="append", required=True, metavar="DIR", help="models below; repeatable")
    p.add_argument("--mode", action="append", choices=MODES, help="default: both")
    args = p.parse_args(argv)
    files = [str(path) for _, path in find_models(args.models)]
    if not files:
        raise UsageError(f"no .tflite file below {', '.join(args.models)}")
    wrong = 0
    for mode in args.mode or MODES:
        wrong += _check(mode, files)
    return wrong > 0


def _check(mode, files):
    """Print and return the number of models with a difference."""
    equal = tensors = refused = empty = wrong = 0
    for path, observed in zip(files, _observe(mode, files), strict=True):
        if "error" in observed:
            refused += 1
            continue
        try:
            differences, tried = compare(path, observed, mode != "BUILTIN_REF")
        except ValueError as error:
            differences, tried = [str(error)], 1
        if not tried:
            empty += 1
            continue
        tensors += tried
        equal += not differences
        wrong += bool(differences)
        if differences:
            print(f"  {Path(path).name}: {len(differences)} of {tried} differ: {differences[0]}")
    print(
        f"{mode}: {equal} of {equal + wrong} models, every address ({tensors} tensors); "
        f"{refused} refused by TensorFlow, {empty} without a tensor in an arena",
        flush=True,
    )
    return wrong


def _observe(mode, files):
    found, waiting = {}, list(enumerate(files))
    while waiting:
        command = [sys.executable, "-m", "compat.addresses.observed", mode, *(path for _, path in waiting)]
        child = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        numbers = [number for number, _ in waiting]
        for line in child.stdout.splitlines():
            if line.startswith("["):
                number, result = json.loads(line)
                found[numbers[number]] = result
        waiting = [job for job in waiting if job[0] not in found]
        if waiting:  # the first of the rest killed the child
            found[waiting.pop(0)[0]] = {"error": "the process died"}
    return [found[number] for number in range(len(files))]


def compare(path, observed, optimized):
    """(what differs, how many addresses there were)."""
    planner, kinds = plan(path, observed, optimized)
    addresses = {t["index"]: t["address"] for t in observed["tensors"]}
    sizes = {t["index"]: t["bytes"] for t in observed["tensors"]}
    differences, tried = [], 0
    for kind, offsets in ((READ_WRITE, planner.offsets), (PERSISTENT, planner.persistent_offsets)):
        seen = [t for t in offsets if addresses.get(t) and sizes[t]]
        missing = [t for t in addresses if kinds.get(t) == kind and addresses[t] and sizes[t] and t not in offsets]
        differences += [f"tensor {t} has an address and no offset" for t in missing]
        tried += len(seen) + len(missing)
        if not seen:
            continue
        base = addresses[seen[0]] - offsets[seen[0]]
        differences += [
            f"tensor {t} ({sizes[t]} bytes) lies at {addresses[t] - base}, planned at {offsets[t]}"
            for t in seen
            if addresses[t] - base != offsets[t]
        ]
    return differences, tried


def plan(path, observed, optimized):
    """(the executed ArenaPlanner, {tensor: arena})."""
    root = read(Model.from_path(path))
    main, buffers = root.subgraphs[0], root.buffers
    constant = {t for t, tensor in enumerate(main.tensors) if _has_data(buffers, tensor.buffer)}
    variables = [t for t, tensor in enumerate(main.tensors) if tensor.is_variable]
    kinds = arenas(observed, constant, variables)
    sizes = {t["index"]: t["bytes"] for t in observed["tensors"]}
    extra = temporaries(observed, len(main.tensors), kinds, optimized)
    for mine in extra.values():
        kinds.update(mine)
    count = max([len(main.tensors), *(t + 1 for t in sizes)])
    dynamic = first_dynamic(observed, kinds)
    if dynamic is not None:
        kinds.update(dict.fromkeys(observed["nodes"][dynamic]["outputs"], NONE))
    nodes = []
    for k, node in enumerate(observed["nodes"]):
        takes_over, unchanged = TAKES_OVER.get(node["op"], ((), False))
        own = [t for t, _ in extra.get(k, ())]
        nodes.append(PlannedNode(node["inputs"], node["outputs"], own, takes_over, unchanged))
    planner = ArenaPlanner(
        [sizes.get(t, 0) for t in range(count)],
        nodes,
        list(main.inputs),
        list(main.outputs),
        variables,
        [kinds.get(t, NONE) for t in range(count)],
    )
    planner.plan()
    planner.execute(0, dynamic)
    return planner, kinds


def _has_data(buffers, index):
    return index < len(buffers) and (len(buffers[index].data) > 0 or buffers[index].offset > 1)


if __name__ == "__main__":
    sys.exit(main())
