"""compat.soak for some seconds: memory stays flat, threads get equal bytes; and both checks can fail."""

import mmap

from compat import soak
from compat.builder import Model, Tensor


def test_a_thousand_lives(capsys):
    assert soak.main(["--cycles", "1000", "--models", str(soak.DEMO)]) == 0
    assert "(1000 ran to the end)" in capsys.readouterr().out


def test_threads_on_the_models_of_the_demo(capsys):
    assert soak.main(["--threads", "4", "--runs", "50"]) == 0
    assert "6 models x modes" in capsys.readouterr().out


def test_a_leak_is_found_and_named(monkeypatch, capsys):
    kept = []

    def leak(*arguments):
        """Pages of their own: what the heap has left over from other tests would hide a leak in it."""
        kept.append(mmap.mmap(-1, 1 << 17))
        kept[-1].write(bytes(range(256)) * 512)
        return True

    monkeypatch.setattr(soak, "opened", lambda model, mode: leak() and 1 / 0)
    monkeypatch.setattr(soak, "cycle", leak)
    assert soak.main(["--cycles", "100", "--models", str(soak.DEMO), "--most", "64"]) == 1
    assert "digits_int8.tflite AUTO: +" in capsys.readouterr().out


def test_other_bytes_are_found(monkeypatch, capsys):
    """An operator whose result depends on who runs it."""
    model = Model.single("NEG", [Tensor([1], "float32")], [Tensor([1], "float32")]).to_bytes()
    monkeypatch.setattr(soak, "files", lambda folder: [("neg", model, None)])
    answers = iter(range(10**9))
    first = []

    def outputs(interpreter, given):
        if len(first) < 2:
            first.append(0)
            return [b"first"]
        return [str(next(answers)).encode()]

    monkeypatch.setattr(soak, "outputs", outputs)
    assert soak.main(["--threads", "2", "--runs", "1", "--mode", "AUTO"]) == 1
    assert "other bytes" in capsys.readouterr().out
