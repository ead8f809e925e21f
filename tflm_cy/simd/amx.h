/* Products of bytes on AMX tiles: the unit of amx.pyx.
 *
 * A tile of x is 16 positions times 64 bytes of their windows, a tile of weights 64 taps times 16 columns. A unit is four (three) such products
 * at once: NT tiles of columns times 1, 1, 2 or 4 tiles of positions (NT = 4, 3, 2, 1). Its sums go to a buffer, and become outputs in 16 steps
 * that are woven into the products of the unit after the next. One column tile times three tiles of positions leaves the fourth product out.
 *
 * All units share one configuration (every tile is 16 rows of 64 bytes), so that a thread loads it once and finds it there at the next node:
 * loading costs 50 ns, storing it for a comparison 5. */
#ifndef TFLM_CY_SIMD_AMX_H
#define TFLM_CY_SIMD_AMX_H

#ifndef TILES_AHEAD
#define TILES_AHEAD 6144 /* bytes from the weights in use to those that should be on their way */
#endif
enum { STEPS = 16, CHUNK = 64, TILE_I32_U8 = TILE_I32 + 1 };

#define SIMD_LIKELY(X) __builtin_expect(!!(X), 1)

typedef struct {
  const uint8_t *x;       /* of the first position */
  uint8_t *y;             /* even: where its outputs go; those of the others follow y_row bytes apart */
  uint8_t *rows[16];      /* else: where each position's outputs go */
  int32_t terms[16];      /* added to its sums; dynamic: times the column's sum of weights */
  float inverses[16];     /* dynamic */
} Positions;

typedef struct {
  int kind;               /* TILE_S8, TILE_U8, TILE_F32, TILE_I32 (x is int8), TILE_I32_U8 */
  int has_terms;
  int clamps;             /* the limits are not those of the type */
  int even;
  ptrdiff_t y_row;
  ptrdiff_t x_row;        /* bytes between positions */
  ptrdiff_t steps;        /* of 64 bytes */
  const int32_t *offsets; /* per step, from a window's first byte */
  const int8_t *w;        /* of the panel: per step NT tiles */
  const int32_t *bias;
  const float *scales;
  const float *f_bias;
  ptrdiff_t column;       /* bytes of y in front of the panel's columns */
  ptrdiff_t n;            /* columns to store */
  vb zero, low, high;
  int near_zero;          /* no product of a sum and its scale leaves -2^22 .. 2^22 */
  vi less;                /* near_zero: to subtract from ROUNDING plus a product: its bits, less the zero point */
  float f_low, f_high;
  int32_t *sums;          /* TILE_I32: where those of `first`, the first tile of positions, go; sum_row bytes apart */
  const Positions *first;
  ptrdiff_t sum_row;
} Panel;

typedef struct {          /* sums that wait */
  int32_t sums[4 * 256] __attribute__((aligned(64)));
  const Positions *positions[4];
  const int32_t *bias;
  const float *scales;
  const float *f_bias;
  ptrdiff_t column, n;
  int steps;              /* that make its outputs: fewer when the last tile is not used */
} Waiting;

typedef struct {
  Waiting units[3];       /* in turn: on the tiles, in memory */
  int current;            /* the one to fill */
  int filled;             /* how many wait: 0, 1 (on the tiles) or 2 */
  int tiles;              /* their NT */
} Pipeline;

typedef struct {
  uint8_t palette, start, reserved[14];
  uint16_t columns[16];
  uint8_t rows[16];
} TileConfig;

static const TileConfig WHOLE_TILES __attribute__((aligned(64))) = {
  1, 0, {0}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};

static void ready_tiles(void) {
  TileConfig now __attribute__((aligned(64)));
  _tile_storeconfig(&now);
  __asm__ volatile("" ::: "memory");
  if (_mm512_cmpneq_epi32_mask(_mm512_load_si512(&now), _mm512_load_si512(&WHOLE_TILES)) != 0) _tile_loadconfig(&WHOLE_TILES);
}

/* Added to a float of less than 2^22 this leaves its nearest whole number in the low bits, halves to even. Beside tile instructions the CPU
 * has one unit for products and conversions, but two for sums. */
#define ROUNDING 12582912.0f
enum { ROUNDING_BITS = 0x4B400000 };

