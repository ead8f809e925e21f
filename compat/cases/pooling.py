"""AVERAGE_POOL_2D, MAX_POOL_2D, L2_POOL_2D and the resizing operators."""

import numpy as np

from ..builder import Model, Tensor
from . import cases
from .convolution import Window


@cases(
    "AVERAGE_POOL_2D",
    "MAX_POOL_2D",
    dtypes=("float32", "int8", "uint8", "int16"),
    variants=("random", "special", "whole image"),
)
@cases("L2_POOL_2D", dtypes=("float32",), variants=("random", "special", "whole image"))
@cases("AVERAGE_POOL_2D", "MAX_POOL_2D", dtypes=("int8", "uint8", "int16"), variants=("no scale", "no scale clipped"))
@cases("AVERAGE_POOL_2D", "MAX_POOL_2D", dtypes=("int8", "uint8", "int16"), variants=("odd activation", "tiny scale"))
@cases("AVERAGE_POOL_2D", "MAX_POOL_2D", dtypes=("float32", "int8"), variants=("zero batch",))
@cases("AVERAGE_POOL_2D", dtypes=("int8", "uint8", "int16"), variants=("halves",))
def pool(d):
    window = Window.draw(d, largest_kernel=4, dilated=False)
    if d.variant == "whole image":
        window.kernel, window.padding = (window.h, window.w), "VALID"
    batch, channels = 0 if d.variant == "zero batch" else d.between(1, 2), d.channels(1, 9)
    x = d.tensor([batch, window.h, window.w, channels])
    y = d.tensor([batch, *window.output(), channels], like=x)
    options = {
        **window.options(),
        "filter_height": window.kernel[0],
        "filter_width": window.kernel[1],
        "fused_activation_function": d.activation(),
    }
    if d.variant.startswith("no scale"):
        x.scale = x.zero_point = y.scale = y.zero_point = None
    if d.variant == "tiny scale":
        x.scale = y.scale = d.choice(1e-9, 3e-9, 1e-8)
    if d.variant in ("no scale", "odd activation"):
        options["fused_activation_function"] = d.choice("NONE", "TANH", "SIGN_BIT", 55)
    if d.variant in ("no scale clipped", "tiny scale"):
        options["fused_activation_function"] = d.choice("RELU", "RELU6", "RELU_N1_TO_1")
    version = 1 if d.op == "L2_POOL_2D" else 3
    refused = None if d.variant in ("no scale clipped", "tiny scale") else False
    return d.case(Model.single(d.op, [x], [y], version, **options), lambda: [d.values(x)], refused=refused)


_RESIZABLE = ("float32", "int8", "uint8", "int16")


@cases("RESIZE_BILINEAR", dtypes=_RESIZABLE, variants=("random", "align corners", "half pixel centers", "special"))
@cases("RESIZE_NEAREST_NEIGHBOR", dtypes=_RESIZABLE, variants=("random", "align corners", "half pixel centers", "both"))
@cases(
    "RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", dtypes=("float32", "int8"), variants=("size fed", "to one", "double")
)
@cases("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR", dtypes=_RESIZABLE, variants=("wide",))
@cases("RESIZE_BILINEAR", dtypes=("float32",), variants=("both",))
def resize(d):
    n, h, w, c = d.between(1, 2), d.side(1, 8), d.side(1, 8), d.channels(1, 5)
    if d.variant == "wide":
        # Rounded steps add up to more than a column. With half the rows no corner lies behind the last image.
        h, w, c = d.choice(4, 6), d.between(300, 1500), d.between(1, 3)
    size = {"to one": (1, 1), "double": (2 * h, 2 * w), "wide": (h // 2, d.between(1500, 4000))}.get(
        d.variant, (d.side(1, 14), d.side(1, 14))
    )
    x = d.tensor([n, h, w, c])
    y = d.tensor([n, *size, c], like=x)
    options = {
        "align_corners": d.variant in ("align corners", "both"),
        "half_pixel_centers": d.variant in ("half pixel centers", "both"),
    }
    size = np.array(size, np.int32)
    fed = d.variant == "size fed"
    model = Model.single(d.op, [x, Tensor([2], "int32") if fed else Tensor.constant(size)], [y], 4, **options)
    refused = None if d.op == "RESIZE_BILINEAR" and d.variant == "both" else False  # the delegate takes it
    return d.case(model, lambda: [d.values(x), size] if fed else [d.values(x)], refused=refused)
