"""Options are read with the width that the schema gives them: a wider read would leave the table that the verifier checked."""

import re
from pathlib import Path

import pytest

from tflm_cy.schema.layouts import TABLES
from tflm_cy.schema.reader import slots

PACKAGE = Path(__file__).resolve().parents[2] / "tflm_cy"
SLOTS = PACKAGE / "schema" / "option_slots.pxd"  # which setup.py generates
READ = re.compile(r"table_(bool|[iuf]\d+|vector)\((?:node\.)?options, ([A-Z_0-9]+)")


def kinds():
    """{slot's name: the kind of the field that the reader of files finds in this slot}."""
    found = {}
    for table, body in re.findall(r"^cdef enum: +# (\w+)\n((?:    .*\n)+)", SLOTS.read_text(), re.M):
        fields = {slot: (field.upper(), kind) for field, (slot, kind) in slots(table).items()}
        for name, number in re.findall(r"([A-Z_0-9]+) = (\d+)", body):
            field, kind = fields[int(number)]
            assert name.endswith(f"_{field}")
            found[name] = kind
    return found


KINDS = kinds()


def reads(path):
    """(reader, slot's name) of every option that a family reads."""
    return READ.findall(path.read_text())


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("ops/**/*.pyx")), ids=lambda path: path.stem)
def test_widths_are_those_of_the_schema(path):
    for kind, name in reads(path):
        assert name in KINDS, f"{name} is no option of schema/layouts.py"
        wanted = ("str", "[u8]", "[i32]", "[i64]", "[f32]") if kind == "vector" else (kind,)
        assert KINDS[name] in wanted, f"{name} is {KINDS[name]}, read as {kind}"


def test_every_option_has_its_slot():
    tables = {name: fields for name, fields in TABLES.items() if name.endswith("Options") and fields}
    assert len(KINDS) == sum(len(fields.split()) for fields in tables.values())


def test_options_are_found_at_all():
    assert len([read for path in PACKAGE.glob("ops/**/*.pyx") for read in reads(path)]) > 50
