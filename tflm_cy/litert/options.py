"""How a CompiledModel runs: threads, and whose kernels.

>>> from tflm_cy.litert import CpuKernelMode, CpuOptions, Options
>>> Options(cpu_options=CpuOptions(num_threads=2, kernel_mode=CpuKernelMode.REFERENCE)).cpu_options.num_threads
2
"""

import enum
from dataclasses import dataclass, field
from typing import ClassVar

from tflm_cy.interpreter import OpResolverType
from tflm_cy.litert.accelerator import HardwareAccelerator


class CpuKernelMode(enum.IntEnum):
    """Whose bytes the CPU computes; see docs/modes.md.

    DELEGATE (also called XNNPACK) is `OpResolverType.AUTO`, REFERENCE is `BUILTIN_REF`, and BUILTIN is
    `BUILTIN_WITHOUT_DEFAULT_DELEGATES`.
    """

    DELEGATE = 0
    XNNPACK = 0
    REFERENCE = 1
    BUILTIN = 2


@dataclass
class CpuOptions:
    """Options of the CPU.

    Parameters
    ----------
    num_threads : int
        How many threads may share a node; 0 and less are 1.
    kernel_mode : CpuKernelMode, optional
        None is DELEGATE.
    enable_ynnpack, xnnpack_flags, xnnpack_weight_cache_path
        Accepted; without effect.
    """

    num_threads: int = 0
    kernel_mode: CpuKernelMode | None = None
    enable_ynnpack: bool = False
    xnnpack_flags: int | None = None
    xnnpack_weight_cache_path: str = ""

    _RESOLVERS: ClassVar[dict[CpuKernelMode, OpResolverType]] = {
        CpuKernelMode.DELEGATE: OpResolverType.AUTO,
        CpuKernelMode.REFERENCE: OpResolverType.BUILTIN_REF,
        CpuKernelMode.BUILTIN: OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    }

    def resolver(self) -> OpResolverType:
        """Return the interpreter's mode; RuntimeError for a kernel_mode that does not exist."""
        try:
            return self._RESOLVERS[CpuKernelMode(0 if self.kernel_mode is None else self.kernel_mode)]
        except ValueError:
            names = ", ".join(f"{mode.name} ({mode.value})" for mode in CpuKernelMode)
            raise RuntimeError(f"kernel_mode is {names}, not {self.kernel_mode!r}") from None


@dataclass
class Options:
    """Options of a CompiledModel.

    Parameters
    ----------
    hardware_accelerators : HardwareAccelerator
        The CPU must be among them.
    cpu_options : CpuOptions
    """

    hardware_accelerators: HardwareAccelerator = HardwareAccelerator.CPU
    cpu_options: CpuOptions = field(default_factory=CpuOptions)

    @classmethod
    def create(cls) -> "Options":
        """Return options with every default."""
        return cls()
