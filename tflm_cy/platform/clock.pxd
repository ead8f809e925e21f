"""The clock that runs are measured with: it only goes forward."""
from libc.stdint cimport int64_t

cdef extern from *:
    """
    #include <stdint.h>
    #ifdef _WIN32
    #define WIN32_LEAN_AND_MEAN
    #define NOMINMAX
    #include <windows.h>
    static inline int64_t nanoseconds(void) {
        LARGE_INTEGER ticks, each_second;
        QueryPerformanceCounter(&ticks);
        QueryPerformanceFrequency(&each_second);
        return ticks.QuadPart / each_second.QuadPart * 1000000000 + ticks.QuadPart % each_second.QuadPart * 1000000000 / each_second.QuadPart;
    }
    #else
    #include <time.h>
    static inline int64_t nanoseconds(void) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    }
    #endif
    """
    int64_t nanoseconds() noexcept nogil
