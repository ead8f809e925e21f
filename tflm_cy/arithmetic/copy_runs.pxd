"""Moving equal runs of bytes at regular distances, filling memory with one element: what data movement is made of.

    copy_runs(dst, dst_stride, src, src_stride, run, n)      # n runs of `run` bytes; strides in bytes

Strides may be negative, the source's also 0. Nothing here knows types. Memory may lie on any address; source and
destination never overlap.
"""
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset

cdef extern from *:
    """
    /* Unrolled: a loop of one load and one store takes twice as long where it lies across two lines of the instruction cache. */
    #define TFLM_CY_COPY(N) \
      static inline void copy_##N(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t n) { \
        int64_t i = 0; \
        for (; i + 4 <= n; i += 4, dst += 4 * dst_stride, src += 4 * src_stride) { \
          memcpy(dst, src, N); \
          memcpy(dst + dst_stride, src + src_stride, N); \
          memcpy(dst + 2 * dst_stride, src + 2 * src_stride, N); \
          memcpy(dst + 3 * dst_stride, src + 3 * src_stride, N); \
        } \
        for (; i < n; i++, dst += dst_stride, src += src_stride) memcpy(dst, src, N); \
      }
    TFLM_CY_COPY(1) TFLM_CY_COPY(2) TFLM_CY_COPY(4) TFLM_CY_COPY(8) TFLM_CY_COPY(16)
    """
    void copy_1(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) noexcept nogil
    void copy_2(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) noexcept nogil
    void copy_4(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) noexcept nogil
    void copy_8(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) noexcept nogil
    void copy_16(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) noexcept nogil

cdef enum:
    FILL_BLOCK = 4096        # bytes that are repeated as a whole once they are written


cdef inline void copy_runs(
    char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t run, int64_t n,
) noexcept nogil:
    """Copy run i from src + i * src_stride to dst + i * dst_stride."""
    cdef int64_t i, j
    if run == dst_stride and run == src_stride:
        if n > 0:
            memcpy(dst, src, run * n)
    elif run == 1:
        copy_1(dst, dst_stride, src, src_stride, n)
    elif run == 2:
        copy_2(dst, dst_stride, src, src_stride, n)
    elif run == 4:
        copy_4(dst, dst_stride, src, src_stride, n)
    elif run == 8:
        copy_8(dst, dst_stride, src, src_stride, n)
    elif run == 16:
        copy_16(dst, dst_stride, src, src_stride, n)
    elif run <= 64 and run % 4 == 0:
        for i in range(n):
            for j in range(0, run, 4):
                memcpy(dst + i * dst_stride + j, src + i * src_stride + j, 4)
    elif run > 0:
        for i in range(n):
            memcpy(dst + i * dst_stride, src + i * src_stride, run)


cdef inline void fill(char* dst, int64_t bytes, const char* element, int64_t size) noexcept nogil:
    """Repeat an element of 1, 2, 4, 8 or 16 bytes over `bytes` bytes."""
    cdef int64_t done, chunk
    cdef bint uniform = True
    for done in range(1, size):
        uniform = uniform and element[done] == element[0]
    if bytes <= 0:
        return
    if uniform:
        memset(dst, <uint8_t>element[0], bytes)
        return
    memcpy(dst, element, size)
    done = size
    while done < bytes:
        chunk = min(min(done, bytes - done), <int64_t>FILL_BLOCK)
        memcpy(dst + done, dst, chunk)
        done += chunk
