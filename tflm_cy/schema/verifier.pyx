# tflm_cy: optimize=speed
"""The one check of a model file: after `verify` no reader checks an offset, and these hold too:

- schema version 3, at least one subgraph, a list of tensors in each, a list of buffers;
- operators name an existing operator code, tensors an existing buffer; payloads behind the flatbuffer lie in the file;
- tensor types are known, dimensions are not negative, and no tensor is larger than 2^62 bytes;
- a constant is at least as long as its shape asks; constant strings and sparse constants are well formed
  (`schema.payload`);
- quantization: as many zero points as scales; one scale, or one per slice along `quantized_dimension`.

Not here, because TensorFlow constructs such models and fails later: tensor indices of nodes, subgraph inputs, outputs
and signatures, subgraph indices of options and signatures, custom operators without an implementation. Who follows one
of these checks it first.

Two rules are looser than TensorFlow's. Content may lie on any address. On a vector (rank 1) `quantized_dimension` is
not looked at, since there is only one to mean: person_detect.tflite has biases with dimension 3. Readers must do
likewise; and at rank 0 TensorFlow takes any count.

A compressed model is TFLM's alone: its compressor leaves the quantization of the values on the bytes that encode them. Where only
TFLM_DECODE reads such a tensor the number of scales is not looked at; what TensorFlow says to it is returned.

Source of the rules: google-ai-edge/LiteRT:tflite/core/interpreter_builder.cc, checked against TensorFlow 2.21.
"""
cimport cython
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp

from tflm_cy.schema.payload cimport sparsity_error, string_error
from tflm_cy.schema.slots cimport (
    BLOCKWISE_BLOCK_SIZE, BLOCKWISE_SCALES, BLOCKWISE_ZERO_POINTS, BUFFER_OFFSET, BUFFER_SIZE, CODE_CUSTOM,
    MODEL_BUFFERS, MODEL_OPERATOR_CODES, MODEL_SIGNATURES, MODEL_SUBGRAPHS, MODEL_VERSION,
    OPERATOR_INPUTS, OPERATOR_INTERMEDIATES, OPERATOR_LARGE_CUSTOM_OPTIONS_OFFSET, OPERATOR_LARGE_CUSTOM_OPTIONS_SIZE, OPERATOR_OPCODE_INDEX, OPERATOR_OUTPUTS,
    QUANTIZATION_DETAILS, QUANTIZATION_DETAILS_TYPE, QUANTIZATION_DIMENSION, QUANTIZATION_SCALE,
    QUANTIZATION_ZERO_POINT, SIGNATURE_INPUTS, SIGNATURE_KEY, SIGNATURE_OUTPUTS, SUBGRAPH_INPUTS, SUBGRAPH_OPERATORS, SUBGRAPH_OUTPUTS,
    SUBGRAPH_TENSORS,
    TENSOR_BUFFER, TENSOR_IS_VARIABLE, TENSOR_NAME, TENSOR_QUANTIZATION, TENSOR_SHAPE, TENSOR_SPARSITY, TENSOR_TYPE,
)
from tflm_cy.schema.span cimport Span, builtin_code, tensor_span
from tflm_cy.schema.structure cimport Structure
from tflm_cy.schema.table cimport (
    Vector, load_u32, table_bool, table_field, table_i8, table_i32, table_i64, table_table, table_u8, table_u32,
    table_vector, vector_i32, vector_table,
)

cdef enum:
    CUSTOM = 32              # BuiltinOperator
    STRING = 5               # TensorType
    RESOURCE = 13
    VARIANT = 14
    TYPES = 21               # how many tensor types TensorFlow 2.21 knows
    BLOCKWISE = 2            # QuantizationDetails

cdef enum Reader:            # who mentions a tensor, one bit each
    DECODES = 1
    OTHERS = 2

cdef bytes DECODE = b"TFLM_DECODE"

# Bits per element by TensorType; 0: the size is not told by the shape.
cdef uint8_t[TYPES] TYPE_BITS = [32, 16, 32, 8, 64, 0, 8, 16, 64, 8, 64, 128, 64, 0, 0, 32, 16, 4, 16, 2, 4]