/* What the steps of a waiting unit need, in registers: stores of outputs may alias everything in memory. */
typedef struct {
  int steps;
  const int32_t *sums;
  const Positions *const *positions;
  uint8_t *y[4];          /* even: of the first column */
  const int32_t *bias;
  vf scales[4];
  const float *f_bias;
  ptrdiff_t column, n, y_row;
  vb zero, low, high;
  vf f_low, f_high;
  int clamps;
  int near_zero;
  vi less;
  uint8_t *raw;           /* TILE_I32 */
  const Positions *first;
  ptrdiff_t sum_row;
} Finish;

SIMD_INLINE Finish amx_begin(const int NT, const int kind, const int even, const Panel *p, const Waiting *u) {
  Finish f;
  if (even) {
    _Pragma("GCC unroll 4") for (int m = 0; m < (NT >= 3 ? 1 : NT == 2 ? 2 : 4); m++) f.y[m] = u->positions[m]->y + u->column;
  }
  f.steps = u->steps;
  f.sums = u->sums;
  f.positions = u->positions;
  f.bias = u->bias;
  _Pragma("GCC unroll 4") for (int j = 0; j < NT; j++) f.scales[j] = vf_load(u->scales + j * VL);
  f.f_bias = u->f_bias;
  f.column = u->column;
  f.n = u->n;
  f.y_row = p->y_row;
  f.clamps = p->clamps;
  if (kind == TILE_F32) {
    f.f_low = vf_set1(p->f_low);
    f.f_high = vf_set1(p->f_high);
  } else if (kind >= TILE_I32) {
    f.raw = (uint8_t *)p->sums;
    f.first = p->first;
    f.sum_row = p->sum_row;
  } else {
    f.zero = p->zero;
    f.low = p->low;
    f.high = p->high;
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
  v = vf_min(vf_max(v, f->f_low), f->f_high);
  if (f->n >= (j + 1) * VL) vf_store(y, v);
  else vf_store_part(y, v, f->n - j * VL);
}

/* `across` rows of bytes, from row r on. */
SIMD_INLINE void amx_store_bytes(const int NT, const int even, const Finish *f, vb out, int r, int m) {
#define ROW(I) amx_row(even, f, m, r + (I))
#define PART16(I) (I == 0 ? _mm512_castsi512_si128(out) : _mm512_extracti32x4_epi32(out, I))
  if (NT >= 3) {
    if (NT == 4 && SIMD_LIKELY(f->n == 64)) vb_store(ROW(0), out);
    else vb_store_part(ROW(0), out, f->n);
  } else if (NT == 2 && f->n == 32) {
    if (even && f->y_row == 32) {
      vb_store(ROW(0), out);
    } else {
      _mm256_storeu_si256((__m256i *)ROW(0), _mm512_castsi512_si256(out));
      _mm256_storeu_si256((__m256i *)ROW(1), _mm512_extracti64x4_epi64(out, 1));
    }
  } else if (NT == 2) {
    const __mmask32 some = _bzhi_u32(~0u, (unsigned)f->n);
    _mm256_mask_storeu_epi8(ROW(0), some, _mm512_castsi512_si256(out));
    _mm256_mask_storeu_epi8(ROW(1), some, _mm512_extracti64x4_epi64(out, 1));
  } else if (f->n == 16) {
    if (even && f->y_row == 16) {
      vb_store(ROW(0), out);
    } else {
      _mm_storeu_si128((__m128i *)ROW(0), PART16(0));
      _mm_storeu_si128((__m128i *)ROW(1), PART16(1));
      _mm_storeu_si128((__m128i *)ROW(2), PART16(2));
      _mm_storeu_si128((__m128i *)ROW(3), PART16(3));
    }
  } else if (even && f->n == 8 && f->y_row == 8) {
    const __m512i together = _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 2, 4, 6, 0, 2, 4, 6), out);
    _mm256_storeu_si256((__m256i *)ROW(0), _mm512_castsi512_si256(together));
  } else {
    const __mmask16 some = (__mmask16)_bzhi_u32(0xFFFFu, (unsigned)f->n);
    _mm_mask_storeu_epi8(ROW(0), some, PART16(0));
    _mm_mask_storeu_epi8(ROW(1), some, PART16(1));
    _mm_mask_storeu_epi8(ROW(2), some, PART16(2));
    _mm_mask_storeu_epi8(ROW(3), some, PART16(3));
  }
