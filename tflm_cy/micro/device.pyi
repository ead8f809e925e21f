"""The boards that a firmware is built for, and the libraries of kernels that run on them."""

from dataclasses import dataclass

REFERENCE: str
CMSIS_NN: str
ESP_NN: str
ESP_NN_ANSI: str
KERNELS: tuple[str, ...]
VERSIONS: dict[str, str]
DEVICES: dict[str, tuple[str, str, tuple[str, ...]]]
NAMES: tuple[str, ...]
FIRMWARE: str
COMPARED: tuple[str, ...]

@dataclass(frozen=True)
class Build:
    device: str
    kernels: str
    layout: str
    features: frozenset[str]
    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...

def resolve(name: str, kernels: str | None = None) -> Build: ...
