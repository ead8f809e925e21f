"""NON_MAX_SUPPRESSION_V4 and NON_MAX_SUPPRESSION_V5: boxes chosen by score and overlap."""

import numpy as np
import pytest

from compat.builder import Tensor

from .one_operator import run, same

BOXES = np.array([[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 5, 1, 6], [1, 1, 0, 0]], np.float32)
SCORES = np.array([0.9, 0.75, 0.6, 0.3], np.float32)


def suppress(op, limit=3, sigma=None, overlap=0.5, fed=False):
    outputs = [Tensor([3], "int32"), *([] if sigma is None else [Tensor([3], "float32")]), Tensor([], "int32")]
    limit = np.array(limit, np.int32)
    inputs = [(BOXES, "float32"), (SCORES, "float32"), (limit, "int32") if fed else limit]
    inputs += [np.array(v, np.float32) for v in (overlap, 0.2, *([] if sigma is None else [sigma]))]
    return run(op, inputs, outputs)


@pytest.mark.parametrize("fed", [True, False])
def test_hard(fed):
    chosen, count = suppress("NON_MAX_SUPPRESSION_V4", fed=fed)
    same(chosen, np.array([0, 2, 0], np.int32))
    same(count, np.int32(2))


def test_soft_lowers_the_scores_of_neighbours():
    chosen, scores, count = suppress("NON_MAX_SUPPRESSION_V5", sigma=0.5, overlap=1.0)
    same(chosen, np.array([0, 2, 1], np.int32))
    shared = 0.9 / 1.1
    np.testing.assert_allclose(scores, [0.9, 0.6, 0.75 * np.exp(-shared * shared)], rtol=1e-6)
    same(count, np.int32(3))


@pytest.mark.parametrize("options", [{"limit": -1}, {"limit": -1, "fed": True}, {"sigma": -1.0}])
def test_refused(options):
    with pytest.raises((ValueError, RuntimeError)):
        suppress("NON_MAX_SUPPRESSION_V5", **options)
