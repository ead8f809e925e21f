"""The fake sides can be imported, here and in the processes that are started."""

from pathlib import Path

import pytest

FAKES = Path(__file__).parent / "fake_sides"


@pytest.fixture
def fake_sides(monkeypatch):
    monkeypatch.syspath_prepend(str(FAKES))
    monkeypatch.setenv("PYTHONPATH", str(FAKES))
