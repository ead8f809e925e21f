"""Which models a comparison finds below a folder."""

from compat.models import find_models


def test_links_are_models_of_the_folder_that_they_are_in(tmp_path):
    real, folder = tmp_path / "elsewhere.tflite", tmp_path / "models"
    (folder / "inner").mkdir(parents=True)
    real.write_bytes(b"")
    (folder / "b.tflite").write_bytes(b"")
    (folder / "inner" / "a.tflite").symlink_to(real)
    names = ["models/b.tflite", "models/inner/a.tflite"]
    assert [name for name, _ in find_models([folder])] == names
    assert [name for name, _ in find_models([folder], "inner")] == names[1:]
