"""What several models share in LiteRT: libraries of processors' vendors. Here nothing is loaded, and nothing is shared."""

from dataclasses import dataclass
from types import TracebackType


@dataclass(frozen=True)
class EnvironmentOptions:
    """Where LiteRT looks for libraries; kept, without effect."""

    runtime_path: str | None = None
    compiler_plugin_path: str = ""
    dispatch_library_path: str = ""


class Environment:
    """An environment, which models are made in.

    >>> from tflm_cy.litert import Environment
    >>> with Environment.create() as environment:
    ...     environment.options.runtime_path is None
    True
    """

    def __init__(self, options: EnvironmentOptions) -> None:
        self._options = options
        self._is_open = True

    @classmethod
    def create(
        cls,
        *,
        options: EnvironmentOptions | str | None = None,
        runtime_path: str | None = None,
        compiler_plugin_path: str = "",
        dispatch_library_path: str = "",
    ) -> "Environment":
        """Return an environment of these options; a str as `options` is the runtime_path."""
        if isinstance(options, EnvironmentOptions):
            return cls(options)
        return cls(EnvironmentOptions(options or runtime_path, compiler_plugin_path, dispatch_library_path))

    @property
    def options(self) -> EnvironmentOptions:
        """What it was made with."""
        return self._options

    def check(self) -> None:
        """Raise ValueError when it is closed."""
        if not self._is_open:
            raise ValueError("Environment is no longer valid: it was closed")

    def close(self) -> None:
        """Close it: no further model can be made in it. Models that exist go on."""
        self._is_open = False

    def __enter__(self) -> "Environment":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
