"""What people read: text tables, pictures for the terminal, distances of values, pages. Plain data in, text out; knows nothing of models.

>>> from tflm_cy.report import text_table
>>> print(text_table(["tensor", "bytes"], [["x", 64], ["weights", 2304]]))
tensor   bytes
-------  -----
x           64
weights   2304
"""

from tflm_cy.report.arena_page import arena_page
from tflm_cy.report.arena_picture import Block, arena_picture
from tflm_cy.report.bits import Distance, distance
from tflm_cy.report.doctor_page import doctor_page
from tflm_cy.report.page import difference_page
from tflm_cy.report.picture import gallery, grey_picture, picture_style
from tflm_cy.report.rules import explain
from tflm_cy.report.table import byte_size, duration, durations, printable, shortened, text_table
from tflm_cy.report.time_picture import Bar, time_picture

__all__ = [
    "Bar",
    "Block",
    "Distance",
    "arena_page",
    "arena_picture",
    "byte_size",
    "difference_page",
    "distance",
    "doctor_page",
    "duration",
    "durations",
    "explain",
    "gallery",
    "grey_picture",
    "picture_style",
    "printable",
    "shortened",
    "text_table",
    "time_picture",
]
