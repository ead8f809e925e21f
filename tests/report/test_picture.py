"""Pictures: every pixel is where it belongs, in each style; which style a stream gets."""

import io
import re

import numpy as np
import pytest

from tflm_cy.report import gallery, grey_picture, picture_style
from tflm_cy.report.picture import STYLES

IMAGE = np.random.default_rng(3).random((6, 5))


def pixels_of_blocks(text, width):
    """On or off per pixel, read back from half blocks."""
    rows = []
    for line in text.split("\n"):
        cells = [" ▀▄█".index(c) for c in line.ljust(width)]
        rows += [[c & 1 for c in cells], [c >> 1 for c in cells]]
    return np.array(rows)


def test_half_blocks_show_each_pixel():
    np.testing.assert_array_equal(pixels_of_blocks(grey_picture(IMAGE), 5), IMAGE >= 0.5)


def test_an_odd_height_ends_on_background():
    shown = pixels_of_blocks(grey_picture(np.ones((3, 2))), 2)
    np.testing.assert_array_equal(shown, [[1, 1], [1, 1], [1, 1], [0, 0]])


def test_colours_show_each_pixel_as_a_grey():
    rows = []
    for line in grey_picture(IMAGE, "colour").split("\n"):
        assert line.endswith("\x1b[0m")
        cells = [list(map(int, cell)) for cell in re.findall("\x1b\\[38;5;(\\d+);48;5;(\\d+)m▀", line)]
        rows += np.transpose(cells).tolist()
    np.testing.assert_allclose((np.array(rows) - 232) / 23, IMAGE, atol=0.5 / 23 + 1e-9)


def test_ascii_shows_each_pixel_twice_in_a_row():
    lines = [line.ljust(10) for line in grey_picture(IMAGE, "ascii").split("\n")]
    levels = np.array([[" .:-=+*#%@".index(c) for c in line] for line in lines])
    np.testing.assert_array_equal(levels[:, ::2], levels[:, 1::2])
    np.testing.assert_allclose(levels[:, ::2] / 9, IMAGE, atol=0.5 / 9 + 1e-9)


@pytest.mark.parametrize("style", STYLES)
def test_values_beyond_the_range_are_clipped(style):
    assert grey_picture([[-3, 7]], style) == grey_picture([[0, 1]], style)


def test_what_is_no_picture_is_refused():
    with pytest.raises(ValueError, match="two dimensions, not 3"):
        grey_picture(np.zeros((2, 2, 1)))
    with pytest.raises(ValueError, match="colour, blocks, ascii"):
        grey_picture([[0]], "sepia")


def plain(text):
    return re.sub("\x1b\\[[\\d;]*m", "", text)


@pytest.mark.parametrize("style", STYLES)
def test_a_gallery_breaks_at_the_width_and_captions_stand_below(style):
    pictures = [(np.ones((4, 4)), f"number {i}") for i in range(5)]
    rows = plain(gallery(pictures, style, width=28)).split("\n\n")
    assert [row.split("\n")[-1] for row in rows] == [
        "number 0  number 1  number 2",
        "number 3  number 4",
    ]
    assert all(len(line) <= 28 for row in rows for line in row.split("\n"))


def test_pictures_of_different_heights_stand_side_by_side():
    text = gallery([(np.ones((2, 2)), "a"), (np.ones((4, 3)), "bcd")])
    assert text.split("\n") == ["██  ███", "    ███", "a   bcd"]


def test_a_gallery_may_be_narrower_than_a_picture():
    assert gallery([(np.ones((2, 9)), "a"), (np.ones((2, 9)), "b")], width=1).count("\n\n") == 1


class Terminal(io.TextIOWrapper):
    def __init__(self, encoding, terminal):
        super().__init__(io.BytesIO(), encoding=encoding)
        self.terminal = terminal

    def isatty(self):
        return self.terminal


@pytest.mark.parametrize(
    "encoding, terminal, environ, style",
    [
        ("utf-8", True, {"TERM": "xterm-256color"}, "colour"),
        ("utf-8", True, {"TERM": "xterm", "NO_COLOR": "1"}, "blocks"),
        ("utf-8", True, {"TERM": "dumb"}, "blocks"),
        ("utf-8", True, {}, "blocks"),
        ("utf-8", False, {"TERM": "xterm"}, "blocks"),
        ("cp437", False, {}, "blocks"),
        ("ascii", True, {"TERM": "xterm"}, "ascii"),
        ("latin-1", False, {}, "ascii"),
    ],
)
def test_the_style_fits_the_stream(encoding, terminal, environ, style):
    stream = Terminal(encoding, terminal)
    assert picture_style(stream, environ) == style
    stream.write(grey_picture(IMAGE, style))
    stream.flush()
