"""What needs no TensorFlow of the benchmark of nets: the list, the files that are there already, the table, the bars."""

import numpy as np
import pytest

from benchmarks.bars import MET, MISSED, NOT_JUDGED
from benchmarks.models import hello_worlds
from benchmarks.nets.__main__ import main, net_cases, of_batch
from benchmarks.nets.bars import net_bars
from benchmarks.nets.make import make, missing, path_of, refused
from benchmarks.nets.nets import KINDS, Net, all_nets
from benchmarks.nets.table import to_text
from compat.case import Case


def test_nets_are_of_many_families():
    nets = all_nets()
    assert len(nets) >= 40 and len({net.family for net in nets}) >= 15
    assert [net.name for net in all_nets(["vit"])] == ["vit", "mixer"]


def test_loops_are_not_quantized():
    assert {net.kinds() for net in all_nets() if net.while_loop} == {KINDS[:3]}


def test_widths_depend_on_the_seed():
    sizes = Net("family", "net", lambda layers, draw: [draw(1, 9) for _ in range(12)])
    drawn = {seed: sizes.made(None, seed) for seed in range(8)}
    assert all(sizes.made(None, seed) == drawn[seed] for seed in drawn)
    assert len(set(map(tuple, drawn.values()))) == len(drawn) and set().union(*drawn.values()) == set(range(1, 10))


def test_files_that_are_there_are_not_made_again(tmp_path):
    nets = all_nets(["vgg"])
    assert next((net.name, kinds) for net, kinds in missing(tmp_path, nets, ("int8",), 3)) == ("vgg", ["int8"])
    for net in nets:
        path = path_of(tmp_path, net, "int8", 3)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"made earlier")
    assert list(missing(tmp_path, nets, ("int8",), 3)) == [] and list(make(tmp_path, nets, ("int8",), 3)) == []
    assert len(list(missing(tmp_path, nets, ("int8",), 4))) == len(nets)


def test_what_the_converter_refuses_is_not_asked_again(tmp_path):
    [vgg] = [net for net in all_nets() if net.name == "vgg"]
    path = path_of(tmp_path, vgg, "int16x8", 0).with_suffix(".refused")
    path.parent.mkdir(parents=True)
    path.write_text("ValueError: no such operator\n")
    assert list(missing(tmp_path, [vgg], ("int16x8",), 0)) == []
    assert refused(tmp_path, 0) == [("vgg_int16x8", "ValueError: no such operator")]


def test_cases_are_the_files_of_nets_and_kinds(tmp_path):
    for name in ("vgg_float32", "vgg_int8", "resnet_int8", "of_another_program"):
        path = tmp_path / "seed0" / ("vgg" if "vgg" in name else "resnet") / f"{name}.tflite"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(hello_worlds()[0].model)
    found = {(case.model.stem, family, kind) for case, family, kind in net_cases(tmp_path, all_nets(), KINDS, 0)}
    assert found == {("vgg_float32", "vgg", "float32"), ("vgg_int8", "vgg", "int8"), ("resnet_int8", "resnet", "int8")}
    assert [case.model.stem for case, *_ in net_cases(tmp_path, all_nets(["vgg"]), ("int8",), 0)] == ["vgg_int8"]


def test_unknown_families_are_wrong_usage(tmp_path, capsys):
    with pytest.raises(SystemExit) as left:
        main([str(tmp_path), "--family", "perceptron"])
    assert left.value.code == 2 and "perceptron" in capsys.readouterr().err


def row(model, ratio, kind="float32", family="vgg", threads=1, same_bytes=True, medians=None):
    return {
        **{"model": model, "kind": kind, "family": family, "threads": threads, "mode": "AUTO", "theirs": "tensorflow"},
        **{"ratio_min": 1 / ratio, "ratio_median": 1 / (medians or ratio), "same_bytes": same_bytes},
        **{"ours_median": ratio, "theirs_median": 1.0},
    }


def verdicts(rows, kernels="avx512_vnni"):
    return {bar.text: bar.verdict for bar in net_bars(rows, kernels)}


def find(rows, part):
    return [verdict for text, verdict in verdicts(rows).items() if part in text]


def test_means_per_kind():
    rows = [row("vgg_float32", 0.8), row("resnet_float32", 0.9), row("vgg_int8", 0.5, "int8")]
    assert find(rows, "threads 1: means") == [MET] and find(rows, "threads 2: means") == [NOT_JUDGED]
    assert find([*rows, row("yolo_int8", 0.7, "int8")], "threads 1: means") == [MISSED]


def test_a_slow_net_misses():
    assert find([row("vgg_float32", 1.2, medians=0.99)], "threads 1: none") == [MET]
    assert find([row("vgg_float32", 1.2)], "threads 1: none") == [MISSED]
    assert find([row("vgg_float32", 1.02, threads=2)], "threads 2: none") == [MET]
    assert find([row("vgg_float32", 1.04, threads=2)], "threads 2: none") == [MISSED]


def test_families_have_bars_of_their_own():
    assert find([row("lstm_asr_float32", 0.95, family="lstm")], "recurrent") == [MISSED]
    assert find([row("lstm_unrolled_float32", 0.95, family="lstm")], "recurrent") == [NOT_JUDGED]
    assert find([row("unet_int8", 0.95, "int8", "segmentation")], "U-Nets") == [MISSED]


def test_a_net_that_only_we_cannot_run_misses():
    broken = {key: row("vgg_float32", 1.0)[key] for key in ("model", "kind", "family", "threads", "mode", "theirs")}
    assert find([{**broken, "not_run": "tflm_cy in invoke: no", "blamed": "tflm_cy"}], "threads 1: none") == [MISSED]
    assert find([{**broken, "not_run": "tensorflow in invoke: no", "blamed": "tensorflow"}], "bytes") == [NOT_JUDGED]


def test_the_time_per_image_does_not_grow():
    def of(batch, times_one):
        return {**row("vgg_float32", 0.5), "batch": batch, "beside_one_image": row("", times_one)}

    assert find([row("vgg_float32", 0.5)], "time per image") == [NOT_JUDGED]
    assert find([row("vgg_float32", 0.5), of(8, 8.5)], "time per image") == [MET]
    assert find([of(8, 8.5), of(32, 36.0)], "time per image") == [MISSED]


def test_a_batch_repeats_the_inputs(tmp_path):
    case = Case(".", "", "vgg", 0, b"", feeds=[[np.ones((1, 4, 4, 3), np.float32)]])
    assert of_batch(case, 1) is case
    assert of_batch(case, 8).feeds[0][0].shape == (8, 4, 4, 3)
    assert of_batch(Case(".", "", "lstm", 0, b"", feeds=[[np.ones((2, 4), np.float32)]]), 8) is None


def test_other_bytes_miss():
    assert find([row("vgg_float32", 0.5, same_bytes=False)], "bytes") == [MISSED]


def test_the_slowest_stand_first():
    text = to_text([row("quick_float32", 0.5), row("slow_float32", 2.0)], ["ssd_int16x8: no"], net_bars([]))
    assert text.index("slow_float32") < text.index("quick_float32")
    assert "not made: ssd_int16x8: no" in text and "NOT JUDGED" in text
