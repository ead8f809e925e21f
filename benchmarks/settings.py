"""How much is measured."""

import os
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Settings:
    """`seconds` bounds one model in one section and mode, and half of it more where several threads are compared with one, or several
    images (`beside_one_image`); `cpu` is what the measuring process is pinned to, or None."""

    pairs: int = 150
    burst: float = 0.002
    seconds: float = 20.0
    loads: int = 50
    imports: int = 15
    fresh: int = 3
    threads: int = 1
    cpu: int | None = None
    beside_one_image: bool = False

    @classmethod
    def chosen(cls, quick=False, threads=1, **given):
        """The defaults, or those of a quick look, with what the user gave in their place."""
        values = {"pairs": 30, "seconds": 1.0, "loads": 10, "imports": 3, "fresh": 1} if quick else {}
        values.update((name, value) for name, value in given.items() if value is not None)
        return cls(**values, threads=threads, cpu=a_cpu() if threads == 1 else None)

    def with_threads(self, threads):
        """The same for another number of threads; only one thread is pinned to a CPU."""
        return replace(self, threads=threads, cpu=a_cpu() if threads == 1 else None)


def a_cpu():
    """The last CPU that this process may use (the first serve interrupts); None where processes cannot be pinned."""
    return max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
