"""Random programs over models of odd structure: `python -m compat --programs`.

Of each kind of case, with its seed: half of the models get a structure that generators do not draw (`structures`), then an interpreter's
calls are made in a random order (`calls`): allocations, resizes that fit and that do not, arrays of other shapes, types and orders, invokes
before and after an allocation, signatures, resets, views that are held, reads of every tensor, the private wrapper's methods; in a
third with all tensors kept. Besides, programs go on after an allocation that was refused (`refused`).

TensorFlow decides what each call raises, what it says, and every byte that is defined.
"""

from zlib import crc32

import numpy as np

from .builder import read_model, write_model
from .calls import KEEP
from .case import Case
from .cases import kinds
from .refused import REFUSED, refused_program, surrounded
from .structures import SECOND, STRUCTURES

PLAIN = "plain"


def _shape_kind(rng):
    return str(rng.choice(["own", "more", "one", "own", "more", "taller"]))


def _call(rng, inputs, tensors):
    """One call; what is drawn more often stands more often."""
    place = int(rng.integers(inputs)) if inputs else None
    choices = [
        *[("allocate_tensors",)] * 4,
        *[("set_tensor", int(rng.integers(3)))] * 3,
        *[("invoke",)] * 4,
        *[("get_outputs",)] * 3,
        *[("resize_all", _shape_kind(rng))] * 2,
        *[("get_tensor", int(rng.choice([-1, 1 << 20, *range(tensors)])))] * 3,
        ("get_inputs",),
        ("get_details",),
        ("ask_wrapper",),
        ("go_inside",),
        ("get_signature_list",),
        ("reset_all_variables",),
        *[
            (
                "run_signature",
                rng.choice([None, "serving_default", "other", "some", SECOND, "none"]),
                int(rng.integers(3)),
                str(rng.choice(["own", "more", "less"])),
            )
        ]
        * 2,
    ]
    if inputs:
        choices += [
            ("resize_tensor_input", place, _shape_kind(rng)),
            ("resize_tensor_input", place, "negative"),
            ("resize_tensor_input", place, str(rng.choice(["own", "more", "rank"])), True),
            ("set_wrong", place, str(rng.choice(["shape", "type", "order", "index"]))),
            ("hold", place),
            ("drop",),
        ]
    return choices[rng.integers(len(choices))]


def program(rng, inputs, tensors):
    """Some calls in any order, then those of a program that works."""
    calls = [("allocate_tensors",)] if rng.random() < 0.7 else []
    for _ in range(rng.integers(4, 16)):
        call = _call(rng, inputs, tensors)
        if call[0] == "invoke" and rng.random() < 0.7:
            calls.append(("set_tensor", int(rng.integers(3))))
        calls.append(call)
    every = [("get_tensor", t) for t in range(tensors)]
    end = ("drop",), ("resize_all", "own"), ("allocate_tensors",), ("set_tensor", 0), ("invoke",), ("get_outputs",)
    return (*calls, *end, *every, ("get_details",), ("ask_wrapper",))


def programmed(case, rng, name):
    """The case as a program, of the structure of that name; None where it does not fit."""
    model, feeds = read_model(case.model), case.feeds
    if name != PLAIN:
        places = (surrounded if name == REFUSED else STRUCTURES[name])(model, rng)
        if places is None:
            return None
        feeds = [[feed[p] if isinstance(p, int) else p for p in places] for feed in feeds]
    graph = model["subgraphs"][0]
    what = f"{case.variant}, program, {name}"
    calls = refused_program if name == REFUSED and len(graph["inputs"]) else program
    return Case(
        case.op,
        case.dtype,
        what,
        case.seed,
        case.model if name == PLAIN else write_model(model),
        feeds,
        case.text,
        refused=None,
        options={KEEP: True} if rng.random() < 0.33 else {},
        origins=(case.id, *case.origins),
        program=calls(rng, len(graph["inputs"]), len(graph["tensors"])),
    )


def program_cases(seeds, invokes, ops=None, dtype=None, variant=None):
    """A structure and a program for each kind and seed; all of those whose name a variant asks for."""
    for seed in seeds:
        for kind in kinds(ops, dtype):
            case = None
            names = [PLAIN, *STRUCTURES]
            rng = np.random.default_rng([seed, crc32(f"{kind.op}/{kind.dtype}/{kind.variant}/program".encode())])
            drawn = {PLAIN if rng.random() < 0.5 else names[rng.integers(len(names))]}
            drawn |= {REFUSED} if rng.random() < 0.3 else set()
            for name in [*names, REFUSED]:
                asked = (variant or "") in f"{kind.variant}, program, {name}"
                if not asked or (name not in drawn and ", program, " not in (variant or "")):
                    continue
                case = case or kind.case(seed, min(invokes, 2))
                if not case.feeds or not isinstance(case.model, bytes) or case.options:
                    continue
                found = programmed(case, np.random.default_rng([seed, crc32(f"{case.id}/{name}".encode())]), name)
                if found is not None:
                    yield found
