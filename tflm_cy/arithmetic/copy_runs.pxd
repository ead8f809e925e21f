"""Moving equal runs of bytes at regular distances, filling memory with one element: what data movement is made of.

    copy_runs(dst, dst_stride, src, src_stride, run, n)      # n runs of `run` bytes; strides in bytes
    copy_run(dst, src, run)                                  # one run, which may be short
    fill(dst, bytes, element, size)                          # one element over and over

Strides may be negative, the source's also 0. Nothing here knows types. Memory may lie on any address; source and
destination never overlap.
"""
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from tflm_cy.platform.long_copy cimport copy_bytes

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    #include "x86.h"
    #include "long_copy.h"
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
    #undef TFLM_CY_COPY
    /* Runs of N to 2 * N bytes: a part at the beginning and one at the end, which may overlap. */
    #define TFLM_CY_COPY_ENDS(N) \
      static inline void copy_ends_##N(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t run, int64_t n) { \
        for (int64_t i = 0; i < n; i++, dst += dst_stride, src += src_stride) { \
          char first[N], last[N]; \
          memcpy(first, src, N); \
          memcpy(last, src + run - N, N); \
          memcpy(dst, first, N); \
          memcpy(dst + run - N, last, N); \
        } \
      }
    TFLM_CY_COPY_ENDS(2) TFLM_CY_COPY_ENDS(4) TFLM_CY_COPY_ENDS(8) TFLM_CY_COPY_ENDS(16) TFLM_CY_COPY_ENDS(32)
    #undef TFLM_CY_COPY_ENDS
    /* Elements of N bytes in the opposite order: `src` is the first that is copied, the others lie before it. Eight bytes at a time, in which
     * the elements change place. */
    static inline uint64_t tflm_cy_turned_8(uint64_t w) { return w; }
    static inline uint64_t tflm_cy_turned_4(uint64_t w) { return w >> 32 | w << 32; }
    static inline uint64_t tflm_cy_turned_2(uint64_t w) {
      w = tflm_cy_turned_4(w);
      return (w >> 16 & 0x0000FFFF0000FFFFull) | (w & 0x0000FFFF0000FFFFull) << 16;
    }
    static inline uint64_t tflm_cy_turned_1(uint64_t w) {
      w = tflm_cy_turned_2(w);
      return (w >> 8 & 0x00FF00FF00FF00FFull) | (w & 0x00FF00FF00FF00FFull) << 8;
    }
    #if defined(__x86_64__) && defined(__GNUC__)
    #include <immintrin.h>
    /* n rows of at least 16 bytes, elements of `size` bytes in the opposite order, in blocks of which the last may overlap the one before. `end` is
     * behind what is copied first. */
    __attribute__((target("avx2"), always_inline)) static inline void tflm_cy_turn_rows_of(
        char *dst, int64_t dst_stride, const char *end, int64_t src_stride, int64_t bytes, int64_t n, int size) {
      /* byte i comes from 15 - i, and within an element of 1, 2, 4 or 8 bytes in its own order */
      const __m128i bytes_back = _mm_setr_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
      const __m128i lane = _mm_xor_si128(bytes_back, _mm_set1_epi8((char)(size - 1)));
      const __m256i lanes = _mm256_broadcastsi128_si256(lane);
      /* elements of 4 and 8 bytes in one step */
      const __m256i words = size == 8 ? _mm256_setr_epi32(6, 7, 4, 5, 2, 3, 0, 1) : _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    #define TFLM_CY_TURNED(AT) \
      (size >= 4 ? _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i *)(end - (AT) - 32)), words) \
                 : _mm256_permute4x64_epi64(_mm256_shuffle_epi8(_mm256_loadu_si256((const __m256i *)(end - (AT) - 32)), lanes), 0x4E))
      for (; n > 0; n--, dst += dst_stride, end += src_stride) {
        if (bytes < 32) {
          const __m128i first = _mm_loadu_si128((const __m128i *)(end - 16)), last = _mm_loadu_si128((const __m128i *)(end - bytes));
          _mm_storeu_si128((__m128i *)dst, _mm_shuffle_epi8(first, lane));
          _mm_storeu_si128((__m128i *)(dst + bytes - 16), _mm_shuffle_epi8(last, lane));
          continue;
        }
        int64_t at = 0;
        for (; at + 128 <= bytes; at += 128) {
          const __m256i a = TFLM_CY_TURNED(at), b = TFLM_CY_TURNED(at + 32), c = TFLM_CY_TURNED(at + 64), d = TFLM_CY_TURNED(at + 96);
          _mm256_storeu_si256((__m256i *)(dst + at), a);
          _mm256_storeu_si256((__m256i *)(dst + at + 32), b);
          _mm256_storeu_si256((__m256i *)(dst + at + 64), c);
          _mm256_storeu_si256((__m256i *)(dst + at + 96), d);
        }
        for (; at < bytes; at += 32) {
          const int64_t done = at + 32 > bytes ? bytes - 32 : at;
          _mm256_storeu_si256((__m256i *)(dst + done), TFLM_CY_TURNED(done));
        }
      }
    #undef TFLM_CY_TURNED
    }
    __attribute__((target("avx2"), noinline)) static void tflm_cy_turn_rows_avx2(
        char *dst, int64_t dst_stride, const char *end, int64_t src_stride, int64_t bytes, int64_t n, int size) {
      if (size == 4) tflm_cy_turn_rows_of(dst, dst_stride, end, src_stride, bytes, n, 4);
      else if (size == 8) tflm_cy_turn_rows_of(dst, dst_stride, end, src_stride, bytes, n, 8);
      else tflm_cy_turn_rows_of(dst, dst_stride, end, src_stride, bytes, n, size == 2 ? 2 : 1);
    }
    /* `src`: the element that is copied first. */
    static inline int tflm_cy_turn_rows(
        char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t size, int64_t elements, int64_t n) {
      if (size * elements < 16 || !(x86_features() & X86_AVX2)) return 0;
      tflm_cy_turn_rows_avx2(dst, dst_stride, src + size, src_stride, size * elements, n, (int)size);
      return 1;
    }
    /* Runs of at least 32 bytes, in vectors of which the last may overlap the one before. */
    __attribute__((target("avx2"), noinline)) static void tflm_cy_copy_wide_avx2(
        char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t run, int64_t n) {
      for (int64_t i = 0; i < n; i++, dst += dst_stride, src += src_stride) {
        const __m256i last = _mm256_loadu_si256((const __m256i *)(src + run - 32));
        for (int64_t at = 0; at + 32 < run; at += 32) _mm256_storeu_si256((__m256i *)(dst + at), _mm256_loadu_si256((const __m256i *)(src + at)));
        _mm256_storeu_si256((__m256i *)(dst + run - 32), last);
      }
    }
    static inline int tflm_cy_copy_wide(char *dst, int64_t dst_stride, const char *src, int64_t src_stride, int64_t run, int64_t n) {
      if (!(x86_features() & X86_AVX2)) return 0;
      tflm_cy_copy_wide_avx2(dst, dst_stride, src, src_stride, run, n);
      return 1;
    }
    /* At least 64 bytes of a vector that repeats, whole vectors on their own addresses; returns how many. `pair` begins at dst. */
    __attribute__((target("avx2"), noinline)) static int64_t tflm_cy_fill_avx2(char *dst, int64_t bytes, const uint64_t *pair) {
      const int64_t first = 32 - ((uintptr_t)dst & 31);
      uint64_t turned[6];
      memcpy(turned, pair, 16);
      memcpy(turned + 2, pair, 16);
      memcpy(turned + 4, pair, 16);
      const __m256i v = _mm256_loadu_si256((const __m256i *)((const char *)turned + (first & 15)));
      int64_t i = first;
      _mm256_storeu_si256((__m256i *)dst, _mm256_loadu_si256((const __m256i *)turned));
      for (; i + 128 <= bytes; i += 128) {
        _mm256_store_si256((__m256i *)(dst + i), v);
        _mm256_store_si256((__m256i *)(dst + i + 32), v);
        _mm256_store_si256((__m256i *)(dst + i + 64), v);
        _mm256_store_si256((__m256i *)(dst + i + 96), v);
      }
      return i - (first & 15); /* where the element begins again; what is stored already may be stored once more */
    }
    #define TFLM_CY_FILL_BLOCKS(DST, BYTES, PAIR) ((BYTES) >= 256 && (x86_features() & X86_AVX2) ? tflm_cy_fill_avx2(DST, BYTES, PAIR) : 0)
    #else
    #define tflm_cy_copy_wide(DST, DST_STRIDE, SRC, SRC_STRIDE, RUN, N) 0
    #define tflm_cy_turn_rows(DST, DST_STRIDE, SRC, SRC_STRIDE, SIZE, ELEMENTS, N) 0
    #define TFLM_CY_FILL_BLOCKS(DST, BYTES, PAIR) 0
    #endif
    #define TFLM_CY_COPY_BACK(N) \
      static inline void copy_back_##N(char *dst, const char *src, int64_t n) { \
        src += N; \
        for (; n >= 8 / N; n -= 8 / N, dst += 8) { \
          uint64_t w; \
          memcpy(&w, src -= 8, 8); \
          w = tflm_cy_turned_##N(w); \
          memcpy(dst, &w, 8); \
        } \
        for (; n > 0; n--, dst += N) memcpy(dst, src -= N, N); \
      }
    TFLM_CY_COPY_BACK(1) TFLM_CY_COPY_BACK(2) TFLM_CY_COPY_BACK(4) TFLM_CY_COPY_BACK(8)
    #undef TFLM_CY_COPY_BACK
    /* A short run without a call: parts at the beginning and one at the end, which may overlap. */
    #define TFLM_CY_ENDS(N) \
      do { \
        char first[N], last[N]; \
        memcpy(first, src, N); \
        memcpy(last, src + run - N, N); \
        memcpy(dst, first, N); \
        memcpy(dst + run - N, last, N); \
      } while (0)
    static inline void tflm_cy_copy_run(char *dst, const char *src, int64_t run) {
      if (run > 256) tflm_cy_copy_bytes(dst, src, run);
      else if (run >= 32) {
        for (int64_t i = 0; i + 32 < run; i += 32) memcpy(dst + i, src + i, 32);
        memcpy(dst + run - 32, src + run - 32, 32);
      } else if (run >= 16) TFLM_CY_ENDS(16);
      else if (run >= 8) TFLM_CY_ENDS(8);
      else if (run >= 4) TFLM_CY_ENDS(4);
      else if (run >= 2) TFLM_CY_ENDS(2);
      else if (run > 0) *dst = *src;
    }
    #undef TFLM_CY_ENDS
    /* An element of 1, 2, 4, 8 or 16 bytes over and over, as vectors: copies of what has just been stored would be half as fast. */
    static inline void tflm_cy_fill(char *dst, int64_t bytes, const char *element, int64_t size) {
      uint64_t pair[4] = {0};
      int64_t i = 0;
      memcpy(pair, element, (size_t)size);
      if (size < 8) pair[0] *= size == 1 ? 0x0101010101010101ull : size == 2 ? 0x0001000100010001ull : 0x0000000100000001ull;
      if (size < 16) pair[1] = pair[0];
      if (bytes >= 64 && pair[0] == pair[1] && pair[0] == (pair[0] & 255) * 0x0101010101010101ull) {
        memset(dst, (int)(pair[0] & 255), (size_t)bytes);
        return;
      }
      pair[2] = pair[0];
      pair[3] = pair[1];
      for (i = TFLM_CY_FILL_BLOCKS(dst, bytes, pair); i + 128 <= bytes; i += 128) {
        memcpy(dst + i, pair, 32);
        memcpy(dst + i + 32, pair, 32);
        memcpy(dst + i + 64, pair, 32);
        memcpy(dst + i + 96, pair, 32);
      }
      for (; i + 16 <= bytes; i += 16) memcpy(dst + i, pair, 16);
      /* What is left is whole elements: the last store may overlap the one before. */
      if (i == bytes) return;
      if (bytes >= 16) memcpy(dst + bytes - 16, pair, 16);
      else if (bytes >= 8) {
        memcpy(dst, pair, 8);
        memcpy(dst + bytes - 8, pair, 8);
      } else if (bytes >= 4) {
        memcpy(dst, pair, 4);
        memcpy(dst + bytes - 4, pair, 4);
      } else for (const char *rest = (const char *)pair; i < bytes; i++) dst[i] = *rest++;
    }
    """
    void copy_run "tflm_cy_copy_run"(char* dst, const char* src, int64_t run) noexcept nogil
    void fill "tflm_cy_fill"(char* dst, int64_t bytes, const char* element, int64_t size) noexcept nogil
    void copy_1(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) noexcept nogil
    void copy_2(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) noexcept nogil
    void copy_4(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) noexcept nogil
    void copy_8(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) noexcept nogil
    void copy_16(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t n) noexcept nogil
    void copy_ends_2(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t run, int64_t n) noexcept nogil
    void copy_ends_4(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t run, int64_t n) noexcept nogil
    void copy_ends_8(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t run, int64_t n) noexcept nogil
    void copy_ends_16(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t run, int64_t n) noexcept nogil
    void copy_ends_32(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t run, int64_t n) noexcept nogil
    bint copy_wide "tflm_cy_copy_wide"(char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t run, int64_t n) noexcept nogil
    bint turn_rows_fast "tflm_cy_turn_rows"(
        char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t size, int64_t elements, int64_t n) noexcept nogil
    void copy_back_1(char* dst, const char* src, int64_t n) noexcept nogil
    void copy_back_2(char* dst, const char* src, int64_t n) noexcept nogil
    void copy_back_4(char* dst, const char* src, int64_t n) noexcept nogil
    void copy_back_8(char* dst, const char* src, int64_t n) noexcept nogil

cdef enum:
    FEW = 4                  # repetitions that are copied one by one
    WIDE_RUN = 1024          # bytes up to which the C library's copy would take longer to begin
    FILL_BLOCK = 4096        # bytes that are repeated as a whole once they are written


cdef inline void copy_runs(
    char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t run, int64_t n,
) noexcept nogil:
    """Copy run i from src + i * src_stride to dst + i * dst_stride."""
    cdef int64_t i
    if n <= 0 or run <= 0:
        return
    if run == dst_stride and run == src_stride:
        copy_bytes(dst, src, run * n)
    elif run == dst_stride and src_stride == 0 and n > FEW:
        repeat_run(dst, src, run, n)
    elif run == dst_stride and run == -src_stride and run <= 8 and run & (run - 1) == 0:
        turn_rows(dst, 0, src, 0, run, n, 1)
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
    elif run < 4:
        copy_ends_2(dst, dst_stride, src, src_stride, run, n)
    elif run < 8:
        copy_ends_4(dst, dst_stride, src, src_stride, run, n)
    elif run < 16:
        copy_ends_8(dst, dst_stride, src, src_stride, run, n)
    elif run <= 32:
        copy_ends_16(dst, dst_stride, src, src_stride, run, n)
    elif run <= WIDE_RUN and copy_wide(dst, dst_stride, src, src_stride, run, n):
        return
    elif run <= 64:
        copy_ends_32(dst, dst_stride, src, src_stride, run, n)
    else:
        for i in range(n):
            copy_run(dst + i * dst_stride, src + i * src_stride, run)


cdef inline void turn_rows(
    char* dst, int64_t dst_stride, const char* src, int64_t src_stride, int64_t size, int64_t elements, int64_t n,
) noexcept nogil:
    """n rows of elements of 1, 2, 4 or 8 bytes, each row in the opposite order; src is the element that is copied first."""
    cdef int64_t i
    if turn_rows_fast(dst, dst_stride, src, src_stride, size, elements, n):
        return
    for i in range(n):
        copy_back(dst + i * dst_stride, src + i * src_stride, size, elements)


cdef inline void copy_back(char* dst, const char* src, int64_t size, int64_t n) noexcept nogil:
    if size == 1:
        copy_back_1(dst, src, n)
    elif size == 2:
        copy_back_2(dst, src, n)
    elif size == 4:
        copy_back_4(dst, src, n)
    else:
        copy_back_8(dst, src, n)


cdef inline void repeat_run(char* dst, const char* src, int64_t run, int64_t n) noexcept nogil:
    """A run n times, one behind the other: what is written is copied on, in pieces that stay in the cache."""
    if run <= 16 and run & (run - 1) == 0:
        fill(dst, run * n, src, run)
        return
    copy_bytes(dst, src, run)
    copy_on(dst, run, n)


cdef inline void copy_on(char* dst, int64_t run, int64_t n) noexcept nogil:
    """The first of n runs is there."""
    cdef int64_t total = run * n
    cdef int64_t done = run
    cdef int64_t chunk
    while done < total:
        chunk = min(min(done, total - done), max(run, FILL_BLOCK - FILL_BLOCK % run))
        memcpy(dst + done, dst, chunk)
        done += chunk