#undef ROW
#undef PART16
}

/* Step s of 16 of a waiting unit: one row for NT = 4, 3, two for 2, four for 1. */
SIMD_INLINE void amx_finish(const int NT, const int kind, const int has_terms, const int even, const Finish *f, int s) {
  const int across = NT >= 3 ? 1 : NT == 2 ? 2 : 4;
  const int m = NT >= 3 ? 0 : NT == 2 ? s / 8 : s / 4;
  const int r = NT >= 3 ? s : NT == 2 ? s % 8 * 2 : s % 4 * 4;
  const Positions *positions = f->positions[m];
  vf product[4] = {vf_set1(0), vf_set1(0), vf_set1(0), vf_set1(0)};
  _Pragma("GCC unroll 4") for (int a = 0; a < across; a++)
    _Pragma("GCC unroll 4") for (int j = 0; j < NT; j++) {
      const int tile = NT == 1 ? m : NT == 2 ? 2 * m + j : j;
      vi sum = vi_load(f->sums + tile * 256 + (r + a) * 16);
      if (kind >= TILE_I32) {
        if (kind == TILE_I32_U8) sum = vi_add(sum, vi_set1(positions->terms[r + a]));
        vi_store((int32_t *)(f->raw + ((positions - f->first) * 16 + r + a) * f->sum_row + f->column) + j * VL, sum);
        continue;
      }
      if (kind == TILE_F32) {
        amx_store_floats(even, f, sum, r + a, m, j);
        continue;
      }
      if (has_terms) sum = vi_add(sum, vi_set1(positions->terms[r + a]));
      product[a * NT + j] = vf_mul(vf_from_vi(sum), f->scales[j]);
    }
  if (kind >= TILE_F32) return;
  vb out;
  vi v[4];
  if (SIMD_LIKELY(f->near_zero)) {
    _Pragma("GCC unroll 4") for (int q = 0; q < 4; q++)
      v[q] = vi_sub(_mm512_castps_si512(vf_add(product[q], vf_set1(ROUNDING))), f->less);
    const vb low = _mm512_packs_epi32(v[0], v[1]), high = _mm512_packs_epi32(v[2], v[3]);
    out = kind == TILE_S8 ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
  } else {
    _Pragma("GCC unroll 4") for (int q = 0; q < 4; q++) v[q] = vi_from_vf(product[q]);
    out = kind == TILE_S8 ? vb_pack_s(v[0], v[1], v[2], v[3], f->zero) : vb_pack_u(v[0], v[1], v[2], v[3], f->zero);
  }
  if (f->clamps) out = kind == TILE_S8 ? vb_min_s(vb_max_s(out, f->low), f->high) : vb_min_u(vb_max_u(out, f->low), f->high);
  amx_store_bytes(NT, even, f, vb_unlane(out), r, m);
}

#define AMX_DOT(C, A, B) do { if (kind == TILE_U8 || kind == TILE_I32_U8) _tile_dpbusd(C, A, B); else _tile_dpbssd(C, A, B); } while (0)

/* Tile t's share of one step of 64 bytes: its operands, its product. */
SIMD_INLINE void amx_multiply(const int NT, const int t, const int kind, const Positions *const *m, ptrdiff_t at, ptrdiff_t x_row,
                              const int8_t *w, const int fourth) {
  if (NT >= 3) {
    if (t == 0) { _tile_loadd(4, m[0]->x + at, x_row); _tile_loadd(5, w, 64); AMX_DOT(0, 4, 5); }
    if (t == 1) { _tile_loadd(6, w + 1024, 64); AMX_DOT(1, 4, 6); }
    if (t == 2) { _tile_loadd(7, w + 2048, 64); AMX_DOT(2, 4, 7); }
    if (t == 3 && NT == 4) { _tile_loadd(5, w + 3072, 64); AMX_DOT(3, 4, 5); }
  } else if (NT == 2) {
    if (t == 0) { _tile_loadd(6, w, 64); _tile_loadd(4, m[0]->x + at, x_row); AMX_DOT(0, 4, 6); }
    if (t == 1) { _tile_loadd(7, w + 1024, 64); AMX_DOT(1, 4, 7); }
    if (t == 2) { _tile_loadd(5, m[1]->x + at, x_row); AMX_DOT(2, 5, 6); }
    if (t == 3) AMX_DOT(3, 5, 7);
  } else {
    if (t == 0) { _tile_stream_loadd(7, w, 64); _tile_loadd(4, m[0]->x + at, x_row); AMX_DOT(0, 4, 7); }
    if (t == 1) { _tile_loadd(5, m[1]->x + at, x_row); AMX_DOT(1, 5, 7); }
    if (t == 2) { _tile_loadd(6, m[2]->x + at, x_row); AMX_DOT(2, 6, 7); }
    if (t == 3 && fourth) { _tile_loadd(4, m[3]->x + at, x_row); AMX_DOT(3, 4, 7); }
  }
}

