"""python -m compat.compressed: what it says without the package, and the encoders, with codes written out."""

import sys

import numpy as np
import pytest

from compat.builder.encoded import code_lengths, code_table, codes_of, huffman, packed, pruned, tables
from compat.compressed import __main__ as compressed


def test_without_the_package_it_says_so(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tflite_micro", None)
    monkeypatch.setattr(sys, "argv", ["compat.compressed"])
    assert compressed.main() == 2
    assert "tflite_micro package with its compressor is not there" in capsys.readouterr().out


def test_each_method_with_each_operator_comes_first():
    def model(op, method):
        return compressed.Compressed("", op, method, "", "", b"", [])

    models = [
        model("CONV_2D", "tables"),
        model("CONV_2D", "tables"),
        model("ADD", "tables"),
        model("CONV_2D", "pruning"),
    ]
    assert [models.index(m) for m in compressed.spread(models)] == [0, 3, 2, 0]


def test_bits_are_written_from_the_highest():
    assert packed("1000000101") == b"\x81\x40"
    assert packed("") == b"\0"


def test_tables_have_what_occurs_and_as_many_values_as_the_longest():
    values = np.array([[7, 7, 7], [1, 2, 3]], np.int8)
    encoded, ancillary = tables(values, 2, 0)
    assert encoded == packed("000000000110")
    assert ancillary == bytes([0, 1, 0, 0, 1, 0 << 4 | 2, 3]) + bytes(9) + bytes([7, 7, 7, 1, 2, 3])
    assert tables(values, 2)[1][16:] == bytes([1, 2, 3, 7])
    with pytest.raises(ValueError, match="4 values want more than 1 bits"):
        tables(values, 1)


def test_pruned_values_are_those_that_are_not_zero():
    encoded, ancillary = pruned(np.array([3, 0, 5], np.int16))
    assert encoded == b"\xa0"
    assert ancillary == bytes([2, 1, 0, 0, 1]) + bytes(11) + bytes([3, 0, 5, 0])


def test_codes_are_short_for_what_is_frequent():
    lengths = code_lengths([4] * 5 + [1] * 2 + [2] + [3])
    assert lengths == {4: 1, 1: 2, 2: 3, 3: 3}
    assert codes_of(lengths) == {4: "0", 1: "10", 2: "110", 3: "111"}
    assert code_lengths([9, 9]) == {9: 1}


def test_a_table_behind_a_table():
    """One bit, then two: an entry says how many of the bits looked at belong to the code."""
    entries = np.frombuffer(code_table({4: "0", 1: "10", 2: "110", 3: "111"}, 1, False), "<u2").tolist()
    found = [0x8800 | 4, 1 << 11 | 1, 0x8800 | 1, 0x8800 | 1, 0x9000 | 2, 0x9000 | 3]
    assert entries == found


def test_codes_are_filled_up_to_words():
    assert len(huffman(np.zeros(33, np.int8))[0]) == 8
    assert len(huffman(np.zeros(33, np.int8), word=1)[0]) == 5
