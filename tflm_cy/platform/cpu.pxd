"""What this CPU can run, asked by code that runs on any. Elsewhere than on x86-64 and aarch64 with GCC or clang: nothing but portable C.

`arm_features()` is a sum of ARM_..., of which XNNPACK's kernels are chosen on aarch64; -1 on other machines.

A compiler that cannot make code for an instruction set (TFLM_CY_WITHOUT_..., of setup.py) leaves a library that does not have its kernels.
"""
cdef extern from *:
    """
    #include "x86.h"
    #if defined(__x86_64__) && defined(__linux__)
    #include <sys/syscall.h>
    #include <unistd.h>
    #endif

    static inline int cpu_has(int features) { return (x86_features() & features) == features; }

    static inline int cpu_avx2(void) { return cpu_has(X86_AVX2 | X86_BMI2 | X86_F16C); }

    static inline int cpu_avxvnni(void) {
    #if defined(TFLM_CY_WITHOUT_AVXVNNI)
        return 0;
    #elif defined(TFLM_CY_EMULATE_VNNI)
        return cpu_avx2();
    #else
        return cpu_avx2() && cpu_has(X86_AVX_VNNI);
    #endif
    }

    static inline int cpu_avx512(void) {
    #if defined(TFLM_CY_WITHOUT_AVX512)
        return 0;
    #elif defined(TFLM_CY_EMULATE_AVX512)
        return cpu_avx2();
    #else
        return cpu_avx2() && cpu_has(X86_AVX512F | X86_AVX512BW_DQ_VL | X86_AVX512_VNNI);
    #endif
    }

    /* Tiles must be asked for, once per process and before its first tile instruction; the system then saves them with each thread. */
    static inline int cpu_amx(void) {
    #if defined(TFLM_CY_WITHOUT_AMX)
        return 0;
    #elif defined(TFLM_CY_EMULATE_AMX)
        return cpu_avx512();
    #elif defined(__x86_64__) && defined(__linux__)
        enum { ASK_FOR_STATE = 0x1023, TILE_DATA = 18 };
        return cpu_avx512() && cpu_has(X86_AMX_INT8) && syscall(SYS_arch_prctl, ASK_FOR_STATE, TILE_DATA) == 0;
    #else
        return 0;
    #endif
    }

    enum { ARM_DOTPROD = 1, ARM_I8MM = 2, ARM_SME = 4 };
    #if defined(__aarch64__) && defined(__linux__)
    #include <sys/auxv.h>

    static inline int arm_features(void) {
        const unsigned long long capabilities = getauxval(AT_HWCAP), more = getauxval(AT_HWCAP2);
        return (capabilities >> 20 & 1 ? ARM_DOTPROD : 0) | (more >> 13 & 1 ? ARM_I8MM : 0) | (more >> 23 & 1 ? ARM_SME : 0);
    }
    #elif defined(__aarch64__) && defined(__APPLE__)
    #include <stddef.h>
    #include <sys/sysctl.h>

    static inline int arm_feature(const char *name, int feature) {
        int value = 0;
        size_t size = sizeof(value);
        return sysctlbyname(name, &value, &size, NULL, 0) == 0 && value ? feature : 0;
    }

    static inline int arm_features(void) {
        return arm_feature("hw.optional.arm.FEAT_DotProd", ARM_DOTPROD) | arm_feature("hw.optional.arm.FEAT_I8MM", ARM_I8MM) |
               arm_feature("hw.optional.arm.FEAT_SME", ARM_SME);
    }
    #elif defined(__aarch64__)
    static inline int arm_features(void) { return 0; }
    #else
    static inline int arm_features(void) { return -1; }
    #endif

    #if defined(__GNUC__)
    static inline int cpu_neon(void) { return arm_features() >= 0; }
    #else
    static inline int cpu_neon(void) { return 0; }
    #endif
    #if defined(TFLM_CY_WITHOUT_NEONDOT)
    static inline int cpu_neondot(void) { return 0; }
    #else
    static inline int cpu_neondot(void) { return cpu_neon() && (arm_features() & ARM_DOTPROD); }
    #endif
    #if defined(TFLM_CY_WITHOUT_I8MM)
    static inline int cpu_i8mm(void) { return 0; }
    #else
    static inline int cpu_i8mm(void) { return cpu_neondot() && (arm_features() & ARM_I8MM); }
    #endif
    """
    enum:
        ARM_DOTPROD
        ARM_I8MM
        ARM_SME
    int arm_features() noexcept nogil
    bint cpu_avx2() noexcept nogil
    bint cpu_avxvnni() noexcept nogil
    bint cpu_avx512() noexcept nogil
    bint cpu_amx() noexcept nogil
    bint cpu_neon() noexcept nogil
    bint cpu_neondot() noexcept nogil
    bint cpu_i8mm() noexcept nogil
