# tflm_cy: optimize=speed
"""Values of tensors as numpy arrays: what may be written to a tensor, and copies of what is in it.

    value = checked_value(g, t, value)               # a native array of the tensor's dtype; never a cast
    write_value(tensor, &buffer)                     # of a C-contiguous array of the tensor's shape
    array = read_value(g, t, shape)

Packed integers have a byte each on numpy's side, bfloat16 is ml_dtypes' type where that package is installed, else uint16. Who holds the lock
and who may look at a tensor is the caller's business.
"""
import numpy as np

from cpython.buffer cimport PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.number cimport PyNumber_Index
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetPointer
from cpython.ref cimport Py_INCREF
from libc.stddef cimport size_t
from libc.stdint cimport int8_t, int64_t, uint8_t

from tflm_cy.graph.description cimport strings_of, tensor_name
from tflm_cy.graph.description import DTYPES
from tflm_cy.graph.graph cimport is_internal
from tflm_cy.graph.overwritten cimport is_overwritten
from tflm_cy.graph.subgraph cimport Subgraph, note_write
from tflm_cy.graph.tensor cimport (
    BFLOAT16, BOOL, CONSTANT, DYNAMIC, INT2, INT4, INT32, INT64, MAX_RANK, PLANNED, RESOURCE, STRING, UINT4, VARIANT, Tensor, bytes_of, count,
    is_constant, is_packed, shape_of, type_name,
)
from tflm_cy.graph.view cimport view_of
from tflm_cy.platform.long_copy cimport copy_bytes

NULL_DATA = "Tensor data is null. Run allocate_tensors() first"

# by the schema's number of a type
ARRAY_TYPES = [np.dtype(name) for name in (
    "float32", "float16", "int32", "uint8", "int64", "O", "bool", "int16", "complex64", "int8", "float64", "complex128", "uint64",
    "O", "O", "uint32", "uint16", "int8", "uint16", "int8", "uint8")]
cdef list DTYPE_OF = ARRAY_TYPES
PACKED_RANGES = {INT4: (-8, 7), INT2: (-2, 1), UINT4: (0, 15)}
cdef object empty = np.empty
cdef uint8_t nothing = 0         # where a view without elements begins
cdef object ndarray = np.ndarray
NUMPY_TYPE_NAMES = {dtype: name for name, dtype in DTYPES.items()}


cdef int small_index(object value) except? -1:
    """An index as TensorFlow's binding takes it: any integer, never a float; TypeError beyond int32."""
    cdef long long number
    if type(value) is int and -0x80000000 <= value <= 0x7FFFFFFF:
        return value
    if isinstance(value, float):
        raise TypeError(f"an integer is wanted, not {value!r}")
    try:
        number = PyNumber_Index(value)
    except OverflowError:
        raise TypeError(f"{value!r} is beyond int32") from None
    if not -0x80000000 <= number <= 0x7FFFFFFF:
        raise TypeError(f"{value!r} is beyond int32")
    return <int>number


def scalar_type(int type):
    """The numpy scalar class of a schema type; bfloat16 is ml_dtypes' where that package is installed, else its bits as uint16."""
    if type == STRING:
        return np.bytes_
    if type == BFLOAT16:
        try:
            import ml_dtypes
        except ImportError:
            return np.uint16
        return ml_dtypes.bfloat16
    return ARRAY_TYPES[type].type


cdef bint layout_is_known():
    """True when `fields` shows what numpy itself tells of an array."""
    sample = np.arange(6, dtype=np.int16).reshape(2, 3)
    cdef ArrayFields* seen = fields(sample)
    return (
        <size_t>seen.data == <size_t>sample.__array_interface__["data"][0] and seen.nd == 2 and seen.dimensions[0] == 2
        and seen.dimensions[1] == 3 and seen.strides[0] == 6 and seen.flags & 1 and not fields(sample[:, ::2]).flags & 1)


LAYOUT_KNOWN = layout_is_known()

