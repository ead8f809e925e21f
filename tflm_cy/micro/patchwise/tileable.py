"""Whether a node can be computed tile by tile.

tile_operator(node)                                          # an operators.TileOperator over images, or None
tile_operator(node, axis=0)                                  # along the first axis and the second
"""

from tflm_cy.micro.patchwise.image_operators import IMAGE_OPERATORS
from tflm_cy.micro.patchwise.operators import IMAGE, is_cut
from tflm_cy.micro.patchwise.row_operators import ROW_OPERATORS


def tile_operator(node, axis=IMAGE):
    """The TileOperator of a graph_view.Node along `axis` and the axis behind it; None when it cannot be tiled so."""
    if len(node.outputs) != 1 or node.children or node.custom or not is_cut(node.output(0), axis):
        return None
    try:
        found = _found(node, axis)
    except (IndexError, AttributeError, TypeError, ZeroDivisionError, ValueError):  # not what its kernel expects
        return None
    if found is None or not found.windows or not all(is_cut(node.input(i), axis) for i in found.windows):
        return None
    return found


def _found(node, axis):
    if node.op in IMAGE_OPERATORS:
        return IMAGE_OPERATORS[node.op](node) if axis == IMAGE and node.output(0).rank == 4 else None
    return ROW_OPERATORS[node.op](node, axis) if node.op in ROW_OPERATORS else None
