"""The flags that sources are compiled and linked with, and which of them a compiler takes: it is asked, nothing is assumed.

A source asks for flags in one of its first lines; setup.py says what a folder's sources get without.

    # tflm_cy: optimize=speed            what every load or invoke goes through, in a folder that is compiled for size
    # tflm_cy: optimize=size
    # tflm_cy: optimize=loops            -O3 and OPERATORS, for loops that the compiler makes vectors of
    # tflm_cy: again=avx2                a second body, for AVX2; `ops` says which one this CPU takes
    # tflm_cy: target=avx512             a module of vector kernels: compiled for one instruction set, and only for its processors
"""

import re
import subprocess
import tempfile
from functools import cached_property
from pathlib import Path

# A fused multiply-add appears only where the definition of an operator says so: without this one the bytes would be others.
REQUIRED = ["-ffp-contract=off"]
# By processor, in groups of which a compiler takes all or none. The registers of the x87 hold more than a float. NEON of 32 bits takes
# denormals for zeros and forgets what a NaN holds; each of the two groups is what some clang switches it off with.
WITHOUT_NEON = [["-mfpu=vfpv3-d16"], ["-Xclang", "-target-feature", "-Xclang", "-neon"]]
WITHOUT_X87 = [["-msse2", "-mfpmath=sse"]]
MACHINES = dict.fromkeys(("i386", "i486", "i586", "i686"), WITHOUT_X87)
MACHINES |= dict.fromkeys(("armv6l", "armv7l", "armv8l", "arm"), WITHOUT_NEON)
# -O2 with the vectorizer: what -O3 adds doubles the time of a build and no kernel needs it.
OPTIMIZE = ["-O2", "-ftree-vectorize", "-fvect-cost-model=dynamic"]
# Tables for unwinding, aligned functions and pages that hold one segment each are a seventh of the library's size. Exceptions are read and
# set by Python's functions; Cython's would be in each module again.
SMALLER = [
    "-DCYTHON_FAST_THREAD_STATE=0",
    "-fvisibility=hidden",
    "-g0",
    "-fno-asynchronous-unwind-tables",
    "-fno-unwind-tables",
    "-fno-align-functions",
    "-fno-align-jumps",
    "-fno-align-loops",
]
COMPILE = [*OPTIMIZE, "-fno-math-errno", *SMALLER]
# -Os alone would have memory filled byte by byte. Not for code with AVX: it leaves the upper halves of vectors as they are, and then
# all code without AVX takes three times as long; nor for operators: each memcpy would become an instruction that is slow to begin.
SIZE = ["-Os", "-fno-builtin-memset"]
# The JCC erratum: Intel's processors from Skylake to Cascade Lake decode a loop anew in each round where a jump touches a border of 32
# bytes; it then takes up to twice the time. GCC passes the flag on to its assembler, clang takes it itself.
JCC_ERRATUM = ["-Wa,-mbranches-within-32B-boundaries", "-mbranches-within-32B-boundaries"]
JCC_TARGETS = ("avx2", "avx512")  # the best instruction sets of these processors
# Operators: the compiler makes vectors of loops that clamp and compare only if it neither splits them at conditions (PRE), nor moves what
# is computed behind them (sinking), nor fears that a comparison raises a flag of the floating-point unit. Nobody reads these flags, and no
# result changes.
OPERATORS = [*JCC_ERRATUM, "-fno-tree-pre", "-fno-tree-sink", "-fno-trapping-math"]
UNROLL = ["-O3", "-fno-semantic-interposition", "-falign-functions=64", "-falign-loops=32"]
# All warnings but those of what Cython writes: functions and parameters that a module does not use; tables that are not written
# out to their ends; comparisons of enums with integers, and of unsigned types with 0; variables of its own for conditional
# expressions, which are never const.
WARNINGS = ["-Wall", "-Wextra", "-Wno-unused-function", "-Wno-unused-parameter", "-Wno-missing-field-initializers"]
WARNINGS += [
    "-Wno-sign-compare",
    "-Wno-type-limits",
    "-Wno-discarded-qualifiers",
    "-Wno-incompatible-pointer-types-discards-qualifiers",
]
# Each is for one linker or another.
LINK = [["-Wl,--strip-all"], ["-Wl,-z,noseparate-code"], ["-Wl,-x"], ["-lm"]]
# With line numbers alone: a build takes half the time.
SANITIZE = ["-O1", "-g1", *REQUIRED, "-fno-omit-frame-pointer"]
# The value of TFLM_CY_SANITIZE -> what it wants, what is linked with first. The checks at each pointer are AddressSanitizer's, too.
SANITIZERS = {
    "1": ["-fsanitize=address,undefined", "-fno-sanitize=null,object-size"],
    "thread": ["-fsanitize=thread"],
}
SANITIZE_KERNELS = ["-O1", "-fno-sanitize=undefined"]

