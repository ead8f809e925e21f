/* Which instruction sets an x86-64 CPU has and its system saves, in bits of x86_features(); 0 on other processors.
 *
 * The CPU is asked directly. __builtin_cpu_supports() needs a runtime library that fills its table, and zig's does not: it answers no to
 * everything. */
#ifndef TFLM_CY_X86_H
#define TFLM_CY_X86_H

enum {
  X86_AVX2 = 1, /* with FMA */
  X86_BMI2 = 2,
  X86_F16C = 4,
  X86_AVX_VNNI = 8,
  X86_AVX512F = 16, /* with AVX2 and FMA */
  X86_AVX512BW_DQ_VL = 32,
  X86_AVX512_VNNI = 64,
  X86_AVX512_VBMI = 256,
  X86_AMX_INT8 = 128 /* of the CPU: whether this process may use tiles is another question */
};

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>

/* The register states that the system saves (XCR0); 0 where it does not say. */
static inline unsigned x86_saved_states(unsigned leaf1_c) {
  enum { OSXSAVE = 1 << 27 };
  unsigned low, high;
  if (!(leaf1_c & OSXSAVE)) return 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

static inline int x86_ask(void) {
  enum { SSE_AVX_STATE = 0x6, AVX512_STATE = 0xe0 };
  enum { FMA = 1 << 12, F16C = 1 << 29, AVX = 1 << 28 };                         /* leaf 1, ecx */
  enum { AVX2 = 1 << 5, BMI2 = 1 << 8, AVX512F = 1 << 16, AVX512DQ = 1 << 17 };  /* leaf 7, ebx */
  const unsigned AVX512BW = 1u << 30, AVX512VL = 1u << 31, BW_DQ_VL = AVX512BW | AVX512DQ | AVX512VL;
  enum { AVX512_VBMI = 1 << 1, AVX512_VNNI = 1 << 11 };                          /* leaf 7, ecx */
  enum { AMX_TILE = 1 << 24, AMX_INT8 = 1 << 25 };                               /* leaf 7, edx */
  enum { AVX_VNNI = 1 << 4 };                                                    /* leaf 7, part 1, eax */
  unsigned a, b, c, d, b7, c7, d7, leaves;
  int features;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !__get_cpuid_count(7, 0, &leaves, &b7, &c7, &d7)) return 0;
  unsigned states = x86_saved_states(c);
  if ((states & SSE_AVX_STATE) != SSE_AVX_STATE || !(c & AVX) || !(c & FMA) || !(b7 & AVX2)) return 0;
#if defined(__APPLE__) /* saves these registers from their first use on, and only then says so */
  states |= AVX512_STATE;
#endif
  features = X86_AVX2 | (b7 & BMI2 ? X86_BMI2 : 0) | (c & F16C ? X86_F16C : 0);
  if (leaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & AVX_VNNI)) features |= X86_AVX_VNNI;
  if ((states & AVX512_STATE) != AVX512_STATE || !(b7 & AVX512F)) return features;
  features |= X86_AVX512F | ((b7 & BW_DQ_VL) == BW_DQ_VL ? X86_AVX512BW_DQ_VL : 0);
  features |= (c7 & AVX512_VNNI ? X86_AVX512_VNNI : 0) | (c7 & AVX512_VBMI ? X86_AVX512_VBMI : 0);
  return features | (c7 & AVX512_VNNI && d7 & AMX_TILE && d7 & AMX_INT8 ? X86_AMX_INT8 : 0);
}

/* Asked once per source that includes this: in a virtual machine each question is a trap. Threads that ask at once store the same. */
static inline int x86_features(void) {
  static int known = -1;
  int features = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (features < 0) __atomic_store_n(&known, features = x86_ask(), __ATOMIC_RELAXED);
  return features;
}

/* A function that is compiled once more for AVX2, where the compiler makes longer vectors of its loops; what follows the arguments is its body. */
#define X86_TWICE(NAME, PARAMETERS, ARGUMENTS, ...)                              \
  static void NAME##_base PARAMETERS __VA_ARGS__                                 \
  __attribute__((target("avx2"))) static void NAME##_avx2 PARAMETERS __VA_ARGS__ \
  static inline void NAME PARAMETERS {                                           \
    if (x86_features() & X86_AVX2) NAME##_avx2 ARGUMENTS;                        \
    else NAME##_base ARGUMENTS;                                                  \
  }

#else
static inline int x86_features(void) { return 0; }
#define X86_TWICE(NAME, PARAMETERS, ARGUMENTS, ...) static void NAME PARAMETERS __VA_ARGS__
#endif

#endif
