"""Errors of opening a model file: what Python raises for such a file, and the ValueError that TensorFlow raises."""


class ModelFileError(OSError, ValueError):
    """The path is no file that can be read; `errno` and `filename` as in OSError."""

    def __init__(self, errno: int, message: str, filename: str):
        super().__init__(errno, message, filename)

    def __str__(self) -> str:
        """Only the message, which names the path."""
        return self.strerror or ""


class ModelNotFoundError(ModelFileError, FileNotFoundError):
    """There is nothing at the path."""