cdef object verify(const uint8_t* base, size_t size):
    """Raise ValueError, naming what is wrong and where, unless the `size` bytes at `base` are a model to rely on.

    Returns why TensorFlow would not construct an interpreter although TFLM does; None: both do.
    """
    cdef Structure structure
    cdef Meaning meaning
    if size < 8 or memcmp(base + 4, b"TFL3", 4) != 0:
        raise ValueError(f"The model is not a valid Flatbuffer buffer: {foreign(base, size)}")
    structure = Structure.__new__(Structure)
    structure.base = base
    structure.size = size
    structure.walk()
    meaning = Meaning.of(base, size, structure)
    meaning.check()
    return meaning.micro_only


cdef str foreign(const uint8_t* base, size_t size):
    """What this is instead of a model."""
    cdef bytes head = base[:min(size, <size_t>64)]
    text = head.lstrip().lower()
    if size == 0:
        return "it is empty"
    if head.startswith(b"version https://git-lfs"):
        return "this is a Git LFS pointer, not the file that it stands for (run `git lfs pull`)"
    if text.startswith((b"<!doctype", b"<html", b"<?xml")):
        return "this is an HTML or XML page, perhaps of a failed download"
    if head.startswith(b"\x1f\x8b"):
        return "this is gzip data: unpack it first"
    if head.startswith(b"PK\x03\x04"):
        return "this is a zip archive (a .keras or .task file?): unpack it first"
    if head.startswith(b"\x89HDF"):
        return "this is an HDF5 file (a Keras model?): convert it first"
    if head.startswith((b"\x08\x01\x12", b"\x0a")) and b"\x0a" in head[1:] and (b"\x12" in head[2:]):
        return "this is a TensorFlow graph (a .pb file): convert its model to .tflite first"
    if head.startswith(b"\x08") and head[2:3] in (b"\x12", b"\x3a", b"\x42"):
        return "this is an ONNX model: convert it to .tflite first"
    if head.startswith(b"\x80\x02"):
        return "this is Python's pickle (a PyTorch model?): convert it to .tflite first"
    if head.startswith(b"\x93NUMPY"):
        return "this is a numpy array, not a model"
    if head.startswith(b"\x7fELF"):
        return "this is a program or a library, not a model"
    if b"unsigned char" in head or text.startswith((b"#include", b"//", b"/*", b"alignas")):
        return "this is C source code (of xxd?): give the .tflite file that it was made from"
    if size < 8:
        return f"{size} bytes are too few: the file is truncated"
    return f"Model provided has model identifier {head[4:8]!r} at byte 4, should be b'TFL3'"


