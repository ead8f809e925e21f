"""C from sources by Cython.

    with ProcessPoolExecutor(jobs) as pool:
        made = list(pool.map(translated, parts(sources, jobs), repeat(directives)))

Cython reads and analyses each .pxd that a source cimports, and those that these cimport: half of its time, for what most sources share.
Here a process that has read what all of some sources need forks for each of them (`_translate_group`). So each source is translated among
the .pxd files that it needs and no others, as if Cython had been started for it alone. Headers are included in the order in which Cython
reads: a source whose `cdef extern` stands in front of a cimport, as it defines what the headers ask for, is translated by itself.
"""

import gc
import os
import re
import sys
import traceback
from collections import Counter
from itertools import accumulate
from pathlib import Path

from Cython.Compiler import Errors, Options
from Cython.Compiler.Main import CompilationOptions, Context, default_options, run_pipeline

from . import cold
from .records import cython_inputs, module_name
from .tracebacks import share_tracebacks

# Cython makes trees of objects that all live to the end: it need not look for garbage among them often.
gc.set_threshold(300_000, 10, 10)
_DEFINES_FIRST = re.compile(r"^cdef extern\b.*^(from \S+ )?cimport\b", re.M | re.S)
PARTS_PER_JOB = 2  # more of them end at the same time, fewer share more


def parts(sources: list[Path], jobs: int) -> list[list[Path]]:
    """Divide the sources into parts that take about the same time; neighbours, which cimport about the same, stay together."""
    sources = sorted(sources)
    ends = list(accumulate(sum(path.stat().st_size for path in cython_inputs(source)) for source in sources))
    found = [[] for _ in range(jobs * PARTS_PER_JOB)]
    for source, end in zip(sources, ends, strict=True):
        found[(end - 1) * len(found) // ends[-1]].append(source)
    return [part for part in found if part]


def translated(sources: list[Path], directives: dict) -> list[Path]:
    """Write the C file of each module beside its source, all of it or nothing; return the sources that Cython does not refuse."""
    needs = {
        source: frozenset(module_name(path) for path in cython_inputs(source) if path.suffix == ".pxd")
        for source in sources
    }
    for source in sources:
        source.with_suffix(".c").unlink(missing_ok=True)
    alone = [source for source in sources if not hasattr(os, "fork") or _DEFINES_FIRST.search(source.read_text())]
    for source in alone:
        _translate(_new_context(directives), source, directives)
    _translate_group(
        _new_context(directives), {source: needs[source] for source in sources if source not in alone}, directives
    )
    return [source for source in sources if source.with_suffix(".c").exists()]


def _translate_group(context: Context, needs: dict[Path, frozenset[str]], directives: dict) -> None:
    """Translate sources all of which need what the context has read: it reads what else they share, then the group is divided."""
    while needs:
        common = frozenset.intersection(*needs.values())
        for name in sorted(common):
            context.find_module(name)
        if Errors.get_errors_count():  # printed: nothing that cimports this can be translated
            return
        needs = {source: names.difference(common, context.pxds) for source, names in needs.items()}
        frequency = Counter(name for names in needs.values() for name in sorted(names))
        [(shared, count)] = frequency.most_common(1) or [(None, 0)]
        alone = [source for source, names in needs.items() if not names or count == 1]
        for source in alone:
            _in_child(_translate, context, source, directives)
        if group := {source: names for source, names in needs.items() if shared in names and source not in alone}:
            _in_child(_translate_group, context, group, directives)
        needs = {source: names for source, names in needs.items() if source not in alone and source not in group}


def _in_child(function, *arguments) -> None:
    """Call a function in a forked process, and wait for its end."""
    gc.freeze()  # or the child's collector would copy all pages
    pid = os.fork()
    if pid == 0:  # must not go on as its parent, whatever happens
        try:
            function(*arguments)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        print(f"A process that translates sources was ended by signal {os.WTERMSIG(status)}", file=sys.stderr)


def _translate(context: Context, source: Path, directives: dict) -> None:
    target, unfinished = source.with_suffix(".c"), source.with_suffix(".c.new")
    Options.docstrings = _is_documented(source)
    context.options = _options(directives, str(unfinished))
    if run_pipeline(str(source), context.options, module_name(source), context).num_errors:
        unfinished.unlink(missing_ok=True)
        return
    text = unfinished.read_text()
    if "ops" in source.parts:
        text = cold.mark_cold(text)
    unfinished.write_text(share_tracebacks(text))
    unfinished.replace(target)


def _is_documented(source: Path) -> bool:
    """Whether the library keeps docstrings. Inside of the engine they would make it larger for nobody: who wants them reads the source."""
    return not {"ops", "simd", "schema", "threads", "graph"} & set(source.parts) or "passes" in source.parts


def _new_context(directives: dict) -> Context:
    context = Context.from_options(_options(directives, None))
    Errors.init_thread()
    Errors.open_listing_file(None)
    return context


def _options(directives: dict, target: str | None) -> CompilationOptions:
    return CompilationOptions(default_options, compiler_directives=directives, output_file=target)
