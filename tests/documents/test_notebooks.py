"""The notebooks run, from the first cell to the last."""

import os

import pytest
from blocks import ROOT

NOTEBOOKS = sorted(path.name for path in (ROOT / "docs/notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook(name, tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat", reason='the notebooks need pip install -e ".[docs]"')
    nbclient = pytest.importorskip("nbclient", reason='the notebooks need pip install -e ".[docs]"')
    pytest.importorskip("ipykernel", reason='the notebooks need pip install -e ".[docs]"')
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))))
    notebook = nbformat.read(ROOT / "docs/notebooks" / name, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "clear the outputs before a commit"
    ran = nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    kinds = {kind for cell in ran.cells for out in cell.get("outputs", ()) for kind in out.get("data", ())}
    assert "image/svg+xml" in kinds


def test_there_are_notebooks():
    assert NOTEBOOKS
