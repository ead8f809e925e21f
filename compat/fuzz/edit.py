"""Nonsense that is well formed: a model's tables are read, a few of their fields changed, and written again.

    edited(content, rng)

Such a file passes every check of the format, so that what it says reaches the operators: indices of tensors that exist
but mean something else, types and shapes that do not fit, scales of 0, NaN and infinity, options at the ends of their
ranges, constants that are not constant any more, subgraphs that call each other.
"""

import numpy as np

from ..builder import read_model, write_model
from ..builder.schema import ENUMS, TABLES

NUMBERS = (-(2**31), -65536, -129, -3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 8, 16, 127, 255, 256, 65536, 2**30, 2**31 - 1)
DIMENSIONS = (0, 0, 1, 1, 2, 3, 4, 5, 8, 9, 17, 64, 255, 1024, 65535, 2**20, 2**30, 2**31 - 1)
SCALES = (0.0, -0.0, 1e-45, 1e-38, 1e-9, 0.5, 1.0, -1.0, 3e3, 1e9, 3e38, np.inf, -np.inf, np.nan)
ZERO_POINTS = (0, 1, -1, 127, -128, 128, 255, 256, -129, 2**31 - 1, -(2**31), 2**40)
TYPES = sorted(ENUMS["TensorType"].values())


def edited(content, rng, registered=()):
    """A copy of a model with one to four fields changed; `registered`: codes of operators to choose from."""
    model = read_model(content)
    for _ in range(int(rng.choice([1, 1, 1, 2, 2, 4]))):
        Edit(model, rng, registered).make()
    return write_model(model)