ctypedef object (*NewArray)(
    object subtype, PyObject* dtype, int rank, const Py_ssize_t* dims, const Py_ssize_t* strides, void* data, int flags, PyObject* array)


cdef NewArray new_from_descriptor():
    """numpy's function behind `empty`, by its place in numpy's C interface, which numpy 1 and 2 share; half the time for a small array."""
    if int(np.__version__.partition(".")[0]) > 2:
        return NULL
    umath = (np._core if hasattr(np, "_core") else np.core)._multiarray_umath
    return <NewArray>(<void**>PyCapsule_GetPointer(umath._ARRAY_API, NULL))[94]


cdef NewArray NEW_FROM_DESCRIPTOR = new_from_descriptor()


cdef object new_array(const Tensor* tensor):
    """An array of a tensor's type and shape, unfilled; for types that `has_plain_type`."""
    cdef Py_ssize_t[MAX_RANK] dims
    cdef object dtype = DTYPE_OF[tensor.type]
    cdef int d
    if NEW_FROM_DESCRIPTOR == NULL:
        return empty(tuple([tensor.dims[d] for d in range(tensor.rank)]), dtype)
    for d in range(tensor.rank):
        dims[d] = tensor.dims[d]
    Py_INCREF(dtype)                      # which the array takes over
    return NEW_FROM_DESCRIPTOR(ndarray, <PyObject*>dtype, tensor.rank, dims, NULL, NULL, 0, NULL)


cdef bint fits(const ArrayFields* array, const Tensor* tensor) noexcept:
    """True when an array's bytes can be copied to a tensor as they are."""
    cdef int d
    if array.nd != tensor.rank or not array.flags & 1 or tensor.data == NULL or not has_plain_type(tensor):
        return False
    for d in range(array.nd):
        if array.dimensions[d] != tensor.dims[d]:
            return False
    return True


cdef object checked_value(Subgraph g, int t, object value):
    """A value of any kind as a native array of the tensor's dtype; never casts."""
    cdef const Tensor* tensor = &g.tensors[t]
    expected = DTYPE_OF[tensor.type]
    try:
        array = np.asarray(value)
    except ValueError:
        raise ValueError("Failed to convert value into readable tensor.") from None
    if array.dtype.kind in "SUO":
        got = "STRING"
    else:
        got = NUMPY_TYPE_NAMES.get(array.dtype.name, "NOTYPE")
    if tensor.type == BFLOAT16 and array.dtype.name == "bfloat16":
        return array.view(np.uint16)
    if got == "NOTYPE" or array.dtype.newbyteorder("=") != expected or array.dtype.names is not None or expected.kind == "O":
        raise ValueError(
            f"Cannot set tensor: Got value of type {got} but expected type {type_name(tensor.type)} for input {t}, name: "
            f"{tensor_name(g, t)} ")
    if array.dtype is not expected:
        array = array.astype(expected)
    if tensor.type in PACKED_RANGES and array.size:
        low, high = PACKED_RANGES[tensor.type]
        if array.min() < low or array.max() > high:
            raise ValueError(
                f"Cannot set tensor: Values for {type_name(tensor.type)} input must be between {low} and {high}.")
    return array


cdef list checked_strings(Subgraph g, int t, object value):
    """The value of a string tensor: of arrays of bytes or str (as UTF-8), or lists of them."""
    cdef const Tensor* tensor = &g.tensors[t]
    cdef Py_ssize_t[MAX_RANK] shape
    cdef int d
    if isinstance(value, (list, tuple)) and all(isinstance(item, (bytes, str)) for item in value):
        value = np.array(value, dtype=object)
    array = np.asarray(value)
    if array.dtype.kind not in "SUO":
        raise ValueError(
            f"Cannot set tensor: Got value of type {NUMPY_TYPE_NAMES.get(array.dtype.name, 'NOTYPE')} but expected type STRING for "
            f"input {t}, name: {tensor_name(g, t)} ")
    for d in range(min(array.ndim, MAX_RANK)):
        shape[d] = array.shape[d]
    expect_shape(array.ndim, shape, tensor)
    items = []
    for item in array.ravel().tolist():
        if isinstance(item, str):
            item = item.encode()
        if not isinstance(item, bytes):
            raise ValueError(f"PyBytes_AsStringAndSize() failed. A string tensor holds bytes or str, not {type(item).__name__}")
        items.append(item)
    if tensor.allocation != DYNAMIC:
        raise ValueError(f"Cannot set tensor: tensor {t} '{tensor_name(g, t)}' is constant")
    return items


