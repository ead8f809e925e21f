"""Opening models: what is accepted, what is refused and how, what Python sees of a model, and how long bytes live."""

import array
import gc
import io
import mmap
import os
import pathlib
import pickle
import weakref

import numpy as np
import pytest

from tflm_cy.schema.errors import ModelFileError, ModelNotFoundError
from tflm_cy.schema.model import Model

from .flat import build, rich, with_tensor

CONTENT = build(rich())


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "mödel.tflite"
    file.write_bytes(CONTENT)
    return file


def test_what_python_sees():
    model = Model.from_buffer(CONTENT)
    assert (model.version, model.description, model.subgraphs, model.nbytes) == (
        3,
        "something of everything",
        1,
        len(CONTENT),
    )
    assert model.signatures == [("serve", 5, [("in", 0)], [("b", 4), ("a", 77)])]
    assert {name: bytes(value) for name, value in model.metadata.items()} == {"min_runtime_version": b"1.14.0"}


def test_absent_parts():
    model = Model.from_buffer(build({"version": 3, "subgraphs": [{"tensors": []}], "buffers": []}))
    assert (model.description, model.metadata, model.signatures) == ("", {}, [])


@pytest.mark.parametrize("kind", [str, pathlib.Path, os.fsencode, np.str_])
def test_path_kinds(path, kind):
    assert Model.from_path(kind(path)).subgraphs == 1


def test_relative_path(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    assert Model.from_path(path.name).subgraphs == 1


@pytest.mark.parametrize("wrong", [3, io.BytesIO(CONTENT), None])
def test_no_path(wrong):
    with pytest.raises(TypeError):
        Model.from_path(wrong)


def test_missing_file(tmp_path):
    missing = str(tmp_path / "none.tflite")
    with pytest.raises(FileNotFoundError) as caught:
        Model.from_path(missing)
    assert isinstance(caught.value, ValueError) and isinstance(caught.value, ModelNotFoundError)
    assert str(caught.value) == f"Could not open '{missing}'." and caught.value.filename == missing


def test_tilde_is_not_expanded():
    with pytest.raises(ModelNotFoundError, match=r"Could not open '~/none.tflite'\. .*expanduser"):
        Model.from_path("~/none.tflite")


def test_zero_byte_in_path():
    with pytest.raises(ValueError, match="Could not open"):
        Model.from_path("a\0b")


def test_path_that_is_no_text(tmp_path):
    with pytest.raises(ModelNotFoundError) as caught:
        Model.from_path(os.fsencode(tmp_path) + b"/a\xffb")
    str(caught.value).encode()
    assert "a\\xffb" in str(caught.value)


def test_errors_travel():
    error = pickle.loads(pickle.dumps(ModelNotFoundError(2, "Could not open 'x'.", "x")))
    assert (str(error), error.errno, error.filename) == ("Could not open 'x'.", 2, "x")


def test_directory(tmp_path):
    with pytest.raises(ModelFileError, match=f"Mmap of '{tmp_path}'.*directory"):
        Model.from_path(tmp_path)


def test_empty_file(path):
    path.write_bytes(b"")
    with pytest.raises(ValueError, match=f"Mmap of '{path}'.*empty"):
        Model.from_path(path)


def test_named_pipe_does_not_wait(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="not a regular file"):
        Model.from_path(tmp_path / "pipe")


def test_unreadable_file(path):
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    path.chmod(0)
    with pytest.raises(ModelFileError, match=r"Could not open .*Permission denied"):
        Model.from_path(path)


def mapped_paths():
    return [line.split()[-1] for line in pathlib.Path("/proc/self/maps").read_text().splitlines()]


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="needs /proc")
def test_file_is_mapped_in_place_and_unmapped_with_the_last_view(path):
    model = Model.from_path(path)
    view = model.metadata["min_runtime_version"]
    assert str(path) in mapped_paths()
    assert not any(os.path.realpath(f"/proc/self/fd/{n}") == str(path) for n in os.listdir("/proc/self/fd"))
    del model
    gc.collect()
    assert bytes(view) == b"1.14.0" and str(path) in mapped_paths()
    del view
    gc.collect()
    assert str(path) not in mapped_paths()


def test_private_copy_on_request(path, monkeypatch):
    monkeypatch.setenv("TFLM_CY_MMAP", "0")
    model = Model.from_path(path)
    path.write_bytes(bytes(len(CONTENT)))
    assert model.description == "something of everything"


