"""Write the seeds: the smallest of a few generated models for every operator and type, into `corpus/`.

python -m compat.fuzz.corpus
"""

import re

from ..cases import kinds
from .target import CORPUS

SEEDS = range(3)
LARGEST = 4096  # bytes of a seed: weights are not what a fuzzer should change


def seeds():
    """Name -> model: one per operator and type label."""
    smallest = {}
    for kind in kinds():
        for seed in SEEDS:
            model = kind.case(seed, 1).model
            name = re.sub(r"\W+", "_", f"{kind.op} {kind.dtype}".lower())
            if (
                isinstance(model, bytes)
                and len(model) <= LARGEST
                and len(model) < len(smallest.get(name, bytes(LARGEST + 1)))
            ):
                smallest[name] = model
    return smallest


def one_per_operator(models):
    """At most two types of each operator: enough to begin with."""
    kept, counts = {}, {}
    for name in sorted(models, key=lambda name: len(models[name])):
        operator = name.rsplit("_", 1)[0]
        counts[operator] = counts.get(operator, 0) + 1
        if counts[operator] <= 2:
            kept[name] = models[name]
    return kept


def main():
    CORPUS.mkdir(exist_ok=True)
    models = one_per_operator(seeds())
    for name, model in models.items():
        (CORPUS / f"{name}.tflite").write_bytes(model)
    print(f"{len(models)} seeds, {sum(map(len, models.values()))} bytes in {CORPUS}")


if __name__ == "__main__":
    main()
