"""Which generation of XNNPACK's kernels this process follows: `supported`, and `generation` for the prepares of ops/xnnpack.

    TFLM_CY_XNNPACK=avx2 python ...          # AVX-512 machines: the bytes of a machine without
    TFLM_CY_XNNPACK=avx512 python ...        # refused where the CPU has no AVX-512
    TFLM_CY_XNNPACK=neon python ...          # aarch64: the bytes of a Cortex-A72; dotprod: of a Cortex-A76; i8mm: of a Neoverse V1

Without the variable it is what TensorFlow takes on this CPU: XNNPACK's float32 kernels for AVX-512 want the F part only. The variable is
read at each prepare. This module is compiled for any CPU: it decides whether those of ops/xnnpack may be imported at all.
"""
from libc.stdlib cimport getenv
from libc.string cimport strcmp

from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.xnnpack.generation cimport AVX2, AVX512, DOTPROD, I8MM, NEON, SME, cpu_has_avx2_fma, cpu_has_avx512f
from tflm_cy.platform.cpu cimport ARM_DOTPROD, ARM_I8MM, ARM_SME, arm_features

NAMES = {AVX2: "avx2", AVX512: "avx512", NEON: "neon", DOTPROD: "dotprod", I8MM: "i8mm", SME: "sme"}


def supported():
    """Return True where the xnnpack arithmetic exists: on x86-64 with AVX2 and FMA, and on aarch64."""
    return cpu_has_avx2_fma() != 0 or arm_features() >= 0


cdef int arm_generation() noexcept:
    """The newest of the generations for Arm that this CPU has."""
    cdef int features = arm_features()
    if features & ARM_SME:
        return SME
    if features & ARM_I8MM:
        return I8MM
    return DOTPROD if features & ARM_DOTPROD else NEON


cdef int generation() except -1:
    """AVX2 or AVX512; on aarch64 NEON or above."""
    cdef const char* wanted = getenv("TFLM_CY_XNNPACK")      # os.environ writes through, and is slow to ask for each node
    if arm_features() >= 0:
        return arm_generation() if wanted == NULL or wanted[0] == 0 else forced_arm(<bytes>wanted)
    if wanted != NULL and strcmp(wanted, b"avx2") == 0:
        return AVX2
    if wanted != NULL and strcmp(wanted, b"avx512") == 0 and not cpu_has_avx512f():
        raise ValueError("TFLM_CY_XNNPACK=avx512, but this CPU has no AVX-512 F")
    if wanted != NULL and wanted[0] != 0 and strcmp(wanted, b"avx512") != 0:
        text = (<bytes>wanted).decode("utf-8", "replace")
        raise ValueError(f"TFLM_CY_XNNPACK is avx2 or avx512, not {text!r}")
    return AVX512 if cpu_has_avx512f() else AVX2


cdef bint has_dotprod() except -1:
    return AARCH64 and generation() >= DOTPROD


cdef int forced_arm(bytes wanted) except -1:
    """The definitions need no instruction that a CPU may lack: any may be forced."""
    text = wanted.decode("utf-8", "replace")
    for number in (NEON, DOTPROD, I8MM):
        if NAMES[number] == text:
            return number
    raise ValueError(f"TFLM_CY_XNNPACK is neon, dotprod or i8mm, not {text!r}")


def generation_name():
    """Return "avx2" or "avx512"; on aarch64 "neon", "dotprod", "i8mm" or "sme"."""
    return NAMES[generation()]
