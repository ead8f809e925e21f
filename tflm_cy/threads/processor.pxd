"""What threads need of the processor: atomic words, a pause in a loop that waits, and the mode in which floats are computed."""
from libc.stdint cimport int32_t, uint32_t, uint64_t

cdef extern from *:
    """
    #include <stdint.h>
    #define ATOMIC_LOAD(at) __atomic_load_n((at), __ATOMIC_SEQ_CST)
    #define ATOMIC_STORE(at, value) __atomic_store_n((at), (value), __ATOMIC_SEQ_CST)
    #define ATOMIC_PUBLISH(at, value) __atomic_store_n((at), (value), __ATOMIC_RELEASE)
    #define ATOMIC_LOAD_RELAXED(at) __atomic_load_n((at), __ATOMIC_RELAXED)
    #define ATOMIC_STORE_RELAXED(at, value) __atomic_store_n((at), (value), __ATOMIC_RELAXED)
    #define KEEP_ORDER() __atomic_thread_fence(__ATOMIC_ACQ_REL)
    #define ATOMIC_ADD(at, value) __atomic_add_fetch((at), (value), __ATOMIC_SEQ_CST)
    typedef uint64_t atomic_uint64 __attribute__((aligned(8)));     /* 32-bit x86 aligns less, and compilers call a library then */
    static inline int ATOMIC_SWAP64(atomic_uint64 *at, uint64_t old, uint64_t value) {
        return __atomic_compare_exchange_n(at, &old, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
    }
    static inline int ATOMIC_SWAP32(uint32_t *at, uint32_t old, uint32_t value) {
        return __atomic_compare_exchange_n(at, &old, value, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
    }
    #if defined(__SSE2__) || defined(_M_X64)
    #include <xmmintrin.h>
    static inline void wait_a_little(void) { _mm_pause(); }
    static inline uint64_t float_mode(void) { return _mm_getcsr() & ~0x3fu; }
    static inline void set_float_mode(uint64_t mode) { _mm_setcsr((unsigned)mode); }
    #elif defined(__aarch64__)
    static inline void wait_a_little(void) { __asm__ volatile("yield"); }
    static inline uint64_t float_mode(void) { uint64_t mode; __asm__ volatile("mrs %0, fpcr" : "=r"(mode)); return mode; }
    static inline void set_float_mode(uint64_t mode) { __asm__ volatile("msr fpcr, %0" : : "r"(mode)); }
    #else
    static inline void wait_a_little(void) {}
    static inline uint64_t float_mode(void) { return 0; }
    static inline void set_float_mode(uint64_t mode) { (void)mode; }
    #endif
    """
    uint32_t load32 "ATOMIC_LOAD"(uint32_t* at) noexcept nogil
    void store32 "ATOMIC_STORE"(uint32_t* at, uint32_t value) noexcept nogil
    uint32_t add32 "ATOMIC_ADD"(uint32_t* at, int32_t value) noexcept nogil     # the sum
    bint swap32 "ATOMIC_SWAP32"(uint32_t* at, uint32_t old, uint32_t value) noexcept nogil
    ctypedef uint64_t Atomic64 "atomic_uint64"
    uint64_t load64 "ATOMIC_LOAD"(Atomic64* at) noexcept nogil
    void store64 "ATOMIC_STORE"(Atomic64* at, uint64_t value) noexcept nogil
    void publish64 "ATOMIC_PUBLISH"(Atomic64* at, uint64_t value) noexcept nogil    # after all that was written before, at the writer's leisure
    uint64_t load64_relaxed "ATOMIC_LOAD_RELAXED"(Atomic64* at) noexcept nogil      # of what another thread may be writing; whole, in no order
    void store64_relaxed "ATOMIC_STORE_RELAXED"(Atomic64* at, uint64_t value) noexcept nogil
    int32_t load32_relaxed "ATOMIC_LOAD_RELAXED"(int32_t* at) noexcept nogil
    void store32_relaxed "ATOMIC_STORE_RELAXED"(int32_t* at, int32_t value) noexcept nogil
    void keep_order "KEEP_ORDER"() noexcept nogil      # between loads, and between stores
    bint swap64 "ATOMIC_SWAP64"(Atomic64* at, uint64_t old, uint64_t value) noexcept nogil
    void wait_a_little() noexcept nogil                # some ten nanoseconds
    uint64_t float_mode() noexcept nogil               # rounding and denormals, without the flags of what has happened
    void set_float_mode(uint64_t mode) noexcept nogil
