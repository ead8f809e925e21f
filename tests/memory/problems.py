"""Random planning problems for the tests of planners, judge and CSV."""

from hypothesis import strategies as st

from tflm_cy.memory import Problem


@st.composite
def lifetimes(draw):
    first = draw(st.integers(-1, 12))
    last = -1 if first == -1 and draw(st.booleans()) else draw(st.integers(first, 14))
    return first, last


@st.composite
def problems(draw, most=30, fixed=True, alignments=(1, 3, 16, 64)):
    """Problems whose sizes repeat often (ties), some buffers unused or empty, some with a fixed offset."""
    alignment = draw(st.sampled_from(alignments))
    size = st.sampled_from([0, 1, 16, 32, 32, 48]) | st.integers(0, 400)
    rows = draw(st.lists(st.tuples(size, lifetimes()), max_size=most))
    offsets = None
    if fixed:
        offset = st.just(-1) | st.just(-1) | st.integers(0, 30).map(lambda n: n * alignment)
        offsets = draw(st.lists(offset, min_size=len(rows), max_size=len(rows)))
    sizes = [row[0] for row in rows]
    first_use = [row[1][0] for row in rows]
    last_use = [row[1][1] for row in rows]
    return Problem(sizes, first_use, last_use, offsets, alignment)


def rounded_sizes(problem):
    return [-(-size // problem.alignment) * problem.alignment for size in problem.sizes]


def together(problem, i, j):
    """Whether two buffers are alive at a common time, by enumerating the times."""
    times = [set(range(problem.first_use[k], problem.last_use[k] + 1)) for k in (i, j)]
    return bool(times[0] & times[1])


@st.composite
def relaxed_problems(draw, most=30, fixed=False):
    """Problems in which inputs that die where an output is born may be overlapped, by any distance."""
    problem = draw(problems(most=most, fixed=fixed, alignments=(1, 16)))
    pairs = [
        (o, i)
        for o in range(len(problem))
        for i in range(len(problem))
        if o != i and problem.first_use[o] == problem.last_use[i]
    ]
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=8)) if pairs else []
    distance = st.just(0) | st.integers(0, 400) | st.integers(0, 6).map(lambda n: n * 16) | st.just(-1000)
    rows = [(o, i, draw(distance)) for o, i in chosen]
    return Problem(
        problem.sizes,
        problem.first_use,
        problem.last_use,
        problem.fixed_offsets,
        problem.alignment,
        rows,
    )


@st.composite
def chains(draw, most=30):
    """Operators in sequence, as a model has them: outputs born where inputs are read last, rows for some of these."""
    steps = draw(st.integers(1, max(most // 2, 1)))
    size = st.sampled_from([16, 32, 48, 64]) | st.integers(0, 20).map(lambda n: n * 16)
    sizes, first, last, rows = [draw(size)], [0], [0], []
    for step in range(1, steps + 1):
        if len(sizes) >= most:
            break
        read = draw(st.lists(st.sampled_from(range(len(sizes))), min_size=1, max_size=2, unique=True))
        for i in read:
            last[i] = step
        made = range(len(sizes), min(len(sizes) + draw(st.sampled_from([1, 1, 2])), most))
        for o in made:
            sizes.append(draw(size))
            first.append(step)
            last.append(step)
            distance = st.just(0) | st.integers(0, 20).map(lambda n: n * 16) | st.just(-sizes[0] - 400)
            rows += [(o, i, draw(distance)) for i in read if draw(st.booleans())]
    rows = [(o, i, d) for o, i, d in rows if last[i] == first[o]]
    return Problem(sizes, first, last, relaxed=rows)


@st.composite
def rolling_problems(draw, most=12, to_end=False):
    """(problem, problem with the kernels' rows only, reads): operators in sequence, some of which read parts of an input
    that lives on, or all that follows a byte (`to_end`). The second problem and the reads are what the judge gets."""
    steps = draw(st.integers(2, max(most - 1, 2)))
    size = st.integers(1, 12).map(lambda n: n * 16)
    sizes, first, last, reads, kernel = [draw(size)], [0], [0], {}, {}
    for step in range(1, steps + 1):
        read = draw(st.lists(st.sampled_from(range(len(sizes))), min_size=1, max_size=2, unique=True))
        sizes.append(draw(size))
        first.append(step)
        last.append(step)
        for i in read:
            last[i] = step
            low = draw(st.integers(0, sizes[i] - 1))
            reads.setdefault(i, []).append((step, low, sizes[i] if to_end else draw(st.integers(low + 1, sizes[i]))))
            if draw(st.booleans()):
                kernel[step, i] = draw(st.integers(0, 12)) * 16
    rows = {}
    for i, parts in reads.items():
        for o in range(len(sizes)):
            if not first[i] < first[o] <= last[i]:
                continue
            now = [low for step, low, _ in parts if step == first[o]]
            later = [low for step, low, _ in parts if step > first[o]]
            d = sizes[o] - min(now + later)
            if (o, i) in kernel and now:
                d = min(d, max([kernel[o, i], *(sizes[o] - low for low in later)]))
            rows[o, i] = -(-d // 16) * 16
    lives = sizes, first, last
    kernel = {pair: d for pair, d in kernel.items() if pair in rows}
    return (
        Problem(*lives, relaxed=[(*pair, d) for pair, d in rows.items()]),
        Problem(*lives, relaxed=[(*pair, d) for pair, d in kernel.items()]),
        [(i, *part) for i, parts in reads.items() for part in parts],
    )
