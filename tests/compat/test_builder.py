"""The model builder: what it writes is read back here slot by slot through flatbuffers' own Table."""

import flatbuffers
import numpy as np
import pytest

from compat.builder import Model, Sparsity, Tensor, operator_name, pack_bits, pack_strings, read_model
from compat.builder.schema import OPERATORS, TABLES, UNIONS, options_of


class Table(flatbuffers.table.Table):
    """A flatbuffer table whose fields are reached by slot number."""

    @classmethod
    def root(cls, blob):
        return cls(bytearray(blob), int.from_bytes(blob[:4], "little"))

    def field(self, slot, flags, default=0):
        offset = self.Offset(4 + 2 * slot)
        return self.Get(flags, self.Pos + offset) if offset else default

    def int(self, slot, default=0):
        return self.field(slot, flatbuffers.number_types.Int32Flags, default)

    def byte(self, slot, default=0):
        return self.field(slot, flatbuffers.number_types.Int8Flags, default)

    def table(self, slot):
        return Table(self.Bytes, self.Indirect(self.Pos + self.Offset(4 + 2 * slot)))

    def tables(self, slot):
        offset = self.Offset(4 + 2 * slot)
        start = self.Vector(offset)
        return [Table(self.Bytes, self.Indirect(start + 4 * i)) for i in range(self.VectorLen(offset))]

    def vector(self, slot, dtype):
        offset = self.Offset(4 + 2 * slot)
        return (
            np.frombuffer(self.Bytes, dtype, self.VectorLen(offset), self.Vector(offset)).tolist() if offset else None
        )

    def text(self, slot):
        return self.String(self.Pos + self.Offset(4 + 2 * slot))


def conv_model():
    x = Tensor([1, 4, 4, 2], "int8", scale=0.5, zero_point=-3, shape_signature=[-1, 4, 4, 2])
    w = Tensor.constant(np.arange(8, dtype=np.int8).reshape(2, 2, 1, 2), scale=[0.25, 0.125], axis=0)
    y = Tensor([1, 2, 3, 2], "int8", scale=1.5)
    return Model.single("CONV_2D", [x, w, None], [y], version=3, padding="VALID", stride_w=1, stride_h=2).to_bytes()


def test_a_model_read_slot_by_slot():
    blob = conv_model()
    assert blob[4:8] == b"TFL3"
    model = Table.root(blob)
    assert model.int(0) == 3
    code = model.tables(1)[0]
    assert (code.byte(0), code.int(2, 1), code.int(3)) == (3, 3, 3)
    graph = model.tables(2)[0]
    x, w, y = graph.tables(0)
    assert x.vector(0, "i4") == [1, 4, 4, 2] and x.vector(7, "i4") == [-1, 4, 4, 2] and x.byte(1) == 9
    assert w.table(4).vector(2, "f4") == [0.25, 0.125] and w.table(4).vector(3, "i8") == [0, 0]
    assert x.table(4).vector(3, "i8") == [-3] and y.text(3) == b"t2"
    assert graph.vector(1, "i4") == [0] and graph.vector(2, "i4") == [2]
    op = graph.tables(3)[0]
    assert op.vector(1, "i4") == [0, 1, -1] and op.vector(2, "i4") == [2]
    assert op.byte(3) == 1  # the union's type: Conv2DOptions
    options = op.table(4)
    assert (options.byte(0), options.int(1), options.int(2), options.int(4, 1)) == (1, 1, 2, 1)
    buffers = model.tables(4)
    assert buffers[w.int(2)].vector(0, "i1") == list(range(8)) and buffers[0].vector(0, "i1") is None


def test_constants_start_on_16_bytes():
    parsed = read_model(blob := conv_model())
    data = parsed["buffers"][1]["data"]
    start = data.__array_interface__["data"][0] - np.frombuffer(blob, np.uint8).__array_interface__["data"][0]
    assert start % 16 == 0 and data.tolist() == list(range(8))


