"""What each generated file was made from, so that it is made again only if that has changed.

    records = Records(Path("build/records.json"))
    key = records.key([source, header], "gcc 12", "-O2")
    if not records.is_fresh(target, key):
        ...                                  # make it
        records.note(target, key)
    records.save()

A key is a digest of contents and settings. Times do not count: a fresh environment, as pip makes one for every build,
or a checkout of another branch and back, changes nothing.
"""

import hashlib
import json
import os
import re
from functools import cache
from pathlib import Path
from threading import Lock

_USES = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+cimport[ \t]+(\([^)]*\)|[^\n]*)"
    r"|cimport[ \t]+([\w., \t]+)"
    r"|include[ \t]+[\"']([^\"']+)[\"'])",
    re.M,
)


class Records:
    """Keys by the name of the file that was made."""

    def __init__(self, path: Path):
        self.path = path
        self._lock = Lock()
        try:
            self._keys = json.loads(path.read_text())
        except (OSError, ValueError):
            self._keys = {}

    @staticmethod
    def key(inputs, *settings) -> str:
        """Return the digest of files and settings: in a copy of the checkout, below another folder, the same."""
        digest = hashlib.sha256(repr(settings).encode())
        for path in sorted(map(_within, inputs)):
            digest.update(f"{path}\0{_contents(path, *_state(path))}\0".encode())
        return digest.hexdigest()

    def is_fresh(self, target, key: str) -> bool:
        """Whether the file is there and was made from what the key stands for."""
        return self._keys.get(str(target)) == key and os.path.exists(target)

    def note(self, target, key: str) -> None:
        """Remember that the file was made from it."""
        self._keys[str(target)] = key

    def is_unknown(self, target) -> bool:
        """Whether the file is there and nothing is known of it."""
        return str(target) not in self._keys and os.path.exists(target)

    def save(self) -> None:
        """Write what is known; a build that is interrupted meanwhile leaves the old file."""
        with self._lock:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            temporary = self.path.with_suffix(f".{os.getpid()}")
            temporary.write_text(json.dumps(dict(self._keys), indent=0, sort_keys=True))
            os.replace(temporary, self.path)


def _within(path) -> str:
    """A path from the checkout's root, or an absolute one outside of it."""
    relative = os.path.relpath(path)
    return os.path.abspath(path) if relative.startswith("..") else relative


def is_newer(target, inputs) -> bool:
    """Whether a file was written after all of its inputs."""
    return os.path.getmtime(target) > max(map(os.path.getmtime, inputs))


def module_name(path: Path) -> str:
    """The name of the module, or of the declarations, that a file of the checkout holds."""
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def cython_inputs(source: Path) -> set[Path]:
    """All files that Cython reads for a source."""
    found, waiting = set(), [source]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _uses(path)
            waiting += [path.with_suffix(".pxd")] if path.with_suffix(".pxd").exists() else []
    return found


def read_depfile(path) -> list[str] | None:
    """Return the files that a compiler has read, as it says (-MMD), without those of the system; None: it has not said it."""
    try:
        text = Path(path).read_text()
    except OSError:
        return None
    names = re.findall(r"(?:\\.|[^\s\\])+", text.partition(": ")[2].replace("\\\n", " "))
    return [
        name
        for name in (name.replace("\\ ", " ") for name in names)
        if not os.path.isabs(name) and os.path.exists(name)
    ]


def named_headers(c: str, package: Path) -> list[str]:
    """Return a C file and the headers of the package that it names, or that these name."""
    headers = {path.name: str(path) for path in package.rglob("*.h")}
    found, waiting = [], [c]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.append(path)
            names = re.findall(r'^[ \t]*#[ \t]*include[ \t]+"([\w.]+)"', Path(path).read_text(), re.M)
            waiting += [headers[name] for name in names if name in headers]
    return found


def _state(path) -> tuple[int, int]:
    status = os.stat(path)
    return status.st_mtime_ns, status.st_size


@cache
def _contents(path, time, size) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@cache
def _uses(path: Path) -> tuple[Path, ...]:
    """Files of the package that one names: as modules, as modules of a package, as text."""
    found = []
    for package, names, modules, text in _USES.findall(path.read_text()):
        found += [path.parent / text] if text else []
        for module in [package, *modules.replace(",", " ").split()]:
            base = Path(*module.split("."))
            found += [base.with_suffix(".pxd"), base / "__init__.pxd"] if module else []
        found += [Path(*package.split("."), f"{name}.pxd") for name in re.findall(r"\w+", names)] if package else []
    return _existing(found)


def _existing(paths) -> tuple[Path, ...]:
    return tuple(Path(os.path.normpath(path)) for path in paths if path.is_file())
