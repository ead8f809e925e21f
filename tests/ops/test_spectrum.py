"""Spectra against numpy's transforms and the textbooks' formulas, and what is refused."""

import numpy as np
import pytest

from compat.builder import Model, Tensor
from compat.cases.spectrum import map_of
from tflm_cy import OpResolverType

from .evaluate import REFUSED, run


def rfft2d(x, lengths, fed=False):
    lengths = np.array(lengths, np.int32)
    inputs = [Tensor(x.shape, "float32"), Tensor([2], "int32") if fed else Tensor.constant(lengths)]
    model = Model.single("RFFT2D", inputs, [Tensor([1, 1], "complex64")])
    return run(model.to_bytes(), [x, lengths] if fed else [x])[0]


@pytest.mark.parametrize("fed", [True, False])
@pytest.mark.parametrize("height, width", [(1, 2), (2, 2), (4, 4), (8, 32), (64, 2), (1, 512)])
def test_rfft2d(height, width, fed):
    x = np.random.default_rng(1).standard_normal([3, 5, 7]).astype(np.float32)
    got = rfft2d(x, [height, width], fed)
    want = np.fft.rfft2(x, [height, width])
    assert got.shape == want.shape
    assert np.allclose(got, want, atol=1e-5)


def test_a_transform_of_nothing_and_of_a_constant():
    assert not np.abs(rfft2d(np.zeros([4, 8], np.float32), [4, 8])).any()
    ones = rfft2d(np.ones([4, 8], np.float32), [4, 8])
    assert ones[0, 0] == 32
    assert np.count_nonzero(ones) == 1


@pytest.mark.parametrize("fed", [False, True])
def test_rfft2d_of_one_column_is_not_transformed(fed):
    """What TensorFlow's library leaves of it: halves of sums and differences of the rows that mirror each other."""
    got = rfft2d(np.array([[1], [4], [9], [16]], np.float32), [4, 1], fed)
    assert got.ravel().tolist() == [1 - 1j, 10 - 10j, 9 - 0j, 10 + 10j]
    assert rfft2d(np.array([[3, 5]], np.float32), [1, 1], fed).ravel().tolist() == [3 - 3j]
    assert rfft2d(np.array([[1], [4]], np.float32), [2, 1], fed).ravel().tolist() == [1 - 1j, 4 - 0j]


@pytest.mark.parametrize("lengths", [[3, 4], [4, 6], [0, 4], [4, -4], [2**30, 2**30]])
@pytest.mark.parametrize("fed", [False, True])
def test_rfft2d_refuses(lengths, fed):
    with pytest.raises(REFUSED):
        rfft2d(np.zeros([4, 4], np.float32), lengths, fed)


def spectrogram(x, resolver=OpResolverType.BUILTIN_REF, **options):
    model = Model.single(
        "AudioSpectrogram", [Tensor(x.shape, "float32")], [Tensor([1], "float32")], custom_options=map_of(**options)
    )
    return run(model.to_bytes(), [x], resolver)[0]


@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("window, stride", [(2, 1), (30, 7), (64, 90)])
def test_audio_spectrogram(window, stride, squared):
    x = np.random.default_rng(2).standard_normal([200, 2]).astype(np.float32)
    got = spectrogram(x, window_size=window, stride=stride, magnitude_squared=squared)
    rows, n = 1 + (200 - window) // stride, 1 << (window - 1).bit_length()
    assert got.shape == (2, rows, n // 2 + 1)
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(window) / window)
    want = np.abs(
        [[np.fft.rfft(x[r * stride : r * stride + window, c] * hann, n) for r in range(rows)] for c in range(2)]
    )
    assert np.allclose(got, want**2 if squared else want, atol=1e-5)


def test_a_sound_shorter_than_the_window_has_no_rows():
    assert spectrogram(np.zeros([5, 1], np.float32), window_size=6, stride=1).shape == (1, 0, 5)


