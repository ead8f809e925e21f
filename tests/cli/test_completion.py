"""Shell completion."""

import importlib.util
import sys

import pytest

from tflm_cy.cli.main import main


def test_without_shtab_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "shtab", None)
    with pytest.raises(SystemExit) as left:
        main(["--print-completion", "bash"])
    assert left.value.code == 2
    assert "tflm-cy[completion]" in capsys.readouterr().err


def test_a_shell_that_is_not_known(capsys):
    with pytest.raises(SystemExit):
        main(["--print-completion", "fish"])
    assert "bash" in capsys.readouterr().err


@pytest.mark.skipif(
    importlib.util.find_spec("shtab") is None, reason="shtab is not installed: pip install tflm-cy[completion]"
)
@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_the_script_names_all_commands(shell, capsys):
    with pytest.raises(SystemExit) as left:
        main(["--print-completion", shell])
    shown = capsys.readouterr().out
    assert not left.value.code
    assert all(name in shown for name in ("tflm-cy", "inspect", "arena", "bench", "--planner"))
