"""Sizes of the data caches, which decide how Eigen cuts a matrix product: asked of the CPU as Eigen does it.

TFLM_CY_L1D, TFLM_CY_L2 and TFLM_CY_L3=<bytes> in the environment override what the CPU says, for tests and to get another machine's bytes.
32 KiB, 256 KiB and 2 MiB where nothing is known. Source: Eigen:src/Core/util/Memory.h.
"""
from libc.stdlib cimport atol, getenv

cdef extern from *:
    """
    #if defined(__x86_64__) || defined(__i386__)
    #include <cpuid.h>
    /* Intel counts caches in leaf 4: ways, partitions, line size and sets, each less one; AMD names kilobytes in leaf 0x80000005, and
       kilobytes and halves of megabytes in leaf 0x80000006. */
    static long tflm_cy_ask_cache_bytes(int level) {
        unsigned a = 0, b = 0, c = 0, d = 0, i, most = 0, amd;
        if (!__get_cpuid(0, &most, &b, &c, &d)) return 0;
        amd = b == 0x68747541;                     /* "Auth", of AuthenticAMD */
        if (amd && level == 1) return __get_cpuid(0x80000005, &a, &b, &c, &d) ? (long)(c >> 24) * 1024 : 0;
        if (amd && !__get_cpuid(0x80000006, &a, &b, &c, &d)) return 0;
        if (amd) return level == 2 ? (long)(c >> 16) * 1024 : (long)((d & 0xFFFC000) >> 18) * 512 * 1024;
        for (i = 0; most >= 4 && i < 16; i++) {
            __cpuid_count(4, i, a, b, c, d);
            if ((a & 31) == 0) break;
            if (((a & 31) == 1 || (a & 31) == 3) && (int)((a >> 5) & 7) == level)
                return (long)((b >> 22) + 1) * (((b >> 12) & 0x3ff) + 1) * ((b & 0xfff) + 1) * (long)(c + 1);
        }
        return 0;
    }
    #else
    static long tflm_cy_ask_cache_bytes(int level) { return 0; }
    #endif
    /* Asked once: in a virtual machine each question costs tens of microseconds. Threads that ask at the same time get the same answer. */
    static long tflm_cy_cache_bytes(int level) {
        static volatile long known[4] = {-1, -1, -1, -1};
        long bytes = known[level & 3];
        if (bytes < 0) known[level & 3] = bytes = tflm_cy_ask_cache_bytes(level);
        return bytes;
    }
    """
    long tflm_cy_cache_bytes(int level) noexcept nogil

cdef struct CacheSizes:
    long l1
    long l2
    long l3


cdef inline long size_of_level(int level, const char* variable, long otherwise) noexcept nogil:
    cdef const char* asked = getenv(variable)
    cdef long size = atol(asked) if asked != NULL else 0
    if size <= 0:
        size = tflm_cy_cache_bytes(level)
    return size if size > 0 else otherwise


cdef inline long l1_data_bytes() noexcept nogil:
    return size_of_level(1, b"TFLM_CY_L1D", 32768)


cdef inline CacheSizes cache_sizes() noexcept nogil:
    cdef CacheSizes sizes
    sizes.l1 = l1_data_bytes()
    sizes.l2 = size_of_level(2, b"TFLM_CY_L2", 256 << 10)
    sizes.l3 = size_of_level(3, b"TFLM_CY_L3", 2 << 20)
    return sizes
