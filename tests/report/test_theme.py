"""Contrast in light and dark, and what every page has."""

import pytest

from tflm_cy.report import Bar, arena_page, difference_page, time_picture
from tflm_cy.report.theme import (
    DARK,
    FAMILIES,
    GROUND,
    INPUT,
    LIGHT,
    OTHER,
    SCRATCH,
    TEXT,
    contrast,
    label_colour,
    operator_colour,
)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("ground", GROUND)
@pytest.mark.parametrize("text", TEXT)
def test_text_has_contrast(colours, ground, text):
    assert contrast(colours[text], colours[ground]) >= 4.5


@pytest.mark.parametrize("fill", [*FAMILIES, OTHER, INPUT, SCRATCH])
def test_labels_have_contrast(fill):
    assert contrast(label_colour(fill), fill) >= 4.5


@pytest.mark.parametrize("page", [difference_page("m", []), arena_page("m", [], "<svg/>", [])], ids=["diff", "arena"])
def test_pages_fit_telephones_and_dark_rooms(page):
    assert 'name="viewport"' in page and "prefers-color-scheme: dark" in page


def test_the_picture_of_many_nodes_is_as_wide_as_a_page_and_names_the_longest():
    bars = [Bar(f"{i} ADD", "ADD", (1 + (i == 77)) * 1e-6, None, "") for i in range(400)]
    svg = time_picture("m", bars)
    assert " width='1200' " in svg and ">77 ADD<" in svg and svg.count("ADD</text>") < 100
    assert operator_colour("ADD") in svg
