"""Compiles every `tflm_cy/**/*.pyx`, in parallel, and links all of them into one library, `tflm_cy/compiled`.

As a library of its own each module would cost kilobytes of what they all hold, and an import the time to load
it. Some operators are compiled twice (TWICE). `tflm_cy/library.py` finds the modules in it; each is still imported only when it is needed.

Two tables are generated here: `ops/index.py` maps the name of an operator to the module of `tflm_cy.ops` that declares
it, read from the `OPERATORS = {` (and `CUSTOM_OPERATORS = {`) table of each source, so that an operator registers by
existing and is imported only when a model needs it; `index.py` has the names of the compiled modules.

    TFLM_CY_SANITIZE=1 pip install -e .     # AddressSanitizer and UndefinedBehaviorSanitizer
    TFLM_CY_EMULATE=vnni pip install -e .   # kernels that this CPU has not, slowly, to test them: those of AVX-VNNI by AVX2;
                                            # avx512 by AVX2 too, over SIMDe's headers (CPATH=DIR, if DIR/simde/x86 holds them);
                                            # amx in C, over AVX-512. Several: vnni,avx512,amx
"""

import os
import platform
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

PACKAGE = Path("tflm_cy")
SANITIZE = bool(os.environ.get("TFLM_CY_SANITIZE"))
EMULATE = [name for name in os.environ.get("TFLM_CY_EMULATE", "").split(",") if name]
# -ffp-contract=off: a fused multiply-add appears only where the definition of an operator says so.
# -O2 with the vectorizer: what -O3 adds doubles the time of a build and no kernel needs it.
OPTIMIZE = ["-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic"]
# Tables for unwinding, aligned functions and pages that hold one segment each are a seventh of the library's size.
COMPILE = [*OPTIMIZE, "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden", "-g0", "-Wno-unused-function"]
COMPILE += ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-align-functions", "-fno-align-jumps"]
LINK = ["-Wl,--strip-all", "-Wl,-z,noseparate-code"]
if SANITIZE:
    COMPILE = ["-O1", "-g", "-ffp-contract=off", "-fsanitize=address,undefined", "-fno-omit-frame-pointer"]
    LINK = ["-fsanitize=address,undefined"]
for emulated in EMULATE:
    if emulated not in ("vnni", "avx512", "amx"):
        raise SystemExit(f"TFLM_CY_EMULATE takes vnni, avx512 and amx, not {emulated!r}")
    COMPILE.append(f"-DTFLM_CY_EMULATE_{emulated.upper()}")

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "embedsignature": False,
    "binding": False,  # what users call has "# cython: binding=True": a signature and a method like one in Python, for ten kilobytes
    "auto_pickle": False,
    "freethreading_compatible": True,
}


# -Os alone would have memory filled byte by byte. Not for code with AVX: it leaves the upper halves of vectors as they are, and then
# all code without AVX takes three times as long; nor for operators: each memcpy would become an instruction that is slow to begin.
SMALL = ["-Os", "-fno-builtin-memset"]
# Rooms that work before the first invoke: a third smaller when compiled for size.
PREPARING = ("schema", "memory", "graph", "delegates", "micro", "custom")
SEARCHING = {
    "branch_and_bound",
    "optimal",
    "overlap",
}  # planners whose time is the quality of their plans; their inner loop must vectorize
# What every load goes through: compiled for time, so that a model is ready as soon as TensorFlow's is.
LOADING = {
    *("structure", "verifier", "model", "loader", "subgraph", "graph", "allocator", "memory_plan", "compilation"),
    *("deferred_constants", "live_ranges", "carried_values", "strings"),
    *("prepare", "cancel_transposes", "fuse_epilogues", "alias_buffers", "line_buffers", "plan", "bind", "pipeline"),
    *("greedy", "growing_arena"),
    *("partition", "support", "create_checks", "datatype", "matrices", "operands", "rewrites", "delegate"),
    *("arrays", "resource"),  # and every invoke: -Os would copy some hundred bytes byte by byte
}
X86_64 = platform.machine().lower() in ("x86_64", "amd64")
# The xnnpack arithmetic is defined with fused multiply-adds; its modules are imported only where the CPU has them.
VECTOR = ["-mavx2", "-mfma"] if X86_64 else []
# The vector kernels: what each module of simd/ may use. table.pyx imports those that the CPU can run.
UNROLL = ["-O3", "-fno-semantic-interposition", "-falign-functions=64", "-falign-loops=32", "-falign-jumps"]
AVX2 = ["-mavx2", "-mfma", "-mbmi2", "-mf16c"]
AVX512 = ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx512vnni", "-mavx2", "-mfma", "-mbmi2"]
if "avx512" in EMULATE:
    AVX512 = [*AVX2, "-O1"]
