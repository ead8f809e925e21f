"""Each kind of damage is refused with a ValueError that says what is wrong and where."""

import gzip
import re
import struct
import time
import zipfile
from io import BytesIO

import numpy as np
import pytest

from tflm_cy.schema.model import Model

from .flat import build, rich, strings, with_tensor
from .judge import judge

INVALID = "The model is not a valid Flatbuffer buffer"
F4 = np.float32([1, 2, 3, 4]).tobytes()


def refused(content):
    with pytest.raises(ValueError) as caught:
        Model.from_buffer(content)
    return str(caught.value)


def test_valid_model_of_everything():
    Model.from_buffer(build(rich()))
    judge(build(rich()))


def zipped():
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("metadata.json", "{}")
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty"),
        (b"x", "1 bytes are too few"),
        (b"1234567", "7 bytes are too few"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 123\n", "Git LFS pointer"),
        (b"<!DOCTYPE html><html>" + b" " * 400, "HTML"),
        (b"\n <HTML><body>404</body></HTML>", "HTML"),
        (gzip.compress(build(rich())), "gzip"),
        (zipped(), "zip"),
        (b"\x89HDF\r\n\x1a\n" + bytes(500), "HDF5"),
        (bytes(range(256)) * 8, "identifier b'\\x04\\x05\\x06\\x07'"),
        (bytes(4096), "identifier"),
        (b"\xff" * 4096, "identifier"),
        (build(rich(), b"TFLX"), "identifier b'TFLX'"),
    ],
)
def test_other_files(content, reason):
    message = refused(content)
    assert INVALID in message and reason in message


@pytest.mark.parametrize("length", [8, 64, 100, 1000, -64, -1])
def test_truncated(length):
    message = refused(build(rich())[:length])
    assert INVALID in message and re.search(r"at byte \d+, Model", message)


def patch(content, at, form, value):
    damaged = bytearray(content)
    struct.pack_into(form, damaged, at, value)
    return bytes(damaged)


def root_of(content):
    return struct.unpack_from("<I", content)[0]


def slot_of(content, slot):
    """Position of the root's field."""
    root = root_of(content)
    vtable = root - struct.unpack_from("<i", content, root)[0]
    return root + struct.unpack_from("<H", content, vtable + 4 + 2 * slot)[0]


def target_of(content, at):
    return at + struct.unpack_from("<I", content, at)[0]


def test_root_outside():
    assert "leads to byte 4000000000" in refused(patch(build(rich()), 0, "<I", 4_000_000_000))


@pytest.mark.parametrize("distance", [2**31 - 1, -(2**31)])
def test_vtable_outside(distance):
    content = build(rich())
    message = refused(patch(content, root_of(content), "<i", distance))
    assert "vtable would be at byte" in message and f"at byte {root_of(content)}, Model)" in message


@pytest.mark.parametrize("length", [0, 3, 5, 65534])
def test_impossible_vtable(length):
    content = build(rich())
    vtable = root_of(content) - struct.unpack_from("<i", content, root_of(content))[0]
    assert f"a vtable of {length} bytes" in refused(patch(content, vtable, "<H", length))
    assert "a table of 65535 bytes" in refused(patch(content, vtable + 2, "<H", 65535))


def test_field_outside_its_table():
    content = build(rich())
    vtable = root_of(content) - struct.unpack_from("<i", content, root_of(content))[0]
    message = refused(patch(content, vtable + 4 + 2 * 3, "<H", 65535))
    assert "the field is at byte 65535" in message and "Model.description" in message


def test_offset_outside():
    content = build(rich())
    message = refused(patch(content, slot_of(content, 3), "<I", 2**32 - 1))
    assert "past the end of the file" in message and "Model.description" in message


def test_offset_of_zero():
    content = build(rich())
    assert "refers to itself" in refused(patch(content, slot_of(content, 2), "<I", 0))


@pytest.mark.parametrize("length", [2**32 - 1, 2**31, 100_000])
@pytest.mark.parametrize(("slot", "field"), [(3, "description"), (4, "buffers"), (2, "subgraphs")])
def test_length_outside(length, slot, field):
    content = build(rich())
    start = target_of(content, slot_of(content, slot))
    message = refused(patch(content, start, "<I", length))
    assert f"of {length} elements would end at byte" in message and f"at byte {start}, Model.{field}" in message