/* A quarter of the weights of a later step. */
SIMD_INLINE void amx_ahead(const int NT, const int t, const int8_t *w) {
  _Pragma("GCC unroll 16") for (int i = 4 * NT * t; i < 4 * NT * (t + 1); i++) simd_prefetch(w + TILES_AHEAD + 64 * i);
}

/* Tile t of the unit before to memory. */
SIMD_INLINE void amx_store(const int NT, const int t, int32_t *sums) {
  if (t == 0) _tile_stored(0, sums, 64);
  if (t == 1) _tile_stored(1, sums + 256, 64);
  if (t == 2) _tile_stored(2, sums + 512, 64);
  if (t == 3 && NT != 3) _tile_stored(3, sums + 768, 64);
}

/* Tile t begins with the bias of its columns (dynamic: with 0). */
SIMD_INLINE void amx_start(const int NT, const int t, const int kind, const int32_t *bias) {
  if (kind == TILE_F32) {
    if (t == 0) _tile_zero(0);
    if (t == 1) _tile_zero(1);
    if (t == 2) _tile_zero(2);
    if (t == 3 && NT != 3) _tile_zero(3);
    return;
  }
  const int32_t *from = bias + (NT == 1 ? 0 : NT == 2 ? t % 2 : t) * 16;
  if (t == 0) _tile_loadd(0, from, 0);
  if (t == 1) _tile_loadd(1, from, 0);
  if (t == 2) _tile_loadd(2, from, 0);
  if (t == 3 && NT != 3) _tile_loadd(3, from, 0);
}

SIMD_INLINE void amx_fill(Waiting *u, const int NT, const Panel *p, const Positions *positions, ptrdiff_t count, int steps) {
  _Pragma("GCC unroll 4") for (ptrdiff_t j = 0; j < (NT >= 3 ? 1 : NT == 2 ? 2 : 4); j++) u->positions[j] = positions + (j < count ? j : count - 1);
  u->bias = p->bias;
  u->scales = p->scales;
  u->f_bias = p->f_bias;
  u->column = p->column;
  u->n = p->n;
  u->steps = steps;
}

/* The usual case without questions: bytes at even distances, from sums that are near zero. */
SIMD_INLINE int amx_is_plain(const int kind, const int has_terms, const int even, const Panel *p, const Pipeline *line) {
  if ((kind != TILE_S8 && kind != TILE_U8) || has_terms || !even) return 0;
  const Waiting *before = &line->units[(line->current + 2) % 3], *done = &line->units[(line->current + 1) % 3];
  return p->near_zero && line->filled == 2 && before->steps == STEPS && done->steps == STEPS;
}

SIMD_INLINE int amx_is_whole(const int NT, const Panel *p, const Pipeline *line) {
  const ptrdiff_t n = NT * 16;
  return NT != 3 && p->n == n && line->units[(line->current + 2) % 3].n == n && line->units[(line->current + 1) % 3].n == n;
}

SIMD_INLINE void amx_store_whole(const int NT, vb out, uint8_t *y, ptrdiff_t y_row) {
  if (NT == 4 || y_row == 16 * NT) {
    vb_store(y, out);
  } else if (NT == 2) {
    _mm256_storeu_si256((__m256i *)y, _mm512_castsi512_si256(out));
    _mm256_storeu_si256((__m256i *)(y + y_row), _mm512_extracti64x4_epi64(out, 1));
  } else {
    _mm_storeu_si128((__m128i *)y, _mm512_castsi512_si128(out));
    _mm_storeu_si128((__m128i *)(y + y_row), _mm512_extracti32x4_epi32(out, 1));
    _mm_storeu_si128((__m128i *)(y + 2 * y_row), _mm512_extracti32x4_epi32(out, 2));
    _mm_storeu_si128((__m128i *)(y + 3 * y_row), _mm512_extracti32x4_epi32(out, 3));
  }
}

