"""The bars of nets in AUTO: means per kind, the slowest net, single families, and bytes.

Means hold for minima and for medians; a single net is judged by the better of the two, as on a busy machine one of them is wrong.
"""

from ..bars import MET, MISSED, NOT_JUDGED, TILES, Bar, is_tensorflow
from ..means import means
from ..report import worse

MEANS = {"int8": 0.55, "int16x8": 0.5, "float32": 0.86, "dynamic": 0.75, "float16": 0.85}
MEANS_WITH_TILES = {"int8": 0.4, "int16x8": 0.4, "float32": 0.8, "dynamic": 0.6, "float16": 0.8}
SLOWEST = {1: 1.0, 2: 1.03}
MOST_GROWTH = 1.1
RECURRENT = ("lstm", "gru", "bidirectional", "convlstm")
SINGLE = (  # text, which rows, most
    ("recurrent nets", lambda row: row["family"] in RECURRENT and "unrolled" not in row["model"], 0.9),
    ("U-Nets int8", lambda row: row["model"].startswith("unet") and row["kind"] == "int8", 0.9),
    ("ViT and BERT int8", lambda row: row["model"] in ("vit_int8", "bert_int8"), 0.75),
    (
        "MobileNetV2 and EfficientNet dynamic range",
        lambda row: row["model"] in ("mobilenet_v2_dynamic", "efficientnet_dynamic"),
        0.6,
    ),
)


def net_bars(rows, kernels=TILES):
    """All bars; `kernels`: those that were measured."""
    rows = [row for row in rows if is_tensorflow(row)]
    auto = {count: [row for row in rows if row["mode"] == "AUTO" and row["threads"] == count] for count in SLOWEST}
    limits = MEANS_WITH_TILES if kernels == TILES else MEANS
    return [
        *(_means(found, count, limits) for count, found in auto.items()),
        *(_none_above(found, f"nets, AUTO, threads {n}: none", SLOWEST[n]) for n, found in auto.items()),
        *(_none_above([row for row in auto[1] if which(row)], f"{text}, AUTO", most) for text, which, most in SINGLE),
        _growth(rows),
        _bytes(rows),
    ]


def _means(rows, count, limits):
    text = f"nets, AUTO, threads {count}: means at most " + ", ".join(f"{kind} {limits[kind]:.2f}" for kind in limits)
    found = means(rows, lambda row: row["kind"])
    if not found:
        return Bar(text, NOT_JUDGED, ("not measured",))
    worst = {mean["group"]: max(mean["of_minima"], mean["of_medians"]) for mean in found}
    lines = tuple(
        f"{kind}: {value:.3f}{f', above {limits[kind]:.2f}' if value > limits[kind] else ''}"
        for kind, value in worst.items()
    )
    return Bar(text, MISSED if any(worst[kind] > limits[kind] for kind in worst) else MET, lines)


def _none_above(rows, text, most):
    text = f"{text} above {most:g}"
    if not rows:
        return Bar(text, NOT_JUDGED, ("not measured",))
    failures = [f"{row['model']}: not run, {row['not_run']}" for row in rows if "not_run" in row]
    ran = sorted(((worse(row), row["model"]) for row in rows if "not_run" not in row), reverse=True)
    above = [f"{name}: {value:.2f}" for value, name in ran if value > most]
    if above or failures:
        return Bar(text, MISSED, (f"{len(above) + len(failures)} of {len(rows)}", *above, *failures))
    return Bar(text, MET, (f"{len(ran)} nets, most {ran[0][0]:.2f} ({ran[0][1]})",))


def batch_of(row):
    """Images per invoke; reports of earlier versions have one."""
    return row.get("batch", 1)


def _growth(rows):
    """Of the time per image, by the better of minima and medians of bursts beside those of one image."""
    text = f"nets: the time per image grows by no more than {MOST_GROWTH - 1:.0%} with the batch"
    grown = [(worse(row["beside_one_image"]) / batch_of(row), row) for row in rows if "beside_one_image" in row]
    if not grown:
        return Bar(text, NOT_JUDGED, ("no batch was measured",))
    above = [
        f"{row['model']} {row['mode']}, threads {row['threads']}, batch {batch_of(row)}: {most:.2f}"
        for most, row in grown
        if most > MOST_GROWTH
    ]
    return Bar(text, MISSED if above else MET, (f"{len(above)} of {len(grown)}", *above))


def _bytes(rows):
    text = "nets: the bytes of TensorFlow"
    ran = [row for row in rows if "not_run" not in row]
    other = [f"{row['model']} {row['mode']}, threads {row['threads']}" for row in ran if not row["same_bytes"]]
    if not ran:
        return Bar(text, NOT_JUDGED, ("not measured",))
    return Bar(text, MISSED if other else MET, tuple(other) or (f"{len(ran)} comparisons",))
