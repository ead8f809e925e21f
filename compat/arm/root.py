"""A folder with a Python for another machine and TensorFlow or LiteRT for it, and the emulator that runs them.

    root = Root("/tmp/aarch64")          # raises RootError where something is missing
    root.run(["-c", "print(1)"], cpu="cortex-a72")

| in the folder | what |
| --- | --- |
| `qemu/usr/bin/qemu-aarch64` | the emulator, version 8 or newer: older ones compute floats that no ARM machine computes |
| `root/usr` | CPython for aarch64 with its headers, and the libraries that it needs |
| `site` | numpy, and ai_edge_litert or tensorflow, for aarch64 |
| `product` | written by `build`: a copy of this checkout, compiled for aarch64 |
| `python-CPU` | written by `python`: runs the Python as on that CPU |

MACHINES has the machines that there may be instead of aarch64: the build settings of the Python in `root` say which it
is. What this processor runs by itself needs no emulator. Where there is no TensorFlow the tests can be run.
"""

import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

OLDEST_EMULATOR = (8, 0)


@dataclass(frozen=True)
class Machine:
    triple: str  # as Debian's Python names it
    compiler: str  # its cross compiler
    name: str  # platform.machine() there
    cpu: str  # as which it is emulated unless something else is wanted
    emulator: str = ""
    loader: str = ""  # below root: of a machine whose programs this processor runs
    libraries: tuple[str, ...] = ()  # folders below root where the loader finds nothing by itself


MACHINES = (
    Machine("aarch64-linux-gnu", "aarch64-linux-gnu-gcc", "aarch64", "cortex-a72", "qemu-aarch64"),
    Machine(
        "arm-linux-gnueabihf",
        "arm-linux-gnueabihf-gcc",
        "armv7l",
        "cortex-a15",
        "qemu-arm",
        libraries=tuple(f"usr/lib/arm-linux-gnueabihf/{name}" for name in ("blas", "lapack")),
    ),
    Machine(
        "i386-linux-gnu",
        "i686-linux-gnu-gcc",
        "i686",
        "i686",
        loader="lib/ld-linux.so.2",
        libraries=tuple(f"{name}/i386-linux-gnu" for name in ("lib", "usr/lib"))
        + tuple(f"usr/lib/i386-linux-gnu/{name}" for name in ("blas", "lapack")),
    ),
)


class RootError(Exception):
    """The folder lacks something."""


class Root:
    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        self.system = self.folder / "root"
        self.site = self.folder / "site"
        self.product = self.folder / "product"
        self.interpreter = max(self.system.glob("usr/bin/python3.*[0-9]"), default=None, key=_version)
        if self.interpreter is None:
            raise RootError(f"{self.system / 'usr/bin'} has no python3: it is no root of another machine")
        self.machine = next((machine for machine in MACHINES if self._settings(machine)), None)
        if self.machine is None:
            raise RootError(
                f"{self.system / 'usr/lib'} has no build settings of {' or '.join(machine.triple for machine in MACHINES)}"
            )
        self.emulator = self.folder / "qemu" / "usr" / "bin" / self.machine.emulator if self.machine.emulator else None
        for wanted in (self.emulator or self.system / self.machine.loader, self.site):
            if not wanted.exists():
                raise RootError(f"{wanted} does not exist")
        version = self.emulator_version() if self.emulator else OLDEST_EMULATOR
        if version < OLDEST_EMULATOR:
            text = ".".join(map(str, version))
            raise RootError(f"{self.emulator} is version {text}; {OLDEST_EMULATOR[0]} or newer is needed")

    def settings(self):
        """The file with the build settings of the Python."""
        return self._settings(self.machine)[0]

    def _settings(self, machine):
        return list(self.system.glob(f"usr/lib/python3.*/_sysconfigdata__{machine.triple}.py"))

    def emulator_version(self):
        """(major, minor) of the emulator."""
        text = subprocess.run([self.emulator, "--version"], capture_output=True, text=True, check=True).stdout
        return tuple(int(part) for part in text.split("version ")[1].split()[0].split(".")[:2])

    def python_version(self):
        """(major, minor) of the Python."""
        return _version(self.interpreter)

    def has(self, package):
        """Whether a package is in `site`."""
        return (self.site / package).is_dir()

    def python(self, cpu):
        """The path of a program that runs the Python as on `cpu`.

        Where the current directory has a package of its own, as the checkout does, the program enters the compiled copy. What the
        caller's PYTHONPATH has comes last.
        """
        program = self.folder / f"python-{cpu.replace(',', '-').replace('=', '-')}"
        home, path = shlex.quote(str(self.system / "usr")), shlex.quote(f"{self.product}{os.pathsep}{self.site}")
        command = shlex.join([*self._started_by(cpu), str(self.interpreter)])
        enter = f"[ ! -d tflm_cy ] || cd {shlex.quote(str(self.product))} || exit"
        text = f'#!/bin/sh\n{enter}\nPYTHONHOME={home} PYTHONPATH={path}${{PYTHONPATH:+:$PYTHONPATH}} exec {command} "$@"\n'
        if not program.exists() or program.read_text() != text:
            program.write_text(text)
            program.chmod(0o755)
        return program

    def _started_by(self, cpu):
        """The command in front of a program of that machine."""
        libraries = os.pathsep.join(str(self.system / name) for name in self.machine.libraries)
        if (
            self.emulator is None
        ):  # a variable: processes that it starts find them, too, where this system has the loader
            return ["env", f"LD_LIBRARY_PATH={libraries}", str(self.system / self.machine.loader)]
        path = ["-E", f"LD_LIBRARY_PATH={libraries}"] if libraries else []
        return [str(self.emulator), *path, "-cpu", cpu, "-L", str(self.system)]

    def run(self, arguments, cpu=None, **options):
        """subprocess.run of the Python in the copy of the checkout."""
        return subprocess.run([self.python(cpu or self.machine.cpu), *arguments], cwd=self.product, **options)


def _version(python):
    return tuple(int(part) for part in python.name.removeprefix("python").split("."))