def test_string_without_end():
    content = build(rich())
    start = target_of(content, slot_of(content, 3))
    assert "no closing zero" in refused(patch(content, start, "<I", 3))


def test_place_in_words():
    """The place names every step from the root."""
    layout = rich()
    layout["subgraphs"][0]["operators"][2]["builtin_options_2"][1]["name"] = "marker-of-the-name"
    content = build(layout)
    start = content.index(b"marker-of-the-name") - 4
    message = refused(patch(content, start, "<I", 2**31))
    place = "Model.subgraphs[0].operators[2].builtin_options_2 > StableHLOCompositeOptions.name"
    assert message.endswith(f"(at byte {start}, {place})")


def test_unknown_option_type_is_let_through():
    """Newer files have newer members; nobody follows them here."""
    layout = rich()
    layout["subgraphs"][0]["operators"][0]["builtin_options"] = (200, {"padding": 1})
    Model.from_buffer(build(layout))


def with_operator(**fields):
    layout = rich()
    layout["subgraphs"][0]["operators"][1].update(fields)
    return layout


def with_model(**fields):
    layout = rich()
    for name, value in fields.items():
        if value is None:
            del layout[name]
        else:
            layout[name] = value
    return layout


@pytest.mark.parametrize(
    ("layout", "phrase"),
    [
        (with_model(version=4), "Model provided is schema version 4 not equal to supported version 3."),
        (with_model(version=None), "schema version 0"),
        (with_model(subgraphs=[]), "No subgraph in the model."),
        (with_model(subgraphs=None), "No subgraph in the model."),
        (with_model(buffers=None), "No buffers in the model."),
        (with_model(subgraphs=[{"inputs": []}]), "Did not get tensors in subgraph 0"),
        (
            with_model(operator_codes=[{"builtin_code": 32}]),
            "CUSTOM builtin_code has no custom_code (operator_codes[0]",
        ),
        (with_model(operator_codes=None), "Missing registration for opcode_index 0: the model has 0"),
        (
            with_operator(opcode_index=9),
            "Missing registration for opcode_index 9: the model has 4 operator codes (node 1 of",
        ),
        (with_operator(opcode_index=2**32 - 1), "opcode_index 4294967295"),
        (with_operator(large_custom_options_offset=2**63, large_custom_options_size=2**63), "Custom Option Offset"),
        (with_operator(large_custom_options_offset=8, large_custom_options_size=2**64 - 8), "Custom Option Offset"),
        (with_model(signature_defs=[{"inputs": [], "outputs": []}]), "Missing exported method name for SignatureDef"),
        (with_model(signature_defs=[{"signature_key": "k", "inputs": []}]), "NULL SignatureDef outputs"),
        (with_model(signature_defs=[{"signature_key": "k", "outputs": []}]), "NULL SignatureDef inputs"),
    ],
)
def test_what_a_model_says(layout, phrase):
    message = refused(build(layout))
    assert phrase in message
    if "(" in message and "schema version" not in message:
        assert "at byte" in message


def quantized(shape=(1, 4), **quantization):
    return with_tensor({"shape": list(shape), "type": 9, "quantization": quantization})


def blockwise(scales=0, zero_points=-1, block_size=32):
    details = {"scales": scales, "zero_points": zero_points, "block_size": block_size}
    return quantized((1, 32), details=("BlockwiseQuantization", details))


QUANTIZATION = "Tensor 0 has invalid quantization parameters. Tensor 0 of subgraph 0, 't', at byte"
SCHEMA = "Tensor 0 is invalidly specified in schema"