def test_removed_file_stays_readable(path):
    model = Model.from_path(path)
    path.unlink()
    assert model.description == "something of everything"


class Bytes(bytes):
    pass


@pytest.mark.parametrize(
    "kind",
    [
        bytes,
        Bytes,
        bytearray,
        memoryview,
        np.bytes_,
        np.void,
        lambda b: np.frombuffer(b, np.uint8),
        lambda b: np.frombuffer(b + bytes(-len(b) % 8), np.float64).reshape(1, -1),
        lambda b: array.array("B", b),
    ],
)
def test_content_kinds(kind):
    assert Model.from_buffer(kind(CONTENT)).signatures[0][0] == "serve"


def test_mmap_content(path):
    with open(path, "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    model = Model.from_buffer(mapped)
    with pytest.raises(BufferError):
        mapped.close()
    del model
    mapped.close()


@pytest.mark.parametrize("wrong", [list(CONTENT), 5, io.BytesIO(CONTENT), None])
def test_no_content(wrong):
    with pytest.raises(TypeError, match="model_content wants bytes"):
        Model.from_buffer(wrong)


def test_path_as_content_is_explained():
    with pytest.raises(TypeError, match="for a path use model_path"):
        Model.from_buffer("model.tflite")


@pytest.mark.parametrize("kind", [memoryview, lambda b: np.frombuffer(b, np.uint8)])
def test_strided_content(kind):
    with pytest.raises(ValueError, match="C-contiguous"):
        Model.from_buffer(kind(CONTENT + CONTENT)[::2])


def test_content_is_neither_copied_nor_dropped():
    content = np.frombuffer(CONTENT, np.uint8).copy()
    watch = weakref.ref(content)
    model = Model.from_buffer(content)
    view = memoryview(model)
    assert np.shares_memory(np.frombuffer(view, np.uint8), content) and view.readonly
    del content, model
    gc.collect()
    assert bytes(view) == CONTENT
    del view
    gc.collect()
    assert watch() is None


def test_pinned_bytearray():
    content = bytearray(CONTENT)
    model = Model.from_buffer(content)
    with pytest.raises(BufferError):
        content.append(0)
    del model
    content.append(0)


def test_refused_content_is_let_go():
    content = bytearray(CONTENT[:100])
    with pytest.raises(ValueError, match="not a valid Flatbuffer"):
        Model.from_buffer(content)
    content.append(0)


@pytest.mark.parametrize("shift", range(1, 8))
def test_any_address(shift):
    content = memoryview(bytes(shift) + CONTENT)[shift:]
    assert bytes(Model.from_buffer(content).metadata["min_runtime_version"]) == b"1.14.0"


def test_bytes_behind_the_flatbuffer():
    assert Model.from_buffer(CONTENT + b"PK\x05\x06" * 99).nbytes == len(CONTENT) + 396


def test_payload_behind_the_flatbuffer():
    layout = with_tensor({"shape": [4]}, metadata=[{"name": "far", "buffer": 1}])
    layout["subgraphs"][0]["tensors"][0]["buffer"] = 1
    layout["buffers"][1] = {"offset": 2**40, "size": 16}
    end = len(build(layout))
    layout["buffers"][1]["offset"] = end
    content = build(layout)
    assert len(content) == end
    assert bytes(Model.from_buffer(content + b"0123456789abcdef").metadata["far"]) == b"0123456789abcdef"
    with pytest.raises(ValueError, match="Constant buffer 1 specified an out of range offset"):
        Model.from_buffer(content + b"0123456789abcde")


def test_names_that_are_not_utf8_or_hold_a_zero():
    layout = rich()
    layout["description"] = b"caf\xe9"
    layout["signature_defs"][0]["signature_key"] = "a\0b"
    model = Model.from_buffer(build(layout))
    assert model.description.encode("utf-8", "surrogateescape") == b"caf\xe9"
    assert model.signatures[0][0] == "a"


def test_only_the_two_constructors_make_a_model():
    with pytest.raises(TypeError):
        Model()
    empty = Model.__new__(Model)
    assert (empty.version, empty.description, empty.subgraphs, empty.metadata, empty.signatures) == (0, "", 0, {}, [])
    with pytest.raises(TypeError, match="pickled"):
        Model.from_buffer(CONTENT).__reduce__()