class Edit:
    """One change of one subgraph, drawn at random."""

    def __init__(self, model, rng, registered):
        self.model, self.rng, self.registered = model, rng, registered
        self.graph = self.pick([graph for graph in model["subgraphs"] if graph["tensors"]] or model["subgraphs"])
        self.tensors = self.graph["tensors"] or [{"shape": None, "type": "FLOAT32", "quantization": None, "buffer": 0}]
        self.operators = self.graph["operators"] or []

    def pick(self, values):
        return values[int(self.rng.integers(len(values)))]

    def make(self):
        changes = [
            self.index,
            self.index,
            self.shape,
            self.shape,
            self.type,
            self.quantization,
            self.quantization,
            self.constant,
        ]
        changes += [
            self.option,
            self.option,
            self.option,
            self.code,
            self.count,
            self.order,
            self.edge,
            self.values,
            self.flag,
        ]
        self.pick(changes)()

    # ---- tensors

    def tensor(self):
        """A tensor, mostly one that an operator names."""
        if self.operators and self.rng.random() < 0.7:
            operator = self.pick(self.operators)
            named = [int(i) for role in ("inputs", "outputs") for i in self.listed(operator, role)]
            named = [i for i in named if 0 <= i < len(self.tensors)]
            if named:
                return self.tensors[self.pick(named)]
        return self.pick(self.tensors)

    def listed(self, table, role):
        return [] if table[role] is None else list(table[role])

    def shape(self):
        tensor = self.tensor()
        shape = self.listed(tensor, "shape")
        how = self.rng.integers(5)
        if how == 0 and shape:
            del shape[int(self.rng.integers(len(shape)))]
        elif how == 1:
            shape.insert(int(self.rng.integers(len(shape) + 1)), self.pick((1, 1, 2, 0)))
        elif how == 2:
            shape = [self.pick(DIMENSIONS[:10]) for _ in range(self.rng.integers(8))]
        elif shape:
            shape[int(self.rng.integers(len(shape)))] = self.pick(DIMENSIONS)
        self.reshape(tensor, shape)

    def reshape(self, tensor, shape):
        """A shape; a constant gets as many bytes as it needs (when these are not absurd)."""
        tensor["shape"] = shape
        elements = int(np.prod(shape, dtype=object)) if shape else 1
        data = self.data_of(tensor)
        if data is not None and len(data) < 16 * elements <= 1 << 20:
            self.give(tensor, np.resize(np.frombuffer(data or b"\0", np.uint8), 16 * elements).tobytes())

    def type(self):
        tensor = self.tensor()
        tensor["type"] = self.pick(TYPES)
        self.reshape(tensor, self.listed(tensor, "shape"))

    def quantization(self):
        tensor = self.tensor()
        how = self.rng.integers(6)
        old = tensor["quantization"] or {}
        scales = np.array([1.0] if old.get("scale") is None or not len(old["scale"]) else old["scale"], np.float32)
        zeros = np.zeros(len(scales), np.int64)
        fields = {"scale": scales, "zero_point": zeros, "quantized_dimension": old.get("quantized_dimension", 0)}
        if how == 0:
            tensor["quantization"] = None
            return
        if how == 1:
            scales[int(self.rng.integers(len(scales)))] = self.pick(SCALES)
        elif how == 2:
            zeros[int(self.rng.integers(len(zeros)))] = self.pick(ZERO_POINTS)
        elif how == 3 and tensor["shape"] is not None and len(tensor["shape"]):
            axis = int(self.rng.integers(len(tensor["shape"])))
            count = min(int(tensor["shape"][axis]), 4096)
            fields |= {
                "scale": np.resize(scales, count),
                "zero_point": np.zeros(count, np.int64),
                "quantized_dimension": axis,
            }
        elif how == 4:
            fields["quantized_dimension"] = self.pick(NUMBERS)
        else:
            scales[:] = self.pick(SCALES)
        tensor["quantization"] = fields

    def constant(self):
        """A constant loses its value, a computed tensor gets one, or two tensors change places."""
        tensor = self.tensor()
        how = self.rng.integers(4)
        if how == 0:
            tensor["buffer"] = 0
        elif how == 1:
            elements = int(np.prod(self.listed(tensor, "shape"), dtype=object))
            if 0 <= elements <= 1 << 16:
                self.give(tensor, self.rng.integers(0, 256, 16 * elements + 16, dtype=np.uint8).tobytes())
        elif how == 2:
            tensor["is_variable"] = not tensor["is_variable"]
        else:
            i, j = (int(self.rng.integers(len(self.tensors))) for _ in range(2))
            self.tensors[i], self.tensors[j] = self.tensors[j], self.tensors[i]

    def values(self):
        """Other values in a small constant: indices, axes, shapes, paddings."""
        tensor = self.tensor()
        data = self.data_of(tensor)
        if not data or len(data) > 1 << 16:
            return
        width = {4: np.int64, 2: np.int32, 0: np.int32}.get(tensor["type"], np.int8)
        values = np.frombuffer(data[: len(data) // np.dtype(width).itemsize * np.dtype(width).itemsize], width).copy()
        for _ in range(int(self.rng.integers(1, 4)) if len(values) else 0):
            limits = np.iinfo(width)
            values[int(self.rng.integers(len(values)))] = min(max(self.pick(NUMBERS), limits.min), limits.max)
        self.give(tensor, values.tobytes())

    def data_of(self, tensor):
        buffers = self.model["buffers"]
        if not 0 < tensor["buffer"] < len(buffers) or buffers[tensor["buffer"]]["data"] is None:
            return None
        return bytes(buffers[tensor["buffer"]]["data"])

    def give(self, tensor, data):
        tensor["buffer"] = len(self.model["buffers"])
        self.model["buffers"] = [*self.model["buffers"], {"data": data}]

    # ---- operators

    def index(self):
        """One input or output of an operator becomes another tensor, or is omitted."""
        if not self.operators:
            return
        operator, role = self.pick(self.operators), self.pick(("inputs", "inputs", "outputs", "intermediates"))
        indices = self.listed(operator, role)
        if not indices:
            return
        place = int(self.rng.integers(len(indices)))
        indices[place] = self.other_index()
        if self.rng.random() < 0.3:
            other = int(self.rng.integers(len(indices)))
            indices[place], indices[other] = indices[other], indices[place]
        operator[role] = indices

    def other_index(self):
        if self.rng.random() < 0.1:
            return self.pick((-1, -1, -2, len(self.tensors), 2**31 - 1, -(2**31)))
        return int(self.rng.integers(-1, len(self.tensors)))

    def count(self):
        """More or fewer inputs or outputs."""
        if not self.operators:
            return
        operator, role = self.pick(self.operators), self.pick(("inputs", "outputs"))
        indices = self.listed(operator, role)
        if indices and self.rng.random() < 0.6:
            del indices[int(self.rng.integers(len(indices)))]
        elif role == "outputs":
            self.tensors.append({**self.pick(self.tensors), "buffer": 0})
            indices.append(len(self.tensors) - 1)
        else:
            indices.insert(int(self.rng.integers(len(indices) + 1)), self.other_index())
        operator[role] = indices

    def option(self):
        """A field of the options, or all of them."""
        if not self.operators:
            return
        operator = self.pick(self.operators)
        for union in ("builtin_options", "builtin_options_2"):
            if operator[union] is None:
                continue
            table, fields = operator[union]
            if self.rng.random() < 0.08 or not fields:
                operator[union] = None
                return
            fields = dict(fields)
            name, kind, _ = self.pick(TABLES[table])
            fields[name] = self.option_value(kind)
            operator[union] = (table, fields)
            return
        if operator["custom_options"] is not None:
            operator["custom_options"] = self.rng.integers(0, 256, int(self.rng.integers(40)), dtype=np.uint8).tobytes()

    def option_value(self, kind):
        if kind == "bool":
            return bool(self.rng.integers(2))
        if kind == "float":
            return float(self.pick(SCALES))
        if kind == "int":
            return self.pick(NUMBERS)
        if kind in ("uint", "ulong"):
            return abs(self.pick(NUMBERS))
        if kind == "long":
            return self.pick((*NUMBERS, -(2**63), 2**63 - 1))
        if kind in ("[int]", "[long]"):
            return [self.pick(NUMBERS) for _ in range(self.rng.integers(9))]
        if kind == "string":
            return self.pick(("", "x", "\N{SNOWMAN}"))
        if kind in ENUMS or kind in ("byte", "ubyte"):
            return int(self.rng.integers(0, 9) if self.rng.random() < 0.8 else self.rng.integers(0, 128))
        return None

    def code(self):
        """Another operator, or another version."""
        code = self.pick(self.model["operator_codes"])
        if self.registered and self.rng.random() < 0.7:
            number = int(self.pick(self.registered))
            code["builtin_code"], code["deprecated_builtin_code"] = number, min(number, 127)
            code["version"] = int(self.rng.integers(1, 4))
        else:
            code["version"] = int(self.rng.integers(0, 9))

    def order(self):
        """Operators change places, vanish or come twice."""
        if not self.operators:
            return
        i, j = (int(self.rng.integers(len(self.operators))) for _ in range(2))
        how = self.rng.integers(3)
        if how == 0:
            self.operators[i], self.operators[j] = self.operators[j], self.operators[i]
        elif how == 1:
            del self.operators[i]
        else:
            self.operators.insert(j, dict(self.operators[i]))
        self.graph["operators"] = self.operators

    # ---- the graph

    def edge(self):
        """Other inputs or outputs of the subgraph."""
        role = self.pick(("inputs", "outputs"))
        indices = self.listed(self.graph, role)
        how = self.rng.integers(3)
        if how == 0 and indices:
            del indices[int(self.rng.integers(len(indices)))]
        elif how == 1 or not indices:
            indices.append(self.other_index())
        else:
            indices[int(self.rng.integers(len(indices)))] = self.other_index()
        self.graph[role] = indices

    def flag(self):
        """Rare things: a tensor without a shape, sparsity of another tensor, a signature that leads elsewhere."""
        how = self.rng.integers(4)
        if how == 0:
            self.tensor()["shape"] = None
        elif how == 1:
            self.tensor()["sparsity"] = self.pick(self.tensors)["sparsity"]
        elif how == 2 and self.model["signature_defs"]:
            signature = self.pick(self.model["signature_defs"])
            signature["subgraph_index"] = self.pick((0, 1, 2, 2**31))
        elif self.model["signature_defs"]:
            signature = self.pick(self.model["signature_defs"])
            for entry in signature["inputs"] or []:
                entry["tensor_index"] = abs(self.other_index())
