"""Each pass by itself, over graphs described in Python: no file, no operator, no kernel runs."""

import importlib.util
import subprocess
import sysconfig
from pathlib import Path

import pytest

from tests.machine import compiler_for
from tflm_cy.graph.passes import tiling

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.fixture(scope="module")
def sketches(tmp_path_factory):
    """The module `sketch.pyx`, compiled."""
    main = pytest.importorskip("Cython.Compiler.Main", reason="Cython compiles the description of graphs")
    compiler = compiler_for("the description of graphs")
    folder = tmp_path_factory.mktemp("sketch")
    source = folder / "sketch.pyx"
    source.write_text((HERE / "sketch.pyx").read_text())
    directives = {"language_level": 3, "boundscheck": False, "wraparound": False}
    options = main.CompilationOptions(main.default_options, include_path=[str(ROOT)], compiler_directives=directives)
    assert main.compile_single(str(source), options, full_module_name="sketch").num_errors == 0
    library = folder / "sketch.so"
    include = sysconfig.get_paths()["include"]
    command = [compiler, "-O0", "-w", "-shared", "-fPIC", f"-I{include}", f"-I{ROOT / 'tflm_cy' / 'simd'}"]
    subprocess.run([*command, str(folder / "sketch.c"), "-o", str(library)], check=True)
    spec = importlib.util.spec_from_file_location("sketch", library)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---------------------------------------------------------------- cancel_transposes


def transposed(sketches, last=(3, 4), more=(), outputs="y", **options):
    nodes = [
        sketches.node("make", "x", "a"),
        sketches.node("there", "a", "b", transposes=(4, 3)),
        sketches.node("view", "b", "c", view=True),
        sketches.node("back", "c", "d", transposes=last),
        sketches.node("use", "d", "y"),
        *(sketches.node("other", tensor, "z") for tensor in more),
    ]
    return sketches.Sketch(nodes, "x", outputs, **options).run("cancel_transposes").steps()


def test_transposes_that_undo_each_other_become_a_view(sketches):
    assert transposed(sketches) == [("make", "x", "a"), ("back", "a", "d"), ("use", "d", "y")]


@pytest.mark.parametrize(
    "options",
    [{"last": (4, 3)}, {"outputs": "y c"}, {"more": ["b"]}, {"sizes": {"c": 512}}],
    ids=["another transpose", "the user sees what is between", "another reader", "another size"],
)
def test_other_transposes_stay(sketches, options):
    names = [name for name, *_ in transposed(sketches, **options)]
    assert names[:5] == ["make", "there", "view", "back", "use"]


# ---------------------------------------------------------------- fuse_epilogues


def epilogues(sketches, fuses=True, order=("before", "conv", "add", "clamp"), **options):
    nodes = {
        "before": sketches.node("before", "x", "b"),
        "conv": sketches.node("conv", "x w", "a", fuses=fuses),
        "add": sketches.node("add", "a b", "s", epilogue="add"),
        "clamp": sketches.node("clamp", "s", "y", epilogue="clamp"),
    }
    made = sketches.Sketch([nodes[name] for name in order], "x", "y", constants="w", **options)
    return made.run("fuse_epilogues").steps()


def test_an_addition_and_a_clamp_are_fused(sketches):
    assert epilogues(sketches) == [("before", "x", "b"), ("conv", "x w b", "y")]


def test_a_kernel_that_cannot_fuse_is_left_alone(sketches):
    assert [name for name, *_ in epilogues(sketches, fuses=False)] == ["before", "conv", "add", "clamp"]


def test_what_is_added_must_be_there_when_the_product_runs(sketches):
    assert [name for name, *_ in epilogues(sketches, order=("conv", "before", "add", "clamp"))] == [
        "conv",
        "before",
        "add",
        "clamp",
    ]


def test_a_tensor_that_the_user_sees_is_computed(sketches):
    assert epilogues(sketches, visible="s") == [("before", "x", "b"), ("conv", "x w b", "s"), ("clamp", "s", "y")]


# ---------------------------------------------------------------- tile


@pytest.fixture
def tuned():
    former = tiling.tune(least_time=1000, cache_bytes=1 << 12, tile_bytes=1 << 11, far_bytes=1 << 10)
    yield
    tiling.tune(**former)


def chain(sketches, units=(64, 64, 64), bytes=1 << 12, **options):
    names = ["x", "a", "b", "y"]
    nodes = [
        sketches.node(f"n{i}", names[i], names[i + 1], units=count, elementwise=1, time=600.0)
        for i, count in enumerate(units)
    ]
    return sketches.Sketch(nodes, "x", "y", sizes=dict.fromkeys(names, bytes), **options).run("tile").groups()


@pytest.mark.usefixtures("tuned")
def test_neighbours_of_equal_units_are_one_group(sketches):
    [(names, tiles, strips)] = chain(sketches)
    assert names == ["n0", "n1", "n2"] and tiles == 3 * (1 << 12) // (1 << 11) and strips == 1


