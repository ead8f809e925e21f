/* Sums of tiles become outputs, in 16 steps of a unit: one row of them for NT = 4, 3, two for 2, four for 1. Part of amx.h. */
#ifndef TFLM_CY_SIMD_AMX_OUTPUTS_H
#define TFLM_CY_SIMD_AMX_OUTPUTS_H

/* Added to a float of less than 2^22 this leaves its nearest whole number in the low bits, halves to even. Beside tile instructions the CPU
 * has one unit for products and conversions, but two for sums. */
#define ROUNDING 12582912.0f
enum { ROUNDING_BITS = 0x4B400000 };

/* What the steps of a waiting unit need, in registers: stores of outputs may alias everything in memory. */
typedef struct {
  const int32_t *sums;
  const Positions *const *positions;
  uint8_t *y[4];          /* even: of the first column */
  const int32_t *bias;
  vf scales[4];
  const float *f_bias;
  ptrdiff_t column, n, y_row;
  vb zero, low, high, sign;
  vf f_low, f_high;
  int keeps_nan;
  int limits;
  int near_zero;
  vi less;
  uint8_t *raw;           /* AMX_I32 */
  const Positions *first;
  ptrdiff_t sum_row;
} Finish;

SIMD_INLINE Finish amx_begin(const int NT, const int kind, const int even, const Panel *p, const Waiting *u) {
  Finish f;
  if (even) {
    _Pragma("GCC unroll 4") for (int m = 0; m < amx_together(NT); m++) f.y[m] = u->positions[m]->y + u->column;
  }
  f.sums = u->sums;
  f.positions = u->positions;
  f.bias = u->bias;
  _Pragma("GCC unroll 4") for (int j = 0; j < NT; j++) f.scales[j] = vf_load(u->scales + j * VL);
  f.f_bias = u->f_bias;
  f.column = u->column;
  f.n = u->n;
  f.y_row = p->y_row;
  f.limits = p->limits;
  if (kind == AMX_F32) {
    f.f_low = vf_set1(p->f_low);
    f.f_high = vf_set1(p->f_high);
    f.keeps_nan = p->keeps_nan;
  } else if (kind == AMX_I32) {
    f.raw = (uint8_t *)p->sums;
    f.first = p->first;
    f.sum_row = p->sum_row;
  } else {
    f.zero = p->zero;
    f.low = p->low;
    f.high = p->high;
    f.sign = p->sign;
    f.near_zero = p->near_zero;
    f.less = p->less;
  }
  return f;
}

SIMD_INLINE uint8_t *amx_row(const int even, const Finish *f, int m, int r) {
  return even ? f->y[m] + r * f->y_row : f->positions[m]->rows[r] + f->column;
}

SIMD_INLINE void amx_store_floats(const int even, const Finish *f, vi sum, int r, int m, int j) {
  const Positions *positions = f->positions[m];
  float *y = (float *)amx_row(even, f, m, r) + j * VL;
  sum = vi_add(sum, vi_mul(vi_load(f->bias + j * VL), vi_set1(positions->terms[r])));
  vf v = vf_fma(vf_mul(vf_from_vi(sum), vf_set1(positions->inverses[r])), f->scales[j], vf_load(f->f_bias + j * VL));
  v = f->keeps_nan ? vf_max(f->f_low, vf_min(f->f_high, v)) : vf_min(vf_max(v, f->f_low), f->f_high);
  if (f->n >= (j + 1) * VL) vf_store(y, v);
  else vf_store_part(y, v, f->n - j * VL);
}

/* amx_together(NT) rows of bytes; n: of each; whole: all columns of the tiles. */
SIMD_INLINE void amx_store_bytes(const int NT, const int whole, vb out, uint8_t *const *rows, ptrdiff_t n) {
#define PART16(I) (I == 0 ? _mm512_castsi512_si128(out) : _mm512_extracti32x4_epi32(out, I))
  if (NT >= 3) {
    if (whole) vb_store(rows[0], out);
    else vb_store_part(rows[0], out, n);
  } else if (NT == 2) {
    const __mmask32 some = whole ? ~0u : _bzhi_u32(~0u, (unsigned)n);
    _mm256_mask_storeu_epi8(rows[0], some, _mm512_castsi512_si256(out));
    _mm256_mask_storeu_epi8(rows[1], some, _mm512_extracti64x4_epi64(out, 1));
  } else {
    const __mmask16 some = whole ? 0xFFFF : (__mmask16)_bzhi_u32(0xFFFFu, (unsigned)n);
    _mm_mask_storeu_epi8(rows[0], some, PART16(0));
    _mm_mask_storeu_epi8(rows[1], some, PART16(1));
    _mm_mask_storeu_epi8(rows[2], some, PART16(2));
    _mm_mask_storeu_epi8(rows[3], some, PART16(3));
  }
#undef PART16
}

