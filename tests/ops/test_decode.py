"""TFLM_DECODE: constants compressed by look-up tables, Huffman codes and pruning, with values written out; damaged ones are refused."""

import ctypes
import mmap

import numpy as np
import pytest

from compat.builder import Model, Tensor
from compat.builder.encoded import HUFFMAN, LOOK_UP_TABLES, PRUNING, constants, header, huffman, pruned, tables
from tflm_cy import Interpreter
from tflm_cy.micro import MicroInterpreter

# Codes a: 0, b: 10, c: 110, d: 111, looked up by one bit, then by one more, then by one more.
CODES = {"a": "0", "b": "10", "c": "110", "d": "111"}
FOUND, ENTRIES = (
    0x8000,
    [0x8000 | 1 << 11 | 5, 1, 0x8000 | 1 << 11 | 7, 1, 0x8000 | 1 << 11 | 0xFD, 0x8000 | 1 << 11 | 9],
)
LONG_ENTRIES = [(e & 0xF800) << 16 | e & 0x7FF for e in ENTRIES]
VALUES = {"a": 5, "b": 7, "c": -3, "d": 9}


def model_of(*pairs):
    """A node that decodes each (encoded, ancillary, output); no input."""
    model = Model()
    main = model.subgraph("main")
    outputs = [y for *_, y in pairs]
    main.op("TFLM_DECODE", [t for encoded, ancillary, _ in pairs for t in constants(encoded, ancillary)], outputs)
    main.inputs, main.outputs = [], outputs
    return model.to_bytes()


def decoded(encoded, ancillary, y):
    interpreter = MicroInterpreter(model_of((encoded, ancillary, y)))
    interpreter.invoke()
    first = interpreter.output(0)
    interpreter.invoke()
    assert np.array_equal(interpreter.output(0), first)
    return first


