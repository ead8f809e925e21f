"""compat.arm: the parts that need no emulator."""

import os
import stat
import subprocess

import pytest

from compat.arm.__main__ import main, parser, side_options, split_cpus
from compat.arm.build import build_environment
from compat.arm.instructions import Log, ranges
from compat.arm.root import Root, RootError
from compat.cache import OutcomeCache


@pytest.fixture
def folder(tmp_path):
    """A root whose emulator is a script that says its version."""
    for path in (
        "root/usr/bin",
        "root/usr/lib/python3.11",
        "root/usr/include",
        "qemu/usr/bin",
        "site/numpy",
        "product",
    ):
        (tmp_path / path).mkdir(parents=True)
    (tmp_path / "root/usr/bin/python3.11").touch()
    (tmp_path / "root/usr/lib/python3.11/_sysconfigdata__aarch64-linux-gnu.py").write_text("build_time_vars = {}\n")
    set_emulator(tmp_path, "10.0.2")
    return tmp_path


def set_emulator(folder, version):
    emulator = folder / "qemu/usr/bin/qemu-aarch64"
    emulator.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo "qemu-aarch64 version {version} (test)" || echo "$@"\n'
    )
    emulator.chmod(emulator.stat().st_mode | stat.S_IXUSR)


def test_a_root_is_checked(folder, tmp_path):
    assert Root(folder).python_version() == (3, 11)
    set_emulator(folder, "7.2.19")
    with pytest.raises(RootError, match=r"version 7\.2; 8 or newer"):
        Root(folder)
    with pytest.raises(RootError, match="no python3"):
        Root(tmp_path / "elsewhere")


def test_a_missing_part_is_named(folder):
    (folder / "site/numpy").rmdir()
    (folder / "site").rmdir()
    with pytest.raises(RootError, match="site does not exist"):
        Root(folder)


def test_a_cpu_has_a_python_of_its_own(folder):
    root = Root(folder)
    shown = root.run(["-c", "pass"], "max,sme=off", capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["-cpu", "max,sme=off", "-L", str(root.system), str(root.interpreter), "-c", "pass"]
    assert root.python("cortex-a72") != root.python("max,sme=off")


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("cortex-a72", ["cortex-a72"]),
        ("cortex-a72,max,sme=off,pauth=off,neoverse-v1", ["cortex-a72", "max,sme=off,pauth=off", "neoverse-v1"]),
        ("", []),
    ],
)
def test_options_belong_to_the_cpu_before_them(text, cpus):
    assert split_cpus(text) == cpus


def test_sides_run_in_the_root_unless_told_otherwise(folder):
    root = Root(folder)
    program = str(root.python("max"))
    assert side_options(root, "max", []) == ["--a", "ai_edge_litert", "--python-a", program, "--python-b", program]
    assert side_options(root, "max", ["--a", "tflm_cy", "--python-a=python3"]) == ["--python-b", program]
    (folder / "site/tensorflow").mkdir()
    assert side_options(root, "max", [])[1] == "tensorflow"


def test_sides_are_options_of_compat():
    assert parser().parse_known_args(["--root", "R", "--b", "tflm_cy:AUTO"])[1] == ["--b", "tflm_cy:AUTO"]


def test_tests_start_their_children_in_the_emulator(folder, capfd):
    assert main(["--root", str(folder), "--no-build", "--run", "tests/simd"]) == 0
    assert capfd.readouterr().out.split()[-3:] == [str(Root(folder).python("cortex-a72")), "-q", "tests/simd"]


def test_the_other_machines_settings_are_used(folder):
    environment = build_environment(Root(folder))
    assert environment["_PYTHON_SYSCONFIGDATA_NAME"] == "_sysconfigdata__aarch64-linux-gnu"
    assert os.listdir(environment["PYTHONPATH"]) == ["_sysconfigdata__aarch64-linux-gnu.py"]
    assert str(folder / "root/usr/include/python3.11") in environment["CFLAGS"]