@pytest.mark.parametrize(
    ("layout", "phrases"),
    [
        (with_tensor({"shape": [2], "type": 21}), ["Unsupported data type 21 in tensor 0"]),
        (with_tensor({"shape": [2], "type": -1}), ["Unsupported data type -1"]),
        (with_tensor({"shape": [2], "buffer": 9}), ["Tensor 0 specifies out of range buffer 9 (only 2 buffers)"]),
        (with_tensor({"shape": [2], "buffer": 2**32 - 1}), ["out of range buffer 4294967295"]),
        (with_tensor({"shape": [-1, 4]}), ["Dimension 0 is -1", SCHEMA]),
        (with_tensor({"shape": [2**31 - 1] * 3 + [0]}), ["overflows", SCHEMA]),
        (with_tensor({"shape": [2**30, 2**29], "type": 11}, F4), ["overflows", SCHEMA]),
        (with_tensor({"shape": [2**30, 2**28], "type": 11}, F4), ["need 4611686018427387904 bytes, buffer 1 has 16"]),
        (with_tensor({"shape": [2**30, 2**30, 4], "type": 17}, F4), ["need 2305843009213693952 bytes"]),
        (with_tensor({"shape": [5]}, F4), [SCHEMA, "5 elements need 20 bytes, buffer 1 has 16", "at byte"]),
        (with_tensor({"shape": [2]}, b""), ["need 8 bytes, buffer 1 has 0"]),
        (with_tensor({"shape": [3], "type": 17}, b"a"), ["need 2 bytes, buffer 1 has 1"]),
        (with_tensor({"shape": [5], "type": 19}, b"a"), ["need 2 bytes"]),
        (with_tensor({"shape": [4], "is_variable": True}, F4), ["variable tensor with buffer"]),
        (quantized(scale=[0.5]), ["non-null scale but null zero_point", QUANTIZATION]),
        (quantized(scale=[0.5, 1], zero_point=[1], quantized_dimension=1), ["1 zero_point values and 2 scale values"]),
        (quantized(scale=[1, 2, 3], zero_point=[0, 0, 0], quantized_dimension=1), ["or 4 for per-axis", "got 3"]),
        (quantized(scale=[1] * 4, zero_point=[0] * 4, quantized_dimension=7), ["in range [0, 2). Was 7", QUANTIZATION]),
        (quantized(scale=[1], zero_point=[0], quantized_dimension=-1), ["in range [0, 2). Was -1"]),
        (quantized((4,), scale=[1, 1], zero_point=[0, 0], quantized_dimension=3), ["or 4 for per-axis", "got 2"]),
        (blockwise(scales=1), ["Blockwise scales 1", QUANTIZATION]),
        (blockwise(scales=-1), ["Blockwise scales -1"]),
        (blockwise(zero_points=-2), ["zero_points -2"]),
        (blockwise(block_size=0), ["block_size must be positive. Was 0"]),
        (with_tensor({"shape": [2], "type": 5}, b"abc"), ["string", "this one has 3 bytes", "Tensor 0 of subgraph 0"]),
        (with_tensor({"shape": [2], "type": 5}, b""), ["this one has 0 bytes"]),
        (with_tensor({"shape": [3], "type": 5}, strings("a", "b")), ["holds 2 strings, the shape has 3"]),
        (with_tensor({"shape": [2], "type": 5}, strings("a", "b")[:-1]), ["outside"]),
        (with_tensor({"shape": [], "type": 5}, struct.pack("<iii", 1, 12, 2**31 - 1)), ["outside 12 to 12"]),
        (with_tensor({"shape": [], "type": 5}, struct.pack("<iii", 1, 4, 12)), ["starts at byte 4, outside"]),
        (with_tensor({"shape": [2], "type": 5}, struct.pack("<iiii", 2, 16, 15, 16)), ["starts at byte 15"]),
        (with_tensor({"shape": [0], "type": 5}, struct.pack("<Ii", 2**32 - 1, 8)), ["4294967295 strings need"]),
    ],
)
def test_what_a_tensor_says(layout, phrases):
    message = refused(build(layout))
    assert all(phrase in message for phrase in phrases), message


@pytest.mark.parametrize(
    "layout",
    [
        with_tensor({"shape": [4]}, F4),
        with_tensor({"shape": [3]}, F4),
        with_tensor({}, F4),
        with_tensor({"shape": [0]}, b""),
        with_tensor({"shape": [0, 2**31 - 1, 2**31 - 1, 2**31 - 1]}),
        with_tensor({"shape": [3], "type": 17}, b"ab"),
        with_tensor({"shape": [3], "type": 13}, b""),
        with_tensor({"shape": [], "type": 5}, strings("one")),
        with_tensor({"shape": [0], "type": 5}, strings()),
        with_tensor({"shape": [2, 2], "type": 5}, strings("", "b", "", "d")),
        quantized(scale=[], zero_point=[]),
        quantized(scale=[0.1], zero_point=[2**40]),
        quantized(scale=[1] * 4, zero_point=[0] * 4, quantized_dimension=1),
        quantized((4,), scale=[1] * 4, zero_point=[0] * 4, quantized_dimension=3),  # biases of person_detect
        quantized((4,), scale=[1], zero_point=[0], quantized_dimension=3),
        quantized((), scale=[1, 1, 1], zero_point=[0, 0, 0], quantized_dimension=5),
        blockwise(),
    ],
)
def test_tensors_to_accept(layout):
    Model.from_buffer(build(layout))
    judge(build(layout))