SIMD_INLINE void amx_store_part(const int NT, vb out, uint8_t *y, ptrdiff_t y_row, ptrdiff_t n) {
  if (NT >= 3) {
    vb_store_part(y, out, n);
  } else if (NT == 2) {
    const __mmask32 some = _bzhi_u32(~0u, (unsigned)n);
    _mm256_mask_storeu_epi8(y, some, _mm512_castsi512_si256(out));
    _mm256_mask_storeu_epi8(y + y_row, some, _mm512_extracti64x4_epi64(out, 1));
  } else {
    const __mmask16 some = (__mmask16)_bzhi_u32(0xFFFFu, (unsigned)n);
    _mm_mask_storeu_epi8(y, some, _mm512_castsi512_si128(out));
    _mm_mask_storeu_epi8(y + y_row, some, _mm512_extracti32x4_epi32(out, 1));
    _mm_mask_storeu_epi8(y + 2 * y_row, some, _mm512_extracti32x4_epi32(out, 2));
    _mm_mask_storeu_epi8(y + 3 * y_row, some, _mm512_extracti32x4_epi32(out, 3));
  }
}

SIMD_INLINE void amx_finish_plain(const int NT, const int kind, const int whole, const int clamps, const Finish *f, int s, uint8_t **y) {
  const int across = NT >= 3 ? 1 : NT == 2 ? 2 : 4;
  const int m = NT >= 3 ? 0 : NT == 2 ? s / 8 : s / 4;
  const int r = NT >= 3 ? s : NT == 2 ? s % 8 * 2 : s % 4 * 4;
  vi v[4] = {vi_set1(0), vi_set1(0), vi_set1(0), vi_set1(0)};
  if (r == 0) *y = f->y[m];
  _Pragma("GCC unroll 4") for (int q = 0; q < across * NT; q++) {
    const int tile = NT == 1 ? m : NT == 2 ? 2 * m + q % 2 : q;
    const vf sum = vf_from_vi(vi_load(f->sums + tile * 256 + (r + q / NT) * 16));
    v[q] = vi_sub(_mm512_castps_si512(vf_add(vf_mul(sum, f->scales[q % NT]), vf_set1(ROUNDING))), f->less);
  }
  const vb low = _mm512_packs_epi32(v[0], v[1]), high = _mm512_packs_epi32(v[2], v[3]);
  vb out = kind == TILE_S8 ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
  if (clamps) out = kind == TILE_S8 ? vb_min_s(vb_max_s(out, f->low), f->high) : vb_min_u(vb_max_u(out, f->low), f->high);
  if (whole) amx_store_whole(NT, vb_unlane(out), *y, f->y_row);
  else amx_store_part(NT, vb_unlane(out), *y, f->y_row, f->n);
  *y += across * f->y_row;
  __asm__ volatile("" : "+r"(*y) : : "memory"); /* in this order: a compiler would load all sums first, and tiles wait */
}

