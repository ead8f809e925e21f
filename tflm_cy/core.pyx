"""The inside of an Interpreter: subgraphs, their numpy side, the lock, and the count of live views.

`tflm_cy.interpreter` is the face that users see; `Core` does what has to be fast or needs C. All its methods take a subgraph's index last,
with 0 for the primary subgraph. `Calls` are the face's three methods that a loop over data calls: in Python they would take longer than a tiny model.

Every call holds the instance's lock: calls from several threads wait for each other (with the GIL released), a call
from within a call (a Python operator that uses its own interpreter) raises RuntimeError. A forked child starts with a
free lock.

A view (`view`) has a base object of `graph.view`, which keeps the memory alive and counts itself; while one lives, allocate, invoke and
resize raise, so that memory never moves under it.
"""
import os
import sysconfig

import numpy as np

from cpython.buffer cimport (
    PyBUF_STRIDED_RO, PyBUF_WRITABLE, PyBuffer_IsContiguous,
    PyBuffer_Release, PyObject_GetBuffer,
)
from cpython.long cimport PyLong_AsLong, PyLong_AsLongAndOverflow
from cpython.number cimport PyNumber_Index
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.pycapsule cimport PyCapsule_GetPointer
from cpython.pythread cimport (
    NOWAIT_LOCK, PyThread_acquire_lock, PyThread_allocate_lock, PyThread_free_lock, PyThread_get_thread_ident, PyThread_release_lock,
    PyThread_type_lock, WAIT_LOCK,
)
from libc.stddef cimport size_t
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from tflm_cy.graph.loader cimport load
from tflm_cy.graph.context cimport Node
from tflm_cy.graph.resource cimport Resources
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport (
    BOOL, CONSTANT, DYNAMIC, INT2, INT4, INT32, INT64, MAX_RANK, RESOURCE, STRING, UINT4, VARIANT, Tensor, bytes_of, count, is_constant,
    shape_of, type_name,
)
from tflm_cy.graph.view cimport view
from tflm_cy.schema.model cimport Model
from tflm_cy.schema.slots cimport (
    BLOCKWISE_BLOCK_SIZE, BLOCKWISE_SCALES, BLOCKWISE_ZERO_POINTS, DIMENSION_DENSE_SIZE, DIMENSION_FORMAT, DIMENSION_INDICES,
    DIMENSION_INDICES_TYPE, DIMENSION_SEGMENTS, DIMENSION_SEGMENTS_TYPE, QUANTIZATION_DETAILS, QUANTIZATION_DETAILS_TYPE,
    QUANTIZATION_DIMENSION, SPARSITY_BLOCK_MAP, SPARSITY_DIM_METADATA, SPARSITY_TRAVERSAL_ORDER, SUBGRAPH_TENSORS, TENSOR_NAME,
    TENSOR_QUANTIZATION, TENSOR_SHAPE, TENSOR_SHAPE_SIGNATURE, TENSOR_SPARSITY,
)
from tflm_cy.schema.table cimport Vector, load_i32, table_i8, table_i32, table_table, table_u8, table_vector, vector_table

GUARD = """There is at least 1 reference to internal data
      in the interpreter in the form of a numpy array or slice. Be sure to
      only hold the function returned from tensor() if you are using raw
      data access. Alive: """
NULL_DATA = "Tensor data is null. Run allocate_tensors() first"

cdef long fork_count = 0         # locks made before a fork are void in the child


def _after_fork():
    global fork_count
    fork_count += 1


os.register_at_fork(after_in_child=_after_fork)

DTYPES = [np.dtype(name) for name in (
    "float32", "float16", "int32", "uint8", "int64", "O", "bool", "int16", "complex64", "int8", "float64", "complex128", "uint64",
    "O", "O", "uint32", "uint16", "int8", "uint16", "int8", "uint8")]
cdef list DTYPE_OF = DTYPES
PACKED_RANGES = {17: (-8, 7), 19: (-2, 1), 20: (0, 15)}          # INT4, INT2, UINT4
cdef object ndarray = np.ndarray
cdef object empty = np.empty
NUMPY_TYPE_NAMES = {
    "float32": "FLOAT32", "float16": "FLOAT16", "int32": "INT32", "uint8": "UINT8", "int64": "INT64", "bool": "BOOL", "int16": "INT16",
    "complex64": "COMPLEX64", "int8": "INT8", "float64": "FLOAT64", "complex128": "COMPLEX128", "uint64": "UINT64", "uint32": "UINT32",
    "uint16": "UINT16",
}


def scalar_type(int type):
    """The numpy scalar class of a schema type; bfloat16 is ml_dtypes' where that package is installed, else its bits as uint16."""
    if type == STRING:
        return np.bytes_
    if type == 18:
        try:
            import ml_dtypes
        except ImportError:
            return np.uint16
        return ml_dtypes.bfloat16
    return DTYPES[type].type


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


