"""Attention composites, which only the default delegate computes: heads that share keys, batches, masks, scales and caps.

As a custom operator it is unresolved in the other modes. As a STABLEHLO_COMPOSITE it has a decomposition for them, here one of another
value, so that it shows which of the two ran.
"""

import numpy as np
from flatbuffers import flexbuffers

from ..builder import Model, Tensor
from . import cases

NAME = "odml.scaled_dot_product_attention"


@cases(NAME, dtypes=("float32",), variants=("equal heads", "grouped heads", "one head", "mask", "batches", "special"))
@cases("STABLEHLO_COMPOSITE", dtypes=("float32",), variants=("attention", "attention mask"))
def attention(d):
    queries, keys, depth = d.choice(d.between(1, 9), d.width(1, 9)), d.width(1, 70), d.channels(1, 20)
    key_heads = 1 if d.variant == "one head" else d.between(2, 4)
    heads = key_heads * (
        d.between(2, 3) if d.variant == "grouped heads" else 1 if d.variant == "equal heads" else d.between(1, 3)
    )
    batch = d.between(1, 3)
    key_batch = d.choice(batch, 1) if d.variant == "batches" or key_heads > 1 else 1
    shapes = [[batch, queries, heads, depth], *[[key_batch, keys, key_heads, depth]] * 2]
    if "mask" in d.variant:
        shapes.append(d.choice([1, 1, queries, keys], [batch, 1, queries, keys], [1, heads, 1, keys], [queries, keys]))
    inputs = [Tensor(shape, "float32") for shape in shapes]
    y = Tensor(shapes[0], "float32")
    model = Model()
    main = model.subgraph("main")
    if d.op == NAME:
        main.op(d.op, inputs, [y], custom_options=_attributes(d))
    else:
        options = {
            "name": NAME,
            "composite_attributes": list(_attributes(d)),
            "decomposition_subgraph_index": _decomposition(model, shapes),
        }
        main.op(d.op, inputs, [y], **options)
    main.outputs = [y]
    return d.case(model, lambda: [_values(d, x) for x in inputs], refused=None)  # in the delegate only


def _attributes(d):
    """scale and logit_cap, each or neither; stored as float32, as converters do."""
    builder = flexbuffers.Builder()
    with builder.Map():
        if d.flag():
            builder.Float("logit_cap", float(d.uniform(0.5, 30)))
        if d.flag():
            builder.Float("scale", float(d.uniform(0.05, 2)))
    return bytes(builder.Finish())


def _decomposition(model, shapes):
    graph = model.subgraph("decomposition")
    graph.inputs = [graph.tensor(Tensor(shape, "float32")) for shape in shapes]
    graph.outputs = graph.op("NEG", graph.inputs[:1], [Tensor(shapes[0], "float32")])
    return graph


def _values(d, tensor):
    """Mostly moderate logits; NaN or infinities now and then in "special"."""
    values = d.normal(tensor.shape, d.choice(1, 3))
    if d.variant == "special" and d.flag(0.3):
        values.flat[d.between(0, values.size - 1)] = d.choice(np.nan, np.inf, 1e-40, 3e38)
    return values