/* Sixteen sums times their scales, of column tile j. */
SIMD_INLINE vf amx_product(const int limits, const Finish *f, vi sum, int j) {
  return limits == MAGIC_BIAS ? product8(1, sum, f->scales[j]) : product8(0, sum, f->scales[j]);
}

/* Outputs of either sign are made as signed ones: of unsigned ones 128 is taken, and the sign then changed. */
SIMD_INLINE vb amx_bytes(const int near_zero, const int limits, const Finish *f, const vf *product) {
  vi v[4];
  vb out;
  if (near_zero) {
    _Pragma("GCC unroll 4") for (int q = 0; q < 4; q++)
      v[q] = vi_sub(_mm512_castps_si512(vf_add(product[q], vf_set1(ROUNDING))), f->less);
    out = _mm512_packs_epi16(_mm512_packs_epi32(v[0], v[1]), _mm512_packs_epi32(v[2], v[3]));
  } else {
    _Pragma("GCC unroll 4") for (int q = 0; q < 4; q++) v[q] = vi_from_vf(product[q]);
    out = vb_pack_s(v[0], v[1], v[2], v[3], f->zero);
  }
  if (limits == CLAMPED) out = vb_min_s(vb_max_s(out, f->low), f->high);
  return vb_unlane(vb_xor(out, f->sign));
}

/* Where step s of 16 finds its sums and rows: rows r .. of tile m of positions, whose column tile j is m * NT + j of the unit. */
#define AMX_STEP(NT, S) const int across = amx_together(NT), m = (S) / (STEPS / across), r = (S) % (STEPS / across) * across
#define AMX_SUM(NT, A, J) vi_load(f->sums + (m * (NT) + (J)) * 256 + (r + (A)) * 16)

SIMD_INLINE void amx_finish(const int NT, const int kind, const int has_terms, const int even, const Finish *f, int s) {
  AMX_STEP(NT, s);
  const Positions *positions = f->positions[m];
  vf product[4] = {vf_set1(0), vf_set1(0), vf_set1(0), vf_set1(0)};
  uint8_t *rows[4];
  _Pragma("GCC unroll 4") for (int a = 0; a < across; a++)
    _Pragma("GCC unroll 4") for (int j = 0; j < NT; j++) {
      vi sum = AMX_SUM(NT, a, j);
      if (has_terms && kind != AMX_F32) sum = vi_add(sum, vi_set1(positions->terms[r + a]));
      if (kind == AMX_I32) {
        vi_store((int32_t *)(f->raw + ((positions - f->first) * 16 + r + a) * f->sum_row + f->column) + j * VL, sum);
        continue;
      }
      if (kind == AMX_F32) {
        amx_store_floats(even, f, sum, r + a, m, j);
        continue;
      }
      product[a * NT + j] = amx_product(f->limits, f, sum, j);
    }
  if (kind != AMX_8) return;
  _Pragma("GCC unroll 4") for (int a = 0; a < across; a++) rows[a] = amx_row(even, f, m, r + a);
  amx_store_bytes(NT, NT != 3 && f->n == NT * 16, amx_bytes(SIMD_LIKELY(f->near_zero), f->limits, f, product), rows, f->n);
}

/* The usual case without questions: bytes at even distances (*y goes on), from sums that are near zero. */
SIMD_INLINE void amx_finish_plain(const int NT, const int whole, const int limits, const Finish *f, int s, uint8_t **y) {
  AMX_STEP(NT, s);
  vf product[4] = {vf_set1(0), vf_set1(0), vf_set1(0), vf_set1(0)};
  if (r == 0) *y = f->y[m];
  _Pragma("GCC unroll 4") for (int q = 0; q < across * NT; q++) product[q] = amx_product(limits, f, AMX_SUM(NT, q / NT, q % NT), q % NT);
  const vb out = amx_bytes(1, limits, f, product);
  uint8_t *rows[4] = {*y, *y + f->y_row, *y + 2 * f->y_row, *y + 3 * f->y_row};
  if (whole && f->y_row == NT * 16) vb_store(*y, out);
  else amx_store_bytes(NT, whole, out, rows, f->n);
  *y += across * f->y_row;
  __asm__ volatile("" : "+r"(*y) : : "memory"); /* in this order: a compiler would load all sums first, and tiles wait */
}

SIMD_INLINE int amx_is_plain(const int kind, const int has_terms, const int even, const Panel *p) {
  return kind == AMX_8 && !has_terms && even && p->near_zero;
}

SIMD_INLINE int amx_is_whole(const int NT, const Panel *p, const Waiting *before, const Waiting *done) {
  return NT != 3 && p->n == NT * 16 && before->n == p->n && done->n == p->n;
}
#endif
