"""Every node that can be shared is shared, among four threads, whatever the machine has and however small the node is."""

import pytest

from tflm_cy.graph import context
from tflm_cy.threads import pool


@pytest.fixture(autouse=True)
def four_processors():
    pool.pretend(4)
    former = context.share_from(0)
    yield
    context.share_from(former)
    pool.pretend(0)
    assert not pool.state()["engaged"]
