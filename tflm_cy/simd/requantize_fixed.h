/* The multiplication of requantize_fixed.pxi: int32 sums times 31-bit multipliers, with both roundings.
 *
 * With h = (x * value + 2^30) >> 31 the output is (h + 2^right / 2) >> right, less one before the shift where h is negative and halves go away
 * from zero. Shifts round down, so the two are one: (x * value + 2^30 + (2^right / 2 << 31)) >> (31 + right), where a negative product loses
 * 2^31 first. (The one h of a negative product that is not negative is 0, which gives 0 either way.) A left shift is a smaller right one, as
 * long as it overflows for no sum.
 *
 * Constants of VL columns: REQUANTIZE_FIXED vectors, two fewer where no column loses anything or all do. 64-bit lanes hold the even columns in the first of
 * two vectors and the odd ones in the second; a multiplier lies in the lower half of its lane, the shift in the upper one (AVX2,
 * which has few ports for shifts, has them apart as well). */
#ifndef TFLM_CY_SIMD_REQUANTIZE_FIXED_H
#define TFLM_CY_SIMD_REQUANTIZE_FIXED_H

#if SIMD_ISA == 256
enum { REQUANTIZE_FIXED_BIAS = 1 };     /* 2^62 is added before a shift without sign, and what it becomes taken off again */
#else
enum { REQUANTIZE_FIXED_BIAS = 0 };     /* the shift knows the sign */
#endif

enum { REQUANTIZE_FIXED_VALUES = 0, REQUANTIZE_FIXED_ADDED = 2, REQUANTIZE_FIXED_LESS = 4, REQUANTIZE_FIXED_SHIFTS = 5, REQUANTIZE_FIXED_LOST = 4 + 3 * REQUANTIZE_FIXED_BIAS, REQUANTIZE_FIXED = REQUANTIZE_FIXED_LOST + 2 };

enum { REQUANTIZE_FIXED_UP = 0, REQUANTIZE_FIXED_MIXED = 1, REQUANTIZE_FIXED_AWAY = 2 };           /* how the columns round halves */

#define REQUANTIZE_FIXED_STEP(AWAY) (((AWAY) == REQUANTIZE_FIXED_MIXED ? REQUANTIZE_FIXED : REQUANTIZE_FIXED_LOST) * VL)     /* from one vector of columns to the next */

#if SIMD_ISA == 512
SIMD_INLINE vi requantize_fixed_half(const int AWAY, vi x, const int32_t *c, const int odd) {
  const vi value = vi_load(c + (REQUANTIZE_FIXED_VALUES + odd) * VL);
  vi p = _mm512_mul_epi32(x, value);
  vi q = _mm512_add_epi64(p, vi_load(c + (REQUANTIZE_FIXED_ADDED + odd) * VL));
  if (AWAY) {
    const vi lost = AWAY == REQUANTIZE_FIXED_AWAY ? _mm512_set1_epi64((int64_t)1 << 31) : vi_load(c + (REQUANTIZE_FIXED_LOST + odd) * VL);
    q = _mm512_mask_sub_epi64(q, _mm512_movepi64_mask(p), q, lost);
  }
  return _mm512_srav_epi64(q, _mm512_srli_epi64(value, 32));
}

SIMD_INLINE vi requantize_fixed(const int AWAY, vi x, const int32_t *c) {
  const vi even = requantize_fixed_half(AWAY, x, c, 0), odd = requantize_fixed_half(AWAY, _mm512_srli_epi64(x, 32), c, 1);
  return _mm512_mask_shuffle_epi32(even, 0xAAAA, odd, _MM_PERM_CCAA);
}

#elif SIMD_ISA == 256
SIMD_INLINE vi requantize_fixed_half(const int AWAY, vi x, const int32_t *c, const int odd) {
  vi p = _mm256_mul_epi32(x, vi_load(c + (REQUANTIZE_FIXED_VALUES + odd) * VL));
  vi q = _mm256_add_epi64(p, vi_load(c + (REQUANTIZE_FIXED_ADDED + odd) * VL));
  if (AWAY) {
    const vi lost = AWAY == REQUANTIZE_FIXED_AWAY ? _mm256_set1_epi64x((int64_t)1 << 31) : vi_load(c + (REQUANTIZE_FIXED_LOST + odd) * VL);
    q = _mm256_sub_epi64(q, _mm256_and_si256(_mm256_cmpgt_epi64(_mm256_setzero_si256(), p), lost));
  }
  return _mm256_srlv_epi64(q, vi_load(c + (REQUANTIZE_FIXED_SHIFTS + odd) * VL));
}

SIMD_INLINE vi requantize_fixed(const int AWAY, vi x, const int32_t *c) {
  const vi even = requantize_fixed_half(AWAY, x, c, 0), odd = requantize_fixed_half(AWAY, _mm256_srli_epi64(x, 32), c, 1);
  return vi_sub(_mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA), vi_load(c + REQUANTIZE_FIXED_LESS * VL));
}

#elif SIMD_ISA == 128
SIMD_INLINE int64x2_t requantize_fixed_half(const int AWAY, int32x2_t x, const int32_t *c, const int odd) {
  const int64x2_t value = vld1q_s64((const int64_t *)(const void *)(c + (REQUANTIZE_FIXED_VALUES + odd) * VL));
  const int64x2_t p = vmull_s32(x, vmovn_s64(value));
  int64x2_t q = vaddq_s64(p, vld1q_s64((const int64_t *)(const void *)(c + (REQUANTIZE_FIXED_ADDED + odd) * VL)));
  if (AWAY) {
    const int64x2_t lost = AWAY == REQUANTIZE_FIXED_AWAY ? vdupq_n_s64((int64_t)1 << 31) : vld1q_s64((const int64_t *)(const void *)(c + (REQUANTIZE_FIXED_LOST + odd) * VL));
    q = vsubq_s64(q, vandq_s64((int64x2_t)vcltzq_s64(p), lost));
  }
  return vshlq_s64(q, vnegq_s64(vshrq_n_s64(value, 32)));
}