cdef struct ArrayFields:         # what follows the object's head in a numpy array, part of numpy's C interface since 1.7
    char* data
    int nd
    Py_ssize_t* dimensions
    Py_ssize_t* strides
    PyObject* base
    PyObject* descr
    int flags                    # 1: C contiguous; 0x100: aligned


cdef inline ArrayFields* fields(object array) noexcept:
    """The fields of an ndarray: much faster than its buffer, which tiny models would feel."""
    return <ArrayFields*>(<char*><PyObject*>array + sizeof(PyObject))


cdef bint layout_is_known():
    """True when `fields` shows what numpy itself tells of an array."""
    sample = np.arange(6, dtype=np.int16).reshape(2, 3)
    cdef ArrayFields* seen = fields(sample)
    return (
        <size_t>seen.data == <size_t>sample.__array_interface__["data"][0] and seen.nd == 2 and seen.dimensions[0] == 2
        and seen.dimensions[1] == 3 and seen.strides[0] == 6 and seen.flags & 1 and not fields(sample[:, ::2]).flags & 1)


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
    """An array for a tensor's value."""
    cdef Py_ssize_t[MAX_RANK] dims
    cdef object dtype = DTYPE_OF[tensor.type]
    cdef int d
    if NEW_FROM_DESCRIPTOR == NULL:
        return empty(tuple([tensor.dims[d] for d in range(tensor.rank)]), dtype)
    for d in range(tensor.rank):
        dims[d] = tensor.dims[d]
    Py_INCREF(dtype)                      # which the array takes over
    return NEW_FROM_DESCRIPTOR(ndarray, <PyObject*>dtype, tensor.rank, dims, NULL, NULL, 0, NULL)


# Without a GIL another thread may be anywhere: no shortcut past the lock.
cdef bint LAYOUT_KNOWN = layout_is_known() and not sysconfig.get_config_var("Py_GIL_DISABLED")


cdef inline bint has_plain_type(const Tensor* tensor) noexcept:
    """True when the elements are as in an array: not packed, no strings, no handles, dense."""
    return (tensor.type < INT4 and tensor.type != STRING and tensor.type != RESOURCE and tensor.type != VARIANT
            and tensor.sparsity == NULL)


cdef bint fits(const ArrayFields* array, const Tensor* tensor) noexcept:
    """True when an array's bytes can be copied to a tensor as they are."""
    cdef int d
    if array.nd != tensor.rank or not array.flags & 1 or tensor.data == NULL or not has_plain_type(tensor):
        return False
    for d in range(array.nd):
        if array.dimensions[d] != tensor.dims[d]:
            return False
    return True


cdef bint same_dtype(object dtype, object expected) except -1:
    """Equal and of native byte order; dtype objects from pickles are equal, not identical."""
    return dtype == expected and dtype.isnative


cdef Subgraph unborn():
    """The graph of an object that `__init__` has not seen: nothing in it, and allocating it raises."""
    cdef Subgraph g = Subgraph()
    g.shared = Resources()
    g.execution_plan = []
    g.allocate_defect = "the interpreter was made without __init__."
    return g


cdef Subgraph UNBORN = unborn()