def test_reading_gives_what_was_written():
    model = Model(description="all of it")
    main, branch = model.subgraph("main"), model.subgraph("branch")
    x, y, z = Tensor([2], "float32", name="x"), Tensor([2], "float32"), Tensor([2], "float32")
    main.op("SOFTMAX", [x], [y], beta=0.5)
    main.op("Strange", [y], [z], custom_options=b"\1\2")
    main.op("IF", [x], [], then_subgraph_index=branch, else_subgraph_index=branch)
    state = branch.tensor(Tensor([3], "int16", scale=0.5, variable=True))
    model.signature("serve", {"in": x}, {"out": z})
    model.metadata("note", b"text")
    parsed = read_model(model.to_bytes())
    graph, other = parsed["subgraphs"]
    assert [operator_name(parsed, op) for op in graph["operators"]] == ["SOFTMAX", "Strange", "IF"]
    assert graph["operators"][0]["builtin_options"] == ("SoftmaxOptions", {"beta": 0.5})
    assert graph["operators"][1]["custom_options"].tolist() == [1, 2]
    assert graph["operators"][2]["builtin_options"][1] == {"then_subgraph_index": 1, "else_subgraph_index": 1}
    assert graph["inputs"].tolist() == [0] and graph["outputs"].tolist() == [2]
    assert graph["tensors"][0]["name"] == "x" and graph["tensors"][1]["name"] == "t1"
    assert other["tensors"][0]["is_variable"] and other["inputs"].size == 0 and state.dtype == "int16"
    signature = parsed["signature_defs"][0]
    assert (signature["signature_key"], signature["outputs"]) == ("serve", [{"name": "out", "tensor_index": 2}])
    assert parsed["buffers"][parsed["metadata"][0]["buffer"]]["data"].tobytes() == b"text"


def test_small_integers_are_packed_from_the_lowest_bits():
    assert pack_bits([1, -8, 7], 4) == bytes([0x81, 0x07])
    assert pack_bits([1, -2, 0, -1, 1], 2) == bytes([0b11001001, 1])
    tensor = Tensor.constant(np.array([[1, -8, 7]], np.int8), "int4", scale=0.1)
    assert tensor.shape == [1, 3] and tensor.data_bytes() == bytes([0x81, 0x07])


def test_strings_carry_their_offsets():
    assert pack_strings(["ab", b"c"]) == np.array([2, 16, 18, 19], "<i4").tobytes() + b"abc"


def test_sparsity():
    sparsity = Sparsity([0, 1], [("dense", 2), ("csr", [0, 1, 3], [1, 0, 2])], index_type="Uint8Vector")
    w = Tensor.constant(np.array([7, 8, 9], np.float32), shape=[2, 3], sparsity=sparsity)
    parsed = read_model(Model.single("DENSIFY", [w], [Tensor([2, 3], "float32")]).to_bytes())
    found = parsed["subgraphs"][0]["tensors"][0]["sparsity"]
    assert found["traversal_order"].tolist() == [0, 1] and found["dim_metadata"][0]["dense_size"] == 2
    kind, values = found["dim_metadata"][1]["array_indices"]
    assert kind == "Uint8Vector" and values["values"].tolist() == [1, 0, 2]


def test_integers_are_written_as_they_are_for_malformed_models():
    x = Tensor([1], "float32", buffer=99)
    parsed = read_model(Model.single("RELU", [x, 77], [-5]).to_bytes())
    op = parsed["subgraphs"][0]["operators"][0]
    assert op["inputs"].tolist() == [0, 77] and op["outputs"].tolist() == [-5]
    assert parsed["subgraphs"][0]["tensors"][0]["buffer"] == 99


def test_unknown_options_are_refused():
    with pytest.raises(ValueError, match="stride_q"):
        Model.single("CONV_2D", [], [], stride_q=1).to_bytes()
    with pytest.raises(ValueError, match="no options"):
        Model.single("RELU", [], [], alpha=1)


def test_every_options_table_belongs_to_an_operator():
    used = {options_of(op) for op in OPERATORS} - {None}
    assert used == {(union, table) for union in ("BuiltinOptions", "BuiltinOptions2") for table in UNIONS[union][1:]}
    assert all(table in TABLES for _, table in used)
