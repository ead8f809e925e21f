# tflm_cy: optimize=speed
"""A model: bytes that have been verified once and are then read in place.

    model = Model.from_path("model.tflite")      # mapped read-only
    model = Model.from_buffer(content)           # any C-contiguous buffer, used where it is and pinned
    model.subgraphs, model.description, model.signatures

C code reads `model.root` with the functions of `schema.table` and asks the methods below for byte ranges. What a
method returns lives as long as the model. Tensor and subgraph indices in nodes, inputs, outputs and signatures are as
the file has them: check before use."""
import os

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t

from tflm_cy.schema.once cimport publish, seen
from tflm_cy.schema.slots cimport (
    METADATA_BUFFER, METADATA_NAME, MODEL_BUFFERS, MODEL_DESCRIPTION, MODEL_METADATA, MODEL_OPERATOR_CODES,
    MODEL_SIGNATURES, MODEL_SUBGRAPHS, MODEL_VERSION, OPERATOR_OPCODE_INDEX, OPERATOR_OPTIONS, OPERATOR_OPTIONS_2,
    OPERATOR_OPTIONS_2_TYPE, OPERATOR_OPTIONS_TYPE, SIGNATURE_INPUTS, SIGNATURE_KEY, SIGNATURE_OUTPUTS,
    SIGNATURE_SUBGRAPH, TENSOR_MAP_INDEX, TENSOR_MAP_NAME,
)
from tflm_cy.schema.span cimport Span, buffer_span, builtin_code, custom_options_span, tensor_span
from tflm_cy.schema.table cimport Vector, load_u32, table_table, table_u8, table_u32, table_vector, text_bytes, vector_table
from tflm_cy.schema.verifier cimport verify

from tflm_cy.schema.mapping import Mapping, file_bytes

cdef enum:
    OPERATOR_COUNT = 256
    SECOND_UNION = 256

# Builtin operator -> number of the union member that it reads; + SECOND_UNION in BuiltinOptions2.
cdef uint16_t expected_options[OPERATOR_COUNT]
cdef int options_known = 0


cdef int read_expected_options() except -1:
    """Take in the schema: with the first file, so that importing the package does not pay for it."""
    from tflm_cy.schema.layouts import OPTIONS_OF, UNIONS
    from tflm_cy.schema.names import BUILTIN_NAMES
    for union, offset in (("BuiltinOptions", 1), ("BuiltinOptions2", 1 + SECOND_UNION)):
        members = UNIONS[union].split()
        for operator_name, table_name in OPTIONS_OF.items():
            if table_name in members:
                expected_options[BUILTIN_NAMES.index(operator_name)] = members.index(table_name) + offset
    publish(&options_known, 1)
    return 0