# Operators: the compiler makes vectors of loops that clamp and compare only if it neither splits them at conditions (PRE), nor moves what
# is computed behind them (sinking), nor fears that a comparison raises a flag of the floating-point unit. Nobody reads these flags, and no
# result changes.
OPERATORS = ["-fno-tree-pre", "-fno-tree-sink", "-fno-trapping-math"]
SIMD = {
    "table": SMALL,
    "isa_avx2": [*UNROLL, *AVX2],
    "isa_avxvnni": [*UNROLL, *AVX2, "-mavxvnni"],
    "isa_avx512": [*UNROLL, *AVX512],
    "rows_avx2": [*UNROLL, *AVX2, *OPERATORS],
    "rows_avx512": [*UNROLL, *AVX512, *OPERATORS],
    "rows_portable": ["-O3", *OPERATORS],
    "amx": [*UNROLL, *AVX512, "-mamx-tile", "-mamx-int8"],
}
# Operators whose time is in loops that the compiler makes vectors of: compiled a second time, for AVX2; `ops` says which body this CPU
# takes. The same definitions give the same bytes: no flag lets the compiler round otherwise. Only which of two NaN comes out of a sum may
# show, where the definition leaves it to the compiler: SOFTMAX and LOG_SOFTMAX are therefore not among them.
TWICE = {
    *(
        "activation",
        "addition",
        "arg_reduction",
        "cast",
        "comparison",
        "conv_3d",
        "cumsum",
        "embedding",
        "multiplication",
        "normalization",
        "pool_2d",
    ),
    *(
        "quantization",
        "reduce_window",
        "reduction",
        "resize",
        "rnn",
        "segment",
        "select",
        "stablehlo",
        "svdf",
        "unary",
        "where",
    ),
}
ONLY_X86_64 = {"isa_avx2", "isa_avxvnni", "isa_avx512", "rows_avx2", "rows_avx512", "amx"}


def declared(folder: Path, table: str) -> dict[str, list[str]]:
    """Module -> the operators in its table, for the modules of a folder that have one."""
    found = {}
    for source in sorted(folder.glob("*.pyx")):
        for entries in re.findall(rf"^{table} = {{$(.*?)^}}", source.read_text(), re.M | re.S):
            found[source.stem] = re.findall(r'^    "([\w.]+)":', entries, re.M)
    return found


def operator_index() -> str:
    """Return the source of `ops/index.py`."""
    text = '"""Operator name -> module of tflm_cy.ops; generated by setup.py from the tables in the sources."""\n'
    ops = PACKAGE / "ops"
    xnnpack = declared(ops / "xnnpack", "OPERATORS")
    titles = {
        "MODULES": declared(ops, "OPERATORS"),
        "CUSTOM_MODULES": declared(ops, "CUSTOM_OPERATORS"),
        "MICRO_MODULES": declared(ops, "MICRO_OPERATORS"),
        "XNNPACK_FLOAT16": {name: xnnpack[name] for name in xnnpack if name.startswith("float16_")},
        "XNNPACK_FLOAT32": {name: xnnpack[name] for name in xnnpack if not name.startswith(("float16_", "quantized_"))},
        "XNNPACK_QUANTIZED": {name: xnnpack[name] for name in xnnpack if not name.startswith(("float16_", "float32_"))},
    }
    for title, tables in titles.items():
        modules = {}
        for module, names in tables.items():
            for name in names:
                if name in modules:
                    raise SystemExit(f"operator {name} is declared by {modules[name]}.pyx and by {module}.pyx")
                modules[name] = module
        lines = "".join(f'    "{name}": "{module}",\n' for name, module in sorted(modules.items()))
        text += f"\n{title} = {{\n{lines}}}\n"
    return text


def target_of(source: Path) -> list[str]:
    """The flags that a module has beyond those of all."""
    if source.relative_to(PACKAGE).parts[0] in PREPARING and source.stem not in SEARCHING | LOADING:
        return SMALL
    if source.parent == PACKAGE / "ops" / "xnnpack":
        return [*VECTOR, *OPERATORS]
    if source.parent == PACKAGE / "ops":
        return OPERATORS
    return SIMD.get(source.stem, []) if source.parent == PACKAGE / "simd" else []


