"""Build a .tflite model without TensorFlow: tensors, operators by name, subgraphs, signatures, metadata.

    x, y = Tensor([1, 4, 4, 8], "int8", scale=0.05), Tensor([1, 4, 4, 8], "int8", scale=0.1, zero_point=3)
    blob = Model.single("HARD_SWISH", [x], [y]).to_bytes()

    model = Model()
    main, body = model.subgraph("main"), model.subgraph("body")  # the first subgraph is the main one
    body.op("ADD", [a, b], [c], fused_activation_function="RELU")  # options are the schema's field names
    main.op("CALL_ONCE", [], [], init_subgraph_index=body)  # a Subgraph stands for its index
    main.op("MyOp", [x, None], [y], custom_options=b"...")  # unknown name: custom; None: omitted input
    model.signature("serving_default", inputs={"x": x}, outputs={"y": y})
    model.metadata("min_runtime_version", b"1.5.0")

Tensors join a subgraph in the order in which they are first mentioned. Unless said otherwise, a subgraph's inputs are
its tensors that are neither constant, variable nor computed, its outputs those that are computed and not read. Wherever
a tensor is expected an integer is written as it is, so that malformed models can be built, too.
"""

import flatbuffers

from .schema import OPERATORS, options_of
from .tensor import Tensor
from .wire import read_table, write_table

_CODES = {name: code for code, name in enumerate(OPERATORS)}


class Subgraph:
    """Operators over tensors. `inputs` and `outputs` may be assigned; None means "as used" (see the module's text)."""

    def __init__(self, name, index):
        self.name, self.index = name, index
        self.tensors, self.operators = [], []
        self.inputs = self.outputs = None

    def tensor(self, tensor):
        """Add a tensor that no operator mentions (or fix its place); returns it."""
        if isinstance(tensor, Tensor) and not any(tensor is t for t in self.tensors):
            self.tensors.append(tensor)
        return tensor

    def op(
        self, name, inputs, outputs, /, version=1, custom_options=None, intermediates=(), write_options=True, **options
    ):
        """Append an operator. A name that is not a builtin's makes a custom operator; returns the outputs."""
        for tensor in [*inputs, *outputs, *intermediates]:
            self.tensor(tensor)
        self.operators.append(
            {
                "name": name,
                "version": version,
                "inputs": list(inputs),
                "outputs": list(outputs),
                "intermediates": list(intermediates),
                "custom_options": custom_options,
                "options": _options_value(name, options) if write_options else None,
            }
        )
        return outputs

    def index_of(self, tensor):
        """A tensor's index: -1 for None, integers as they are."""
        if tensor is None:
            return -1
        if isinstance(tensor, Tensor):
            return next(i for i, t in enumerate(self.tensors) if t is tensor)
        return int(tensor)

    def indices(self, tensors):
        return [self.index_of(tensor) for tensor in tensors]

    def input_tensors(self):
        if self.inputs is not None:
            return self.inputs
        computed = self._mentioned("outputs") | self._mentioned("intermediates")
        return [t for t in self.tensors if t.data is None and not t.variable and id(t) not in computed]

    def output_tensors(self):
        if self.outputs is not None:
            return self.outputs
        computed, read = self._mentioned("outputs"), self._mentioned("inputs")
        return [t for t in self.tensors if id(t) in computed - read]

    def _mentioned(self, role):
        return {id(t) for op in self.operators for t in op[role]}


def _options_value(name, options):
    """The union value of an operator's options, every Subgraph replaced by its index."""
    if name not in _CODES or options_of(name) is None:
        if options:
            raise ValueError(f"{name} takes no options, got {sorted(options)}")
        return None
    union, table = options_of(name)
    values = {k: v.index if isinstance(v, Subgraph) else v for k, v in options.items()}
    return "builtin_options" if union == "BuiltinOptions" else "builtin_options_2", (table, values)


