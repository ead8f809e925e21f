"""What a user of the command line can cause: shown as one line, exit code 2."""

from contextlib import contextmanager


class UserError(Exception):
    """A file, model or argument that cannot be used; the text says which and why."""


@contextmanager
def refused(what):
    """Turn an interpreter's or the file system's refusal into a UserError that begins with `what`.

    >>> with refused("x.tflite"):
    ...     raise ValueError("The model is\\n not valid.")
    Traceback (most recent call last):
        ...
    tflm_cy.cli.errors.UserError: x.tflite: The model is not valid.
    """
    try:
        yield
    except (ValueError, TypeError, RuntimeError, NotImplementedError, OSError, MemoryError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UserError(f"{what}: {' '.join(reason.split()) or type(error).__name__}") from error
