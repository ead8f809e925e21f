"""Every node that can be shared is shared, among four threads, whatever the machine has and however small the node is."""

import pytest

from tflm_cy.graph.passes import tiling
from tflm_cy.threads import pool


@pytest.fixture(autouse=True)
def four_processors():
    machine, former = pool.tune(processors=4), tiling.tune(least_time=0)
    yield
    tiling.tune(**former)
    pool.tune(**machine)
    assert not pool.state()["engaged"]
