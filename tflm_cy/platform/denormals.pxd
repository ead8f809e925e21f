"""Denormals as zeros: the switch that XNNPACK sets while it computes, and matrix libraries do (FTZ and DAZ of MXCSR on x86, FZ on Arm)."""

cdef extern from *:
    """
    #if defined(__SSE2__) || defined(_M_X64)
    #include <xmmintrin.h>
    static inline unsigned long long flush_denormals(void) { unsigned old = _mm_getcsr(); _mm_setcsr(old | 0x8040u); return old; }
    static inline void restore_denormals(unsigned long long old) { _mm_setcsr((unsigned)old); }
    #elif defined(__aarch64__)
    static inline unsigned long long flush_denormals(void) {
        unsigned long long old;
        __asm__ volatile("mrs %0, fpcr" : "=r"(old));
        __asm__ volatile("msr fpcr, %0" : : "r"(old | (1ULL << 24)) : "memory");      /* nothing is computed on the wrong side */
        return old;
    }
    static inline void restore_denormals(unsigned long long old) {
        __asm__ volatile("msr fpcr, %0" : : "r"(old) : "memory");
    }
    #else
    static inline unsigned long long flush_denormals(void) { return 0; }
    static inline void restore_denormals(unsigned long long old) { (void)old; }
    #endif
    """
    unsigned long long flush_denormals() noexcept nogil            # returns the old mode
    void restore_denormals(unsigned long long old) noexcept nogil
