"""Stand-ins for other interpreters' packages."""

PACKAGES: tuple[str, ...]
DEFAULT: tuple[str, ...]

def install(*packages: str) -> None: ...
def uninstall(*packages: str) -> None: ...
