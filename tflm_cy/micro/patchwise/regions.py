"""What a tile needs of each tensor of its stage: one interval of rows, one of columns, from the last operator backwards.

    needs = axis_needs(segment, ROWS, first, end)        # {tensor: (first, end)}

An interval is clipped to the image. A tensor with several readers inside of the stage is computed where any of them needs
it; a reader that needs less cuts it out. The two axes do not depend on each other.
"""

ROWS, COLUMNS = 0, 1


def bounds(size, parts):
    """[(first, end)] of a length cut into parts as equal as they can be.

    >>> bounds(10, 3)
    [(0, 4), (4, 7), (7, 10)]
    """
    whole, rest = divmod(size, parts)
    found, first = [], 0
    for part in range(parts):
        end = first + whole + (part >= parts - rest)
        found.append((first, end))
        first = end
    return found


def axis_needs(segment, along, first, end):
    """{tensor: (first, end)} along one axis for the output's positions [first, end); None when a tensor would be empty:
    a tile that needs nothing of the image, but its padding."""
    needs = {segment.output: (first, end)}
    for operator in reversed(segment.operators):
        wanted = needs.get(operator.output)
        if wanted is None:
            continue
        for i in operator.windows:
            t = operator.node.inputs[i]
            low, high = clipped(segment, operator, i, along, wanted)
            if low >= high:
                return None
            known = needs.get(t)
            needs[t] = (low, high) if known is None else (min(low, known[0]), max(high, known[1]))
    return needs


def clipped(segment, operator, i, along, wanted):
    """The positions of input i inside of the image that an operator reads for the positions `wanted` of its output."""
    low, high = operator.windows[i][along].reach(*wanted)
    return max(low, 0), min(high, segment.extents(operator.node.inputs[i])[along])


def margins(segment, operator, i, along, wanted):
    """How many positions an operator reads before and behind the image."""
    return operator.windows[i][along].margins(*wanted, segment.extents(operator.node.inputs[i])[along])


def made(segment, operator, along, wanted):
    """The positions of its output that an operator makes for the positions `wanted`: these and, maybe, more."""
    i = operator.leading
    return operator.windows[i][along].made(clipped(segment, operator, i, along, wanted), wanted)


def work(segment, operator, along, wanted):
    """How much an operator does for the positions `wanted`, in what `TileOperator.macs` counts."""
    i = operator.leading
    read = clipped(segment, operator, i, along, wanted)
    window = operator.windows[i][along]
    return window.work(read, window.made(read, wanted))