cdef int expect_shape(int rank, const Py_ssize_t* shape, const Tensor* tensor) except -1:
    """The tensor's."""
    cdef int d
    if rank != tensor.rank:
        raise ValueError(
            f"Cannot set tensor: Dimension mismatch. Got {rank} but expected {tensor.rank} for input {tensor.index}.")
    for d in range(rank):
        if shape[d] != tensor.dims[d]:
            raise ValueError(
                f"Cannot set tensor: Dimension mismatch. Got {shape[d]} but expected {tensor.dims[d]} for dimension {d} "
                f"of input {tensor.index}.")
    return 0


cdef void write_value(Tensor* tensor, const Py_buffer* value) noexcept:
    """Copy a C-contiguous array that has the tensor's dtype and shape."""
    if is_packed(tensor):
        pack(<const int8_t*>value.buf, <uint8_t*>tensor.data, count(tensor), tensor.type)
    elif tensor.bytes > 0:
        copy_bytes(tensor.data, value.buf, min(<size_t>value.len, tensor.bytes))


cdef int open_constant(Subgraph g, int t) except -1:
    """Let a constant be written, in memory of this interpreter's own.

    Integers of 32 and 64 bits stay as they are: they may be shapes, axes or indices, which were checked when the model was loaded. In a
    planned arena (`micro`) all do: nothing can be prepared again there.
    """
    cdef const Tensor* tensor = &g.tensors[t]
    if (g.micro or tensor.allocation != CONSTANT or tensor.sparsity != NULL or tensor.type == INT32 or tensor.type == INT64 or tensor.type == BOOL
            or <int64_t>tensor.bytes < bytes_of(tensor.type, tensor.rank, tensor.dims)):
        raise ValueError(
            f"Cannot set tensor: tensor {t} '{tensor_name(g, t)}' is constant, and only constants of floats or of integers up to "
            "16 bits may be replaced")
    return g.own_constant(t)


cdef object view_value(Subgraph g, int t):
    """A numpy array over a tensor's memory; a copy where the elements do not lie there as numpy has them, and of rank 0."""
    cdef const Tensor* tensor = &g.tensors[t]
    if tensor.type == STRING:
        raise ValueError("string tensors have no view; use get_tensor")
    if is_packed(tensor) or (tensor.sparsity != NULL and is_constant(tensor)):
        return read_value(g, t, tuple(shape_of(tensor)))
    expect_readable(g, t)
    note_write(g, t)
    dtype = scalar_type(tensor.type) if tensor.type == BFLOAT16 else DTYPE_OF[tensor.type]
    base = view_of(g, tensor.data if tensor.bytes > 0 else &nothing, tensor.bytes, tensor.allocation == CONSTANT)
    array = ndarray(tuple(shape_of(tensor)), dtype, base)
    return array if tensor.rank > 0 else array[()]


cdef object read_only(value):
    """An array that nobody should take for a tensor's memory."""
    if isinstance(value, ndarray):
        value.flags.writeable = False
    return value