@pytest.mark.parametrize(
    "change",
    [
        {"inputs": [99], "outputs": [99]},
        {"inputs": [-1], "outputs": [2**31 - 1]},
    ],
)
def test_tensor_indices_are_left_to_the_loader(change):
    """TensorFlow constructs such models, shows their details, and fails at allocate_tensors."""
    layout = rich()
    layout["subgraphs"][0].update(change)
    layout["subgraphs"][0]["operators"][0].update(change)
    Model.from_buffer(build(layout))


def sparse(shape, data, order, levels, blocks=None, kind=0):
    sparsity = {"traversal_order": order, "dim_metadata": levels}
    if blocks is not None:
        sparsity["block_map"] = blocks
    return with_tensor({"shape": shape, "type": kind, "sparsity": sparsity}, data)


def dense(size):
    return {"dense_size": size}


def csr(segments, indices, kinds=("Int32Vector", "Int32Vector")):
    return {
        "format": 1,
        "array_segments": (kinds[0], {"values": segments}),
        "array_indices": (kinds[1], {"values": indices}),
    }


TWO = F4[:8]


@pytest.mark.parametrize(
    "layout",
    [
        sparse([2, 2], TWO, [0, 1], [dense(2), csr([0, 1, 2], [1, 0])]),
        sparse([2, 2], TWO, [1, 0], [dense(2), csr([0, 0, 2], [1, 0], ("Uint8Vector", "Uint16Vector"))]),
        sparse([2, 2], F4, [0, 1], [dense(2), dense(2)]),
        sparse([4, 4], F4 * 2, [0, 1, 2, 3], [dense(2), csr([0, 1, 2], [1, 0]), dense(2), dense(2)], [0, 1]),
        sparse([4, 4], F4 * 2, [0, 1, 3, 2], [dense(4), csr([0, 1, 2, 2, 2], [0, 0]), dense(4), dense(1)], [0, 1]),
        sparse([2, 32], F4 * 16, [0, 1, 2], [dense(2), csr([0, 1, 2], [1, 0]), dense(16)], [1], kind=9),
        sparse([0, 2], b"", [0, 1], [dense(0), csr([0], [])]),
        sparse([2, 5], F4 * 2, [0, 1, 2], [dense(2), dense(2), dense(2)], [1]),
        sparse([2, 3], b"", [0, 1, 2], [dense(2), csr([0, 0, 0], []), dense(4)], [1]),
    ],
)
def test_sparse_tensors_to_accept(layout):
    Model.from_buffer(build(layout))
    judge(build(layout))


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        (with_tensor({"shape": [2, 2], "sparsity": {"traversal_order": [0, 1]}}, TWO), "both needed"),
        (sparse([2, 2], TWO, [0], [dense(2)]), "1 dimensions to traverse and 1 described, at rank 2"),
        (sparse([2, 2], TWO, [0, 1], [dense(2)]), "2 dimensions to traverse and 1 described"),
        (sparse([1] * 33, TWO, list(range(33)), [dense(1)] * 33), "at most 32"),
        (sparse([2, 2], TWO, [0, 0], [dense(2), csr([0, 1, 2], [1, 0])]), "traversal_order has 0 in place 1"),
        (sparse([2, 2], TWO, [0, 2], [dense(2), csr([0, 1, 2], [1, 0])]), "traversal_order has 2 in place 1"),
        (sparse([2, 2], TWO, [0, -7], [dense(2), csr([0, 1, 2], [1, 0])]), "traversal_order has -7"),
        (sparse([2, 4], F4, [0, 2, 1], [dense(2), dense(2), dense(2)], [1]), "traversal_order has 2 in place 1"),
        (sparse([2, 4], F4, [0, 1, 2], [dense(2), dense(2), dense(2)]), "1 block dimensions, but 0 in block_map"),
        (sparse([2, 4], F4, [0, 1, 2], [dense(2), dense(2), dense(2)], [2]), "block_map has 2"),
        (sparse([2, 4], F4, [0, 1, 2], [dense(2), dense(2), dense(0)], [1]), "not dense with a positive size"),
        (sparse([2, 5], F4, [0, 1, 2], [dense(2), dense(3), dense(2)], [1]), "dense_size is 3, the dimension has 2"),
        (sparse([2, 2], TWO, [0, 1], [dense(3), csr([0, 1, 2], [1, 0])]), "dense_size is 3, the dimension has 2"),
        (sparse([2, 2], TWO, [0, 1], [dense(-1), csr([0, 1, 2], [1, 0])]), "dense_size is -1"),
        (sparse([2, 2], TWO, [0, 1], [dense(2), {"format": 7}]), "dim_metadata[1]: unknown format 7"),
        (sparse([2, 2], TWO, [0, 1], [dense(2), {"format": 1}]), "array_segments and array_indices are both needed"),
        (sparse([2, 2], TWO, [0, 1], [dense(2), csr([0, 2], [1, 0])]), "array_segments has 2 entries for 2 parents"),
        (sparse([2, 2], TWO, [0, 1], [dense(2), csr([0, 2, 1], [1, 0])]), "array_segments[2] is 1 after 2"),
        (sparse([2, 2], TWO, [0, 1], [dense(2), csr([-5, 1, 2], [1, 0])]), "array_segments[0] is -5"),
        (sparse([2, 2], TWO, [0, 1], [dense(2), csr([0, 1, 3], [1, 0])]), "ends at 3, array_indices has 2"),
        (sparse([2, 2], TWO, [0, 1], [dense(2), csr([0, 1, 2], [1, 2])]), "array_indices[1] is 2, the dimension has 2"),
        (sparse([2, 2], TWO, [0, 1], [dense(2), csr([0, 1, 2], [1, -1])]), "array_indices[1] is -1"),
        (sparse([2, 2], TWO, [0, 1], [dense(2), csr([0, 1, 2], [1, 0], (9, "Int32Vector"))]), "both needed"),
        (sparse([2, 2], F4[:4], [0, 1], [dense(2), csr([0, 1, 2], [1, 0])]), "2 elements need 8 bytes, buffer 1 has 4"),
        (sparse([2**20] * 2, b"", [0, 1], [dense(2**20)] * 2), "1099511627776 elements need"),
    ],
)
def test_sparse_tensors_to_refuse(layout, reason):
    message = refused(build(layout))
    assert reason in message and "Tensor 0 of subgraph 0, 't', at byte" in message


