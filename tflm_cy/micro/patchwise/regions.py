"""What a tile needs of each tensor of its stage: one interval of rows, one of columns, from the last operator backwards.

    needs = axis_needs(segment, HEIGHT, first, end)      # {tensor: (first, end)}

An interval is clipped to the image. A tensor with several readers inside of the stage is computed where any of them needs
it; a reader that needs less cuts it out. The two axes do not depend on each other.
"""

from tflm_cy.micro.patchwise.operators import HEIGHT


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


def axis_needs(segment, axis, first, end):
    """{tensor: (first, end)} along one axis for the output's positions [first, end); None when a tensor would be empty:
    a tile that needs nothing of the image, but its padding."""
    needs = {segment.output: (first, end)}
    for operator in reversed(segment.operators):
        wanted = needs.get(operator.output)
        if wanted is None:
            continue
        for i in operator.windows:
            t = operator.node.inputs[i]
            low, high = clipped(segment, operator, i, axis, wanted)
            if low >= high:
                return None
            known = needs.get(t)
            needs[t] = (low, high) if known is None else (min(low, known[0]), max(high, known[1]))
    return needs


def clipped(segment, operator, i, axis, wanted):
    """The positions of input i inside of the image that an operator reads for the positions `wanted` of its output."""
    low, high = operator.windows[i][axis - HEIGHT].reach(*wanted)
    return max(low, 0), min(high, segment.tensors[operator.node.inputs[i]].shape[axis])


def margins(segment, operator, i, axis, wanted):
    """How many positions an operator reads before and behind the image."""
    low, high = operator.windows[i][axis - HEIGHT].reach(*wanted)
    return max(-low, 0), max(high - segment.tensors[operator.node.inputs[i]].shape[axis], 0)
