"""Cython blocks that are whole modules compile, as far as C."""

from pathlib import Path

import pytest
from blocks import ROOT, blocks

PAGES = ("docs/architecture.md", "docs/operators.md", "tflm_cy/ops/README.md")
Main = pytest.importorskip("Cython.Compiler.Main", reason="Cython is needed for building only")


@pytest.mark.parametrize("page", PAGES)
def test_cython_blocks_compile(page, tmp_path):
    found = blocks(page, "cython")
    assert found
    for i, block in enumerate(found):
        source = Path(tmp_path, f"block_{i}.pyx")
        source.write_text(block.text)
        options = Main.CompilationOptions(
            Main.default_options, include_path=[str(ROOT)], compiler_directives={"language_level": 3}
        )
        result = Main.compile_single(str(source), options, full_module_name=f"tflm_cy_block_{i}")
        assert result.num_errors == 0, f"{page}:{block.line}"
