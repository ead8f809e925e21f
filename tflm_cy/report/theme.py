"""Colours and the style sheet of all pages and pictures; dark where the reader's system asks for it (`prefers-color-scheme`).

A picture has its light colours as attributes and its roles ("ink", "muted", "accent") as classes: a viewer without style sheets
shows it light. An operator has the same colour in every picture, that of its family. Text has a contrast of at least 4.5:1.
"""

# What people look for first has colours of its own; the rest goes by what an operator does with memory and arithmetic.
FAMILIES = {
    "#4c78a8": "CONV_2D CONV_3D",
    "#f58518": "DEPTHWISE_CONV_2D",
    "#54a24b": "FULLY_CONNECTED BATCH_MATMUL",
    "#b279a2": """AVERAGE_POOL_2D MAX_POOL_2D L2_POOL_2D MEAN SUM REDUCE_MAX REDUCE_MIN REDUCE_PROD ARG_MAX ARG_MIN SOFTMAX
        LOG_SOFTMAX L2_NORMALIZATION CUMSUM TOPK_V2""",
    "#e4b52c": "ADD ADD_N SUB MUL DIV MAXIMUM MINIMUM POW SQUARED_DIFFERENCE FLOOR_DIV FLOOR_MOD",
    "#72b7b2": """RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1 LEAKY_RELU PRELU LOGISTIC TANH HARD_SWISH ELU GELU EXP LOG SQRT RSQRT SQUARE
        ABS NEG SIN COS FLOOR CEIL ROUND SIGN QUANTIZE DEQUANTIZE CAST""",
    "#9d755d": """RESHAPE SQUEEZE EXPAND_DIMS TRANSPOSE PAD PADV2 MIRROR_PAD CONCATENATION SPLIT SPLIT_V PACK UNPACK SLICE
        STRIDED_SLICE GATHER GATHER_ND TILE BROADCAST_TO SPACE_TO_DEPTH DEPTH_TO_SPACE SPACE_TO_BATCH_ND BATCH_TO_SPACE_ND
        REVERSE_V2 FILL SHAPE""",
    "#ff9da6": "TRANSPOSE_CONV RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR Convolution2DTransposeBias",
    "#8f7cc3": """UNIDIRECTIONAL_SEQUENCE_LSTM BIDIRECTIONAL_SEQUENCE_LSTM LSTM RNN UNIDIRECTIONAL_SEQUENCE_RNN
        BIDIRECTIONAL_SEQUENCE_RNN SVDF""",
}
OTHER, INPUT, SCRATCH = "#8d949c", "#5f6b7a", "#c6cbd1"
_COLOUR = {op: colour for colour, ops in FAMILIES.items() for op in ops.split()}

LIGHT = {
    "page": "#ffffff",
    "ink": "#1f2328",
    "muted": "#57606a",
    "accent": "#b5390a",
    "good": "#1a7f37",
    "tint": "#fff0eb",
    "panel": "#f3f4f6",
    "line": "#d8dce1",
    "track": "#e7eaee",
    "curve": "#c9d3df",
}
DARK = {
    "page": "#14181d",
    "ink": "#e6e9ed",
    "muted": "#a5aeb8",
    "accent": "#ff9a70",
    "good": "#5ccb7c",
    "tint": "#35211a",
    "panel": "#1d232a",
    "line": "#333b45",
    "track": "#2a313a",
    "curve": "#3b4757",
}
TEXT = ("ink", "muted", "accent", "good")  # roles that are written in
GROUND = ("page", "panel", "tint")  # roles that are written on

FONT = "font-family='system-ui, Segoe UI, Helvetica, Arial, sans-serif'"
VIEWPORT = '<meta name="viewport" content="width=device-width, initial-scale=1">'


def operator_colour(op):
    """The colour of an operator's family.

    >>> operator_colour("CONV_2D") == operator_colour("CONV_3D"), operator_colour("mine") == OTHER
    (True, True)
    """
    return _COLOUR.get(op, OTHER)


def label_colour(fill):
    """Black or white, whichever reads better on a fill.

    >>> label_colour("#4c78a8"), label_colour("#f58518")
    ('#ffffff', '#000000')
    """
    return max("#ffffff", "#000000", key=lambda colour: contrast(colour, fill))


def contrast(a, b):
    """The contrast ratio of two colours, as WCAG 2 defines it.

    >>> contrast("#000000", "#ffffff")
    21.0
    """
    low, high = sorted((_luminance(a), _luminance(b)))
    return round((high + 0.05) / (low + 0.05), 2)


def _luminance(colour):
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def _variables(colours):
    return "; ".join(f"--{role}: {colour}" for role, colour in colours.items())


# Of a picture: what it looks like where the reader's system is dark.
SVG_STYLE = (
    "<style>@media (prefers-color-scheme: dark) { "
    + " ".join(f".{role} {{ fill: {colour} }}" for role, colour in DARK.items())
    + f" .grid {{ stroke: {DARK['line']} }} .edge {{ stroke: {DARK['page']} }} .mark {{ stroke: {DARK['accent']} }}"
    f" .bound {{ stroke: {DARK['good']} }} }}</style>"
)

# Of a page. Wide tables and pictures scroll by themselves, so that the page never does.
PAGE_STYLE = f""":root {{ color-scheme: light dark; {_variables(LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_variables(DARK)} }} }}
* {{ box-sizing: border-box }}
body {{ font: 14px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; margin: 0 auto; max-width: 86rem; padding: 1.5rem 1.25rem 4rem;
  color: var(--ink); background: var(--page) }}
h1 {{ font-size: 1.6rem; line-height: 1.25; margin: 0 0 .75rem; overflow-wrap: anywhere }}
h2 {{ font-size: 1.1rem; margin: 2rem 0 .5rem }} h3 {{ font-size: 1rem; margin: 1.4rem 0 .3rem }}
p {{ margin: .5rem 0; max-width: 48rem }} small, .muted {{ color: var(--muted) }}
.table, .picture {{ overflow-x: auto }} .picture {{ border: 1px solid var(--line); border-radius: 6px }}
.picture svg {{ display: block }}
table {{ border-collapse: collapse }}
th, td {{ text-align: left; vertical-align: top; padding: .25rem 1.1rem .25rem 0; border-bottom: 1px solid var(--line) }}
th {{ font-weight: 600; vertical-align: bottom; white-space: nowrap }} th.number, td.number {{ text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums }}
td.bar {{ font-family: monospace; color: var(--muted); white-space: nowrap }}
pre {{ background: var(--panel); padding: 1rem; overflow-x: auto; border-radius: 6px }}
.remark {{ border-left: 4px solid var(--accent); padding-left: .8rem }}
summary {{ cursor: pointer; color: var(--muted) }}
@media (max-width: 40rem) {{ body {{ padding: 1rem .75rem 3rem }} h1 {{ font-size: 1.3rem }} }}"""


def page(title, body, style="", script=""):
    """A whole page. `title` and `body` are HTML already."""
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">{VIEWPORT}<title>{title}</title>\n'
        f"<style>{PAGE_STYLE}\n{style}</style></head>\n<body>\n{body}\n"
        + (f"<script>{script}</script>\n" if script else "")
        + "</body>\n</html>\n"
    )
