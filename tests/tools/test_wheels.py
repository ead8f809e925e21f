"""tools.wheels: what a wheel must not be is found before anybody installs it."""

import zipfile

import pytest

from tools import wheels
from tools.wheels import PLATFORMS, WheelError, audit, main


def wheel_with(folder, library, size=0):
    path = folder / "some.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(library, b"\0" * size)
    return path


def test_list_names_what_can_be_made(capsys):
    assert main(["--list"]) == 0
    shown = capsys.readouterr().out
    for name in ("manylinux_x86_64", "manylinux_aarch64", "musllinux_x86_64", "musllinux_aarch64"):
        assert f"{name}: " in shown


@pytest.mark.parametrize("name", PLATFORMS)
def test_platforms_say_what_their_tags_say(name):
    platform = PLATFORMS[name]
    assert platform.tag.split("_")[0] == name.split("_")[0]
    assert platform.machine == name.partition("_")[2]
    assert platform.is_musl == name.startswith("musllinux")


def test_a_large_wheel_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(wheels, "LARGEST", 10)
    with pytest.raises(WheelError, match="more than 10"):
        audit(wheel_with(tmp_path, "tflm_cy/compiled.so"), PLATFORMS["manylinux_x86_64"])


def test_a_library_of_another_platform_is_refused(tmp_path):
    suffix = PLATFORMS["manylinux_x86_64"].suffix
    with pytest.raises(WheelError, match="does not end with"):
        audit(wheel_with(tmp_path, f"tflm_cy/compiled{suffix}"), PLATFORMS["musllinux_x86_64"])


def test_a_wheel_that_is_too_large_is_tested_all_the_same(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(wheels, "LARGEST", 10)
    monkeypatch.setattr(wheels, "build", lambda *arguments: wheel_with(tmp_path, "tflm_cy/compiled.so"))
    monkeypatch.setattr(wheels, "test", lambda *arguments: "3 passed")
    assert main(["manylinux_x86_64"]) == 1
    shown = capsys.readouterr()
    assert "| some.whl | failed | 3 passed |" in shown.out and "more than 10" in shown.err


def test_an_unknown_platform_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["solaris"])
    assert "no such platform: solaris" in capsys.readouterr().err
