/* The multiplication of fixed8.pxi: int32 sums times 31-bit multipliers, with both roundings.
 *
 * With h = (x * value + 2^30) >> 31 the output is (h + 2^right / 2) >> right, less one before the shift where h is negative and halves go away
 * from zero. Shifts round down, so the two are one: (x * value + 2^30 + (2^right / 2 << 31)) >> (31 + right), where a negative product loses
 * 2^31 first. (The one h of a negative product that is not negative is 0, which gives 0 either way.) A left shift is a smaller right one, as
 * long as it overflows for no sum.
 *
 * Constants of VL columns: FIXED8 vectors, two fewer where no column loses anything or all do. 64-bit lanes hold the even columns in the first of
 * two vectors and the odd ones in the second; a multiplier lies in the lower half of its lane, the shift in the upper one (AVX2,
 * which has few ports for shifts, has them apart as well). */
#ifndef TFLM_CY_SIMD_FIXED8_H
#define TFLM_CY_SIMD_FIXED8_H

#if SIMD_ISA == 256
enum { FIXED8_BIAS = 1 };     /* 2^62 is added before a shift without sign, and what it becomes taken off again */
#else
enum { FIXED8_BIAS = 0 };     /* the shift knows the sign */
#endif

enum { FIXED8_VALUES = 0, FIXED8_ADDED = 2, FIXED8_LESS = 4, FIXED8_SHIFTS = 5, FIXED8_LOST = 4 + 3 * FIXED8_BIAS, FIXED8 = FIXED8_LOST + 2 };

enum { FIXED8_UP = 0, FIXED8_MIXED = 1, FIXED8_AWAY = 2 };           /* how the columns round halves */

#define FIXED8_STEP(AWAY) (((AWAY) == FIXED8_MIXED ? FIXED8 : FIXED8_LOST) * VL)     /* from one vector of columns to the next */

#if SIMD_ISA == 512
SIMD_INLINE vi fixed8_half(const int AWAY, vi x, const int32_t *c, const int odd) {
  const vi value = vi_load(c + (FIXED8_VALUES + odd) * VL);
  vi p = _mm512_mul_epi32(x, value);
  vi q = _mm512_add_epi64(p, vi_load(c + (FIXED8_ADDED + odd) * VL));
  if (AWAY) {
    const vi lost = AWAY == FIXED8_AWAY ? _mm512_set1_epi64((int64_t)1 << 31) : vi_load(c + (FIXED8_LOST + odd) * VL);
    q = _mm512_mask_sub_epi64(q, _mm512_movepi64_mask(p), q, lost);
  }
  return _mm512_srav_epi64(q, _mm512_srli_epi64(value, 32));
}

SIMD_INLINE vi fixed8(const int AWAY, vi x, const int32_t *c) {
  const vi even = fixed8_half(AWAY, x, c, 0), odd = fixed8_half(AWAY, _mm512_srli_epi64(x, 32), c, 1);
  return _mm512_mask_shuffle_epi32(even, 0xAAAA, odd, _MM_PERM_CCAA);
}

#elif SIMD_ISA == 256
SIMD_INLINE vi fixed8_half(const int AWAY, vi x, const int32_t *c, const int odd) {
  vi p = _mm256_mul_epi32(x, vi_load(c + (FIXED8_VALUES + odd) * VL));
  vi q = _mm256_add_epi64(p, vi_load(c + (FIXED8_ADDED + odd) * VL));
  if (AWAY) {
    const vi lost = AWAY == FIXED8_AWAY ? _mm256_set1_epi64x((int64_t)1 << 31) : vi_load(c + (FIXED8_LOST + odd) * VL);
    q = _mm256_sub_epi64(q, _mm256_and_si256(_mm256_cmpgt_epi64(_mm256_setzero_si256(), p), lost));
  }
  return _mm256_srlv_epi64(q, vi_load(c + (FIXED8_SHIFTS + odd) * VL));
}

SIMD_INLINE vi fixed8(const int AWAY, vi x, const int32_t *c) {
  const vi even = fixed8_half(AWAY, x, c, 0), odd = fixed8_half(AWAY, _mm256_srli_epi64(x, 32), c, 1);
  return vi_sub(_mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xAA), vi_load(c + FIXED8_LESS * VL));
}

