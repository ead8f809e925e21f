"""What MODEL may be: a file, standard input, a pipe; and what it often is instead, each told in one line by every command."""

import gzip
import io
import os
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest

import tflm_cy.demo
from tflm_cy.cli import main

FOLDER = Path(tflm_cy.demo.__file__).parent
INT8 = FOLDER / "digits_int8.tflite"
COMMANDS = {"inspect": [], "run": [], "bench": ["--seconds", "0.01"], "arena": [], "diff": ["--b", "AUTO"]}
EACH = pytest.mark.parametrize("command", COMMANDS)


def refusal(capsys, command, path):
    assert main([command, str(path), *COMMANDS[command]]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    return said.err


class StandardInput(io.TextIOWrapper):
    def __init__(self, content):
        super().__init__(io.BytesIO(content))


def archive():
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("config.json", "{}")
    return content.getvalue()


def array():
    content = io.BytesIO()
    np.save(content, np.zeros(3))
    return content.getvalue()


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22e\nsize 12345\n"
FOREIGN = {
    "lfs": (LFS, "Git LFS pointer"),
    "gzip": (gzip.compress(INT8.read_bytes()), "gzip"),
    "zip": (archive(), "zip archive"),
    "onnx": (b"\x08\x07\x12\x07pytorch\x1a\x052.1.0" + bytes(50), "ONNX"),
    "saved_model": (b"\x08\x01\x12\xd2\x1b\x12\xcc\x1b\x0a\x05serve" + bytes(50), "TensorFlow graph"),
    "graph": (b"\x0a\x29\x0a\x05input\x12\x0bPlaceholder*\x0f\x0a\x05dtype" + bytes(50), "TensorFlow graph"),
    "hdf5": (b"\x89HDF\r\n\x1a\n" + bytes(50), "HDF5"),
    "page": (b"<!DOCTYPE html><html>404</html>", "HTML"),
    "pickle": (b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.", "pickle"),
    "array": (array(), "numpy array"),
    "source": (b"#include <cstdint>\nalignas(16) const unsigned char g_model[] = {0x1c", "C source"),
    "xxd": (b"unsigned char model_tflite[] = {\n  0x1c, 0x00", "C source"),
    "short": (b"TFL3", "truncated"),
    "empty": (b"", "empty"),
}


@EACH
@pytest.mark.parametrize("kind", FOREIGN)
def test_files_of_other_kinds(tmp_path, capsys, command, kind):
    content, word = FOREIGN[kind]
    path = tmp_path / "model.tflite"
    path.write_bytes(content)
    line = refusal(capsys, command, path)
    assert word in line and str(path) in line


@EACH
def test_no_file(tmp_path, capsys, command):
    assert "no such file" in refusal(capsys, command, tmp_path / "none.tflite")
    assert "none.tflite" in refusal(capsys, command, INT8 / "none.tflite")  # below a file


@EACH
def test_a_folder_is_told_what_is_in_it(tmp_path, capsys, command):
    folder = tmp_path / "folder.tflite"
    folder.mkdir()
    assert "a folder" in (line := refusal(capsys, command, folder)) and "no .tflite file in it" in line
    (folder / "saved_model.pb").write_bytes(b"")
    assert "SavedModel" in refusal(capsys, command, folder)
    for i in range(6):
        (folder / f"{i}.tflite").write_bytes(b"")
    (folder / "another.tflite").mkdir()
    assert refusal(capsys, command, folder).endswith(
        "give one of its files: 0.tflite, 1.tflite, 2.tflite, 3.tflite and 2 more\n"
    )


@EACH
def test_a_model_on_standard_input(capsys, command, monkeypatch):
    monkeypatch.setattr("sys.stdin", StandardInput(INT8.read_bytes()))
    assert main([command, "-", *COMMANDS[command]]) == 0
    said = capsys.readouterr()
    assert said.err == "" and said.out
    for content, word in (FOREIGN["lfs"], FOREIGN["empty"], FOREIGN["short"]):
        monkeypatch.setattr("sys.stdin", StandardInput(content))
        assert word in (line := refusal(capsys, command, "-")) and "standard input" in line
    monkeypatch.setattr("sys.stdin", None)
    assert "closed" in refusal(capsys, command, "-")


@EACH
def test_a_named_pipe_is_read_once(tmp_path, capsys, command):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(INT8.read_bytes(),))
    writer.start()
    assert main([command, str(path), *COMMANDS[command]]) == 0
    writer.join()
    assert capsys.readouterr().err == ""
