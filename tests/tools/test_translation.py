"""Sources that are translated together become the C that each becomes alone; what is refused keeps nobody else from it."""

from concurrent.futures import ProcessPoolExecutor

import pytest

pytest.importorskip("Cython", reason="Cython is needed for building only")

from tools.translation import parts, translated

DIRECTIVES = {"language_level": 3}
SHARED = """
ctypedef fused number:
    int
    float

cdef inline number twice(number x) noexcept nogil:
    return x + x
"""
OWN = "from package.shared cimport twice\ncdef inline int four() noexcept nogil:\n    return twice[int](2)\n"
FIRST = "from package.shared cimport twice\ndef first(float x):\n    return twice[float](x)\n"
THIRD = "from package.own cimport four\ndef third():\n    return four() + 1\n"
SECOND = "from package.own cimport four\ndef second():\n    return four()\n"


@pytest.fixture
def package(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    folder = tmp_path.joinpath("package").relative_to(tmp_path)
    folder.mkdir()
    for name, text in {
        "__init__.pxd": "",
        "__init__.py": "",
        "shared.pxd": SHARED,
        "own.pxd": OWN,
        "first.pyx": FIRST,
        "second.pyx": SECOND,
        "third.pyx": THIRD,
    }.items():
        (folder / name).write_text(text)
    return folder


def in_process(sources):
    """Cython keeps what it has found of folders: each translation in a process of its own."""
    with ProcessPoolExecutor(1) as pool:
        return pool.submit(translated, sources, DIRECTIVES).result()


def test_as_alone(package):
    sources = [package / "first.pyx", package / "second.pyx", package / "third.pyx"]  # of which two share more
    alone = []
    for source in sources:
        assert in_process([source]) == [source]
        alone.append(source.with_suffix(".c").read_text())
    assert in_process(sources) == sources
    assert [source.with_suffix(".c").read_text() for source in sources] == alone


def test_a_refused_source(package, capfd):
    sources = [package / "first.pyx", package / "second.pyx"]
    sources[0].write_text(FIRST + "def wrong(:\n    pass\n")
    sources[0].with_suffix(".c").write_text("of an earlier build")
    assert in_process(sources) == sources[1:]
    assert not sources[0].with_suffix(".c").exists()
    assert "first.pyx:4" in capfd.readouterr().err


def test_refused_declarations(package, capfd):
    sources = [package / "first.pyx", package / "second.pyx"]
    (package / "own.pxd").write_text(OWN + "cdef nothing(\n")
    assert in_process(sources) == sources[:1]
    assert "own.pxd" in capfd.readouterr().err


def test_what_is_defined_in_front_of_headers(package):
    sources = [package / "first.pyx", package / "second.pyx"]
    (package / "shared.pxd").write_text('cdef extern from *:\n    "/* the header */"\n' + SHARED)
    sources[1].write_text('cdef extern from *:\n    "/* what it asks for */"\n' + SECOND)
    assert in_process(sources) == sources
    text = sources[1].with_suffix(".c").read_text()
    assert 0 < text.index("/* what it asks for */") < text.index("/* the header */")


def test_parts(package):
    sources = [package / "second.pyx", package / "first.pyx"]
    assert sorted(source for part in parts(sources, 8) for source in part) == sorted(sources)
    assert parts(sources, 1) == [[package / "first.pyx"], [package / "second.pyx"]]