def test_a_root_of_32_bits(folder):
    """Its Python finds libraries of Debian's numpy by a variable."""
    settings = folder / "root/usr/lib/python3.11"
    with pytest.raises(RootError, match="no build settings of aarch64-linux-gnu or arm-linux-gnueabihf"):
        (settings / "_sysconfigdata__aarch64-linux-gnu.py").unlink()
        Root(folder)
    (settings / "_sysconfigdata__arm-linux-gnueabihf.py").write_text("build_time_vars = {}\n")
    (folder / "qemu/usr/bin/qemu-aarch64").rename(folder / "qemu/usr/bin/qemu-arm")
    root = Root(folder)
    environment = build_environment(root)
    assert (environment["CC"], environment["_PYTHON_HOST_PLATFORM"]) == ("arm-linux-gnueabihf-gcc", "linux-armv7l")
    shown = root.run(["-c", "pass"], capture_output=True, text=True, check=True).stdout.split()
    libraries = root.system / "usr/lib/arm-linux-gnueabihf"
    assert shown[:4] == ["-E", f"LD_LIBRARY_PATH={libraries / 'blas'}:{libraries / 'lapack'}", "-cpu", "cortex-a15"]


def test_a_root_that_this_processor_runs(folder):
    """No emulator: the root's own loader starts its Python."""
    settings = folder / "root/usr/lib/python3.11"
    (settings / "_sysconfigdata__aarch64-linux-gnu.py").rename(settings / "_sysconfigdata__i386-linux-gnu.py")
    with pytest.raises(RootError, match=r"ld-linux\.so\.2 does not exist"):
        Root(folder)
    loader = folder / "root/lib/ld-linux.so.2"
    loader.parent.mkdir()
    loader.write_text('#!/bin/sh\necho $LD_LIBRARY_PATH "$@"\n')
    loader.chmod(0o755)
    root = Root(folder)
    assert build_environment(root)["CC"] == "i686-linux-gnu-gcc"
    shown = root.run(["-c", "pass"], capture_output=True, text=True, check=True).stdout.split()
    assert f"{root.system}/usr/lib/i386-linux-gnu" in shown[0].split(os.pathsep)
    assert shown[1:] == [str(root.interpreter), "-c", "pass"]


def test_outcomes_of_an_emulated_cpu_are_kept_apart(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("compat.cache.side_version", lambda side, python=None: "released 1.0")
    prefixes = {OutcomeCache("released", True, python)._prefix for python in (None, "python-a72", "python-a76")}
    assert len(prefixes) == 3


def test_wrong_usage_is_told(tmp_path, capsys):
    assert main(["--root", str(tmp_path)]) == 2
    assert "is no root of another machine" in capsys.readouterr().err
    assert main(["--root", str(tmp_path), "--cpu", ","]) == 2


LOG = b"""----------------
IN: invoke
0x0000005500001000:  d503201f  nop
0x0000005500001004:  d503201f  nop
0x0000005500001008:  d65f03c0  ret

Trace 0: 0x7f01 [00000000/0000005500001000/00000051/ff000200] invoke
MARK begin
Trace 0: 0x7f01 [00000000/0000005500001000/00000051/ff000200] invoke
MARK end
MARK begin
Trace 0: 0x7f01 [00000000/0000005500001000/00000051/ff000200] invoke
----------------
IN: copy
0x0000005500002000:  d65f03c0  ret

Trace 0: 0x7f02 [00000000/0000005500002000/00000051/ff000200] copy
Trace 0: 0x7f01 [00000000/0000005500001000/00000051/ff000200] invoke
MARK end
MARK failed no such operator
MARK begin
MARK end
MARK begin
MARK end
"""


def test_instructions_are_counted_between_marks_less_those_of_the_marks():
    assert list(Log().counts(LOG.splitlines(keepends=True))) == [4, "no such operator", 0]


def test_only_compiled_code_counts(folder, monkeypatch):
    maps = f"""5500000000-5500001000 r-xp 00000000 08:01 11 {folder}/product/tflm_cy/compiled.so
5500001000-5500002000 r--p 00001000 08:01 11 {folder}/product/tflm_cy/compiled.so
5500002000-5500003000 r-xp 00000000 08:01 12 /usr/lib/libc.so.6
5500003000-5500004000 r-xp 00000000 08:01 13 /usr/bin/python3.11
"""
    done = subprocess.CompletedProcess([], 0, maps, "")
    root = Root(folder)
    monkeypatch.setattr("compat.arm.instructions.subprocess.run", lambda *arguments, **options: done)
    assert ranges(root, "cortex-a72", "tflm_cy", {}) == "0x5500000000..0x5500001000,0x5500002000..0x5500003000"