#else
SIMD_INLINE vi fixed8(const int AWAY, vi x, const int32_t *c) {
  const int64_t *w = (const int64_t *)(const void *)c;
  vi y;
  SIMD_LANES(i) {
    const int at = (i & 1) * (VL / 2) + i / 2;     /* of the 64-bit lanes of a pair of vectors */
    const int64_t value = w[FIXED8_VALUES * (VL / 2) + at], p = (int64_t)x[i] * (int32_t)value;
    int64_t q = p + w[FIXED8_ADDED * (VL / 2) + at];
    if (AWAY && p < 0) q -= AWAY == FIXED8_AWAY ? (int64_t)1 << 31 : w[FIXED8_LOST * (VL / 2) + at];
    y[i] = (int32_t)(q >> (value >> 32));
  }
  return y;
}
#endif

typedef struct {
  int is_signed;
  vb zero, low, high;
} Fixed8Limits;

SIMD_INLINE vb fixed8_bytes(const Fixed8Limits *k, vi a, vi b, vi c, vi d) {
  if (k->is_signed) return vb_unlane(vb_min_s(vb_max_s(vb_pack_s(a, b, c, d, k->zero), k->low), k->high));
  return vb_unlane(vb_min_u(vb_max_u(vb_pack_u(a, b, c, d, k->zero), k->low), k->high));
}

/* One vector of columns of four rows that lie together. */
SIMD_INLINE void fixed8_narrow(const int AWAY, const Fixed8Limits *k, const int32_t *constants, const int32_t *sums, ptrdiff_t row, uint8_t *y) {
  vi q[4];
  _Pragma("GCC unroll 4") for (int r = 0; r < 4; r++) q[r] = fixed8(AWAY, vi_load(sums + r * row), constants);
  vb_store(y, fixed8_bytes(k, q[0], q[1], q[2], q[3]));
}

/* n columns of a row, whose sums are whole vectors. */
SIMD_INLINE void fixed8_row(const int AWAY, const Fixed8Limits *k, const int32_t *constants, const int32_t *sums, ptrdiff_t n, uint8_t *y) {
  for (; n >= VB; n -= VB) {
    vi q[4];
    _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++) q[j] = fixed8(AWAY, vi_load(sums + j * VL), constants + j * FIXED8_STEP(AWAY));
    vb_store(y, fixed8_bytes(k, q[0], q[1], q[2], q[3]));
    sums += VB;
    y += VB;
    constants += 4 * FIXED8_STEP(AWAY);
  }
  if (n > 0) {
    vi q[4] = {vi_set1(0), vi_set1(0), vi_set1(0), vi_set1(0)};
    _Pragma("GCC unroll 4") for (int j = 0; j < 4; j++)
      if (n > j * VL) q[j] = fixed8(AWAY, vi_load(sums + j * VL), constants + j * FIXED8_STEP(AWAY));
    vb_store_part(y, fixed8_bytes(k, q[0], q[1], q[2], q[3]), n);
  }
}

SIMD_INLINE void fixed8_rows(const int AWAY, const Fixed8Limits *k, const int32_t *constants, const int32_t *sums, ptrdiff_t sum_row,
                             ptrdiff_t rows, ptrdiff_t n, uint8_t *y, ptrdiff_t y_row) {
  if (n == VL && y_row == VL)
    for (; rows >= 4; rows -= 4, sums += 4 * sum_row, y += VB) fixed8_narrow(AWAY, k, constants, sums, sum_row, y);
  for (; rows > 0; rows--, sums += sum_row, y += y_row) fixed8_row(AWAY, k, constants, sums, n, y);
}

static void fixed8_rows_up(const Fixed8Limits *k, const int32_t *constants, const int32_t *sums, ptrdiff_t sum_row, ptrdiff_t rows, ptrdiff_t n,
                           uint8_t *y, ptrdiff_t y_row) {
  fixed8_rows(FIXED8_UP, k, constants, sums, sum_row, rows, n, y, y_row);
}
static void fixed8_rows_mixed(const Fixed8Limits *k, const int32_t *constants, const int32_t *sums, ptrdiff_t sum_row, ptrdiff_t rows, ptrdiff_t n,
                              uint8_t *y, ptrdiff_t y_row) {
  fixed8_rows(FIXED8_MIXED, k, constants, sums, sum_row, rows, n, y, y_row);
}
static void fixed8_rows_away(const Fixed8Limits *k, const int32_t *constants, const int32_t *sums, ptrdiff_t sum_row, ptrdiff_t rows, ptrdiff_t n,
                             uint8_t *y, ptrdiff_t y_row) {
  fixed8_rows(FIXED8_AWAY, k, constants, sums, sum_row, rows, n, y, y_row);
}
#endif
