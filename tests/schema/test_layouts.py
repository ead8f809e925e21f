"""The tables of the schema agree with each other and with the slot numbers that readers use."""

import re
from pathlib import Path

import pytest

import tflm_cy.schema
from tflm_cy.schema.layouts import OPTIONS_OF, TABLES, UNIONS
from tflm_cy.schema.names import BUILTIN_NAMES, TENSOR_TYPE_NAMES

from .flat import DTYPES, slots_of

SLOTS = Path(tflm_cy.schema.__file__).with_name("slots.pxd").read_text()
TABLE_OF = {
    "MODEL": "Model",
    "CODE": "OperatorCode",
    "SUBGRAPH": "SubGraph",
    "TENSOR": "Tensor",
    "QUANTIZATION": "QuantizationParameters",
    "BLOCKWISE": "BlockwiseQuantization",
    "SPARSITY": "SparsityParameters",
    "DIMENSION": "DimensionMetadata",
    "OPERATOR": "Operator",
    "BUFFER": "Buffer",
    "METADATA": "Metadata",
    "SIGNATURE": "SignatureDef",
    "TENSOR_MAP": "TensorMap",
}
SHORT = {
    "CODE_DEPRECATED_BUILTIN": "deprecated_builtin_code",
    "CODE_CUSTOM": "custom_code",
    "CODE_BUILTIN": "builtin_code",
    "MODEL_SIGNATURES": "signature_defs",
    "QUANTIZATION_DIMENSION": "quantized_dimension",
    "DIMENSION_SEGMENTS_TYPE": "array_segments_type",
    "DIMENSION_SEGMENTS": "array_segments",
    "DIMENSION_INDICES_TYPE": "array_indices_type",
    "DIMENSION_INDICES": "array_indices",
    "OPERATOR_OPTIONS_TYPE": "builtin_options_type",
    "OPERATOR_OPTIONS": "builtin_options",
    "OPERATOR_MUTATING_INPUTS": "mutating_variable_inputs",
    "OPERATOR_OPTIONS_2_TYPE": "builtin_options_2_type",
    "OPERATOR_OPTIONS_2": "builtin_options_2",
    "SIGNATURE_KEY": "signature_key",
    "SIGNATURE_SUBGRAPH": "subgraph_index",
    "TENSOR_MAP_INDEX": "tensor_index",
}


def members(union):
    return UNIONS[union].split()


def children(table):
    """Tables that a table refers to."""
    for _, kind in slots_of(table):
        if kind[0] == "<":
            yield from members(kind[1:-1])
        elif kind.strip("[]") in TABLES:
            yield kind.strip("[]")


def depth(table):
    return 1 + max(map(depth, children(table)), default=0)


def test_every_kind_is_known():
    for table in TABLES:
        for name, kind in slots_of(table):
            known = kind.strip("[]") in DTYPES or kind == "str" or kind.strip("[]") in TABLES or kind[1:-1] in UNIONS
            assert known, (table, name, kind)


def test_no_table_contains_itself_and_the_walk_has_room():
    assert depth("Model") <= 8  # Structure.path has 16 places; a cycle would end in RecursionError


def test_unions_name_tables():
    assert all(member in TABLES for union in UNIONS for member in members(union))
    assert members("BuiltinOptions").index("RightShiftOptions") + 1 == 126
    assert members("BuiltinOptions2").index("StablehloCaseOptions") + 1 == 23


def test_options_belong_to_operators_and_unions():
    assert set(OPTIONS_OF) <= set(BUILTIN_NAMES)
    assert set(OPTIONS_OF.values()) <= {*members("BuiltinOptions"), *members("BuiltinOptions2")}


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (0, "ADD"),
        (32, "CUSTOM"),
        (77, "SHAPE"),
        (126, "BATCH_MATMUL"),
        (150, "GELU"),
        (206, "STABLEHLO_COMPOSITE"),
        (209, "STABLEHLO_CASE"),
    ],
)
def test_operator_numbers(number, name):
    assert BUILTIN_NAMES[number] == name


def test_names_are_complete():
    assert len(BUILTIN_NAMES) == 210
    assert TENSOR_TYPE_NAMES[9] == "INT8" and TENSOR_TYPE_NAMES[17] == "INT4" and TENSOR_TYPE_NAMES[20] == "UINT4"


@pytest.mark.parametrize(("constant", "slot"), re.findall(r"^    (\w+) = (\d+)$", SLOTS, re.M))
def test_slot_numbers(constant, slot):
    prefix = max((prefix for prefix in TABLE_OF if constant.startswith(prefix + "_")), key=len)
    name = SHORT.get(constant, constant[len(prefix) + 1 :].lower())
    assert slots_of(TABLE_OF[prefix])[int(slot)][0] == name
