"""What a model may run on. This package has a CPU only."""

import enum


class HardwareAccelerator(enum.IntFlag):
    """A set of processors: `CPU | GPU` runs on the GPU what it supports, and the rest on the CPU; here all of it."""

    CPU = enum.auto()
    GPU = enum.auto()
    NPU = enum.auto()


def check_accelerators(accelerators: int) -> None:
    """Raise RuntimeError where the CPU is not among the accelerators."""
    wanted = HardwareAccelerator(accelerators)
    if not wanted:
        raise RuntimeError("No acceleration provided: hardware_accel names no processor")
    if not wanted & HardwareAccelerator.CPU:
        raise RuntimeError(
            f"tflm_cy runs on the CPU only, and {wanted.name} is asked for; add HardwareAccelerator.CPU to run there what "
            "no other processor takes"
        )
