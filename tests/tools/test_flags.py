"""Which flags a source asks for, and which of them a compiler takes."""

import shutil

import pytest

from tools import flags


def asked(tmp_path, text):
    path = tmp_path / "a.pyx"
    path.write_text(text)
    return flags.asked(path)


def test_a_source_says_its_flags(tmp_path):
    assert asked(tmp_path, '"""What it is."""\n') == {}
    both = asked(tmp_path, '# cython: binding=True\n# tflm_cy: optimize=speed again=avx2\n"""What it is."""\n')
    assert both == {"optimize": "speed", "again": "avx2"}


@pytest.mark.parametrize("line", ["optimize=fast", "target=avx1024", "speed", "optimise=speed", "optimize = speed", ""])
def test_what_is_not_known_is_an_error(tmp_path, line):
    with pytest.raises(SystemExit, match=r"a\.pyx"):
        asked(tmp_path, f"# tflm_cy: {line}\n")


@pytest.fixture(params=["gcc", "clang"])
def compiler(request):
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    return flags.Compiler([request.param, "-fPIC"], [request.param, "-shared"])


def test_a_compiler_is_asked(compiler):
    assert compiler.takes(flags.REQUIRED)
    assert not compiler.takes(["-fno-such-flag"])
    assert compiler.taken(["-O2", "-fno-such-flag", "-fvisibility=hidden"]) == ["-O2", "-fvisibility=hidden"]


def test_a_processor_wants_flags(compiler):
    assert compiler.of_machine("i686") == ["-msse2", "-mfpmath=sse"]
    assert compiler.of_machine("x86_64") == []


def test_a_linker_is_asked(compiler):
    assert compiler.linked([["-lm"], ["-Wl,--no-such-option"]]) == ["-lm"]


def test_objects_of_another_compiler_are_others(compiler):
    assert compiler.identity != flags.Compiler([*compiler.compile_command, "-O1"], []).identity


def test_a_compiler_that_spells_a_flag_otherwise(tmp_path):
    """As zig does, which names no architecture."""
    script = tmp_path / "cc"
    script.write_text('#!/bin/sh\ncase "$*" in *-march=*) exit 1;; esac\n')
    script.chmod(0o755)
    zig = flags.Compiler([str(script)], [])
    asked = ["-O3", "-march=armv8.2-a+dotprod"]
    assert zig.takes(asked)
    assert zig.taken(asked) == ["-O3", "-mcpu=generic+v8_2a+dotprod"]
    assert zig.lacks("aarch64") == []
    assert flags.Compiler(["false"], []).lacks("aarch64") == ["neon", "neondot", "i8mm"]
