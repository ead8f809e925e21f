"""Stages computed tile by tile: the rewritten model computes the bytes of the given one."""

import numpy as np
import pytest

import tflm_cy
from tests.draws import examples
from tests.micro.image_networks import TYPES, ImageNetwork
from tests.micro.row_networks import RowNetwork
from tflm_cy.micro import MicroInterpreter
from tflm_cy.micro.arena_usage import demand
from tflm_cy.micro.graph_view import view
from tflm_cy.micro.patchwise.rewrite import rewrite
from tflm_cy.micro.patchwise.stage import Segments, Stage
from tflm_cy.ops import generation
from tflm_cy.schema.model import Model


def computed(content, values, resolver):
    """The outputs' bytes over the values."""
    if resolver == "MICRO":
        interpreter = MicroInterpreter(content)
        interpreter.set_input(0, values)
        interpreter.invoke()
        return [interpreter.output(i).tobytes() for i in range(len(interpreter.outputs))]
    kind = getattr(tflm_cy.experimental.OpResolverType, resolver)
    interpreter = tflm_cy.Interpreter(model_content=content, experimental_op_resolver_type=kind)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], values)
    interpreter.invoke()
    return [interpreter.get_tensor(details["index"]).tobytes() for details in interpreter.get_output_details()]


def stages_of(graph, rng, axes=(1,)):
    """Random stages, disjoint, of those that can be tiled."""
    segments, found, behind = Segments(graph), [], 0
    while behind < len(graph.nodes):
        axis = int(rng.choice(axes))
        ends = [last for last in range(behind, len(graph.nodes)) if segments(behind, last, axis)]
        if not ends or rng.random() < 0.2:
            behind += 1
            continue
        last = int(rng.choice(ends))
        limits = segments(behind, last, axis).limits
        grid = (int(rng.integers(1, min(size, 5) + 1)) for size in limits)
        found.append(Stage(behind, last, *grid, bool(rng.integers(2)), axis))
        behind = last + 1
    return found


def random_patches(seed, dtype, make=ImageNetwork, axes=(1,)):
    """(content, values, the Patched or None) of a random network in random stages."""
    network = make(seed, dtype)
    content = network.content()
    graph = view(Model.from_buffer(content))
    stages = stages_of(graph.subgraphs[0], np.random.default_rng(seed), axes)
    try:
        return content, network.values(), rewrite(Model.from_buffer(content), stages) if stages else None
    except ValueError as error:
        assert "padding" in str(error), error
        return content, network.values(), None


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("make", "axes"), [(ImageNetwork, (1,)), (RowNetwork, (0, 1, 2))])
def test_random_networks_in_random_stages_compute_the_same_bytes(dtype, make, axes):
    rewritten = 0
    # Without the delegate the order of AUTO's float32 sums follows the size of the image.
    auto = ["AUTO"] if generation.supported() or dtype != "float32" else []
    for seed in range(examples(60)):
        content, values, patched = random_patches(seed, dtype, make, axes)
        if patched is None:
            continue
        copy = bytes(patched.model())
        for resolver in ("BUILTIN_REF", *auto, "MICRO"):
            wanted = computed(content, values, resolver)
            assert computed(copy, values, resolver) == wanted, (seed, resolver, patched.stages)
        rewritten += 1
    assert rewritten > examples(60) // 3


@pytest.mark.parametrize("dtype", TYPES)
def test_the_view_is_what_the_file_says(dtype):
    """Demands of the rewritten graph are those of the rewritten file: figures need no file."""
    for seed in range(20):
        _, _, patched = random_patches(seed, dtype)
        if patched is not None:
            drawn, read = demand(patched.view, "arm32"), demand(patched.model(), "arm32")
            assert drawn.buffers == read.buffers
            assert [a[:5] for a in drawn.before + drawn.after] == [a[:5] for a in read.before + read.after]


def test_stages_that_are_none():
    network = ImageNetwork(3, "int8")
    model = Model.from_buffer(network.content())
    with pytest.raises(ValueError, match="in common"):
        rewrite(model, [Stage(0, 1, 2, 1), Stage(1, 2, 2, 1)])
    with pytest.raises(ValueError, match="rows and"):
        rewrite(model, [Stage(0, 0, 1000, 1)])
    with pytest.raises(ValueError, match="cannot be computed tile by tile"):
        rewrite(model, [Stage(0, 99999, 2, 1)])