AVX2 = ["-mavx2", "-mfma"]
# Two bodies are there for their long loops: what is left over behind them needs no vectors of half the size, a fifth of the file.
NO_VECTOR_EPILOGUES = ["--param=vect-epilogues-nomask=0"]
AVX512 = ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mavx512vnni", *AVX2, "-mbmi2"]
# Instruction set -> (processors, by the name that sysconfig.get_platform() ends with; flags without which it cannot be compiled)
TARGETS = {
    "avx2": ("x86_64", [*AVX2, "-mbmi2", "-mf16c"]),
    "avxvnni": ("x86_64", [*AVX2, "-mbmi2", "-mf16c", "-mavxvnni"]),
    "avx512": ("x86_64", AVX512),
    "amx": ("x86_64", [*AVX512, "-mamx-tile", "-mamx-int8"]),
    "neon": ("aarch64", []),
    "neondot": ("aarch64", ["-march=armv8.2-a+dotprod"]),
    "i8mm": ("aarch64", ["-march=armv8.2-a+dotprod+i8mm"]),
}
# What zig takes instead: it names a processor and its features where GCC and clang name an architecture.
SPELLINGS = {
    "-march=armv8.2-a+dotprod": "-mcpu=generic+v8_2a+dotprod",
    "-march=armv8.2-a+dotprod+i8mm": "-mcpu=generic+v8_2a+dotprod+i8mm",
}
WORDS = {"optimize": ("size", "speed", "loops"), "again": ("avx2",), "target": tuple(TARGETS)}


def asked(source: Path) -> dict[str, str]:
    """What a source asks for in its first lines."""
    wishes = {}
    for line in source.read_text().splitlines()[:5]:
        for key, value in re.findall(r"(\S+)=(\S+)", line) if line.startswith("# tflm_cy:") else ():
            if value not in WORDS.get(key, ()):
                known = ", ".join(f"{key}={value}" for key, values in WORDS.items() for value in values)
                raise SystemExit(f"{source}: '# tflm_cy: {key}={value}' is not known, only {known}")
            wishes[key] = value
        if line.startswith("# tflm_cy:") and not re.fullmatch(r"# tflm_cy:( \S+=\S+)+", line):
            raise SystemExit(f"{source}: {line!r} is not of the form '# tflm_cy: key=value'")
    return wishes


class Compiler:
    """A C compiler and its linker, given by their commands."""

    def __init__(self, compile_command, link_command):
        self.compile_command = list(compile_command)
        self.link_command = list(link_command)
        self._known = {}  # flags -> whether they are taken

    @cached_property
    def identity(self) -> str:
        """Return its version: objects of another one are made anew."""
        done = subprocess.run([*self.compile_command, "--version"], capture_output=True, text=True, check=False)
        return " ".join([*self.compile_command, done.stdout])

    def taken(self, flags) -> list[str]:
        """Return those of the flags that it takes without a word, as it spells them."""
        flags = self.spelled(flags)
        return flags if self.takes(flags) else [flag for flag in flags if self.takes([flag])]

    def of_machine(self, machine) -> list[str]:
        """Return the flags that a processor wants, as far as it takes them."""
        return [flag for group in MACHINES.get(machine, []) if self.takes(group) for flag in group]

    def linked(self, groups) -> list[str]:
        """Return those of the linker's options, in groups, that it takes."""
        return [flag for group in groups if self.links(group) for flag in group]

    def spelled(self, flags) -> list[str]:
        """Return the flags; of those that it does not take the other spelling, if there is one."""
        return [flag if flag not in SPELLINGS or self._compiles_with((flag,)) else SPELLINGS[flag] for flag in flags]

    def takes(self, flags) -> bool:
        """Whether it takes all of these flags together, however it spells them."""
        return self._compiles_with(tuple(self.spelled(flags)))

    def lacks(self, machine) -> list[str]:
        """Return the instruction sets of a processor that it cannot make code for."""
        return [name for name, (wanted, needed) in TARGETS.items() if wanted == machine and not self.takes(needed)]

    def _compiles_with(self, flags) -> bool:
        if flags not in self._known:
            with tempfile.TemporaryDirectory() as folder:
                self._known[flags] = _compiles(folder, [*self.compile_command, "-Werror", *flags])
        return self._known[flags]

    def links(self, options) -> bool:
        """Whether a library can be linked with all of these options."""
        with tempfile.TemporaryDirectory() as folder:
            if not _compiles(folder, self.compile_command):
                return False
            command = [*self.link_command, "probe.o", "-o", "probe.so", *options]
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            return done.returncode == 0 and not re.search(r"warning|unknown|unsupported|ignor", done.stderr)


def _compiles(folder, command) -> bool:
    Path(folder, "probe.c").write_text("int probe(int a);\nint probe(int a) { return a; }\n")
    done = subprocess.run([*command, "-c", "probe.c", "-o", "probe.o"], cwd=folder, capture_output=True, check=False)
    return done.returncode == 0