cdef object read_value(Subgraph g, int t, tuple shape):
    """A fresh copy of the value of a tensor of this shape; a numpy scalar for rank 0, bytes objects for strings."""
    cdef const Tensor* tensor = &g.tensors[t]
    cdef Py_buffer buffer
    if tensor.type == STRING:
        return strings_of(g, tensor)
    expect_readable(g, t)
    if is_constant(tensor) and tensor.sparsity != NULL:
        array = empty((<Py_ssize_t>tensor.bytes // DTYPE_OF[tensor.type].itemsize,), DTYPE_OF[tensor.type])
    elif tensor.type == BFLOAT16:
        array = empty(shape, scalar_type(BFLOAT16)).view(np.uint16)
    else:
        array = empty(shape, DTYPE_OF[tensor.type])
    PyObject_GetBuffer(array, &buffer, PyBUF_WRITABLE)
    if is_packed(tensor):
        unpack(<const uint8_t*>tensor.data, <int8_t*>buffer.buf, min(count(tensor), <int64_t>buffer.len), tensor.type)
    elif buffer.len > 0:
        copy_bytes(buffer.buf, tensor.data, min(<size_t>buffer.len, tensor.bytes))
    PyBuffer_Release(&buffer)
    if tensor.type == BFLOAT16:
        array = array.view(scalar_type(BFLOAT16))
    return array if tensor.rank > 0 or tensor.sparsity != NULL else array[()]


cdef int expect_readable(Subgraph g, int t) except -1:
    cdef const Tensor* tensor = &g.tensors[t]
    if tensor.type == RESOURCE or tensor.type == VARIANT:
        raise ValueError(f"tensor {t} holds a handle, which has no value to read")
    if is_internal(&g.graph, t):
        raise ValueError(
            f"{NULL_DATA}: tensor {t} '{tensor_name(g, t)}' lies inside of a delegate; to read it construct the interpreter with "
            "experimental_preserve_all_tensors=True")
    if tensor.data == NULL and count(tensor) > 0 and not keep_last_value(g, &g.tensors[t]):
        raise ValueError(NULL_DATA)
    if is_overwritten(&g.graph, g.memory, g.scratch_buffers, t):
        raise ValueError(
            f"the memory of tensor {t} '{tensor_name(g, t)}' serves another tensor by now; to read intermediate tensors "
            "construct the interpreter with experimental_preserve_all_tensors=True")
    return g.materialize(tensor)


cdef bint keep_last_value(Subgraph g, Tensor* tensor) noexcept:
    """True when what was shaped while invoking has the last run's value: an allocation leaves it, and a run that fails before it is computed."""
    cdef int64_t size = bytes_of(tensor.type, tensor.rank, tensor.dims)
    if g.micro or tensor.type == STRING or (tensor.allocation != PLANNED and tensor.allocation != DYNAMIC):
        return False
    if g.allocator.owned[tensor.index] == NULL or <int64_t>g.allocator.owned_capacity[tensor.index] < size:
        return False
    tensor.allocation = DYNAMIC
    tensor.data, tensor.bytes = g.allocator.owned[tensor.index], size
    return True


cdef void pack(const int8_t* values, uint8_t* packed, int64_t n, int type) noexcept nogil:
    """One byte a value -> two (four) a byte, low bits first."""
    cdef int64_t i
    cdef int per = 4 if type == INT2 else 2
    cdef int width = 8 // per
    cdef int mask = (1 << width) - 1
    for i in range((n + per - 1) // per):
        packed[i] = 0
    for i in range(n):
        packed[i // per] |= <uint8_t>((values[i] & mask) << (width * (i % per)))


cdef void unpack(const uint8_t* packed, int8_t* values, int64_t n, int type) noexcept nogil:
    """Two (four) values a byte, low bits first, sign extended unless the type is unsigned."""
    cdef int64_t i
    cdef int per = 4 if type == INT2 else 2
    cdef int width = 8 // per
    cdef int mask = (1 << width) - 1
    cdef int value
    for i in range(n):
        value = (packed[i // per] >> (width * (i % per))) & mask
        if type != UINT4 and value >> (width - 1):
            value -= mask + 1
        values[i] = <int8_t>value
