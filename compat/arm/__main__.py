"""Compare this package with TensorFlow Lite on emulated ARM machines, byte for byte.

python -m compat.arm --root DIR                                        # generated cases as on a Cortex-A72, BUILTIN_REF
python -m compat.arm --root DIR --cpu cortex-a72,cortex-a76 --mode AUTO --models MODELS
python -m compat.arm --root DIR --no-build --op SOFTMAX --mode all     # what was compiled before
python -m compat.arm --root DIR --run tests/simd                       # pytest under the emulator (--root DIR has pytest in site)

DIR holds an aarch64 Python, TensorFlow or LiteRT for it and the emulator (compat/arm/root.py says how), or a Python for 32 bits, where only
tests can be run. Every other option is one of `python -m compat`. The checkout is compiled for that machine first, in a copy below DIR.

Exit code: as of compat; the worst of all CPUs.
"""

import argparse
import os
import sys

from .. import __main__ as compat
from ..run import SideFailedError
from .build import BuildError, build
from .root import Root, RootError

# Tests that start sys.executable start the emulator; libraries that they compile are for its machine.
_PYTEST = "import sys, pytest; sys.executable = sys.argv.pop(1); sys.exit(pytest.main(sys.argv[1:]))"


def parser():
    p = argparse.ArgumentParser(
        "python -m compat.arm",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,  # --b is compat's
    )
    p.add_argument("--root", required=True, metavar="DIR", help="a root with Python, LiteRT and the emulator")
    p.add_argument("--cpu", help="CPUs as the emulator names them (default: cortex-a72; of 32 bits cortex-a15)")
    p.add_argument("--no-build", action="store_true", help="compare what was compiled before")
    p.add_argument("--build-jobs", type=int, default=1, help="compilers at a time (default %(default)s)")
    p.add_argument("--run", nargs=argparse.REMAINDER, metavar="TEST", help="run pytest under the emulator instead")
    return p


def split_cpus(text):
    """The CPUs of --cpu: a part with "=" is an option of the CPU before it (max,sme=off)."""
    cpus = []
    for part in filter(None, text.split(",")):
        if "=" in part and cpus:
            cpus[-1] += f",{part}"
        else:
            cpus.append(part)
    return cpus


def side_options(root, cpu, given):
    """Options of compat that make both sides run in the root; those that were given win."""
    side = "tensorflow" if root.has("tensorflow") else "ai_edge_litert"
    program = str(root.python(cpu))
    defaults = {"--a": side, "--python-a": program, "--python-b": program}
    chosen = [part.partition("=")[0] for part in given]
    return [part for name, value in defaults.items() if name not in chosen for part in (name, value)]


def main(argv=None):
    args, rest = parser().parse_known_args(argv)
    cpus = None if args.cpu is None else split_cpus(args.cpu)
    if cpus == []:
        print("compat.arm: --cpu names no CPU", file=sys.stderr)
        return 2
    try:
        root = Root(args.root)
        if not args.no_build:
            build(root, args.build_jobs)
    except (RootError, BuildError, SideFailedError) as error:
        print(f"compat.arm: {error}", file=sys.stderr)
        return 2
    worst = 0
    for cpu in cpus or [root.machine.cpu]:
        print(f"== {cpu}", flush=True)
        if args.run is not None:
            code = root.run(
                ["-c", _PYTEST, root.python(cpu), "-q", *args.run],
                cpu,
                check=False,
                env={**os.environ, "CC": root.machine.compiler},
            ).returncode
        else:
            code = compat.main([*rest, *side_options(root, cpu, rest)])
        worst = max(worst, code)
    return worst


if __name__ == "__main__":
    sys.exit(main())
