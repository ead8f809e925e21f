"""Which generation of XNNPACK's kernels this process follows: `supported`, and `generation` for the prepares of ops/xnnpack.

    TFLM_CY_XNNPACK=avx2 python ...          # AVX-512 machines: the bytes of a machine without
    TFLM_CY_XNNPACK=avx512 python ...        # refused where the CPU has no AVX-512

Without the variable it is what TensorFlow takes on this CPU: XNNPACK's float32 kernels for AVX-512 want the F part only. The variable is
read at each prepare. This module is compiled for any CPU: it decides whether those of ops/xnnpack may be imported at all.
"""
from libc.stdlib cimport getenv
from libc.string cimport strcmp

from tflm_cy.arithmetic.xnnpack.generation cimport AVX2, AVX512, cpu_has_avx2_fma, cpu_has_avx512f


def supported():
    """Return True where the xnnpack arithmetic exists: on x86-64 with AVX2 and FMA."""
    return cpu_has_avx2_fma() != 0


cdef int generation() except -1:
    """AVX2 or AVX512."""
    cdef const char* wanted = getenv("TFLM_CY_XNNPACK")      # os.environ writes through, and is slow to ask for each node
    if wanted != NULL and strcmp(wanted, b"avx2") == 0:
        return AVX2
    if wanted != NULL and strcmp(wanted, b"avx512") == 0 and not cpu_has_avx512f():
        raise ValueError("TFLM_CY_XNNPACK=avx512, but this CPU has no AVX-512 F")
    if wanted != NULL and wanted[0] != 0 and strcmp(wanted, b"avx512") != 0:
        text = (<bytes>wanted).decode("utf-8", "replace")
        raise ValueError(f"TFLM_CY_XNNPACK is avx2 or avx512, not {text!r}")
    return AVX512 if cpu_has_avx512f() else AVX2


def generation_name():
    """Return "avx2" or "avx512"."""
    return "avx512" if generation() == AVX512 else "avx2"
