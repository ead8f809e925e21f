"""Plans in which later tensors lie over rows that nobody reads any more: random problems, judged twice.

    python -m compat.rolling                        # 10,000 problems
    python -m compat.rolling --problems 500 --seed 1

A problem is a few operators in sequence. Each reads parts of one or two earlier tensors, which live on until their last
part is read; some read ahead of what they write, as a kernel may. The planner gets rows (output, input, distance). The
judges do not see these rows: `memory.check` gets the parts that are read, and a memory of single bytes is written and read
here, operator by operator, where every byte that is read must be the one that was written. Both must accept the plan, and
refuse it where an output lies as near to an input as its row permits and is moved 16 bytes nearer.

Exit code: 0 all as they must, 1 a violation or a plan that is not refused, 2 wrong usage.
"""

import argparse
import sys
from dataclasses import dataclass

import numpy as np

from tflm_cy.memory.check import check
from tflm_cy.memory.overlap import overlap
from tflm_cy.memory.problem import Plan, Problem

from .verdict import judge

_BUDGET = 300  # search nodes of a plan
_UNIT = 16


@dataclass(frozen=True)
class Drawn:
    """Buffers by size and life, what is read of them (buffer, step, first byte, end), what kernels permit."""

    sizes: list[int]
    first: list[int]
    last: list[int]
    reads: list[tuple[int, int, int, int]]
    kernels: dict[tuple[int, int], int]  # (output, input) -> distance at the output's birth

    @property
    def rows(self):
        """[(output, input, d)] as the planner gets them."""
        found = []
        for i in sorted({read[0] for read in self.reads}):
            parts = [read[1:3] for read in self.reads if read[0] == i]
            for o in range(len(self.sizes)):
                if not self.first[i] < self.first[o] <= self.last[i]:
                    continue
                now = [low for step, low in parts if step == self.first[o]]
                later = [low for step, low in parts if step > self.first[o]]
                d = self.sizes[o] - min(now + later)
                if (o, i) in self.kernels and now:
                    d = min(d, max([self.kernels[o, i], *(self.sizes[o] - low for low in later)]))
                found.append((o, i, -(-d // _UNIT) * _UNIT))
        return found

    def problem(self, rows):
        """The memory.Problem with some rows."""
        return Problem(self.sizes, self.first, self.last, relaxed=rows)


def draw(rng, most=12):
    """A Drawn; every part that is read goes to the tensor's end."""
    sizes, first, last, reads, kernels = [_UNIT * int(rng.integers(1, 13))], [0], [0], [], {}
    for step in range(1, int(rng.integers(2, most)) + 1):
        chosen = rng.choice(len(sizes), size=min(len(sizes), int(rng.integers(1, 3))), replace=False)
        sizes.append(_UNIT * int(rng.integers(1, 13)))
        first.append(step)
        last.append(step)
        for i in map(int, chosen):
            last[i] = step
            reads.append((i, step, int(rng.integers(0, sizes[i])), sizes[i]))
            if rng.random() < 0.5:
                kernels[step, i] = _UNIT * int(rng.integers(0, 13))
    return Drawn(sizes, first, last, reads, kernels)


def destroyed(drawn, offsets):
    """The first (reader's step, buffer) that reads another byte than was written, None when there is none."""
    memory = np.full(max(o + s for o, s in zip(offsets, drawn.sizes, strict=True)), -1, np.int64)
    tokens = [np.arange(size) + (i << 32) for i, size in enumerate(drawn.sizes)]
    for step in range(max(drawn.last) + 1):
        born = [i for i, first in enumerate(drawn.first) if first == step]
        before = memory.copy()
        for i in born:
            memory[offsets[i] : offsets[i] + drawn.sizes[i]] = tokens[i]
        for i, when, low, high in drawn.reads:
            if when != step:
                continue
            ahead = any((o, i) in drawn.kernels and offsets[i] - offsets[o] >= drawn.kernels[o, i] for o in born)
            found = (before if ahead else memory)[offsets[i] + low : offsets[i] + high]
            if (found != tokens[i][low:high]).any():
                return step, i
    return None


def refused(drawn, plan):
    """(whether `memory.check` refuses a plan, whether the memory of bytes does)."""
    kernels = [(*pair, d) for pair, d in drawn.kernels.items()]
    try:
        check(drawn.problem(kernels), plan, drawn.reads)
    except ValueError:
        return True, destroyed(drawn, plan.offsets) is not None
    return False, destroyed(drawn, plan.offsets) is not None


def nearer(drawn, plan):
    """Plans in which one output lies 16 bytes nearer to an input than its row permits."""
    for output, source, d in drawn.rows:
        at = plan.offsets[source] - plan.offsets[output]
        if at != d or _UNIT - d >= drawn.sizes[source]:
            continue
        offsets = [offset + _UNIT * (i == output) for i, offset in enumerate(plan.offsets)]
        yield Plan(offsets, max(o + s for o, s in zip(offsets, drawn.sizes, strict=True)))


@judge("compat.rolling")
def main(argv=None):
    parser = argparse.ArgumentParser(
        "python -m compat.rolling", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--problems", type=int, default=10_000, help="how many (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the first (default %(default)s)")
    arguments = parser.parse_args(argv)
    violations, tried, kept, over = [], 0, [], 0
    for seed in range(arguments.seed, arguments.seed + arguments.problems):
        drawn = draw(np.random.default_rng(seed))
        plan = overlap(drawn.problem(drawn.rows), budget=_BUDGET)
        over += plan.high_water_mark < overlap(drawn.problem([]), budget=_BUDGET).high_water_mark
        if any(refused(drawn, plan)):
            violations.append(seed)
        for other in nearer(drawn, plan):
            tried += 1
            if not all(refused(drawn, other)):
                kept.append(seed)
    for title, seeds in (("a plan that a judge refuses", violations), ("16 bytes nearer is not refused", kept)):
        print(
            *(f"{title}: --seed {seed} --problems 1" for seed in dict.fromkeys(seeds)),
            sep="\n",
            end="\n" if seeds else "",
        )
    print(f"{arguments.problems} problems, {over} with a lower head by what nobody reads: {len(violations)} violations")
    print(f"{tried - len(kept)} of {tried} plans with an output 16 bytes nearer are refused by both judges")
    return bool(violations or kept)


if __name__ == "__main__":
    sys.exit(main())
