"""The least height of a small problem by trying every order, for the tests of the searching planners."""

from itertools import pairwise, permutations


def distances(problem, sizes):
    """{(lower, upper): least offset(upper) - offset(lower)} of the pairs that are alive together."""
    least = {}
    for i in range(len(problem)):
        for j in range(len(problem)):
            if i != j and problem.first_use[i] <= problem.last_use[j] and problem.first_use[j] <= problem.last_use[i]:
                least[i, j] = sizes[i]
    rows = {}
    for output, input_, distance in problem.relaxed:
        rows[output, input_] = max(distance, rows.get((output, input_), distance))
    for (output, input_), distance in rows.items():
        if (output, input_) not in least:
            continue
        if distance <= -sizes[input_]:
            least.pop((output, input_)), least.pop((input_, output))
        else:
            up = -(-distance // problem.alignment) * problem.alignment
            least[output, input_] = min(sizes[output], max(0, up))
    return least


def least_height(problem):
    """Over all orders of placing: each buffer as low as those before it let it, at its fixed offset if it has one."""
    sizes = [-(-size // problem.alignment) * problem.alignment for size in problem.sizes]
    fixed = problem.fixed_offsets or [-1] * len(problem)
    least = distances(problem, sizes)
    buffers = [i for i in range(len(problem)) if sizes[i]]
    best = None
    for order in permutations(buffers):
        offsets, valid = {}, True
        for i in order:
            at = max([offsets[j] + least[j, i] for j in offsets if (j, i) in least], default=0)
            valid = valid and (fixed[i] == -1 or at <= fixed[i])
            offsets[i] = at if fixed[i] == -1 else fixed[i]
        # in an order that is not one of offsets, a later buffer may lie below an earlier one: not this packing
        valid = valid and all(offsets[a] <= offsets[b] for a, b in pairwise(order))
        if valid:
            height = max((offsets[i] + sizes[i] for i in order), default=0)
            best = height if best is None else min(best, height)
    return best