def twice(source: Path) -> bool:
    """Whether a module has a second object, for AVX2."""
    return X86_64 and source.parent == PACKAGE / "ops" and source.stem in TWICE


def modules() -> list[Extension]:
    """One extension per .pyx file. The last part of a module's name is that of its entry into the library."""
    sources = [
        source
        for source in sorted(PACKAGE.rglob("*.pyx"))
        if X86_64 or source.parent != PACKAGE / "simd" or source.stem not in ONLY_X86_64
    ]
    unknown = (SEARCHING | LOADING | TWICE | set(SIMD)) - {path.stem for path in PACKAGE.rglob("*.pyx")}
    if unknown:
        raise SystemExit(f"flags for {min(unknown)}, which is no module")
    for source in sources:
        if [other.stem for other in sources].count(source.stem) > 1:
            raise SystemExit(f"{source}: a compiled module of this name exists in another room")
    return [
        Extension(
            ".".join(source.with_suffix("").parts),
            [str(source)],
            include_dirs=[str(source.parent)],
            depends=["setup.py", *map(str, source.parent.glob("*.h"))],
            extra_compile_args=COMPILE + target_of(source),
        )
        for source in sources
    ]


class LinkedBuild(build_ext):
    """Compiles `parts` over all cores (or -j), each with its own flags and only if it is new, and links them."""

    parts: list[Extension]

    def finalize_options(self):
        super().finalize_options()
        if SANITIZE:
            self.build_temp += "-sanitized"
        self.build_temp += "".join(f"-{name}" for name in EMULATE)

    def build_extension(self, ext):
        with ThreadPoolExecutor(self.parallel or os.cpu_count()) as pool:  # the longest first
            longest = sorted(self.parts, key=lambda part: os.path.getsize(part.sources[0]), reverse=True)
            objects = list(pool.map(self.compiled, longest))
            objects += pool.map(
                self.compiled_for_avx2, [part for part in longest if twice(Path(part.sources[0]).with_suffix(".pyx"))]
            )
        self.compiler.link_shared_object(
            sorted(objects),
            self.get_ext_fullpath(ext.name),
            extra_postargs=LINK,
            build_temp=self.build_temp,
            target_lang="c",
        )

    def compiled(self, part: Extension) -> str:
        """The object file of a module."""
        return self.object_of(part, self.build_temp, part.extra_compile_args)

    def compiled_for_avx2(self, part: Extension) -> str:
        """The second object file of a module, whose global names end otherwise."""
        dotted = part.name.replace(".", "__")
        names = (f"PyInit_{part.name.rpartition('.')[2]}", f"__pyx_module_is_main_{dotted}")
        arguments = [*part.extra_compile_args, *VECTOR, *(f"-D{name}={name}_avx2" for name in names)]
        return self.object_of(part, os.path.join(self.build_temp, "avx2"), arguments)

    def object_of(self, part: Extension, folder: str, arguments: list[str]) -> str:
        [target] = self.compiler.object_filenames(part.sources, output_dir=folder)
        needed = [*part.sources, *part.depends]
        if self.force or not os.path.exists(target) or os.path.getmtime(target) < max(map(os.path.getmtime, needed)):
            self.compiler.compile(
                part.sources,
                output_dir=folder,
                include_dirs=part.include_dirs,
                extra_postargs=arguments,
            )
        return target


def write(path: Path, text: str) -> None:
    """Write a generated file if that changes it."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main() -> None:
    """Write the tables, compile, link."""
    write(PACKAGE / "ops" / "index.py", operator_index())
    parts = cythonize(modules(), compiler_directives=DIRECTIVES, nthreads=os.cpu_count() or 1, quiet=True)
    second = [part for part in parts if twice(Path(part.sources[0]).with_suffix(".pyx"))]
    tables = ""
    for title, listed in (("MODULES", parts), ("AVX2", second)):
        names = "".join(f'        "{part.name}",\n' for part in listed)
        tables += f"\n{title} = frozenset(\n    {{\n{names}    }}\n)\n"
    write(
        PACKAGE / "index.py",
        f'"""The compiled modules, and those with a second body for AVX2; generated by setup.py."""\n{tables}',
    )
    LinkedBuild.parts = parts
    setup(
        ext_modules=[Extension("tflm_cy.compiled", [part.sources[0] for part in parts])],
        cmdclass={"build_ext": LinkedBuild},
    )


if __name__ == "__main__":  # Cython's processes import this file again, where they are not forked (CPython 3.14)
    main()