@pytest.mark.parametrize(
    "options",
    [{}, {"window_size": 1, "stride": 1}, {"window_size": 8, "stride": 0}, {"window_size": 2**31 - 1, "stride": 1}],
)
def test_audio_spectrogram_refuses(options):
    with pytest.raises(REFUSED):
        spectrogram(np.zeros([9, 1], np.float32), **options)


def mfcc(x, rate=16000, **changes):
    options = {
        "upper_frequency_limit": 4000,
        "lower_frequency_limit": 20,
        "filterbank_channel_count": 12,
        "dct_coefficient_count": 5,
    }
    inputs = [Tensor(x.shape, "float32"), Tensor([1], "int32")]
    model = Model.single("Mfcc", inputs, [Tensor([1], "float32")], custom_options=map_of(**{**options, **changes}))
    return run(model.to_bytes(), [x, np.array([rate], np.int32)])[0]


def test_mfcc():
    """Triangles on the mel scale over the roots of the spectrum, logarithms, a cosine transform."""
    x = np.random.default_rng(3).random([1, 2, 129]).astype(np.float32)
    mel = lambda f: 1127 * np.log1p(f / 700)  # noqa: E731
    edges = np.linspace(mel(20), mel(4000), 14)
    at = mel(np.arange(129) * 8000 / 128)
    rising, falling = (at[:, None] - edges[:-2]) / np.diff(edges)[:-1], (edges[2:] - at[:, None]) / np.diff(edges)[1:]
    triangles = np.maximum(np.minimum(rising, falling), 0)
    triangles[: int(1.5 + 20 / 62.5)] = triangles[int(4000 / 62.5) + 1 :] = 0
    bands = np.log(np.maximum(np.sqrt(x.astype(np.float64)) @ triangles, 1e-12))
    cosines = np.sqrt(2 / 12) * np.cos(np.pi / 12 * np.arange(5)[:, None] * (np.arange(12) + 0.5))
    assert np.allclose(mfcc(x), bands @ cosines.T, atol=1e-4)


def test_a_spectrum_too_short_for_the_bank_gives_zeros():
    assert not mfcc(np.ones([1, 2, 129], np.float32), upper_frequency_limit=9000).any()


@pytest.mark.parametrize(
    "changes",
    [
        {"dct_coefficient_count": 13},
        {"dct_coefficient_count": 0},
        {"filterbank_channel_count": -1},
        {"lower_frequency_limit": 5000},
        {"filterbank_channel_count": 2**31 - 1, "dct_coefficient_count": 2**31 - 1},
        {"rate": 0},
        {"rate": -8000},
    ],
)
def test_mfcc_refuses(changes):
    with pytest.raises(REFUSED):
        mfcc(np.ones([1, 2, 129], np.float32), **changes)


def rotate(x, size, resolver=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
    options = map_of(hadamard_size=size, random_binary_vector=[1])
    model = Model.single(
        "aeq.hadamard_rotation", [Tensor(x.shape, "float32")], [Tensor(x.shape, "float32")], custom_options=options
    )
    return run(model.to_bytes(), [x], resolver)[0]


def test_hadamard_rotation():
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    a = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2
    flat = x.ravel()
    assert rotate(x, 4).ravel().tolist() == [
        *(a @ flat[:4]),
        *(a @ flat[4:8]),
        *flat[8:],
    ]  # runs count from the beginning
    assert rotate(x, 3).tolist() == x.tolist()


@pytest.mark.parametrize("size", [0, -4])
def test_hadamard_rotation_refuses(size):
    with pytest.raises(REFUSED):
        rotate(np.zeros([2, 6], np.float32), size)


def test_the_reference_resolver_has_no_rotation():
    with pytest.raises(RuntimeError, match="unresolved custom op"):
        rotate(np.zeros([2, 4], np.float32), 4, OpResolverType.BUILTIN_REF)
