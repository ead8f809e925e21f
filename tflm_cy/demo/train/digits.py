"""The data: 1797 scanned digits of 8 x 8 pixels, each 0 (paper) to 16 (ink), from scikit-learn's package.

Source: E. Alpaydin, C. Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning Repository; its test
part, written by people none of whom wrote the training part. The order of the set is kept: images of one hand lie
close together in it, so its end, which is held out, is a harder test than a random fifth.
"""

import numpy as np
from sklearn.datasets import load_digits

HELD_OUT = 360
LEVELS = 16


def load():
    """(training images, training labels, held-out images, held-out labels); images (n, 8, 8) uint8 of 0..16."""
    data = load_digits()
    images, labels = data.images.astype(np.uint8), data.target.astype(np.uint8)
    return images[:-HELD_OUT], labels[:-HELD_OUT], images[-HELD_OUT:], labels[-HELD_OUT:]


def to_input(images):
    """The net's input: (n, 8, 8, 1) float32 from 0 to 1."""
    return (images[..., None] / LEVELS).astype(np.float32)


def distort(images, rng, turn=0.2, scale=0.12, shear=0.2, shift=0.9):
    """Images (n, 8, 8, 1), each turned (radians), scaled, sheared and shifted (pixels) a little at random, bilinearly."""
    n, height, width, _ = images.shape
    angle, slant = rng.uniform(-turn, turn, n), rng.uniform(-shear, shear, n)
    zoom_y, zoom_x = rng.uniform(1 - scale, 1 + scale, (2, n))
    shift_y, shift_x = rng.uniform(-shift, shift, (2, n))
    y, x = np.mgrid[:height, :width].reshape(2, -1) - np.array([[(height - 1) / 2], [(width - 1) / 2]])
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    from_y = zoom_y[:, None] * (cos * y - sin * x) + shift_y[:, None] + (height - 1) / 2
    from_x = zoom_x[:, None] * (sin * y + cos * x + slant[:, None] * y) + shift_x[:, None] + (width - 1) / 2
    return _sample(images[..., 0], from_y, from_x).reshape(images.shape)


def _sample(images, y, x):
    """Values of each image (n, h, w) at its own points (n, k), bilinear, paper outside."""
    n, height, width = images.shape
    padded = np.pad(images, ((0, 0), (1, 2), (1, 2)))
    y, x = np.clip(y + 1, 0, height + 1), np.clip(x + 1, 0, width + 1)
    top, left = np.floor(y).astype(int), np.floor(x).astype(int)
    dy, dx = y - top, x - left
    which = np.arange(n)[:, None]
    above = padded[which, top, left] * (1 - dx) + padded[which, top, left + 1] * dx
    below = padded[which, top + 1, left] * (1 - dx) + padded[which, top + 1, left + 1] * dx
    return (above * (1 - dy) + below * dy).astype(np.float32)
