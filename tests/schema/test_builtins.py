"""schema.builtins: the numbers are those of the names."""

import re
from pathlib import Path

from tflm_cy import schema
from tflm_cy.schema.names import BUILTIN_NAMES


def test_numbers_are_those_of_the_schema():
    text = (Path(schema.__file__).parent / "builtins.pxd").read_text()
    numbers = {name: int(number) for name, number in re.findall(r"BUILTIN_(\w+) = (\d+)", text)}
    assert len(numbers) > 50
    assert numbers == {name: BUILTIN_NAMES.index(name) for name in numbers}
