"""What needs no TensorFlow of the networks made by Keras: random weights, random images, what is there already."""

import numpy as np
import pytest

from compat.keras import FORMS, NETWORKS, _weights, images, main
from compat.models import _hints_for


def test_files_that_are_there_are_not_made_again(tmp_path, capsys):
    for form in FORMS:
        (tmp_path / f"ResNet50_{form}.tflite").write_bytes(b"made earlier")
    assert main([str(tmp_path), "--net", "ResNet50"]) == 0
    assert "all of it" in capsys.readouterr().out and len(list(tmp_path.iterdir())) == len(FORMS)


def test_images_too_small_for_a_network_are_refused(tmp_path):
    with pytest.raises(SystemExit):
        main([str(tmp_path), "--size", "32"])


@pytest.mark.parametrize("name", NETWORKS)
def test_images_fill_the_input_range(name):
    one, again = images(name, 75, 0), images(name, 75, 0)
    low, high = NETWORKS[name][1:]
    assert one.dtype == np.float32 and one.shape == (8, 75, 75, 3) and np.array_equal(one, again)
    assert low <= one.min() and one.max() <= high and one.max() - one.min() > 0.8 * (high - low)
    assert (one[0] != one[1]).mean() > 0.9


def test_sums_of_products_keep_their_size():
    rng = np.random.default_rng(0)
    conv = _weights(rng, "conv/kernel", np.zeros([3, 3, 64, 32], np.float32))
    depthwise = _weights(rng, "depthwise_conv/depthwise_kernel", np.zeros([3, 3, 64, 1], np.float32))
    assert np.isclose(conv.std(), np.sqrt(2 / (9 * 64)), rtol=0.05)
    assert np.isclose(depthwise.std(), np.sqrt(2 / 9), rtol=0.1)
    variance = np.ones(4, np.float32)
    assert _weights(rng, "bn/moving_variance", variance) is variance


def test_networks_that_scale_their_own_input_are_fed_in_its_range():
    for name, (_, low, high) in NETWORKS.items():
        for form in FORMS:
            hint = _hints_for(f"keras/{name}_{form}.tflite")
            assert hint == ({"0": {"low": low, "high": high}} if high == 255 and form != "int8" else {})