def test_sparsity_of_no_constant_is_not_looked_at():
    Model.from_buffer(build(with_tensor({"shape": [2], "sparsity": {"traversal_order": [9]}})))


def many(count, table):
    return [table] * count


@pytest.mark.parametrize(
    "layout",
    [
        with_model(subgraphs=many(5000, {"tensors": many(5000, {"shape": [1]})})),
        with_model(subgraphs=many(3000, {"tensors": [], "operators": many(3000, {"opcode_index": 0})})),
        with_model(subgraphs=[{"tensors": many(5000, {"shape": many(50_000, 1)})}]),
        with_model(subgraphs=[{"tensors": [], "operators": many(5000, {"inputs": list(range(50_000))})}]),
        with_model(signature_defs=many(3000, {"signature_key": "k" * 9000, "inputs": many(9, {}), "outputs": []})),
        with_model(
            subgraphs=[{"tensors": many(20_000, {"shape": [5000], "type": 5, "buffer": 1})}],
            buffers=[{}, {"data": strings(*[""] * 5000)}],
        ),
    ],
)
def test_shared_objects_cost_no_time(layout):
    """A small file that unfolds into millions of objects is refused soon."""
    content = build(layout)
    assert len(content) < 500_000
    start = time.process_time()
    assert "too much sharing" in refused(content)
    assert time.process_time() - start < 0.5


def test_moderate_sharing_is_fine():
    """Writers that merge equal tables and vectors."""
    layout = rich()
    layout["subgraphs"][0]["tensors"] += many(
        500, {"shape": many(4, 1), "name": "same", "quantization": {"scale": [1.0], "zero_point": [0]}}
    )
    Model.from_buffer(build(layout))
