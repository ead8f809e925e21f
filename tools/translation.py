"""C from a source by Cython, in a process of its own.

    with ProcessPoolExecutor(jobs) as pool:
        taken = list(pool.map(translated, sources, names, repeat(directives)))

Cython finds what a source cimports while it translates it. `cythonize()` would read all sources for that first, in one process.
"""

import gc
from pathlib import Path

from Cython.Compiler import Options
from Cython.Compiler.Main import compile as translate

from . import cold

# Cython makes trees of objects that all live to the end: it need not look for garbage among them often.
gc.set_threshold(300_000, 10, 10)


def translated(source: Path, name: str, directives: dict) -> bool:
    """Write the C file of a module beside its source, all of it or nothing; false: Cython has said what is wrong."""
    target, unfinished = source.with_suffix(".c"), source.with_suffix(".c.new")
    # Those of operators would make the library larger for nobody: who wants to know how an operator computes reads its source.
    Options.docstrings = "ops" not in source.parts
    result = translate(str(source), full_module_name=name, compiler_directives=directives, output_file=str(unfinished))
    if result.num_errors:
        unfinished.unlink(missing_ok=True)
        target.unlink(missing_ok=True)
        return False
    if "ops" in source.parts:
        unfinished.write_text(cold.mark_cold(unfinished.read_text()))
    unfinished.replace(target)
    return True
