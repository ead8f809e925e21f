"""Size of the L1 data cache, which decides how Eigen cuts a matrix product: asked of the CPU as Eigen does it.

TFLM_CY_L1D=<bytes> in the environment overrides what the CPU says, for tests and to get another machine's bytes. 32 KiB where nothing is
known. Source: Eigen:src/Core/util/Memory.h.
"""
from libc.stdlib cimport atol, getenv

cdef extern from *:
    """
    #if defined(__x86_64__) || defined(__i386__)
    #include <cpuid.h>
    /* Intel counts caches in leaf 4: ways, partitions, line size and sets, each less one; AMD names kilobytes in leaf 0x80000005. */
    static long tflm_cy_l1_data_bytes(void) {
        unsigned a = 0, b = 0, c = 0, d = 0, i, most = 0, amd;
        if (!__get_cpuid(0, &most, &b, &c, &d)) return 0;
        amd = b == 0x68747541;                     /* "Auth", of AuthenticAMD */
        if (amd) return __get_cpuid(0x80000005, &a, &b, &c, &d) ? (long)(c >> 24) * 1024 : 0;
        for (i = 0; most >= 4 && i < 16; i++) {
            __cpuid_count(4, i, a, b, c, d);
            if ((a & 31) == 0) break;
            if (((a & 31) == 1 || (a & 31) == 3) && ((a >> 5) & 7) == 1)
                return (long)((b >> 22) + 1) * (((b >> 12) & 0x3ff) + 1) * ((b & 0xfff) + 1) * (long)(c + 1);
        }
        return 0;
    }
    #else
    static long tflm_cy_l1_data_bytes(void) { return 0; }
    #endif
    """
    long tflm_cy_l1_data_bytes() noexcept nogil


cdef inline long l1_data_bytes() noexcept nogil:
    cdef const char* asked = getenv(b"TFLM_CY_L1D")
    cdef long size = atol(asked) if asked != NULL else 0
    if size <= 0:
        size = tflm_cy_l1_data_bytes()
    return size if size > 0 else 32768