/* Units from `i` on, with two waiting; returns how many positions' tiles are done. */
SIMD_INLINE ptrdiff_t amx_plain(const int NT, const int kind, const int whole, const int clamps, const Panel *p, const Positions *positions,
                                ptrdiff_t i, ptrdiff_t count, Pipeline *line) {
#define OUTPUTS(N) do { _Pragma("GCC unroll 2") for (int e = 0; e < (N); e++) amx_finish_plain(NT, kind, whole, clamps, &f, s++, &y); } while (0)
#define AMX_PLAIN_ROUNDS(DURING)                                                                  \
  _Pragma("GCC unroll 4") for (int t = 0; t < 4; t++) {                                           \
    amx_store(NT, t, before->sums);                                                               \
    OUTPUTS(DURING);                                                                              \
    amx_start(NT, t, kind, bias);                                                                 \
    amx_multiply(NT, t, kind, u->positions, offsets[0], x_row, w, 1);                             \
    if (i == 0) amx_ahead(NT, t, w);                                                              \
  }                                                                                               \
  _Pragma("GCC unroll 3") for (; k < 4 / (DURING); k++) {                                         \
    w += NT * 1024;                                                                               \
    _Pragma("GCC unroll 4") for (int t = 0; t < 4; t++) {                                         \
      amx_multiply(NT, t, kind, u->positions, offsets[k], x_row, w, 1);                           \
      if (i == 0) amx_ahead(NT, t, w);                                                            \
      OUTPUTS(DURING);                                                                            \
    }                                                                                             \
  }
  const ptrdiff_t together = NT >= 3 ? 1 : NT == 2 ? 2 : 4, steps = p->steps, x_row = p->x_row;
  const int32_t *const offsets = p->offsets, *const bias = p->bias;
  const int8_t *const weights = p->w;
  for (; i + together <= count; i += together) {
    Waiting *u = &line->units[line->current];
    Waiting *before = &line->units[(line->current + 2) % 3];
    const Finish f = amx_begin(NT, kind, 1, p, &line->units[(line->current + 1) % 3]);
    const int8_t *w = weights;
    uint8_t *y = NULL;
    ptrdiff_t k = 1;
    int s = 0;
    amx_fill(u, NT, p, positions + i, together, STEPS);
    if (steps == 1) {
      _Pragma("GCC unroll 4") for (int t = 0; t < 4; t++) {
        amx_store(NT, t, before->sums);
        OUTPUTS(1);
        amx_start(NT, t, kind, bias);
        OUTPUTS(1);
        amx_multiply(NT, t, kind, u->positions, offsets[0], x_row, w, 1);
        OUTPUTS(2);
      }
    } else if (steps <= 3) {
      AMX_PLAIN_ROUNDS(2)
    } else {
      AMX_PLAIN_ROUNDS(1)
    }
    for (; k < steps; k++) {
      w += NT * 1024;
      _Pragma("GCC unroll 4") for (int t = 0; t < 4; t++) {
        amx_multiply(NT, t, kind, u->positions, offsets[k], x_row, w, 1);
        if (i == 0) amx_ahead(NT, t, w);
      }
    }
    line->current = (line->current + 1) % 3;
  }
  return i;
#undef OUTPUTS
}

/* All units of a panel over `count` tiles of positions. The CPU takes tile instructions in order: a tile is stored when four products lie
 * between, just before it is used again, and what was stored during one unit becomes outputs during the next. */
SIMD_INLINE void amx_panel(const int NT, const int kind, const int has_terms, const int even, const Panel *p, const Positions *positions,
                           ptrdiff_t count, Pipeline *line) {
  const ptrdiff_t together = NT >= 3 ? 1 : NT == 2 ? 2 : 4;
  const int during = p->steps == 1 ? 4 : p->steps <= 3 ? 2 : 1;
  for (ptrdiff_t i = 0; i < count; i += together) {
    if (amx_is_plain(kind, has_terms, even, p, line)) {
      if (!amx_is_whole(NT, p, line)) i = amx_plain(NT, kind, 0, p->clamps, p, positions, i, count, line);
      else if (p->clamps) i = amx_plain(NT, kind, NT != 3, 1, p, positions, i, count, line);
      else i = amx_plain(NT, kind, NT != 3, 0, p, positions, i, count, line);
      if (i >= count) return;
    }
    Waiting *u = &line->units[line->current];
    Waiting *before = &line->units[(line->current + 2) % 3];
    const Waiting *done = &line->units[(line->current + 1) % 3];
    int s = line->filled < 2 ? STEPS : 0;
    const int8_t *w = p->w;
    const int fourth = NT != 1 || i + 3 < count;
    amx_fill(u, NT, p, positions + i, count - i, fourth ? STEPS : STEPS / 4 * 3);
    const Finish f = amx_begin(NT, kind, even, p, s < STEPS ? done : u);
    _Pragma("GCC unroll 4") for (int t = 0; t < 4; t++) {
      amx_store(NT, t, before->sums);
      amx_start(NT, t, kind, p->bias);
      amx_multiply(NT, t, kind, u->positions, p->offsets[0], p->x_row, w, fourth);
      if (i == 0) amx_ahead(NT, t, w);
      for (int e = 0; e < during && s < f.steps; e++, s++) amx_finish(NT, kind, has_terms, even, &f, s);
    }
    for (ptrdiff_t k = 1; k < p->steps; k++) {
      w += NT * 1024;
      _Pragma("GCC unroll 4") for (int t = 0; t < 4; t++) {
        amx_multiply(NT, t, kind, u->positions, p->offsets[k], p->x_row, w, fourth);
        if (i == 0) amx_ahead(NT, t, w);
        for (int e = 0; e < during && s < f.steps; e++, s++) amx_finish(NT, kind, has_terms, even, &f, s);
      }
    }
    line->current = (line->current + 1) % 3;
    line->filled += line->filled < 2;
    line->tiles = NT;
  }
}