class Model:
    """A whole model. `to_bytes()` may be called any number of times."""

    def __init__(self, description="compat", version=3):
        self.description, self.version = description, version
        self.subgraphs, self.signatures, self.extra_metadata = [], [], []

    @classmethod
    def single(cls, op, inputs, outputs, version=1, **options):
        """A model of one operator; its inputs and outputs are those of the graph, constants and variables left out."""
        model = cls()
        main = model.subgraph("main")
        main.op(op, inputs, outputs, version, **options)
        main.outputs = list(outputs)
        return model

    def subgraph(self, name=None):
        """Append a subgraph; the first one is the main graph."""
        self.subgraphs.append(Subgraph(name, len(self.subgraphs)))
        return self.subgraphs[-1]

    def signature(self, key, inputs, outputs, subgraph=None):
        """Name a subgraph's tensors: `inputs` and `outputs` map names to tensors."""
        self.signatures.append((key, inputs, outputs, subgraph or self.subgraphs[0]))

    def metadata(self, name, data):
        self.extra_metadata.append((name, bytes(data)))

    def to_bytes(self):
        """The serialized model."""
        return write_model(self._fields())

    def _fields(self):
        buffers, codes = [{}], {}
        subgraphs = [self._subgraph(graph, buffers, codes) for graph in self.subgraphs]
        metadata = []
        for name, data in self.extra_metadata:
            metadata.append({"name": name, "buffer": len(buffers)})
            buffers.append({"data": data})
        return {
            "version": self.version,
            "operator_codes": [_operator_code(name, version) for name, version in codes],
            "subgraphs": subgraphs,
            "description": self.description,
            "buffers": buffers,
            "metadata": metadata or None,
            "signature_defs": [_signature(*signature) for signature in self.signatures] or None,
        }

    @staticmethod
    def _subgraph(graph, buffers, codes):
        tensors = []
        for index, tensor in enumerate(graph.tensors):
            data, buffer = tensor.data_bytes(), 0
            if data is not None:
                buffer = len(buffers)
                buffers.append({"data": data})
            tensors.append(tensor.fields(buffer, f"t{index}"))
        operators = []
        for op in graph.operators:
            fields = {role: graph.indices(op[role]) for role in ("inputs", "outputs")}
            fields["intermediates"] = graph.indices(op["intermediates"]) or None
            fields["custom_options"] = op["custom_options"]
            fields["opcode_index"] = codes.setdefault((op["name"], op["version"]), len(codes))
            if op["options"] is not None:
                fields[op["options"][0]] = op["options"][1]
            operators.append(fields)
        return {
            "tensors": tensors,
            "inputs": graph.indices(graph.input_tensors()),
            "outputs": graph.indices(graph.output_tensors()),
            "operators": operators,
            "name": graph.name,
        }


def _operator_code(name, version):
    custom = name not in _CODES
    code = _CODES["CUSTOM" if custom else name]
    return {
        "deprecated_builtin_code": min(code, 127),
        "builtin_code": code,
        "version": version,
        "custom_code": name if custom else None,
    }


def _signature(key, inputs, outputs, graph):
    def tensor_map(names):
        return [{"name": name, "tensor_index": graph.index_of(tensor)} for name, tensor in names.items()]

    return {
        "signature_key": key,
        "inputs": tensor_map(inputs),
        "outputs": tensor_map(outputs),
        "subgraph_index": graph.index,
    }


def read_model(blob):
    """A serialized model as nested dicts, see `wire.read_table`."""
    return read_table(blob, int.from_bytes(blob[:4], "little"), "Model")


def write_model(fields):
    """The opposite of `read_model`."""
    builder = flatbuffers.Builder(1024)
    builder.Finish(write_table(builder, "Model", fields), file_identifier=b"TFL3")
    return bytes(builder.Output())


def operator_name(model, operator):
    """The name of an operator of `read_model`'s result: builtin or custom code."""
    code = model["operator_codes"][operator["opcode_index"]]
    number = max(code["builtin_code"], code["deprecated_builtin_code"])
    return code["custom_code"] or "CUSTOM" if number == _CODES["CUSTOM"] else OPERATORS[number]
