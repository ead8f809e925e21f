"""A file's bytes as a read-only buffer: mapped, or (environment TFLM_CY_MMAP=0) read into memory.

    memoryview(Mapping("model.tflite"))

The mapping goes when the last view of it does; no file descriptor is kept. Deleting the file does no harm. Who
truncates it while it is mapped kills the process (SIGBUS), as with TensorFlow; who overwrites it changes the weights:
TFLM_CY_MMAP=0 is for such places."""
import errno
import os
import stat

from cpython.buffer cimport PyBuffer_FillInfo
from posix.mman cimport MADV_DONTNEED, MAP_FAILED, MAP_PRIVATE, PROT_READ, madvise, mmap, munmap


def printable(path):
    """The path for a message: bytes that are no characters are written as escapes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def open_regular(path):
    """A file descriptor and the size of the regular, non-empty file at `path` (a str or bytes), or ModelFileError."""
    try:
        # O_NONBLOCK: a named pipe must not make us wait.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (OSError, ValueError) as error:
        raise open_error(path, error) from None
    status = os.fstat(descriptor)
    reason = None
    if stat.S_ISDIR(status.st_mode):
        reason = errno.EISDIR, "it is a directory"
    elif not stat.S_ISREG(status.st_mode):
        reason = errno.ENODEV, "it is not a regular file"
    elif status.st_size == 0:
        reason = errno.EINVAL, "the file is empty"
    if reason is not None:
        from tflm_cy.schema.errors import ModelFileError

        os.close(descriptor)
        shown = printable(path)
        message = f"Mmap of '{shown}' at offset '0' failed with error '{reason[0]}': {reason[1]}."
        raise ModelFileError(reason[0], message, shown)
    return descriptor, status.st_size


def open_error(path, error):
    """What to raise for a file that cannot be opened."""
    from tflm_cy.schema.errors import ModelFileError, ModelNotFoundError

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
        self.start = NULL
        descriptor, size = open_regular(path)
        try:
            self.start = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0)
        finally:
            os.close(descriptor)
        if self.start == MAP_FAILED:
            self.start = NULL
            from tflm_cy.schema.errors import ModelFileError

            shown = printable(path)
            raise ModelFileError(errno.ENOMEM, f"Mmap of '{shown}' at offset '0' failed.", shown)
        self.size = size

    def __dealloc__(self):
        if self.start != NULL:
            munmap(self.start, self.size)

    def give_back(self):
        """Let go of the pages: they hold what the file holds, and come back as somebody looks at them."""
        madvise(self.start, self.size, MADV_DONTNEED)

    def __getbuffer__(self, Py_buffer* view, int flags):
        PyBuffer_FillInfo(view, self, self.start, self.size, 1, flags)


def file_bytes(path):
    """The bytes of the file at `path`, as an object with a buffer."""
    if os.environ.get("TFLM_CY_MMAP") != "0":
        return Mapping(path)
    descriptor, _ = open_regular(path)
    with open(descriptor, "rb") as file:
        return file.read()