SIMD_INLINE void amx_flush(const int NT, const int kind, const int has_terms, const int even, const Panel *p, Pipeline *line) {
  Waiting *before = &line->units[(line->current + 2) % 3];
  _Pragma("GCC unroll 4") for (int t = 0; t < 4; t++) amx_store(NT, t, before->sums);
  if (line->filled == 2) {
    const Finish f = amx_begin(NT, kind, even, p, &line->units[(line->current + 1) % 3]);
    for (int s = 0; s < f.steps; s++) amx_finish(NT, kind, has_terms, even, &f, s);
  }
  const Finish f = amx_begin(NT, kind, even, p, before);
  for (int s = 0; s < f.steps; s++) amx_finish(NT, kind, has_terms, even, &f, s);
  line->tiles = line->filled = 0;
}

#define AMX_PANEL(NT, NAME, KIND, TERMS, EVEN)                                                                                       \
  static void amx_panel_##NT##_##NAME(const Panel *p, const Positions *m, ptrdiff_t count, Pipeline *line) {                         \
    amx_panel(NT, KIND, TERMS, EVEN, p, m, count, line);                                                                             \
  }                                                                                                                                  \
  static void amx_flush_##NT##_##NAME(const Panel *p, Pipeline *line) { amx_flush(NT, KIND, TERMS, EVEN, p, line); }
#define AMX_PANELS(NAME, KIND, TERMS, EVEN)                                                          \
  AMX_PANEL(1, NAME, KIND, TERMS, EVEN) AMX_PANEL(2, NAME, KIND, TERMS, EVEN)                        \
  AMX_PANEL(3, NAME, KIND, TERMS, EVEN) AMX_PANEL(4, NAME, KIND, TERMS, EVEN)
AMX_PANELS(s8, TILE_S8, 0, 0)
AMX_PANELS(u8, TILE_U8, 0, 0)
AMX_PANELS(f32, TILE_F32, 1, 0)
AMX_PANELS(u8_terms, TILE_U8, 1, 0)
AMX_PANELS(s8_even, TILE_S8, 0, 1)
AMX_PANELS(u8_even, TILE_U8, 0, 1)
AMX_PANELS(f32_even, TILE_F32, 1, 1)
AMX_PANELS(u8_terms_even, TILE_U8, 1, 1)
AMX_PANELS(i32, TILE_I32, 0, 0)
AMX_PANELS(i32_u8, TILE_I32_U8, 1, 0)

typedef void (*PanelFunction)(const Panel *, const Positions *, ptrdiff_t, Pipeline *);
typedef void (*FlushFunction)(const Panel *, Pipeline *);
#define AMX_BY_TILES(NAME, KIND) {amx_##NAME##_1_##KIND, amx_##NAME##_2_##KIND, amx_##NAME##_3_##KIND, amx_##NAME##_4_##KIND}
#define AMX_BY_KIND(NAME)                                                                                                            \
  {{AMX_BY_TILES(NAME, s8), AMX_BY_TILES(NAME, u8), AMX_BY_TILES(NAME, f32), AMX_BY_TILES(NAME, i32), AMX_BY_TILES(NAME, i32_u8),    \
    AMX_BY_TILES(NAME, u8_terms)},                                                                                                   \
   {AMX_BY_TILES(NAME, s8_even), AMX_BY_TILES(NAME, u8_even), AMX_BY_TILES(NAME, f32_even), AMX_BY_TILES(NAME, i32),                 \
    AMX_BY_TILES(NAME, i32_u8), AMX_BY_TILES(NAME, u8_terms_even)}} /* i32 is never even */