@pytest.mark.usefixtures("tuned")
def test_other_units_end_a_group(sketches):
    assert [names for names, *_ in chain(sketches, units=(64, 64, 32))] == [["n0", "n1"], ["n2"]]


@pytest.mark.usefixtures("tuned")
def test_what_fits_the_caches_is_not_tiled_on_one_thread(sketches):
    assert chain(sketches, bytes=256) == [(["n0"], 1, 1), (["n1"], 1, 1), (["n2"], 1, 1)]


@pytest.mark.usefixtures("tuned")
@pytest.mark.parametrize("workers", [2, 4])
def test_threads_share_a_group_that_is_worth_it(sketches, workers):
    [(names, tiles, _)] = chain(sketches, bytes=256, workers=workers)
    assert len(names) == 3 and tiles >= workers and tiles % workers == 0


# ---------------------------------------------------------------- alias_buffers


def test_a_view_lies_in_the_buffer_of_its_input(sketches):
    nodes = [
        sketches.node("make", "x", "a"),
        sketches.node("view", "a", "b", view=True),
        sketches.node("use", "a b", "y"),
    ]
    made = sketches.Sketch(nodes, "x", "y").run("alias_buffers")
    assert made.alias("b") == "a" and made.live("a") == (0, 2) and made.alias("y") is None


def test_an_output_lies_over_an_input_that_dies(sketches):
    def alias(*more):
        nodes = [sketches.node("make", "x", "a"), sketches.node("add", "a x", "b", in_place=1), *more]
        return sketches.Sketch([*nodes, sketches.node("use", "b", "y")], "x", "y").run("alias_buffers").alias("b")

    assert alias() == "a"
    assert alias(sketches.node("late", "a", "z")) is None


def test_an_output_of_another_size_has_its_own_buffer(sketches):
    nodes = [
        sketches.node("make", "x", "a"),
        sketches.node("half", "a", "b", in_place=1),
        sketches.node("use", "b", "y"),
    ]
    assert sketches.Sketch(nodes, "x", "y", sizes={"b": 128}).run("alias_buffers").alias("b") is None


def test_inputs_of_the_graph_are_not_overwritten(sketches):
    made = sketches.Sketch([sketches.node("neg", "x", "y", in_place=1)], "x", "y").run("alias_buffers")
    assert made.alias("y") is None


def test_without_the_pass_every_tensor_has_its_buffer(sketches):
    nodes = [
        sketches.node("make", "x", "a"),
        sketches.node("neg", "a", "b", in_place=1),
        sketches.node("use", "b", "y"),
    ]
    made = sketches.Sketch(nodes, "x", "y", disabled=["alias_buffers"]).run("alias_buffers")
    assert made.alias("b") is None and made.live("a") == (0, 1)


# ---------------------------------------------------------------- line_buffers


@pytest.mark.usefixtures("tuned")
def test_a_window_sees_a_few_rows_of_what_is_in_front(sketches):
    row, rows = 16, 64
    window = {"row": row, "rows": rows}
    nodes = [
        sketches.node("depthwise", "x", "a", units=row * rows, window=window),
        sketches.node("conv", "a", "b", units=row * rows, window=window),
        sketches.node("use", "b", "y"),
    ]
    sizes = dict.fromkeys("xaby", row * rows * 16)
    made = sketches.Sketch(nodes, "x", "y", sizes=sizes).run("line_buffers")
    assert made.groups()[0][0] == ["depthwise", "conv"]
    assert 3 * row * 16 <= made.line_bytes("depthwise") < sizes["a"] // 2 and made.line_bytes("conv") == 0


# ---------------------------------------------------------------- plan, bind


def diamond(sketches, **options):
    nodes = [
        sketches.node("left", "x", "a", scratch=100),
        sketches.node("right", "x", "b"),
        sketches.node("join", "a b", "c", scratch=1000),
        sketches.node("late", "c", "d"),
        sketches.node("end", "d", "y"),
    ]
    return sketches.Sketch(nodes, "x", "y", sizes={"a": 1024, "b": 512, "c": 256, "d": 1024}, **options).run("bind")


def test_buffers_that_are_alive_together_do_not_overlap(sketches):
    made = diamond(sketches)
    spans = {name: (made.place(name), made.place(name) + size) for name, size in (("a", 1024), ("b", 512), ("c", 256))}
    spans["scratch"] = made.scratch(1), made.scratch(1) + 1000
    for one in spans.values():
        for other in spans.values():
            assert one is other or one[1] <= other[0] or other[1] <= one[0]


def test_memory_is_used_again(sketches):
    made = diamond(sketches)
    assert (
        made.size() == 256 + 1024 + 512 + 256 + 1024
    )  # what is alive while `join` runs, its scratch memory rounded up
    assert all(made.place(name) % 64 == 0 and 0 <= made.place(name) < made.size() for name in "abcdxy")


def test_what_the_user_reads_before_a_run_is_zero(sketches):
    made = diamond(sketches)
    assert made.value("x") == bytes(256) and made.value("y") == bytes(256)