def bits(text):
    text = text.replace(" ", "")
    return int(text.ljust(-(-len(text) // 8) * 8, "0"), 2).to_bytes(-(-len(text) // 8), "big")


def test_one_table():
    ancillary = header(LOOK_UP_TABLES, 15 << 4 | 3, 5) + np.array([-7, -1, 0, 4, 120], np.int8).tobytes()
    y = Tensor([2, 3], "int8", scale=0.5, zero_point=0)
    assert decoded(bits("000 100 001 011 010 100"), ancillary, y).tolist() == [[-7, 120, -1], [4, 0, 120]]


@pytest.mark.parametrize("dtype", ["bool", "float32", "int8", "int16", "int32", "int64"])
def test_every_type_has_tables(dtype):
    values = np.array([0, 1] if dtype == "bool" else [-2, 3], dtype)
    assert decoded(bits("0110 1"), header(LOOK_UP_TABLES, 1, 2) + values.tobytes(), Tensor([5], dtype)).tolist() == [
        *(values[0], values[1], values[1], values[0], values[1])
    ]


def test_a_table_per_slice_of_the_first_axis():
    ancillary = header(LOOK_UP_TABLES, 2, 3) + bytes([1, 2, 3, 11, 12, 13])
    y = Tensor([2, 4], "int8", scale=[0.1, 0.2], zero_point=[0, 0], axis=0)
    assert decoded(bits("00 01 10 00 10 10 01 00"), ancillary, y).tolist() == [[1, 2, 3, 1], [13, 13, 12, 11]]


def test_a_table_per_slice_of_the_last_axis():
    ancillary = header(LOOK_UP_TABLES, 1 << 4 | 2, 3) + bytes([1, 2, 3, 11, 12, 13])
    y = Tensor([4, 2], "int8", scale=[0.1, 0.2], zero_point=[0, 0], axis=1)
    assert decoded(bits("00 01 10 00 10 10 01 00"), ancillary, y).tolist() == [[1, 12], [3, 11], [3, 13], [2, 11]]


def test_the_axis_is_that_of_the_scales_whatever_the_tables_say():
    ancillary = header(LOOK_UP_TABLES, 15 << 4 | 1, 2) + bytes([1, 2, 11, 12])
    y = Tensor([2, 2], "int8", scale=[0.1, 0.2], zero_point=[0, 0], axis=0)
    assert decoded(bits("0111"), ancillary, y).tolist() == [[1, 2], [12, 12]]


def test_one_table_for_many_scales_is_read_on_in_the_file():
    """As TFLM does: the second channel's table is what lies behind the first."""
    encoded, ancillary = bits("0110"), header(LOOK_UP_TABLES, 15 << 4 | 1, 2) + bytes([1, 2])
    y = Tensor([2, 2], "int8", scale=[0.1, 0.2], zero_point=[0, 0], axis=0)
    content = model_of((encoded, ancillary, y))
    behind = content.index(ancillary) + len(ancillary)
    interpreter = MicroInterpreter(content)
    interpreter.invoke()
    second = np.frombuffer(content[behind : behind + 2], np.int8)
    assert interpreter.output(0).tolist() == [[1, 2], [second[1], second[0]]]


def test_indices_of_no_bits_are_zero():
    assert decoded(b"\0", header(LOOK_UP_TABLES, 0, 1) + b"\x2a", Tensor([3], "int8")).tolist() == [42, 42, 42]


@pytest.mark.parametrize("dtype", ["bool", "float32", "int8", "int16", "int32", "int64"])
def test_pruned_values(dtype):
    given = np.array([1, 1, 1] if dtype == "bool" else [-2, 3, 4], dtype)
    expected = [0, *given[:2].tolist(), 0, 0, 0, 0, 0, 0, given[2].item(), 0]
    assert (
        decoded(bits("01100000 01000000"), header(PRUNING) + given.tobytes(), Tensor([11], dtype)).tolist() == expected
    )


def test_pruned_values_are_zero_points():
    ancillary = header(PRUNING) + bytes([50, 60])
    one = Tensor([2, 2], "int8", scale=0.1, zero_point=-3)
    assert decoded(bits("0110"), ancillary, one).tolist() == [[-3, 50], [60, -3]]
    rows = Tensor([2, 2], "int8", scale=[0.1, 0.2], zero_point=[-3, 4], axis=0)
    assert decoded(bits("0110"), ancillary, rows).tolist() == [[-3, 50], [60, 4]]
    columns = Tensor([2, 2], "int8", scale=[0.1, 0.2], zero_point=[-3, 4], axis=1)
    assert decoded(bits("0100"), ancillary[:17], columns).tolist() == [[-3, 50], [-3, 4]]


@pytest.mark.parametrize(("dtype", "wide"), [("int8", False), ("int8", True), ("int16", True)])
def test_codes(dtype, wide):
    text = "abacadddcba"
    entries = np.array(LONG_ENTRIES if wide else ENTRIES, "<u4" if wide else "<u2")
    if dtype == "int16":  # -3 in 16 bits, which 0xFD is not
        entries[4] = 1 << 31 | 1 << 27 | 0xFFFD
    ancillary = header(HUFFMAN, int(wide)) + entries.tobytes()
    encoded = bits("".join(CODES[letter] for letter in text))
    assert decoded(encoded, ancillary, Tensor([11], dtype)).tolist() == [VALUES[letter] for letter in text]


def test_codes_that_are_shorter_than_what_is_looked_up():
    """Two bits at first: the second is put back behind an `a`, also at the stream's end."""
    entries = [
        FOUND | 1 << 11 | 5,
        FOUND | 1 << 11 | 5,
        FOUND | 2 << 11 | 7,
        1,
        FOUND | 1 << 11 | 8,
        FOUND | 1 << 11 | 9,
    ]
    ancillary = header(HUFFMAN, 1 << 4) + np.array(entries, "<u2").tobytes()
    assert decoded(bits("0 10 111 10"), ancillary, Tensor([4], "int8")).tolist() == [5, 7, 9, 7]
    assert decoded(bits("111 0 10 10"), ancillary, Tensor([4], "int8")).tolist() == [9, 5, 7, 7]
    assert decoded(bits("111 10 10 0"), ancillary, Tensor([4], "int8")).tolist() == [9, 7, 7, 5]


def test_several_outputs():
    a, b = np.array([[3, 4], [4, 3]], np.int8), np.array([0, 0, 7, 0], np.int16)
    c = np.array([1, 1, 1, 2, 5, 1], np.int8)
    pairs = [
        (*tables(a, 1), Tensor([2, 2], "int8")),
        (*pruned(b), Tensor([4], "int16")),
        (*huffman(c), Tensor([6], "int8")),
    ]
    interpreter = MicroInterpreter(model_of(*pairs))
    interpreter.invoke()
    for i, values in enumerate((a, b, c)):
        assert np.array_equal(interpreter.output(i), values)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_encoded_is_decoded(seed):
    rng = np.random.default_rng(seed)
    shape, width = rng.integers(1, 7, rng.integers(1, 4)).tolist(), int(rng.integers(1, 8))
    palette = rng.integers(-128, 128, 1 << width).astype(np.int8)
    values = palette[rng.integers(0, len(palette), shape)]
    y = Tensor(shape, "int8")
    assert np.array_equal(decoded(*tables(values, width), y), values)
    assert np.array_equal(decoded(*pruned(values), y), values)
    for wide in (False, True):
        codes = huffman(values, int(rng.integers(1, 9)), wide, int(rng.integers(1, 5)), int(rng.choice([1, 4])))
        assert np.array_equal(decoded(*codes, y), values)


def test_a_kernel_reads_what_is_decoded():
    """Weights of FULLY_CONNECTED, a table per output channel."""
    weights = np.array([[1, -1, 1], [2, 2, -3]], np.int8)
    scales = {"scale": [0.5, 0.25], "zero_point": [0, 0], "axis": 0}
    model = Model()
    main = model.subgraph("main")
    x, w, y = Tensor([1, 3], "int8", scale=1.0), Tensor([2, 3], "int8", **scales), Tensor([1, 2], "int8", scale=0.5)
    encoded, ancillary = constants(*tables(weights, 1, 0))
    encoded.scale, encoded.zero_point, encoded.axis = [0.5, 0.25], [0, 0], 0  # as the compressor leaves them
    main.op("TFLM_DECODE", [encoded, ancillary], [w])
    main.op("FULLY_CONNECTED", [x, w, None], [y])
    interpreter = MicroInterpreter(model.to_bytes())
    for _ in range(2):
        interpreter.set_input(0, np.array([[10, 4, 2]], np.int8))
        interpreter.invoke()
        assert interpreter.output(0).tolist() == [[8, 11]]


# ---------------------------------------------------------------- refused

ONE = header(LOOK_UP_TABLES, 1, 2) + bytes([3, 4])
INT8 = Tensor([8], "int8", scale=0.1, zero_point=0)


@pytest.mark.parametrize(
    ("encoded", "ancillary", "y", "text"),
    [
        (b"\0", ONE[:15], INT8, "15 bytes"),
        (b"\0", header(LOOK_UP_TABLES, 1, 2, 2), INT8, "version 2"),
        (b"\0", header(LOOK_UP_TABLES, 1, 2, 1, 3), INT8, "version 3"),
        (b"\0", header(3, 1, 2), INT8, "no method 3"),
        (b"\0", header(128, 1, 2), INT8, "no method 128"),
        (b"\0", ONE, Tensor([9], "int8"), "end before the 9 values"),
        (b"\0", ONE, Tensor([2, 2, 2], "int8", scale=[1, 1], zero_point=[0, 0], axis=1), "axis 1"),
        (b"\0", ONE, Tensor([2, 2, 1], "int8", scale=[1], zero_point=[0], axis=2), "axis 2"),
        (b"\0", header(PRUNING), Tensor([9], "int8"), "end before the 9 values"),
        (b"\1", header(PRUNING), INT8, "leads behind the tables"),
        (b"\0", header(PRUNING), Tensor([8], "int16", scale=0.1, zero_point=1), "zero points must be zero"),
        (b"\0", header(HUFFMAN), Tensor([8], "int16"), "16-bit entries are for INT8"),
        (b"\0", header(HUFFMAN), INT8, "leads behind the tables"),
        (
            bits("0" * 8),
            header(HUFFMAN, 1 << 4 | 1) + np.array(4 * [1 << 31 | 2 << 27], "<u4").tobytes(),
            INT8,
            "end before the 8 values",
        ),
        (
            bits("1" * 8),
            header(HUFFMAN) + np.array([*ENTRIES[:3], 0, 0, 0], "<u2").tobytes(),
            INT8,
            "end before the 8 values|leads behind",
        ),
    ],
)
def test_damaged_data(encoded, ancillary, y, text):
    with pytest.raises((ValueError, RuntimeError), match=text) as error:
        MicroInterpreter(model_of((encoded, ancillary, y))).invoke()
    assert "TFLM_DECODE" in str(error.value)


def test_a_table_behind_the_files_end():
    """Many channels with long tables lead there."""
    y = Tensor([4000, 1], "int8", scale=[0.1] * 4000, zero_point=[0] * 4000, axis=0)
    with pytest.raises(RuntimeError, match="leads behind the tables"):
        MicroInterpreter(model_of((bytes(500), header(LOOK_UP_TABLES, 1, 255) + b"\0\1", y))).invoke()


def test_inputs_that_are_no_constants():
    model = Model()
    main = model.subgraph("main")
    main.op("TFLM_DECODE", [Tensor([1], "uint8"), constants(b"\0", ONE)[1]], [INT8])
    with pytest.raises(ValueError, match="must be constants"):
        MicroInterpreter(model.to_bytes())


def test_a_single_input():
    model = Model()
    main = model.subgraph("main")
    main.op("TFLM_DECODE", constants(b"\0", ONE)[:1], [INT8])
    with pytest.raises(ValueError, match="two for each"):
        MicroInterpreter(model.to_bytes())


def test_types_that_tflm_does_not_decode_fail_when_they_run():
    interpreter = MicroInterpreter(model_of((b"\0", ONE, Tensor([8], "uint8"))))
    with pytest.raises(RuntimeError, match="does not take these types"):
        interpreter.invoke()


def at_the_end_of_memory(size):
    """A buffer behind which nothing can be read."""
    page = mmap.PAGESIZE
    length = -(-size // page) * page
    memory = mmap.mmap(-1, length + page)
    whole = (ctypes.c_char * (length + page)).from_buffer(memory)
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(ctypes.addressof(whole) + length), ctypes.c_size_t(page), 0) == 0
    return memoryview(whole).cast("B")[length - size : length]


def test_nothing_is_read_behind_the_file():
    """Random edits of all that is encoded: a result or an exception, and no crash."""
    rng = np.random.default_rng(0)
    shape = (3, 5, 4)
    values = rng.integers(-4, 4, shape).astype(np.int8)
    scales = {"scale": [0.1] * 3, "zero_point": [0] * 3, "axis": 0}
    pairs = [
        (*tables(values, 4, 0), Tensor(shape, "int8", **scales)),
        (*tables(values.astype(np.float32), 3), Tensor(shape, "float32")),
        (*pruned(values.astype(np.int64)), Tensor(shape, "int64")),
        (*huffman(values, 2), Tensor(shape, "int8")),
        (*huffman(values.astype(np.int16), 1, True), Tensor(shape, "int16")),
    ]
    seen = {"refused": 0, "ran": 0}
    for encoded, ancillary, y in pairs:
        content = model_of((encoded, ancillary, y))
        places = [content.index(part) + i for part in (encoded, ancillary) for i in range(len(part))]
        guarded = at_the_end_of_memory(len(content))
        for _ in range(600):
            damaged = bytearray(content)
            for _ in range(rng.integers(1, 5)):
                damaged[places[rng.integers(len(places))]] = rng.integers(256)
            guarded[:] = damaged
            try:
                MicroInterpreter(guarded).invoke()
                seen["ran"] += 1
            except (ValueError, RuntimeError):
                seen["refused"] += 1
    assert min(seen.values()) > 100


# ---------------------------------------------------------------- TensorFlow Lite's interpreter


def test_the_other_interpreter_says_what_to_use():
    interpreter = Interpreter(model_content=model_of((b"\0", ONE, INT8)))
    with pytest.raises(RuntimeError, match=r"unresolved custom op: TFLM_DECODE.*\n.*MicroInterpreter"):
        interpreter.allocate_tensors()


def with_left_scales(readers="decode"):
    """The compressor leaves a constant's scales on the bytes that encode it."""
    model = Model()
    main = model.subgraph("main")
    encoded, ancillary = constants(bytes(3), ONE)
    encoded.scale, encoded.zero_point, encoded.axis = [0.1, 0.2], [0, 0], 0
    y = Tensor([2, 4], "int8", scale=[0.1, 0.2], zero_point=[0, 0], axis=0)
    main.op("TFLM_DECODE", [encoded, ancillary], [y])
    if readers == "other":
        main.op("SHAPE", [encoded], [Tensor([1], "int32")])
    if readers == "intermediate":
        main.op("SHAPE", [y], [Tensor([2], "int32")], intermediates=[encoded])
    main.outputs = [y, encoded] if readers == "output" else [y]
    return model.to_bytes()


def test_scales_that_the_compressor_leaves():
    interpreter = MicroInterpreter(with_left_scales())
    interpreter.invoke()
    assert interpreter.output(0).shape == (2, 4)
    with pytest.raises(ValueError, match=r"num_scales must be 1 .* or 3 .* got 2.*TFLM_DECODE.*MicroInterpreter"):
        Interpreter(model_content=with_left_scales())


@pytest.mark.parametrize("readers", ["other", "output", "intermediate"])
def test_scales_of_a_tensor_that_others_read_are_counted(readers):
    with pytest.raises(ValueError, match="num_scales"):
        MicroInterpreter(with_left_scales(readers))