SIMD_INLINE vi requantize_fixed(const int AWAY, vi x, const int32_t *c) {
  const int32x4_t a = simd_i32(x);
  const int64x2_t even = requantize_fixed_half(AWAY, vget_low_s32(vuzp1q_s32(a, a)), c, 0), odd = requantize_fixed_half(AWAY, vget_low_s32(vuzp2q_s32(a, a)), c, 1);
  return (vi)vtrn1q_s32((int32x4_t)even, (int32x4_t)odd);
}

#else
SIMD_INLINE vi requantize_fixed(const int AWAY, vi x, const int32_t *c) {
  const int64_t *w = (const int64_t *)(const void *)c;
  vi y;
  SIMD_LANES(i) {
    const int at = (i & 1) * (VL / 2) + i / 2;     /* of the 64-bit lanes of a pair of vectors */
    const int64_t value = w[REQUANTIZE_FIXED_VALUES * (VL / 2) + at], p = (int64_t)x[i] * (int32_t)value;
    int64_t q = p + w[REQUANTIZE_FIXED_ADDED * (VL / 2) + at];
    if (AWAY && p < 0) q -= AWAY == REQUANTIZE_FIXED_AWAY ? (int64_t)1 << 31 : w[REQUANTIZE_FIXED_LOST * (VL / 2) + at];
    y[i] = (int32_t)(q >> (value >> 32));
  }
  return y;
}
#endif

typedef struct {
  int is_signed;
  vb zero, low, high;
} RequantizeFixedLimits;

SIMD_INLINE vb requantize_fixed_bytes(const RequantizeFixedLimits *k, vi a, vi b, vi c, vi d) {
  if (k->is_signed) return vb_unlane(vb_min_s(vb_max_s(vb_pack_s(a, b, c, d, k->zero), k->low), k->high));
  return vb_unlane(vb_min_u(vb_max_u(vb_pack_u(a, b, c, d, k->zero), k->low), k->high));
}

/* One vector of columns of four rows that lie together. */
SIMD_INLINE void requantize_fixed_narrow(const int AWAY, const RequantizeFixedLimits *k, const int32_t *constants, const int32_t *sums, ptrdiff_t row, uint8_t *y) {
  vi q[4];
  _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) q[r] = requantize_fixed(AWAY, vi_load(sums + r * row), constants);
  vb_store(y, requantize_fixed_bytes(k, q[0], q[1], q[2], q[3]));
}

/* n columns of a row, whose sums are whole vectors. */
SIMD_INLINE void requantize_fixed_row(const int AWAY, const RequantizeFixedLimits *k, const int32_t *constants, const int32_t *sums, ptrdiff_t n, uint8_t *y) {
  for (; n >= VB; n -= VB) {
    vi q[4];
    _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++) q[j] = requantize_fixed(AWAY, vi_load(sums + j * VL), constants + j * REQUANTIZE_FIXED_STEP(AWAY));
    vb_store(y, requantize_fixed_bytes(k, q[0], q[1], q[2], q[3]));
    sums += VB;
    y += VB;
    constants += 4 * REQUANTIZE_FIXED_STEP(AWAY);
  }
  if (n > 0) {
    vi q[4] = {vi_set1(0), vi_set1(0), vi_set1(0), vi_set1(0)};
    _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++)
      if (n > j * VL) q[j] = requantize_fixed(AWAY, vi_load(sums + j * VL), constants + j * REQUANTIZE_FIXED_STEP(AWAY));
    vb_store_part(y, requantize_fixed_bytes(k, q[0], q[1], q[2], q[3]), n);
  }
}

SIMD_INLINE void requantize_fixed_rows(const int AWAY, const RequantizeFixedLimits *k, const int32_t *constants, const int32_t *sums, ptrdiff_t sum_row,
                             ptrdiff_t rows, ptrdiff_t n, uint8_t *y, ptrdiff_t y_row) {
  if (n == VL && y_row == VL)
    for (; rows >= 4; rows -= 4, sums += 4 * sum_row, y += VB) requantize_fixed_narrow(AWAY, k, constants, sums, sum_row, y);
  for (; rows > 0; rows--, sums += sum_row, y += y_row) requantize_fixed_row(AWAY, k, constants, sums, n, y);
}

static void requantize_fixed_rows_up(const RequantizeFixedLimits *k, const int32_t *constants, const int32_t *sums, ptrdiff_t sum_row, ptrdiff_t rows, ptrdiff_t n,
                           uint8_t *y, ptrdiff_t y_row) {
  requantize_fixed_rows(REQUANTIZE_FIXED_UP, k, constants, sums, sum_row, rows, n, y, y_row);
}
static void requantize_fixed_rows_mixed(const RequantizeFixedLimits *k, const int32_t *constants, const int32_t *sums, ptrdiff_t sum_row, ptrdiff_t rows, ptrdiff_t n,
                              uint8_t *y, ptrdiff_t y_row) {
  requantize_fixed_rows(REQUANTIZE_FIXED_MIXED, k, constants, sums, sum_row, rows, n, y, y_row);
}
static void requantize_fixed_rows_away(const RequantizeFixedLimits *k, const int32_t *constants, const int32_t *sums, ptrdiff_t sum_row, ptrdiff_t rows, ptrdiff_t n,
                             uint8_t *y, ptrdiff_t y_row) {
  requantize_fixed_rows(REQUANTIZE_FIXED_AWAY, k, constants, sums, sum_row, rows, n, y, y_row);
}
#endif
