"""What was made is made again only if what it was made from has changed."""

import os
from pathlib import Path

import pytest

from tools.records import Records, cython_inputs, named_headers, read_depfile

ROOT = Path(__file__).parents[2]


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "a.pyx"
    path.write_text("x = 1\n")
    return path


def made(records, target, key):
    target.write_text("made")
    records.note(target, key)


def test_times_do_not_count_and_contents_do(tmp_path, source):
    records, target = Records(tmp_path / "build" / "records.json"), tmp_path / "a.c"
    key = records.key([source], "-O2")
    assert not records.is_fresh(target, key)
    made(records, target, key)
    os.utime(source, (2e9, 2e9))
    assert records.is_fresh(target, records.key([source], "-O2"))
    source.write_text("x = 2\n")
    os.utime(source, (1e9, 1e9))
    assert not records.is_fresh(target, records.key([source], "-O2"))


def test_the_folder_of_the_checkout_does_not_count(tmp_path, monkeypatch):
    keys = []
    for checkout in (tmp_path / "one", tmp_path / "another"):
        (checkout / "tools").mkdir(parents=True)
        (checkout / "tools" / "a.py").write_text("x = 1\n")
        monkeypatch.chdir(checkout)
        keys += [Records.key([checkout / "tools" / "a.py"], "-O2"), Records.key([Path("tools/a.py")], "-O2")]
    assert len(set(keys)) == 1


def test_other_settings_and_missing_files_are_noticed(tmp_path, source):
    records, target = Records(tmp_path / "records.json"), tmp_path / "a.c"
    made(records, target, records.key([source], "-O2"))
    assert not records.is_fresh(target, records.key([source], "-O3"))
    target.unlink()
    assert not records.is_fresh(target, records.key([source], "-O2"))


def test_records_are_kept_and_a_damaged_file_is_none(tmp_path, source):
    path, target = tmp_path / "build" / "records.json", tmp_path / "a.c"
    records = Records(path)
    made(records, target, "key")
    records.save()
    assert Records(path).is_fresh(target, "key")
    path.write_text('{"a.c": ')
    assert not Records(path).is_fresh(target, "key")


def test_inputs_of_a_source_through_cimports_and_includes(monkeypatch):
    monkeypatch.chdir(ROOT)
    pool = {str(path) for path in cython_inputs(Path("tflm_cy/threads/pool.pyx"))}
    assert {"tflm_cy/threads/pool.pyx", "tflm_cy/threads/pool.pxd", "tflm_cy/platform/clock.pxd"} <= pool
    kernels = {str(path) for path in cython_inputs(Path("tflm_cy/simd/isa_avx2.pyx"))}
    assert {"tflm_cy/simd/conv_i8.pxi", "tflm_cy/simd/kernels.pxd", "tflm_cy/simd/conv_f32.pxd"} <= kernels


def test_cython_reads_no_other_file(monkeypatch):
    """What Cython itself says of a source that cimports and includes much."""
    dependencies = pytest.importorskip("Cython.Build.Dependencies", reason="Cython is what it is compared with")
    monkeypatch.chdir(ROOT)
    tree = dependencies.create_dependency_tree(quiet=True)
    for name in ("tflm_cy/simd/isa_avxvnni.pyx", "tflm_cy/threads/pool.pyx", "tflm_cy/schema/mapping.pyx"):
        theirs = {os.path.relpath(path) for path in tree.all_dependencies(name)}
        assert {path for path in theirs if path.startswith("tflm_cy")} <= set(map(str, cython_inputs(Path(name))))


def test_what_a_compiler_has_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.c", "b.h", "c d.h"):
        Path(name).touch()
    Path("a.d").write_text("a.o: a.c /usr/include/stdio.h \\\n  b.h c\\ d.h gone.h\n")
    assert read_depfile("a.d") == ["a.c", "b.h", "c d.h"]
    assert read_depfile("none.d") is None


def test_headers_that_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("p/a.c", '#include "b.h"\n#include <c.h>\n'), ("p/b.h", '  #include "d.h"\n'), ("p/q/d.h", "")):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    Path("p/c.h").touch()
    assert named_headers("p/a.c", Path("p")) == ["p/a.c", "p/b.h", "p/q/d.h"]