cdef class Model:
    """See the module; made by `from_path` or `from_buffer` only."""

    def __init__(self):
        raise TypeError("use Model.from_path or Model.from_buffer")

    @staticmethod
    def from_path(path):
        """The model in a file.

        Parameters
        ----------
        path : str, bytes or os.PathLike
            As `open` takes it; not expanded.

        Raises
        ------
        ModelNotFoundError, ModelFileError
            No such file; not a readable, regular, non-empty file. Both are OSError and ValueError.
        ValueError
            Not a model.
        """
        if not isinstance(path, (str, bytes)) and not hasattr(path, "__fspath__"):
            raise TypeError(f"model_path wants a path, not {type(path).__name__}; give a model's bytes as model_content=")
        return Model.from_buffer(file_bytes(os.fspath(path)))

    @staticmethod
    def from_buffer(content):
        """The model in an object with a C-contiguous buffer, which is not copied and must not be changed.

        Raises
        ------
        TypeError
            `content` has no buffer.
        ValueError
            Its buffer is not C-contiguous, or it is not a model.
        """
        cdef Model self = Model.__new__(Model)
        if not seen(&options_known):
            read_expected_options()
        if isinstance(content, str):
            raise TypeError("model_content wants bytes; for a path use model_path")
        if not PyObject_CheckBuffer(content):
            raise TypeError(f"model_content wants bytes or another buffer, not {type(content).__name__}")
        try:
            PyObject_GetBuffer(content, &self.view, PyBUF_SIMPLE)
        except (BufferError, ValueError) as error:
            raise ValueError(f"model_content must be one C-contiguous block of bytes: {error}") from None
        self.held = True
        self.mapping = content if isinstance(content, Mapping) else None
        self.micro_only = verify(<const uint8_t*>self.view.buf, self.view.len)
        self.base = <const uint8_t*>self.view.buf
        self.size = self.view.len
        self.root = self.base + load_u32(self.base)
        return self

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.view)

    def __getbuffer__(self, Py_buffer* view, int flags):
        """The whole content, read-only: a view of it keeps the model alive."""
        PyBuffer_FillInfo(view, self, <void*>self.base, self.size, 1, flags)

    def __reduce__(self):
        raise TypeError("a Model cannot be pickled or copied")

    cdef int give_back(self) except -1:
        """What is read no more need not stay in memory, as far as it is a file that is mapped."""
        if self.mapping is not None:
            self.mapping.give_back()
        return 0

    cdef void buffer(self, uint32_t index, const uint8_t** data, size_t* size) noexcept nogil:
        """Contents of buffer `index`; data[0] is NULL when it has none or there is no such buffer."""
        cdef Vector buffers = table_vector(self.root, MODEL_BUFFERS)
        cdef Span span
        data[0] = NULL
        size[0] = 0
        if index < buffers.length:
            span = buffer_span(self.base, vector_table(buffers, index))
            data[0] = span.data
            size[0] = span.size

    cdef void constant(self, const uint8_t* tensor, const uint8_t** data, size_t* size) noexcept nogil:
        """Constant data of a Tensor table; data[0] is NULL when the tensor is no constant.

        Not the same as `buffer` of its number: buffer 0 makes no constant, whatever it holds.
        """
        cdef Span span = tensor_span(self.base, self.root, tensor)
        data[0] = span.data
        size[0] = span.size

    cdef void custom_options(self, const uint8_t* operator, const uint8_t** data, size_t* size) noexcept nogil:
        """Initial data of a custom operator; data[0] is NULL when it has none."""
        cdef Span span = custom_options_span(self.base, operator)
        data[0] = span.data
        size[0] = span.size

    cdef int32_t operator_code(self, const uint8_t* operator) noexcept nogil:
        """Builtin number of an Operator table; may be negative or unknown."""
        return builtin_code(vector_table(table_vector(self.root, MODEL_OPERATOR_CODES),
                                         table_u32(operator, OPERATOR_OPCODE_INDEX, 0)))

    cdef const uint8_t* options(self, const uint8_t* operator) noexcept nogil:
        """The option table of an Operator table, NULL when absent or meant for another operator.

        Read options through this only: a file may give CONV_2D the options of RESHAPE, whose fields differ in width.
        """
        cdef int32_t code = self.operator_code(operator)
        cdef int expected
        if code < 0 or code >= OPERATOR_COUNT:
            return NULL
        expected = expected_options[code]
        if expected == 0:
            return NULL
        if expected < SECOND_UNION:
            if table_u8(operator, OPERATOR_OPTIONS_TYPE, 0) != expected:
                return NULL
            return table_table(operator, OPERATOR_OPTIONS)
        if table_u8(operator, OPERATOR_OPTIONS_2_TYPE, 0) != expected - SECOND_UNION:
            return NULL
        return table_table(operator, OPERATOR_OPTIONS_2)

    @property
    def nbytes(self):
        """Bytes of the content, with what may follow the flatbuffer."""
        return self.size

    @property
    def version(self):
        """Schema version."""
        return table_u32(self.root, MODEL_VERSION, 0)

    @property
    def description(self):
        """The file's own description."""
        return text(table_vector(self.root, MODEL_DESCRIPTION))

    @property
    def subgraphs(self):
        """Number of subgraphs."""
        return table_vector(self.root, MODEL_SUBGRAPHS).length

    @property
    def metadata(self):
        """Name -> read-only memoryview of the metadata's bytes, in the file's order; those that have a buffer."""
        cdef Vector entries = table_vector(self.root, MODEL_METADATA)
        cdef const uint8_t* entry
        cdef uint32_t index
        cdef const uint8_t* data
        cdef size_t size
        found = {}
        whole = memoryview(self)
        for index in range(entries.length):
            entry = vector_table(entries, index)
            self.buffer(table_u32(entry, METADATA_BUFFER, 0), &data, &size)
            if data != NULL:
                start = data - self.base
                found[text(table_vector(entry, METADATA_NAME))] = whole[start:start + size]
        return found

    @property
    def signatures(self):
        """[(key, subgraph, [(name, tensor)] of inputs, same of outputs)], order and indices as the file has them."""
        cdef Vector signatures = table_vector(self.root, MODEL_SIGNATURES)
        cdef const uint8_t* signature
        cdef uint32_t index
        found = []
        for index in range(signatures.length):
            signature = vector_table(signatures, index)
            found.append((text(table_vector(signature, SIGNATURE_KEY)), table_u32(signature, SIGNATURE_SUBGRAPH, 0),
                          named_tensors(table_vector(signature, SIGNATURE_INPUTS)),
                          named_tensors(table_vector(signature, SIGNATURE_OUTPUTS))))
        return found


cdef list named_tensors(Vector entries):
    """[(name, tensor index)] of a vector of TensorMap."""
    cdef uint32_t index
    cdef const uint8_t* entry
    found = []
    for index in range(entries.length):
        entry = vector_table(entries, index)
        found.append((text(table_vector(entry, TENSOR_MAP_NAME)), table_u32(entry, TENSOR_MAP_INDEX, 0)))
    return found


cdef str text(Vector string):
    """Bytes that are not UTF-8 become surrogates."""
    return text_bytes(string).decode("utf-8", "surrogateescape")