static const PanelFunction AMX_RUN[2][6][4] = AMX_BY_KIND(panel);
static const FlushFunction AMX_FLUSH[2][6][4] = AMX_BY_KIND(flush);

SIMD_INLINE int amx_kind(const Panel *p) { return p->kind == TILE_U8 && p->has_terms ? 5 : p->kind; }

static void finish_waiting(const Panel *p, Pipeline *line) {
  if (line->tiles != 0) AMX_FLUSH[p->even][amx_kind(p)][line->tiles - 1](p, line);
}

/* NT tiles of columns; what waits with another NT is finished first. */
static void multiply_panel(const Panel *p, int tiles, const Positions *m, ptrdiff_t count, Pipeline *line) {
  if (line->tiles != tiles) finish_waiting(p, line);
  AMX_RUN[p->even][amx_kind(p)][tiles - 1](p, m, count, line);
}

/* n windows of `rows` times `bytes` bytes, whole ones `y_row` apart. Copies reach behind their rows, and what they write there is written over or
 * multiplied by 0. */
SIMD_INLINE void amx_gather(const int wide, const uint8_t *x, ptrdiff_t x_row, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t bytes,
                            ptrdiff_t n, uint8_t *y, ptrdiff_t y_row) {
  for (ptrdiff_t i = 0; i < n; i++, x += stride, y += y_row)
    for (ptrdiff_t r = 0; r < rows; r++) {
      if (wide) _mm256_storeu_si256((__m256i *)(y + r * bytes), _mm256_loadu_si256((const __m256i *)(x + r * x_row)));
      else _mm_storeu_si128((__m128i *)(y + r * bytes), _mm_loadu_si128((const __m128i *)(x + r * x_row)));
    }
}

static void gather_windows(const uint8_t *x, ptrdiff_t x_row, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t bytes, ptrdiff_t n, uint8_t *y,
                           ptrdiff_t y_row) {
  if (bytes > 16) amx_gather(1, x, x_row, stride, rows, bytes, n, y, y_row);
  else if (rows == 3) amx_gather(0, x, x_row, stride, 3, bytes, n, y, y_row);
  else amx_gather(0, x, x_row, stride, rows, bytes, n, y, y_row);
}

/* One window of which some rows, or columns, lie outside of the image: rows `first` to `end` and `valid` bytes behind `before` are in it. */
static void gather_clipped(const uint8_t *x, ptrdiff_t x_row, ptrdiff_t rows, ptrdiff_t first, ptrdiff_t end, ptrdiff_t bytes, ptrdiff_t before,
                           ptrdiff_t valid, int zero, uint8_t *y) {
  const __mmask32 inside = _bzhi_u32(~0u, (unsigned)(before + valid)) & ~_bzhi_u32(~0u, (unsigned)before);
  const __m256i fill = _mm256_set1_epi8((char)zero);
  for (ptrdiff_t r = 0; r < rows; r++) {
    const __m256i row = r < first || r >= end ? fill : _mm256_mask_loadu_epi8(fill, inside, x + r * x_row);
    if (bytes > 16) _mm256_storeu_si256((__m256i *)(y + r * bytes), row);
    else _mm_storeu_si128((__m128i *)(y + r * bytes), _mm256_castsi256_si128(row));
  }
}

/* terms = factor times the sum of each window's bytes; ones: per step a tile of 1 where a tap is. */
static void window_sums(const Panel *p, const int8_t *ones, int32_t factor, Positions *m, ptrdiff_t count) {
  int32_t sums[256] __attribute__((aligned(64)));
  const __m512i column = _mm512_mullo_epi32(_mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), _mm512_set1_epi32(16));
  for (ptrdiff_t i = 0; i < count; i++) {
    _tile_zero(0);
    for (ptrdiff_t k = 0; k < p->steps; k++) {
      _tile_loadd(4, m[i].x + p->offsets[k], p->x_row);
      _tile_loadd(5, ones + k * 1024, 64);
      _tile_dpbusd(0, 4, 5);
    }
    _tile_stored(0, sums, 64);
    vi_store(m[i].terms, vi_mul(_mm512_i32gather_epi32(column, sums, 4), vi_set1(factor)));
  }
}
#endif