cdef class Core:
    """See the module."""
    cdef object __weakref__
    cdef readonly Model model
    cdef readonly list subgraphs
    cdef readonly int num_threads
    cdef object default_delegate     # makes a delegate at the first allocate; None: there is none, or it has been applied
    cdef bint clustering
    cdef PyThread_type_lock lock
    cdef long lock_fork
    cdef unsigned long owner
    cdef Subgraph primary
    cdef list shape_cache            # of the primary subgraph: tuples, None where not known
    cdef int cache_generation

    def __cinit__(self):
        self.lock = PyThread_allocate_lock()
        self.lock_fork = fork_count
        self.primary = UNBORN

    def __dealloc__(self):
        if self.lock != NULL:
            PyThread_free_lock(self.lock)
        if self.subgraphs is not None:
            self.subgraphs.clear()       # the subgraphs hold this list too

    def __init__(self, Model model, find, bint reference, bint preserve_all, int num_threads, default_delegate=None, bint clustering=True,
                 list subgraphs=None, bint fuse=True):
        self.default_delegate = default_delegate
        self.clustering = clustering
        self.model = model
        self.num_threads = num_threads
        self.subgraphs = load(model, find, reference, preserve_all) if subgraphs is None else subgraphs
        self.primary = self.subgraphs[0]
        self.primary.set_up(num_threads, fuse)
        self.cache_generation = -1

    def __reduce__(self):
        raise TypeError("an interpreter's inside cannot be copied; pickle or copy the Interpreter")

    # ---------------------------------------------------------------- lock, guard, lookup

    cdef int enter(self) except -1:
        cdef unsigned long me = PyThread_get_thread_ident()
        if self.lock_fork != fork_count:
            self.lock = PyThread_allocate_lock()     # the old one may be held by a thread that the child does not have
            self.lock_fork = fork_count
            self.owner = 0
        if not PyThread_acquire_lock(self.lock, NOWAIT_LOCK):
            if self.owner == me:
                raise RuntimeError("the interpreter is called from within one of its own calls")
            with nogil:
                PyThread_acquire_lock(self.lock, WAIT_LOCK)
        self.owner = me
        return 0

    cdef bint is_quick(self, object index, object subgraph_index):
        """True for an index in the primary subgraph, a plain int in range, while no call is under way.

        What then happens needs no lock: nothing of it lets another thread in between looking at a tensor and copying it.
        """
        cdef int overflow = 0
        cdef long t
        if not LAYOUT_KNOWN or subgraph_index is not 0 or self.owner != 0 or type(index) is not int:
            return False
        t = PyLong_AsLongAndOverflow(index, &overflow)
        return overflow == 0 and 0 <= t < self.primary.tensor_count

    cdef int leave(self) noexcept:
        self.owner = 0
        PyThread_release_lock(self.lock)
        return 0

    cdef int guard(self) except -1:
        cdef int alive = self.primary.shared.live_views
        if alive > 0:
            raise RuntimeError(f"{GUARD}{alive} view{'s' if alive > 1 else ''}.")
        return 0

    cpdef bint is_safe(self):
        """True while no view lives."""
        return self.primary.shared.live_views == 0

    cdef Subgraph subgraph(self, object index):
        cdef int i
        if index is 0:
            return self.primary
        i = small_index(index)
        if not 0 <= i < len(self.subgraphs):
            raise ValueError(f"Invalid subgraph index {i}: the model has {len(self.subgraphs)} subgraphs")
        return self.subgraphs[i]

    cdef int tensor_index(self, Subgraph g, object index) except -1:
        cdef int i = small_index(index)
        if not 0 <= i < g.tensor_count:
            raise ValueError(f"Invalid tensor index {i} exceeds max tensor index {g.tensor_count - 1}")
        return i

    cdef bint is_cached(self, Subgraph g, const Tensor* tensor):
        """True when shape and address stay until the next real allocation; empties the cache after one."""
        if g is not self.primary or not g.ready or tensor.allocation == DYNAMIC or g.stage_zero_end != g.plan_count:
            return False
        if self.cache_generation != g.generation:
            self.shape_cache = [None] * g.tensor_count
            self.cache_generation = g.generation
        return True

    cdef tuple shape_tuple(self, Subgraph g, int t):
        cdef const Tensor* tensor = &g.tensors[t]
        cdef int d
        cdef tuple shape
        if self.is_cached(g, tensor):
            shape = self.shape_cache[t]
            if shape is None:
                shape = tuple([tensor.dims[d] for d in range(tensor.rank)])
                self.shape_cache[t] = shape
            return shape
        return tuple([tensor.dims[d] for d in range(tensor.rank)])

    cdef str tensor_name(self, Subgraph g, int t):
        cdef Vector name = table_vector(vector_table(table_vector(g.table, SUBGRAPH_TENSORS), t), TENSOR_NAME)
        return "" if name.data == NULL else (<const char*>name.data)[:name.length].decode("utf-8", "replace")

    # ---------------------------------------------------------------- life cycle

    def delegate(self, mine):
        """Let a delegate take its nodes of all subgraphs."""
        from tflm_cy.graph.partition import delegate
        for g in self.subgraphs:
            delegate(g, mine, self.clustering)

    cdef int apply_default_delegate(self) except -1:
        """At the first allocation of any subgraph, before anything is prepared."""
        if self.default_delegate is not None:
            make, self.default_delegate = self.default_delegate, None
            self.delegate(make())
        return 0

    def allocate(self, subgraph_index=0):
        """Prepare and plan a subgraph; nothing when it is ready."""
        cdef Subgraph g = self.subgraph(subgraph_index)
        self.enter()
        try:
            self.guard()
            self.apply_default_delegate()
            g.allocate()
        finally:
            self.leave()

    def invoke(self, subgraph_index=0):
        """Run a subgraph once, with the GIL released."""
        self.run(self.subgraph(subgraph_index))

    cdef int run(self, Subgraph g) except -1:
        self.enter()
        try:
            self.guard()
            g.invoke()
        finally:
            self.leave()
        return 0

    def run_node(self, index, subgraph_index=0):
        """Run one node of a graph that preserves all tensors, on the values that its inputs hold."""
        cdef Subgraph g = self.subgraph(subgraph_index)
        cdef int n = small_index(index)
        if not g.preserve_all:
            raise RuntimeError("single nodes run with experimental_preserve_all_tensors=True only")
        self.enter()
        try:
            self.guard()
            g.run_node(n)
        finally:
            self.leave()

    def resize(self, index, shape, bint strict, subgraph_index=0):
        """Change a tensor's shape; `shape` is a 1-d int32 array."""
        cdef Subgraph g = self.subgraph(subgraph_index)
        self.enter()
        try:
            self.guard()
            self.resize_unlocked(g, index, shape, strict)
        finally:
            self.leave()

    cdef int resize_unlocked(self, Subgraph g, object index, object shape, bint strict) except -1:
        cdef int32_t[MAX_RANK] dims
        cdef int i = small_index(index)
        cdef int d, rank = len(shape)
        if not 0 <= i < g.tensor_count:
            raise RuntimeError(f"Invalid tensor index {i} exceeds max tensor index {g.tensor_count - 1}")
        if rank > MAX_RANK:
            raise RuntimeError(f"rank {rank} exceeds {MAX_RANK}")
        for d in range(rank):
            dims[d] = shape[d]
        if strict:
            self.check_strict(g, i, rank, dims)
        g.resize_tensor(i, rank, dims)
        return 0

    cdef int check_strict(self, Subgraph g, int t, int rank, const int32_t* dims) except -1:
        """Only dimensions that the signature leaves open may change."""
        cdef const Tensor* tensor = &g.tensors[t]
        cdef list signature = self.signature(g, t)
        cdef int d
        if rank != tensor.rank:
            raise RuntimeError(
                f"Attempting to resize tensor {t} of rank {tensor.rank} to rank {rank}. ResizeInputTensorStrict only allows "
                "mutating unknown dimensions identified by -1.")
        for d in range(rank):
            if dims[d] != tensor.dims[d] and (d >= len(signature) or signature[d] != -1):
                raise RuntimeError(
                    f"Attempting to resize dimension {d} of tensor {t} with value {tensor.dims[d]} to {dims[d]}. "
                    "ResizeInputTensorStrict only allows mutating unknown dimensions identified by -1.")
        return 0

    def reset_variables(self):
        """Zero the variable tensors of all subgraphs."""
        cdef Subgraph g
        self.enter()
        try:
            for g in self.subgraphs:
                g.reset_variables()
        finally:
            self.leave()

    # ---------------------------------------------------------------- values

    def set_tensor(self, index, value, subgraph_index=0):
        """Copy a value into a tensor."""
        self.put(index, value, subgraph_index)

    cdef int put(self, object index, object value, object subgraph_index) except -1:
        cdef Subgraph g = self.primary
        cdef Tensor* tensor
        if self.is_quick(index, subgraph_index) and type(value) is ndarray:
            tensor = &g.tensors[PyLong_AsLong(index)]
            if (value.dtype is DTYPE_OF[tensor.type] and not is_constant(tensor) and fits(fields(value), tensor)
                    and not g.is_hidden(tensor.index)):
                memcpy(tensor.data, fields(value).data, tensor.bytes)
                return 0
        g = self.subgraph(subgraph_index)
        self.enter()
        try:
            self.set_unlocked(g, index, value)
        finally:
            self.leave()
        return 0

    cdef int set_unlocked(self, Subgraph g, object index, object value) except -1:
        cdef int t = self.tensor_index(g, index)
        cdef Tensor* tensor = &g.tensors[t]
        cdef Py_buffer buffer
        cdef int d
        if tensor.type == STRING:
            return self.set_strings(g, t, value)
        if type(value) is not ndarray or value.dtype is not DTYPE_OF[tensor.type] or not has_plain_type(tensor):
            value = self.checked_value(g, t, value)
        PyObject_GetBuffer(value, &buffer, PyBUF_STRIDED_RO)
        try:
            if buffer.ndim != tensor.rank:
                raise ValueError(
                    f"Cannot set tensor: Dimension mismatch. Got {buffer.ndim} but expected {tensor.rank} for input {t}.")
            for d in range(buffer.ndim):
                if buffer.shape[d] != tensor.dims[d]:
                    raise ValueError(
                        f"Cannot set tensor: Dimension mismatch. Got {buffer.shape[d]} but expected {tensor.dims[d]} for dimension {d} "
                        f"of input {t}.")
            if is_constant(tensor):
                self.open_constant(g, t)
            if tensor.data == NULL or g.is_hidden(t):
                raise ValueError(
                    "Cannot set tensor: Tensor is unallocated. Try calling allocate_tensors() first")
            if PyBuffer_IsContiguous(&buffer, b"C"):
                if tensor.type == INT4 or tensor.type == UINT4 or tensor.type == INT2:
                    pack(<const int8_t*>buffer.buf, <uint8_t*>tensor.data, count(tensor), tensor.type)
                else:
                    memcpy(tensor.data, buffer.buf, min(<size_t>buffer.len, tensor.bytes))
                if tensor.allocation == CONSTANT and g.ready:
                    g.prepare_again()
                return 0
        finally:
            PyBuffer_Release(&buffer)
        return self.set_unlocked(g, index, np.ascontiguousarray(value))

    cdef int open_constant(self, Subgraph g, int t) except -1:
        """Let a constant be written, in memory of this interpreter's own.

        Integers of 32 and 64 bits stay as they are: they may be shapes, axes or indices, which were checked when the model was loaded.
        """
        cdef const Tensor* tensor = &g.tensors[t]
        if (tensor.allocation != CONSTANT or tensor.sparsity != NULL or tensor.type == INT32 or tensor.type == INT64 or tensor.type == BOOL
                or <int64_t>tensor.bytes < bytes_of(tensor.type, tensor.rank, tensor.dims)):
            raise ValueError(
                f"Cannot set tensor: tensor {t} '{self.tensor_name(g, t)}' is constant, and only constants of floats or of integers up to "
                "16 bits may be replaced")
        if g.ready:
            self.guard()
        return g.own_constant(t)

    cdef object checked_value(self, Subgraph g, int t, object value):
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
        if tensor.type == 18 and array.dtype.name == "bfloat16":
            return array.view(np.uint16)
        if got == "NOTYPE" or array.dtype.newbyteorder("=") != expected or array.dtype.names is not None or expected.kind == "O":
            raise ValueError(
                f"Cannot set tensor: Got value of type {got} but expected type {type_name(tensor.type)} for input {t}, name: "
                f"{self.tensor_name(g, t)} ")
        if array.dtype is not expected:
            array = array.astype(expected)
        if tensor.type in PACKED_RANGES and array.size:
            low, high = PACKED_RANGES[tensor.type]
            if array.min() < low or array.max() > high:
                raise ValueError(
                    f"Cannot set tensor: Values for {type_name(tensor.type)} input must be between {low} and {high}.")
        return array

    cdef int set_strings(self, Subgraph g, int t, object value) except -1:
        """Arrays of bytes or str (as UTF-8), or lists of them."""
        cdef Tensor* tensor = &g.tensors[t]
        if isinstance(value, (list, tuple)) and all(isinstance(item, (bytes, str)) for item in value):
            value = np.array(value, dtype=object)
        array = np.asarray(value)
        if array.dtype.kind not in "SUO":
            raise ValueError(
                f"Cannot set tensor: Got value of type {NUMPY_TYPE_NAMES.get(array.dtype.name, 'NOTYPE')} but expected type STRING for "
                f"input {t}, name: {self.tensor_name(g, t)} ")
        if array.ndim != tensor.rank:
            raise ValueError(
                f"Cannot set tensor: Dimension mismatch. Got {array.ndim} but expected {tensor.rank} for input {t}.")
        if list(array.shape) != shape_of(tensor):
            raise ValueError(
                f"Cannot set tensor: Dimension mismatch. Got {list(array.shape)} but expected {shape_of(tensor)} for input {t}.")
        items = []
        for item in array.ravel().tolist():
            if isinstance(item, str):
                item = item.encode()
            if not isinstance(item, bytes):
                raise ValueError(f"PyBytes_AsStringAndSize() failed. A string tensor holds bytes or str, not {type(item).__name__}")
            items.append(item)
        if tensor.allocation != DYNAMIC:
            raise ValueError(f"Cannot set tensor: tensor {t} '{self.tensor_name(g, t)}' is constant")
        return g.set_text(t, items)

    def get_tensor(self, index, subgraph_index=0):
        """A fresh copy of a tensor's value; rank 0 gives a numpy scalar."""
        return self.get(index, subgraph_index)

    cdef object get(self, object index, object subgraph_index):
        cdef Subgraph g = self.primary
        cdef const Tensor* tensor
        cdef int t
        if self.is_quick(index, subgraph_index):
            t = PyLong_AsLong(index)
            tensor = &g.tensors[t]
            if g.ready and tensor.rank > 0 and g.last_use[t] >= g.plan_count and has_plain_type(tensor) and not g.is_hidden(t):
                array = new_array(tensor)
                if self.owner == 0 and fits(fields(array), tensor):
                    memcpy(fields(array).data, tensor.data, tensor.bytes)
                    return array
        g = self.subgraph(subgraph_index)
        self.enter()
        try:
            return self.get_unlocked(g, index)
        finally:
            self.leave()

    cdef object get_unlocked(self, Subgraph g, object index):
        cdef int t = self.tensor_index(g, index)
        cdef const Tensor* tensor = &g.tensors[t]
        cdef Py_buffer buffer
        if tensor.type == STRING:
            return self.get_strings(g, t)
        self.expect_readable(g, t)
        if is_constant(tensor) and tensor.sparsity != NULL:
            array = empty((<Py_ssize_t>tensor.bytes // DTYPE_OF[tensor.type].itemsize,), DTYPE_OF[tensor.type])
        elif tensor.type == 18:
            array = empty(self.shape_tuple(g, t), scalar_type(18)).view(np.uint16)
        else:
            array = empty(self.shape_tuple(g, t), DTYPE_OF[tensor.type])
        PyObject_GetBuffer(array, &buffer, PyBUF_WRITABLE)
        if tensor.type == INT4 or tensor.type == UINT4 or tensor.type == INT2:
            unpack(<const uint8_t*>tensor.data, <int8_t*>buffer.buf, min(count(tensor), <int64_t>buffer.len), tensor.type)
        elif buffer.len > 0:
            memcpy(buffer.buf, tensor.data, min(<size_t>buffer.len, tensor.bytes))
        PyBuffer_Release(&buffer)
        if tensor.type == 18:
            array = array.view(scalar_type(18))
        return array if tensor.rank > 0 or tensor.sparsity != NULL else array[()]

    cdef object get_strings(self, Subgraph g, int t):
        cdef const Tensor* tensor = &g.tensors[t]
        cdef list items = g.text(t)
        array = np.empty(self.shape_tuple(g, t) if len(items) == count(tensor) else len(items), dtype=object)
        array.reshape(-1)[:] = items
        return array

    cdef int expect_readable(self, Subgraph g, int t) except -1:
        cdef const Tensor* tensor = &g.tensors[t]
        if tensor.type == RESOURCE or tensor.type == VARIANT:
            raise ValueError(f"tensor {t} holds a handle, which has no value to read")
        if g.is_hidden(t):
            raise ValueError(
                f"{NULL_DATA}: tensor {t} '{self.tensor_name(g, t)}' lies inside of a delegate; to read it construct the interpreter with "
                "experimental_preserve_all_tensors=True")
        if tensor.data == NULL and not (g.ready and tensor.allocation == DYNAMIC and count(tensor) == 0):
            raise ValueError(NULL_DATA)
        if g.is_overwritten(t):
            raise ValueError(
                f"the memory of tensor {t} '{self.tensor_name(g, t)}' serves another tensor by now; to read intermediate tensors "
                "construct the interpreter with experimental_preserve_all_tensors=True")
        return 0

    def view(self, index, subgraph_index=0):
        """A numpy array over a tensor's memory; rank 0 gives a numpy scalar, which is a copy."""
        cdef Subgraph g = self.subgraph(subgraph_index)
        cdef const Tensor* tensor
        cdef int t
        self.enter()
        try:
            t = self.tensor_index(g, index)
            tensor = &g.tensors[t]
            if tensor.type == STRING:
                raise ValueError("string tensors have no view; use get_tensor")
            if tensor.type == INT4 or tensor.type == UINT4 or tensor.type == INT2 or (tensor.sparsity != NULL and is_constant(tensor)):
                return self.get_unlocked(g, t)
            self.expect_readable(g, t)
            if tensor.bytes == 0:
                return self.get_unlocked(g, t)           # nothing to look at
            dtype = scalar_type(18) if tensor.type == 18 else DTYPE_OF[tensor.type]
            array = ndarray(self.shape_tuple(g, t), dtype, view(g, tensor, tensor.allocation == CONSTANT))
            return array if tensor.rank > 0 else array[()]
        finally:
            self.leave()

    def run_signature(self, int subgraph_index, dict inputs, dict outputs, dict values):
        """Resize, allocate, set, invoke and get in one step; names -> tensor indices in `inputs` and `outputs`."""
        cdef Subgraph g
        if not 0 <= subgraph_index < len(self.subgraphs):
            raise ValueError(f"Invalid subgraph index {subgraph_index}: the model has {len(self.subgraphs)} subgraphs")
        g = self.subgraphs[subgraph_index]
        self.enter()
        try:
            for name, value in values.items():
                shape = value.shape
                t = inputs[name]
                if not 0 <= t < g.tensor_count:
                    raise RuntimeError(f"Invalid tensor index {t} exceeds max tensor index {g.tensor_count - 1}")
                if list(shape) != shape_of(&g.tensors[<int>t]):
                    self.guard()
                    self.resize_unlocked(g, t, shape, False)
            if not g.ready:
                self.guard()
            self.apply_default_delegate()
            g.allocate()
            for name, value in values.items():
                self.set_unlocked(g, inputs[name], value)
            g.invoke()
            return {name: self.get_unlocked(g, t) for name, t in outputs.items()}
        finally:
            self.leave()

    # ---------------------------------------------------------------- descriptions

    def wants_flex(self):
        """True when a custom operator that nobody has registered is one of TensorFlow's, by its name."""
        cdef Subgraph g
        return any([
            g.registrations[n] is None and g.operator_names[n].startswith("Flex") for g in self.subgraphs for n in g.custom_nodes])

    def num_subgraphs(self):
        return len(self.subgraphs)

    def tensor_count(self, subgraph_index=0):
        return self.subgraph(subgraph_index).tensor_count

    def inputs(self, subgraph_index=0):
        """Tensor indices of a subgraph's inputs."""
        cdef Subgraph g = self.subgraph(subgraph_index)
        return [g.inputs[i] for i in range(g.input_count)]

    def outputs(self, subgraph_index=0):
        """Tensor indices of a subgraph's outputs; none when one of them does not exist."""
        cdef Subgraph g = self.subgraph(subgraph_index)
        indices = [g.outputs[i] for i in range(g.output_count)]
        return indices if all(0 <= i < g.tensor_count for i in indices) else []

    cdef list signature(self, Subgraph g, int t):
        """shape_signature of the file, [] when it has none."""
        cdef Vector vector = table_vector(vector_table(table_vector(g.table, SUBGRAPH_TENSORS), t), TENSOR_SHAPE_SIGNATURE)
        return [load_i32(vector.data + 4 * i) for i in range(vector.length)]

    def tensor_details(self, index, subgraph_index=0):
        """The details dictionary of a tensor; keys in TensorFlow's order."""
        cdef Subgraph g = self.subgraph(subgraph_index)
        cdef int t = self.tensor_index(g, index)
        cdef const Tensor* tensor = &g.tensors[t]
        cdef const uint8_t* table = vector_table(table_vector(g.table, SUBGRAPH_TENSORS), t)
        shape = np.array(self.stored_shape(table) if g.is_hidden(t) else shape_of(tensor), dtype=np.int32)
        signature = self.signature(g, t)
        single = tensor.scale_count == 1
        return {
            "name": self.tensor_name(g, t),
            "index": t,
            "shape": shape,
            "shape_signature": np.array(signature, dtype=np.int32) if signature else shape.copy(),
            "dtype": scalar_type(tensor.type),
            "quantization": (float(tensor.scale), int(tensor.zero_point)) if single else (0.0, 0),
            "quantization_parameters": self.quantization(g, tensor, table_table(table, TENSOR_QUANTIZATION)),
            "sparsity_parameters": sparsity(table_table(table, TENSOR_SPARSITY)),
        }

    cdef list stored_shape(self, const uint8_t* table):
        cdef Vector vector = table_vector(table, TENSOR_SHAPE)
        return [load_i32(vector.data + 4 * i) for i in range(vector.length)]

    cdef dict quantization(self, Subgraph g, const Tensor* tensor, const uint8_t* table):
        cdef const uint8_t* details
        cdef int i
        if table_u8(table, QUANTIZATION_DETAILS_TYPE, 0) == 2:
            details = table_table(table, QUANTIZATION_DETAILS)
            zeros = table_i32(details, BLOCKWISE_ZERO_POINTS, -1)
            return {
                "scales": self.constant_values(g, table_i32(details, BLOCKWISE_SCALES, 0), np.float16),
                "zero_points": self.constant_values(g, zeros, np.int32) if zeros >= 0 else np.array([], dtype=np.int32),
                "quantized_dimension": table_i32(table, QUANTIZATION_DIMENSION, 0),
                "block_size": table_i32(details, BLOCKWISE_BLOCK_SIZE, 0),
            }
        return {
            "scales": np.array([tensor.scales[i] for i in range(tensor.scale_count)], dtype=np.float32),
            "zero_points": np.array([tensor.zero_points[i] for i in range(tensor.zero_point_count)], dtype=np.int32),
            "quantized_dimension": tensor.quantized_dimension,
            "block_size": 0,
        }

    cdef object constant_values(self, Subgraph g, int t, dtype):
        """Values of another tensor that a description refers to; empty when it holds none."""
        if 0 <= t < g.tensor_count and is_constant(&g.tensors[t]) and g.tensors[t].type != STRING:
            return self.get_unlocked(g, t).ravel().astype(dtype)
        return np.array([], dtype=dtype)

    def execution_plan(self, subgraph_index=0):
        """Node indices in the order in which they run; a delegate's nodes as their DELEGATE node."""
        return list(self.subgraph(subgraph_index).execution_plan)

    def delegate_nodes(self, subgraph_index=0):
        """DELEGATE node -> (the nodes that it runs, its inputs, its outputs)."""
        return {p.index: (list(p.nodes), list(p.inputs), list(p.outputs)) for p in self.subgraph(subgraph_index).partitions}

    def node_count(self, subgraph_index=0):
        return self.subgraph(subgraph_index).listed_nodes

    def node_details(self, index, subgraph_index=0):
        """The details dictionary of an operator."""
        cdef Subgraph g = self.subgraph(subgraph_index)
        cdef int n = small_index(index)
        cdef const Node* node
        cdef int i
        if not 0 <= n < g.listed_nodes:
            raise ValueError("Invalid node index")
        node = &g.nodes[n]
        inputs = [node.inputs[i] for i in range(node.input_count)]
        outputs = [node.outputs[i] for i in range(node.output_count)]
        known = [
            [scalar_type(g.tensors[<int>i].type) for i in side if 0 <= i < g.tensor_count] for side in (inputs, outputs)]
        return {
            "index": n,
            "op_name": g.operator_names[n],
            "inputs": np.array(inputs, dtype=np.int32),
            "outputs": np.array(outputs, dtype=np.int32),
            "operand_types": known[0],
            "result_types": known[1],
        }

    def record(self, runs):
        """Add each run's times to a list from now on (see Subgraph.recorder); None: stop."""
        cdef Subgraph g
        self.enter()
        try:
            for g in self.subgraphs:
                g.recorder = runs
        finally:
            self.leave()

    def steps(self, subgraph_index=0):
        """What the engine runs, in order: (node, the node of the plan that it is part of, name, arithmetic, inputs, outputs).

        Tensors are (index, name, type, shape, bytes, constant); None where an input is omitted.
        """
        cdef Subgraph g = self.subgraph(subgraph_index)
        cdef const Node* node
        cdef int step, i
        found = []
        for step in range(g.plan_count):
            node = &g.nodes[g.plan[step]]
            partition = None if g.step_partitions is None else g.step_partitions[step]
            sides = [
                [self.operand(g, node.inputs[i]) for i in range(node.input_count)],
                [self.operand(g, node.outputs[i]) for i in range(node.output_count)]]
            found.append((
                node.index, node.index if partition is None else partition.index, g.operator_names[node.index],
                ARITHMETICS[node.arithmetic], *sides))
        return found

    cdef object operand(self, Subgraph g, int t):
        cdef const Tensor* tensor
        if t < 0:
            return None
        tensor = &g.tensors[t]
        return t, self.tensor_name(g, t), type_name(tensor.type), shape_of(tensor), tensor.bytes, is_constant(tensor)

    def arena_used_bytes(self):
        """Bytes of the primary subgraph's arena: head, and tail with everything that lives as long as the model."""
        return self.primary.arena.used_bytes


ARITHMETICS = ("reference", "optimized", "xnnpack", "micro")


cdef object index_vector(Vector vector, int kind=1):
    """A sparse index vector: int32, uint16 or uint8 in the file, int32 for the user."""
    cdef object width = {1: np.int32, 2: np.uint16, 3: np.uint8}[kind]
    if vector.data == NULL:
        return np.array([], dtype=np.int32)
    raw = (<const char*>vector.data)[:vector.length * np.dtype(width).itemsize]
    return np.frombuffer(raw, dtype=width).astype(np.int32)


cdef object union_vector(const uint8_t* dimension, int type_slot, int slot):
    """The vector in one of a dimension's unions; a table of an unknown kind is not looked at: nobody has verified it."""
    cdef int kind = table_u8(dimension, type_slot, 0)
    if not 1 <= kind <= 3:
        return np.array([], dtype=np.int32)
    return index_vector(table_vector(table_table(dimension, slot), 0), kind)


cdef dict sparsity(const uint8_t* table):
    cdef Vector dimensions = table_vector(table, SPARSITY_DIM_METADATA)
    cdef Vector block_map = table_vector(table, SPARSITY_BLOCK_MAP)
    cdef const uint8_t* dimension
    cdef list metadata = []
    cdef dict result
    cdef uint32_t i
    if table == NULL:
        return {}
    result = {"traversal_order": index_vector(table_vector(table, SPARSITY_TRAVERSAL_ORDER))}
    if block_map.length > 0:
        result["block_map"] = index_vector(block_map)
    for i in range(dimensions.length):
        dimension = vector_table(dimensions, i)
        if table_i8(dimension, DIMENSION_FORMAT, 0) == 0:
            metadata.append({"format": 0, "dense_size": table_i32(dimension, DIMENSION_DENSE_SIZE, 0)})
        else:
            metadata.append({
                "format": 1,
                "array_segments": union_vector(dimension, DIMENSION_SEGMENTS_TYPE, DIMENSION_SEGMENTS),
                "array_indices": union_vector(dimension, DIMENSION_INDICES_TYPE, DIMENSION_INDICES),
            })
    result["dim_metadata"] = metadata
    return result


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


cdef class Calls:
    """What an Interpreter's user calls for each input: `set_tensor`, `invoke`, `get_tensor`."""
    cdef Core core

    @property
    def _interpreter(self):
        if self.core is None:
            raise AttributeError("the interpreter was made without __init__")
        return self.core

    @_interpreter.setter
    def _interpreter(self, Core core):
        self.core = core

    @_interpreter.deleter
    def _interpreter(self):
        self.core = None

    cdef Core inside(self):
        return self._interpreter if self.core is None else self.core

    def invoke(self):
        """Run the model once, with the GIL released.

        Raises
        ------
        RuntimeError
            `allocate_tensors` was not called, an operator fails (names the node), or a view of a tensor is alive.
        """
        cdef Core core = self.inside()
        core.run(core.primary)

    def set_tensor(self, tensor_index, value):
        """Copy a value into a tensor.

        Parameters
        ----------
        tensor_index : int
            Index of the tensor; `get_input_details()[i]["index"]`.
        value : array_like
            Of the tensor's dtype and shape exactly: nothing is cast or broadcast.

        Raises
        ------
        ValueError
            Another dtype or shape, no such tensor, a constant, or `allocate_tensors` was not called.
        """
        self.inside().put(tensor_index, value, 0)

    def get_tensor(self, tensor_index, subgraph_index=0):
        """A fresh copy of a tensor's value; a numpy scalar for rank 0, an object array of bytes for strings.

        Raises
        ------
        ValueError
            No such tensor, no memory yet, or its memory serves another tensor by now (see
            experimental_preserve_all_tensors).
        """
        return self.inside().get(tensor_index, subgraph_index)
