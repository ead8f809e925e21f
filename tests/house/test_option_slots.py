"""Options are read with the width that the schema gives them: a wider read would leave the table that the verifier checked."""

import re
from pathlib import Path

import pytest

from tflm_cy.schema.layouts import TABLES

OPS = Path(__file__).resolve().parents[2] / "tflm_cy" / "ops"
ENUM = re.compile(r"^cdef enum:([^\n]*)\n((?:    [^\n]*\n)+)", re.M)
READ = re.compile(r"table_(bool|[iuf]\d+|vector)\((?:node\.)?options, ([A-Z_0-9]+)")


def reads(source):
    """(reader, slot's name, slot's number, tables) of every option that a family reads."""
    slots = {}
    for heading, body in ENUM.findall(source):
        for name, number, remark in re.findall(r"^    ([A-Z_0-9]+) = (\d+)(.*)", body, re.M):
            tables = re.findall(r"\w+Options", remark) or re.findall(r"\w+Options", heading)
            slots.setdefault(name, []).append((int(number), tables))
    return [(kind, name, *slot) for kind, name in READ.findall(source) for slot in slots.get(name, [(-1, [])])]


@pytest.mark.parametrize("family", [path.stem for path in sorted(OPS.glob("*.pyx"))])
def test_widths_are_those_of_the_schema(family):
    for kind, name, slot, tables in reads((OPS / f"{family}.pyx").read_text()):
        assert tables, f"{name} is in no enumeration that names its options table"
        kinds = [field.split(":")[1] for table in tables for field in TABLES[table].split()[slot : slot + 1]]
        wanted = ("str", "[i32]", "[i64]", "[f32]") if kind == "vector" else (kind,)
        assert any(k in wanted for k in kinds), f"{name} is slot {slot} of {tables}, {kinds}, read as {kind}"


def test_options_are_found_at_all():
    assert len([read for path in OPS.glob("*.pyx") for read in reads(path.read_text())]) > 50
