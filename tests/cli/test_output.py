"""What commands write and print: files before text, a reader that leaves early, outputs that cannot be written, JSON alone."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tflm_cy.demo
from tflm_cy.cli import main

FOLDER = Path(tflm_cy.demo.__file__).parent
INT8 = str(FOLDER / "digits_int8.tflite")
# command -> its arguments; its options for files
COMMANDS = {
    "inspect": ([INT8], ["--json"]),
    "run": ([INT8], ["--output", "--json"]),
    "bench": ([INT8, "--seconds", "0.01"], ["--csv", "--trace", "--html", "--json"]),
    "arena": ([INT8], ["--svg", "--html", "--json", "--csv", "--export-plan"]),
    "diff": ([INT8, "--b", "AUTO"], ["--csv", "--html", "--json"]),
}
EACH = pytest.mark.parametrize("command", COMMANDS)


def start(*arguments, **streams):
    return subprocess.Popen([sys.executable, "-m", "tflm_cy", *arguments], cwd=FOLDER.parents[1], **streams)


def with_files(command, folder):
    """The command line with a file for every option, and the files."""
    arguments, options = COMMANDS[command]
    files = [folder / f"file{i}" for i in range(len(options))]
    return [command, *arguments, *(word for o, f in zip(options, files, strict=True) for word in (o, str(f)))], files


@EACH
def test_a_reader_that_leaves_early_costs_no_file(tmp_path, command):
    arguments, files = with_files(command, tmp_path)
    process = start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) == 0
    assert all(file.stat().st_size > 0 for file in files)


def test_the_verdict_outlives_the_reader(tmp_path):
    process = start("diff", str(FOLDER / "digits_float.tflite"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) == 1


@pytest.mark.parametrize("arguments", [["--help"], ["demo"], ["arena", "--help"], ["--version"]])
def test_help_and_demo_to_a_reader_that_has_gone(arguments):
    process = start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) == 0


@EACH
def test_a_full_disk_under_standard_output_is_one_line(command):
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    with open("/dev/full", "w") as full:
        process = start(command, *COMMANDS[command][0], stdout=full, stderr=subprocess.PIPE)
        error = process.communicate(timeout=60)[1].decode()
    assert error == "tflm_cy: standard output: No space left on device\n"
    assert process.returncode == 2


@EACH
def test_standard_output_that_is_closed(command):
    line = f"{sys.executable} -m tflm_cy {command} {' '.join(COMMANDS[command][0])} >&-"
    done = subprocess.run(["sh", "-c", line], cwd=FOLDER.parents[1], stderr=subprocess.PIPE, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("command, option", [(c, o) for c, (_, options) in COMMANDS.items() for o in options])
def test_an_output_that_cannot_be_written_is_one_line(tmp_path, capsys, command, option):
    places = [tmp_path / "none" / "file", tmp_path]
    if os.path.exists("/dev/full"):
        places.append(Path("/dev/full"))
    for place in places:
        assert main([command, *COMMANDS[command][0], option, str(place)]) == 2
        said = capsys.readouterr()
        assert said.out == "" and said.err.count("\n") == 1 and said.err.startswith(f"tflm_cy: {place}: ")


@pytest.mark.parametrize("command, option", [(c, o) for c, (_, options) in COMMANDS.items() for o in options])
def test_an_output_never_overwrites_the_model(tmp_path, capsys, command, option):
    path = tmp_path / "model.tflite"
    path.write_bytes(Path(INT8).read_bytes())
    arguments = [str(path) if word == INT8 else word for word in COMMANDS[command][0]]
    assert main([command, *arguments, option, str(path)]) == 2
    assert "the model itself" in capsys.readouterr().err
    assert path.read_bytes() == Path(INT8).read_bytes()


@EACH
def test_json_on_standard_output_stands_alone(command, capsys):
    assert main([command, *COMMANDS[command][0], "--json", "-"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["model"] == "digits_int8.tflite" and said.err == ""


def test_json_is_the_same_in_a_file(tmp_path, capsys):
    path = tmp_path / "a.json"
    assert main(["inspect", INT8, "--json", str(path)]) == 0
    text = capsys.readouterr().out
    assert main(["inspect", INT8, "--json", "-"]) == 0
    assert path.read_text() == capsys.readouterr().out and text.startswith("digits_int8.tflite: ")


def test_any_one_output_may_be_standard_output(capfdbinary):
    assert main(["arena", INT8, "--csv", "-"]) == 0
    assert capfdbinary.readouterr().out.startswith(b"id,")
    assert main(["arena", INT8, "--export-plan", "-"]) == 0
    assert capfdbinary.readouterr().out[4:8] == b"TFL3"
    assert main(["arena", INT8, "--csv", "-", "--json", "-"]) == 2
    assert b"two outputs" in capfdbinary.readouterr().err


@EACH
def test_each_help_tells_the_exit_codes(command, capsys):
    with pytest.raises(SystemExit):
        main([command, "--help"])
    text = capsys.readouterr().out
    assert "exit code: 0 done" in text and "2 wrong usage" in text
    assert ("1 a node or an output differs" in text) == (command == "diff")


def test_a_defect_is_one_line_and_has_a_code_of_its_own(capsys, monkeypatch):
    def fail(*arguments):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("tflm_cy.cli.inspect.contents", fail)
    assert main(["inspect", INT8]) == 3
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and "ZeroDivisionError: division by zero at cli/test_output.py:" in error
    monkeypatch.setenv("TFLM_CY_TRACEBACK", "1")
    assert main(["inspect", INT8]) == 3
    assert "Traceback" in capsys.readouterr().err


def test_what_a_program_under_with_raises_is_its_own(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("1 / 0\n")
    with pytest.raises(ZeroDivisionError):
        main(["with", "tflite_runtime", str(program)])
    tflm_cy.uninstall()
