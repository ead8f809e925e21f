"""A file's bytes as a read-only buffer: mapped, or (environment TFLM_CY_MMAP=0) read into memory.

    memoryview(Mapping("model.tflite"))

The mapping goes when the last view of it does; no file descriptor is kept. Deleting the file does no harm. Who
truncates it while it is mapped kills the process (SIGBUS), as with TensorFlow; who overwrites it changes the weights:
TFLM_CY_MMAP=0 is for such places."""
import errno
import os
import stat

from cpython.buffer cimport PyBuffer_FillInfo
from libc.stdint cimport int64_t
from libc.stdlib cimport getenv
from libc.string cimport strcmp, strlen

from tflm_cy.platform.files cimport close_file, forget_file_pages, map_file, open_to_read, regular_file_size, unmap_file

cdef extern from "Python.h":
    bytes PyUnicode_EncodeFSDefault(object text)
    const Py_ssize_t PY_SSIZE_T_MAX

cdef enum:
    LONGEST = 4096               # bytes of a path, as far as a system takes it
    SHOWN = 1000                 # characters of it in a message

OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)     # as open_to_read does it


def printable(path):
    """The path for a message: bytes that are no characters are written as escapes; of a very long one head and tail."""
    cdef bytes encoded = os.fsencode(path)
    if len(encoded) > LONGEST:
        encoded = encoded[:SHOWN // 2] + b"..." + encoded[-SHOWN // 2:]
    return encoded.decode("utf-8", "backslashreplace")


cdef int open_regular(path, size_t* size) except -1:
    """A file descriptor of the regular, non-empty file at `path` (a str or bytes) and the file's size, or ModelFileError."""
    cdef bytes encoded = bytes(path) if isinstance(path, bytes) else PyUnicode_EncodeFSDefault(path)
    cdef const char* name = encoded
    cdef int64_t found = -1
    cdef int descriptor = -1
    if strlen(name) == <size_t>len(encoded):
        with nogil:
            descriptor = open_to_read(name)
            if descriptor >= 0:
                found = regular_file_size(descriptor)
    if found <= 0 or found > PY_SSIZE_T_MAX:
        if descriptor >= 0:
            close_file(descriptor)
        raise refusal(path)
    size[0] = <size_t>found
    return descriptor


def refusal(path):
    """Why the file at `path` cannot be opened, or is none; who made it one in between is told to try again."""
    try:
        descriptor = os.open(path, OPEN_FLAGS)
    except (OSError, ValueError) as error:
        return open_error(path, error)
    try:
        status = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if stat.S_ISDIR(status.st_mode):
        reason = errno.EISDIR, "it is a directory"
    elif not stat.S_ISREG(status.st_mode):
        reason = errno.ENODEV, "it is not a regular file"
    elif status.st_size == 0:
        reason = errno.EINVAL, "the file is empty"
    else:
        reason = errno.EAGAIN, "it has just changed"
    return map_error(path, *reason)


def map_error(path, number, reason):
    from tflm_cy.schema.errors import ModelFileError

    shown = printable(path)
    return ModelFileError(number, f"Mmap of '{shown}' at offset '0' failed with error '{number}': {reason}.", shown)


def open_error(path, error):
    """What to raise for a file that cannot be opened."""
    from tflm_cy.schema.errors import ModelFileError, ModelNotFoundError

    if isinstance(path, bytes) and (path[4:8] == b"TFL3" or b"\0" in path or len(path) > LONGEST):
        return ValueError(f"Could not open a file: these are {len(path)} bytes of content and no path. Give a model's bytes as model_content=")

    shown = printable(path)
    if isinstance(error, FileNotFoundError):
        hint = " ('~' is not expanded: use os.path.expanduser)" if shown.startswith("~") else ""
        return ModelNotFoundError(error.errno, f"Could not open '{shown}'.{hint}", shown)
    if isinstance(error, OSError):
        return ModelFileError(error.errno, f"Could not open '{shown}'. {error.strerror}", shown)
    return ValueError(f"Could not open {shown!r}. {error}")


cdef class Mapping:
    """See the module."""
    cdef void* start
    cdef size_t size

    def __cinit__(self, path):
        cdef int descriptor = open_regular(path, &self.size)
        with nogil:
            self.start = map_file(descriptor, self.size)
            close_file(descriptor)
        if self.start == NULL:
            raise map_error(path, errno.ENOMEM, "there is no room")

    def __dealloc__(self):
        if self.start != NULL:
            unmap_file(self.start, self.size)

    def give_back(self):
        """Let go of the pages: they hold what the file holds, and come back as somebody looks at them."""
        forget_file_pages(self.start, self.size)

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self.start, self.size, 1, flags)


def file_bytes(path):
    """The bytes of the file at `path`, as an object with a buffer."""
    cdef const char* wish = getenv("TFLM_CY_MMAP")
    cdef size_t size
    if wish == NULL or strcmp(wish, "0") != 0:
        return Mapping(path)
    with open(open_regular(path, &size), "rb") as file:
        return file.read()
