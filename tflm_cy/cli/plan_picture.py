"""A survey's plans as pictures: what `report.arena_picture` is given.

svg = picture("person_detect", survey, "overlap")
"""

from tflm_cy.report import Block, arena_picture, byte_size, shortened


def picture(title, survey, planner, called=None):
    """The SVG of a plan; `called`: its name, if not the planner's."""
    plan, steps = survey.plan(planner), step_names(survey)
    blocks = [
        block_of(survey, buffer, offset)
        for buffer, offset in zip(survey.demand.buffers, plan.offsets, strict=True)
        if buffer.last >= 0
    ]
    peak, live = survey.peak, survey.live_bytes
    subtitle = (
        f"{called or planner} plan, head {plan.high_water_mark:,} bytes ({byte_size(plan.high_water_mark)}); "
        f"most alive at {steps[peak]}: {live[peak]:,} bytes"
    )
    bound = survey.lower_bound if planner != "overlap" else plan.proven_lower_bound
    return arena_picture(title, steps, blocks, bound, subtitle)


def step_names(survey):
    """What runs at each step."""
    steps = ["" if node is None else f"{node.index} {node.op}" for node in survey.steps]
    steps[0] = steps[0] or "graph input"
    return steps


def block_of(survey, buffer, offset):
    """The `report.Block` of a buffer."""
    writer, readers = survey.writer(buffer), survey.readers(buffer)
    what = [f"{buffer.label}", f"{buffer.nbytes:,} bytes at offset {offset:,}, up to {offset + buffer.size:,}"]
    if buffer.scratch:
        node = survey.graph.subgraphs[buffer.place[0]].nodes[buffer.place[1]]
        return Block(
            ("scratch",), max(buffer.first, 0), buffer.last, offset, buffer.size, node.op, "\n".join(what), True
        )
    tensor = survey.graph.tensor(buffer.place)
    what[0] = f"tensor {buffer.place[1]} {buffer.label}"
    what.insert(1, f"{tensor.type.lower()} {' x '.join(map(str, tensor.shape)) or 'scalar'}")
    what.append(f"written by {writer}" if writer else "input of the graph")
    if readers:
        what.append("read by " + ", ".join(map(str, readers[:4])) + (", ..." if len(readers) > 4 else ""))
    first = max(buffer.first, 0)
    return Block(
        _labels(buffer.place[1], tensor),
        first,
        buffer.last,
        offset,
        buffer.size,
        writer.op if writer else "",
        "\n".join(what),
    )


def _labels(index, tensor):
    """What a tensor can be called, from the longest to the shortest; names keep their head."""
    shape = "x".join(map(str, tensor.shape[1:] if tensor.shape[:1] == (1,) else tensor.shape))
    names = dict.fromkeys(shortened(tensor.name, width) for width in (len(tensor.name), 64, 40, 24, 16))
    first = f"{index} {tensor.name}" if tensor.name else ""
    return tuple(text for text in (first, *names, shape, str(index)) if text)