@cython.final
cdef class Meaning:
    """Checks of what a well-formed flatbuffer says."""
    cdef const uint8_t* base
    cdef const uint8_t* root
    cdef size_t size
    cdef Structure structure
    cdef Vector codes
    cdef Vector buffers
    cdef str micro_only
    cdef bytearray readers           # per tensor of the subgraph under way, Reader; None: not looked at yet

    @staticmethod
    cdef Meaning of(const uint8_t* base, size_t size, Structure structure):
        cdef Meaning self = Meaning.__new__(Meaning)
        self.base = base
        self.size = size
        self.structure = structure
        self.root = base + load_u32(base)
        self.codes = table_vector(self.root, MODEL_OPERATOR_CODES)
        self.buffers = table_vector(self.root, MODEL_BUFFERS)
        return self

    cdef int check(self) except -1:
        cdef Vector subgraphs = table_vector(self.root, MODEL_SUBGRAPHS)
        cdef uint32_t version = table_u32(self.root, MODEL_VERSION, 0), index
        if version != 3:
            raise ValueError(f"Model provided is schema version {version} not equal to supported version 3.")
        for index in range(self.codes.length):
            self.operator_code(index)
        if subgraphs.length == 0:
            raise ValueError("No subgraph in the model.")
        if self.buffers.data == NULL:
            raise ValueError("No buffers in the model.")
        for index in range(self.buffers.length):
            self.buffer(index)
        for index in range(subgraphs.length):
            self.subgraph(index, vector_table(subgraphs, index))
        self.signatures()
        return 0

    cdef int operator_code(self, uint32_t index) except -1:
        cdef const uint8_t* code = vector_table(self.codes, index)
        if builtin_code(code) == CUSTOM and table_field(code, CODE_CUSTOM) == NULL:
            raise ValueError(f"Operator with CUSTOM builtin_code has no custom_code (operator_codes[{index}], "
                             f"{self.at(code)}).")
        return 0

    cdef int buffer(self, uint32_t index) except -1:
        """A payload behind the flatbuffer lies in the file."""
        cdef const uint8_t* buffer = vector_table(self.buffers, index)
        cdef uint64_t offset = <uint64_t>table_i64(buffer, BUFFER_OFFSET, 0)
        cdef uint64_t size = <uint64_t>table_i64(buffer, BUFFER_SIZE, 0)
        if offset > 1 and (offset > self.size or size > self.size - offset):
            raise ValueError(f"Constant buffer {index} specified an out of range offset: {size} bytes at {offset} in a "
                             f"file of {self.size} bytes ({self.at(buffer)}).")
        return 0

    cdef int subgraph(self, uint32_t index, const uint8_t* subgraph) except -1:
        cdef Vector tensors = table_vector(subgraph, SUBGRAPH_TENSORS)
        cdef Vector operators = table_vector(subgraph, SUBGRAPH_OPERATORS)
        cdef uint32_t item
        if tensors.data == NULL:
            raise ValueError(f"Did not get tensors in subgraph {index} ({self.at(subgraph)}).")
        self.readers = None
        for item in range(tensors.length):
            problem = self.tensor_problem(vector_table(tensors, item), item, tensors.length)
            if problem is not None:
                raise ValueError(self.located(problem, index, item, vector_table(tensors, item)))
            problem = self.scales_problem(vector_table(tensors, item))
            if problem is None:
                continue
            problem = self.located(f"{problem} Tensor {item} has invalid quantization parameters.", index, item, vector_table(tensors, item))
            if not self.only_decoded(subgraph, item, tensors.length):
                raise ValueError(problem)
            if self.micro_only is None:
                self.micro_only = problem
        for item in range(operators.length):
            self.operator(index, item, vector_table(operators, item))
        return 0

    cdef int operator(self, uint32_t subgraph, uint32_t index, const uint8_t* operator) except -1:
        cdef uint32_t code = table_u32(operator, OPERATOR_OPCODE_INDEX, 0)
        cdef uint64_t offset = <uint64_t>table_i64(operator, OPERATOR_LARGE_CUSTOM_OPTIONS_OFFSET, 0)
        cdef uint64_t size = <uint64_t>table_i64(operator, OPERATOR_LARGE_CUSTOM_OPTIONS_SIZE, 0)
        if code >= self.codes.length:
            raise ValueError(f"Missing registration for opcode_index {code}: the model has {self.codes.length} "
                             f"operator codes (node {index} of subgraph {subgraph}, {self.at(operator)}).")
        if offset > 1 and (offset > self.size or size > self.size - offset):
            raise ValueError(f"Custom Option Offset for opcode_index {code} is out of bound: {size} bytes at {offset} "
                             f"in a file of {self.size} bytes "
                             f"(node {index} of subgraph {subgraph}, {self.at(operator)}).")
        return 0

    cdef str tensor_problem(self, const uint8_t* tensor, uint32_t index, uint32_t tensors):
        """None, or what is wrong with the tensor."""
        cdef int kind = table_i8(tensor, TENSOR_TYPE, 0)
        cdef uint32_t buffer = table_u32(tensor, TENSOR_BUFFER, 0), axis
        cdef Vector shape = table_vector(tensor, TENSOR_SHAPE)
        cdef uint64_t elements = 1, stored, room, unit
        cdef int32_t size
        cdef Span span
        cdef const uint8_t* sparsity
        if kind < 0 or kind >= TYPES:
            return f"Unsupported data type {kind} in tensor {index}."
        if buffer and buffer >= self.buffers.length:
            return f"Tensor {index} specifies out of range buffer {buffer} (only {self.buffers.length} buffers)."
        problem = self.quantization_problem(table_table(tensor, TENSOR_QUANTIZATION), shape, tensors)
        if problem is not None:
            return f"{problem} Tensor {index} has invalid quantization parameters."
        unit = max(TYPE_BITS[kind] // 8, 1)
        for axis in range(shape.length):
            size = vector_i32(shape, axis)
            if size < 0:
                return f"Dimension {axis} is {size}. Tensor {index} is invalidly specified in schema."
            if size and elements > (<uint64_t>1 << 62) // unit // <uint64_t>size:
                return f"The number of elements overflows. Tensor {index} is invalidly specified in schema."
            elements *= <uint64_t>size
        span = tensor_span(self.base, self.root, tensor)
        if span.data == NULL:
            return None
        if table_bool(tensor, TENSOR_IS_VARIABLE, False):
            return f"Tensor {index} is a variable tensor with buffer. It's not supported now."
        if kind == STRING:
            self.structure.spend(span.data - self.base, 4 * elements)
            problem = string_error(span, elements)
            return None if problem is None else f"Tensor {index} is no well-formed string tensor: {problem}."
        if kind == RESOURCE or kind == VARIANT:
            return None
        stored = elements
        sparsity = table_table(tensor, TENSOR_SPARSITY)
        if sparsity != NULL:
            problem = sparsity_error(sparsity, shape, &stored)
            if problem is not None:
                return f"Tensor {index} has invalid sparsity parameters: {problem}."
        # Divided, not multiplied: the number of elements may be near 2^62.
        room = span.size // unit if TYPE_BITS[kind] >= 8 else span.size * (8 // TYPE_BITS[kind])
        if stored > room:
            needed = (<object>stored * TYPE_BITS[kind] + 7) // 8
            return (f"Tensor {index} is invalidly specified in schema: its {stored} elements need {needed} bytes, "
                    f"buffer {buffer} has {span.size}.")
        return None

    cdef str quantization_problem(self, const uint8_t* quantization, Vector shape, uint32_t tensors):
        cdef Vector scales = table_vector(quantization, QUANTIZATION_SCALE)
        cdef Vector zero_points = table_vector(quantization, QUANTIZATION_ZERO_POINT)
        cdef int32_t dimension = table_i32(quantization, QUANTIZATION_DIMENSION, 0)
        if quantization == NULL:
            return None
        if table_u8(quantization, QUANTIZATION_DETAILS_TYPE, 0) == BLOCKWISE:
            return self.blockwise_problem(table_table(quantization, QUANTIZATION_DETAILS), shape, dimension, tensors)
        if scales.length == 0:
            return None
        if zero_points.data == NULL:
            return "Quantization parameters has non-null scale but null zero_point."
        if zero_points.length != scales.length:
            return (f"QuantizationParam has {zero_points.length} zero_point values and {scales.length} scale values. "
                    f"Must have same number.")
        if shape.length == 0:
            return None
        if shape.length == 1:
            dimension = 0
        if dimension < 0 or <uint32_t>dimension >= shape.length:
            return f"quantized_dimension must be in range [0, {shape.length}). Was {dimension}."
        return None

    cdef str scales_problem(self, const uint8_t* tensor):
        """None, or what is wrong with the number of scales of a tensor that has no other problem."""
        cdef const uint8_t* quantization = table_table(tensor, TENSOR_QUANTIZATION)
        cdef Vector shape = table_vector(tensor, TENSOR_SHAPE)
        cdef Vector scales = table_vector(quantization, QUANTIZATION_SCALE)
        cdef int32_t dimension = 0
        if scales.length <= 1 or shape.length == 0 or table_u8(quantization, QUANTIZATION_DETAILS_TYPE, 0) == BLOCKWISE:
            return None
        if shape.length > 1:
            dimension = table_i32(quantization, QUANTIZATION_DIMENSION, 0)
        if <int64_t>scales.length == vector_i32(shape, dimension):
            return None
        return (f"num_scales must be 1 for per-layer quantization, or {vector_i32(shape, dimension)} for per-axis "
                f"quantization, but got {scales.length}.")

    cdef bint only_decoded(self, const uint8_t* subgraph, uint32_t index, uint32_t tensors) except -1:
        """Whether tensor `index` is nothing but encoded values: TFLM_DECODE reads it, and nobody else mentions it."""
        cdef Vector operators = table_vector(subgraph, SUBGRAPH_OPERATORS)
        cdef const uint8_t* operator
        cdef int reader
        cdef uint32_t item
        if self.readers is None:
            self.readers = bytearray(tensors)
            for item in range(operators.length):
                operator = vector_table(operators, item)
                reader = DECODES if self.is_decode(operator) else OTHERS
                self.note(table_vector(operator, OPERATOR_INPUTS), reader)
                self.note(table_vector(operator, OPERATOR_OUTPUTS), OTHERS)
                self.note(table_vector(operator, OPERATOR_INTERMEDIATES), OTHERS)
            self.note(table_vector(subgraph, SUBGRAPH_INPUTS), OTHERS)
            self.note(table_vector(subgraph, SUBGRAPH_OUTPUTS), OTHERS)
        return self.readers[index] == DECODES

    cdef int note(self, Vector indices, int reader) except -1:
        cdef uint32_t i
        cdef int32_t tensor
        for i in range(indices.length):
            tensor = vector_i32(indices, i)
            if 0 <= tensor < len(self.readers):
                self.readers[tensor] = self.readers[tensor] | reader

    cdef bint is_decode(self, const uint8_t* operator):
        cdef uint32_t index = table_u32(operator, OPERATOR_OPCODE_INDEX, 0)
        cdef const uint8_t* code
        cdef Vector name
        if index >= self.codes.length:
            return False
        code = vector_table(self.codes, index)
        name = table_vector(code, CODE_CUSTOM)
        return builtin_code(code) == CUSTOM and name.length == len(DECODE) and memcmp(name.data, <const char*>DECODE, len(DECODE)) == 0

    cdef str blockwise_problem(self, const uint8_t* details, Vector shape, int32_t dimension, uint32_t tensors):
        """Scales and zero points are tensors of the same subgraph (TensorFlow does not look)."""
        cdef int32_t scales = table_i32(details, BLOCKWISE_SCALES, 0)
        cdef int32_t block = table_i32(details, BLOCKWISE_BLOCK_SIZE, 0)
        cdef int32_t zero_points = table_i32(details, BLOCKWISE_ZERO_POINTS, 0)
        if details == NULL:
            return "Blockwise quantization details are missing."
        if scales < 0 or <uint32_t>scales >= tensors or zero_points < -1 or zero_points >= <int64_t>tensors:
            return f"Blockwise scales {scales} and zero_points {zero_points} are no tensors of {tensors}."
        if block <= 0:
            return f"Blockwise block_size must be positive. Was {block}."
        if dimension < 0 or <uint32_t>dimension >= shape.length:
            return f"quantized_dimension must be in range [0, {shape.length}). Was {dimension}."
        return None

    cdef int signatures(self) except -1:
        """Their indices are checked at the call."""
        cdef Vector signatures = table_vector(self.root, MODEL_SIGNATURES)
        cdef const uint8_t* signature
        cdef uint32_t index
        for index in range(signatures.length):
            signature = vector_table(signatures, index)
            if table_field(signature, SIGNATURE_KEY) == NULL:
                raise ValueError(f"Missing exported method name for SignatureDef (signature_defs[{index}], "
                                 f"{self.at(signature)}).")
            for slot, what in ((SIGNATURE_INPUTS, "inputs"), (SIGNATURE_OUTPUTS, "outputs")):
                if table_field(signature, slot) == NULL:
                    raise ValueError(f"NULL SignatureDef {what} (signature_defs[{index}], {self.at(signature)}).")
        return 0

    cdef str located(self, str problem, uint32_t subgraph, uint32_t index, const uint8_t* tensor):
        return f"{problem} Tensor {index} of subgraph {subgraph}, {name_of(tensor)!r}, {self.at(tensor)}."

    cdef str at(self, const uint8_t* table):
        return f"at byte {table - self.base}"


cdef str name_of(const uint8_t* tensor):
    cdef Vector name = table_vector(tensor, TENSOR_NAME)
    return (<const char*>name.data)[:min(name.length, 80)].decode("utf-8", "replace") if name.data != NULL else ""
