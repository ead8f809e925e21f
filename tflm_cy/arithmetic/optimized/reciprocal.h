/* The CPU's approximation of 1 / x. Its bits are the vendor's: the instruction is executed, not modelled.
 * Where there is none the quotient stands in. */
#ifndef TFLM_CY_RECIPROCAL_H
#define TFLM_CY_RECIPROCAL_H

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
static inline float tflm_cy_reciprocal(float x) { return _mm_cvtss_f32(_mm_rcp_ss(_mm_set_ss(x))); }
#else
static inline float tflm_cy_reciprocal(float x) { return 1.0f / x; }
#endif

#endif
