# tflm_cy: optimize=size
"""Chooses the vector kernels, once per process, and imports only the chosen module. Compiled for any CPU of its kind.

| TFLM_CY_ISA | kernels |
| --- | --- |
| amx | those of avx512, with tiles for 8-bit products |
| avx512 | AVX-512 F, BW, DQ, VL and VNNI |
| avxvnni | those of avx2, with AVX-VNNI for 8-bit products |
| avx2 | AVX2, FMA, BMI2 |
| i8mm | those of neondot, with matrix products (SMMLA) for 8-bit convolutions |
| neondot | those of neon, with dot products (SDOT) for 8-bit products |
| neon | NEON of 64-bit Arm |
| portable | C, in vectors that the compiler makes of SSE2 or NEON |
| scalar | none: every operator runs its scalar definition |

Without the variable it is the first that the CPU has. The bytes are the same with all of them. Threads that choose at once, without a GIL, fill
the same table with the same pointers.
"""
import importlib.util
import os
import time

from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int64_t

from tflm_cy.platform.cpu cimport cpu_amx, cpu_avx2, cpu_avx512, cpu_avxvnni, cpu_i8mm, cpu_neon, cpu_neondot
from tflm_cy.simd.kernels cimport Kernels
from tflm_cy.simd.peak cimport PeakFunction

MODULES = {
    "amx": "amx", "avx512": "isa_avx512", "avxvnni": "isa_avxvnni", "avx2": "isa_avx2", "i8mm": "isa_i8mm", "neondot": "isa_neondot",
    "neon": "isa_neon", "portable": "isa_portable",
}
ROWS = {
    "amx": "rows_avx512", "avx512": "rows_avx512", "avxvnni": "rows_avx2", "avx2": "rows_avx2", "i8mm": "rows_neon", "neondot": "rows_neon",
    "neon": "rows_neon", "portable": "rows_portable",
}

cdef Kernels nothing
cdef const Kernels* chosen = NULL
cdef const RowKernels* chosen_rows = NULL
cdef str chosen_name = None
cdef list kept = []


def available():
    """Return the names that this CPU can run, the best first; "scalar" is the last."""
    names = []
    if cpu_amx() and importlib.util.find_spec("tflm_cy.simd.amx"):
        names.append("amx")
    if cpu_avx512():
        names.append("avx512")
    if cpu_avxvnni():
        names.append("avxvnni")
    if cpu_avx2():
        names.append("avx2")
    if cpu_i8mm():
        names.append("i8mm")
    if cpu_neondot():
        names.append("neondot")
    if cpu_neon():
        names.append("neon")
    return [*names, "portable", "scalar"]


def choose(name):
    """Take the kernels of this name for every prepare from now on, and return it."""
    global chosen, chosen_rows, chosen_name
    if name != "scalar" and name not in MODULES:
        raise ValueError(f"TFLM_CY_ISA is {', '.join(MODULES)} or scalar, not {name!r}")
    if name not in available():
        raise ValueError(f"this CPU cannot run {name!r}, only {', '.join(available())}")
    chosen_name = name
    if name == "scalar":
        chosen = &nothing
        chosen_rows = NULL
    else:
        capsule = importlib.import_module(f"tflm_cy.simd.{MODULES[name]}").capsule()
        rows = importlib.import_module(f"tflm_cy.simd.{ROWS[name]}").capsule()
        kept.extend([capsule, rows])
        chosen_rows = <const RowKernels*>PyCapsule_GetPointer(rows, "tflm_cy.simd.RowKernels")
        chosen = <const Kernels*>PyCapsule_GetPointer(capsule, "tflm_cy.simd.Kernels")
    return name


def name():
    """Return the name of the kernels in use; the first call chooses."""
    if chosen == NULL:
        choose(os.environ.get("TFLM_CY_ISA") or available()[0])
    return chosen_name


def peaks():
    """Return multiply-adds per second of one thread, measured now: {"float32": ..., "int8": ...}, without what the kernels in use do not have."""
    cdef const Kernels* table = kernels()
    found = {}
    if table.peak.f32 != NULL:
        found["float32"] = fastest(table.peak.f32)
    if table.peak.s8 != NULL:
        found["int8"] = fastest(table.peak.s8)
    return found


cdef double fastest(PeakFunction products):
    """Of short runs, as many as a clock that rises from idle needs."""
    cdef double best = 0, start, seconds
    cdef int64_t rounds = 2000, done
    cdef int turn
    for turn in range(200):
        start = time.perf_counter()
        with nogil:
            done = products(rounds)
        seconds = time.perf_counter() - start
        if seconds < 5e-5:
            rounds *= 2
        else:
            best = max(best, done / seconds)
    return best


cdef const Kernels* kernels() except NULL:
    if chosen == NULL:
        name()
    return chosen


cdef const RowKernels* row_kernels() except? NULL:
    if chosen == NULL:
        name()
    return chosen_rows
