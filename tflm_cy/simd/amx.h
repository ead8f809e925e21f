/* Products of bytes on AMX tiles: the unit of amx.pyx.
 *
 * A tile of x is 16 positions times 64 bytes of their windows, a tile of weights 64 taps times 16 columns. A unit is four (three) such products
 * at once: NT tiles of columns times 1, 1, 2 or 4 tiles of positions (NT = 4, 3, 2, 1). Its sums go to a buffer, and become outputs in 16 steps
 * that are woven into the products of the unit after the next. Where fewer tiles of positions are left, the first ones of the unit are *skipped*:
 * they make outputs as the others do, of whatever is there, at the place where the first of the others writes after them.
 *
 * All units share one configuration (every tile is 16 rows of 64 bytes), so that a thread loads it once and finds it there at the next node:
 * loading costs 50 ns, storing it for a comparison 5. */
#ifndef TFLM_CY_SIMD_AMX_H
#define TFLM_CY_SIMD_AMX_H

#ifdef TFLM_CY_EMULATE_AMX
#include "amx_emulated.h"
#endif

enum { CLAMPED, WHOLE_RANGE, MAGIC_BIAS };
enum { AMX_8, AMX_F32, AMX_I32, AMX_KINDS }; /* outputs: bytes, floats, the sums themselves */
enum { STEPS = 16, CHUNK = 64 };

#define SIMD_LIKELY(X) __builtin_expect(!!(X), 1)

typedef struct {
  const uint8_t *x;       /* of the first position */
  uint8_t *y;             /* even: where its outputs go; those of the others follow y_row bytes apart */
  uint8_t *rows[16];      /* else: where each position's outputs go */
  int32_t terms[16];      /* added to its sums; dynamic: times the column's sum of weights */
  float inverses[16];     /* dynamic */
} Positions;

typedef struct {
  int kind;
  int is_signed;          /* x is int8, else uint8, as the outputs of AMX_8 are */
  int has_terms;
  int limits;             /* CLAMPED; WHOLE_RANGE: those of the type; MAGIC_BIAS: as well, of raised sums (requantize8.h) */
  int even;
  ptrdiff_t y_row;
  ptrdiff_t x_row;        /* bytes between positions */
  ptrdiff_t steps;        /* of 64 bytes */
  const int32_t *offsets; /* per step, from a window's first byte */
  const int8_t *w;        /* of the panel: per step NT tiles */
  const int8_t *next;     /* weights that are wanted then */
  ptrdiff_t next_bytes;
  const int32_t *bias;
  const float *scales;
  const float *f_bias;
  ptrdiff_t column;       /* bytes of y in front of the panel's columns */
  ptrdiff_t n;            /* columns to store */
  vb zero, low, high;     /* less 128 where outputs are unsigned */
  vb sign;                /* 128 there, else 0 */
  int near_zero;          /* no product of a sum and its scale leaves -2^22 .. 2^22 */
  vi less;                /* near_zero: to subtract from ROUNDING plus a product: its bits, less the zero point */
  float f_low, f_high;
  int keeps_nan;          /* in their clamp */
  int32_t *sums;          /* AMX_I32: where those of `first`, the first tile of positions, go; sum_row bytes apart */
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

/* Tiles of positions in a unit, and rows of outputs in a step: so many share a vector of bytes. */
SIMD_INLINE int amx_together(int tiles) { return tiles >= 3 ? 1 : 4 / tiles; }

#include "amx_outputs.h"

#define AMX_DOT(C, A, B) do { if (is_signed) _tile_dpbssd(C, A, B); else _tile_dpbusd(C, A, B); } while (0)

/* Tile t's share of one step of 64 bytes: its operands, its product. */
SIMD_INLINE void amx_multiply(const int NT, const int t, const int is_signed, const Positions *const *m, ptrdiff_t at, ptrdiff_t x_row,
                              const int8_t *w, const int skipped) {
  if (NT >= 3) {
    if (t == 0) { _tile_loadd(4, m[0]->x + at, x_row); _tile_loadd(5, w, 64); AMX_DOT(0, 4, 5); }
    if (t == 1) { _tile_loadd(6, w + 1024, 64); AMX_DOT(1, 4, 6); }
    if (t == 2) { _tile_loadd(7, w + 2048, 64); AMX_DOT(2, 4, 7); }
    if (t == 3 && NT == 4) { _tile_loadd(5, w + 3072, 64); AMX_DOT(3, 4, 5); }
  } else if (NT == 2) {
    if (t == 0) _tile_loadd(6, w, 64);
    if (t == 0 && !skipped) { _tile_loadd(4, m[0]->x + at, x_row); AMX_DOT(0, 4, 6); }
    if (t == 1) _tile_loadd(7, w + 1024, 64);
    if (t == 1 && !skipped) AMX_DOT(1, 4, 7);
    if (t == 2) { _tile_loadd(5, m[1]->x + at, x_row); AMX_DOT(2, 5, 6); }
    if (t == 3) AMX_DOT(3, 5, 7);
  } else {
    if (t == 0) _tile_stream_loadd(7, w, 64);
    if (t == 0 && skipped < 1) { _tile_loadd(4, m[0]->x + at, x_row); AMX_DOT(0, 4, 7); }
    if (t == 1 && skipped < 2) { _tile_loadd(5, m[1]->x + at, x_row); AMX_DOT(1, 5, 7); }
    if (t == 2 && skipped < 3) { _tile_loadd(6, m[2]->x + at, x_row); AMX_DOT(2, 6, 7); }
    if (t == 3) { _tile_loadd(4, m[3]->x + at, x_row); AMX_DOT(3, 4, 7); }
  }
}

/* The weights of the next panel are fetched to the second cache, spread over the products of this one: all at once, when they are wanted, they
 * would have to be waited for. */
typedef struct {
  const int8_t *at;       /* NULL: nothing, or the units before have fetched all */
  int lines;              /* per product */
} Far;

/* Per product, for a panel as large as this one. */
SIMD_INLINE int amx_lines(const int NT, ptrdiff_t count) {
  const ptrdiff_t units = (count + amx_together(NT) - 1) / amx_together(NT);
  return (int)((4 * NT + units - 1) / units);
}

SIMD_INLINE Far amx_far(const int NT, const Panel *p, ptrdiff_t i, int lines) {
  const ptrdiff_t share = lines * p->steps * 256, first = i / amx_together(NT) * share;
  const Far far = {first + share <= p->next_bytes ? p->next + first : NULL, lines};
  return far;
}

SIMD_INLINE void amx_fetch(const int NT, Far *far) {
  if (far->at == NULL) return;
  if (far->lines == 4 * NT) {
    _Pragma("GCC unroll 16") for (int i = 0; i < 4 * NT; i++) _mm_prefetch((const char *)far->at + 64 * i, _MM_HINT_T1);
  } else {
    for (int i = 0; i < far->lines; i++) _mm_prefetch((const char *)far->at + 64 * i, _MM_HINT_T1);
  }
  far->at += 64 * far->lines;
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
  if (kind == AMX_F32) {
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

SIMD_INLINE void amx_fill(Waiting *u, const int NT, const Panel *p, const Positions *positions, const int skipped) {
  _Pragma("GCC unroll 4") for (int j = 0; j < amx_together(NT); j++) u->positions[j] = positions + (j < skipped ? 0 : j - skipped);
  u->bias = p->bias;
  u->scales = p->scales;
  u->f_bias = p->f_bias;
  u->column = p->column;
  u->n = p->n;
}

/* The unit of positions from `i` on, with two waiting. */
SIMD_INLINE void amx_plain(const int NT, const int whole, const int limits, const Panel *p, const Positions *positions,
                           ptrdiff_t i, const int skipped, Far far, Pipeline *line) {
#define OUTPUTS(N) do { _Pragma("GCC unroll 2") for (int e = 0; e < (N); e++) amx_finish_plain(NT, whole, limits, &f, s++, &y); } while (0)
#define AMX_PLAIN_ROUNDS(DURING)                                                                  \
  _Pragma("GCC unroll 4") for (int t = 0; t < 4; t++) {                                           \
    amx_store(NT, t, before->sums);                                                               \
    OUTPUTS(DURING);                                                                              \
    amx_start(NT, t, AMX_8, bias);                                                                \
    amx_multiply(NT, t, is_signed, u->positions, offsets[0], x_row, w, skipped);                       \
    amx_fetch(NT, &far);                                                                          \
  }                                                                                               \
  _Pragma("GCC unroll 3") for (; k < 4 / (DURING); k++) {                                         \
    w += NT * 1024;                                                                               \
    _Pragma("GCC unroll 4") for (int t = 0; t < 4; t++) {                                         \
      amx_multiply(NT, t, is_signed, u->positions, offsets[k], x_row, w, skipped);                     \
      amx_fetch(NT, &far);                                                                        \
      OUTPUTS(DURING);                                                                            \
    }                                                                                             \
  }
  const ptrdiff_t steps = p->steps, x_row = p->x_row;
  const int32_t *const offsets = p->offsets, *const bias = p->bias;
  const int is_signed = p->is_signed;
  Waiting *u = &line->units[line->current];
  Waiting *before = &line->units[(line->current + 2) % 3];
  const Finish f = amx_begin(NT, AMX_8, 1, p, &line->units[(line->current + 1) % 3]);
  const int8_t *w = p->w;
  uint8_t *y = NULL;
  ptrdiff_t k = 1;
  int s = 0;
  amx_fill(u, NT, p, positions + i, skipped);
  if (steps == 1) {
    _Pragma("GCC unroll 4") for (int t = 0; t < 4; t++) {
      amx_store(NT, t, before->sums);
      OUTPUTS(1);
      amx_start(NT, t, AMX_8, bias);
      OUTPUTS(1);
      amx_multiply(NT, t, is_signed, u->positions, offsets[0], x_row, w, skipped);
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
      amx_multiply(NT, t, is_signed, u->positions, offsets[k], x_row, w, skipped);
      amx_fetch(NT, &far);
    }
  }
  line->current = (line->current + 1) % 3;
#undef OUTPUTS
#undef AMX_PLAIN_ROUNDS
}

/* Of a unit of which `left` tiles of positions are left. */
SIMD_INLINE int amx_skipped(const int NT, ptrdiff_t left) { return left < amx_together(NT) ? amx_together(NT) - (int)left : 0; }

/* Units from `i` on, with two waiting. Whole ones, of whole panels, have code of their own for the limits, in which those of a type are as any
 * others; the rest asks. */
SIMD_INLINE void amx_plain_units(const int NT, const int whole, const Panel *p, const Positions *positions, ptrdiff_t i,
                                 ptrdiff_t count, int lines, Pipeline *line) {
  const ptrdiff_t together = amx_together(NT), end = NT != 3 && whole ? i + (count - i) / together * together : i;
  if (NT != 3 && p->limits == MAGIC_BIAS) {
    for (; i < end; i += together) amx_plain(NT, 1, MAGIC_BIAS, p, positions, i, 0, amx_far(NT, p, i, lines), line);
  } else if (NT != 3) {
    for (; i < end; i += together) amx_plain(NT, 1, CLAMPED, p, positions, i, 0, amx_far(NT, p, i, lines), line);
  }
  for (; i < count; i += together)
    amx_plain(NT, 0, p->limits, p, positions, i, amx_skipped(NT, count - i), amx_far(NT, p, i, lines), line);
}

/* All units of a panel over `count` tiles of positions. The CPU takes tile instructions in order: a tile is stored when four products lie
 * between, just before it is used again, and what was stored during one unit becomes outputs during the next. */
SIMD_INLINE void amx_panel(const int NT, const int kind, const int has_terms, const int even, const Panel *p, const Positions *positions,
                           ptrdiff_t count, Pipeline *line) {
  const int during = p->steps == 1 ? 4 : p->steps <= 3 ? 2 : 1, lines = amx_lines(NT, count), is_signed = p->is_signed;
  for (ptrdiff_t i = 0; i < count; i += amx_together(NT)) {
    Waiting *before = &line->units[(line->current + 2) % 3];
    const Waiting *done = &line->units[(line->current + 1) % 3];
    if (line->filled == 2 && amx_is_plain(kind, has_terms, even, p)) {
      amx_plain_units(NT, amx_is_whole(NT, p, before, done), p, positions, i, count, lines, line);
      return;
    }
    Waiting *u = &line->units[line->current];
    int s = line->filled < 2 ? STEPS : 0;
    const int8_t *w = p->w;
    const int skipped = amx_skipped(NT, count - i);
    Far far = amx_far(NT, p, i, lines);
    amx_fill(u, NT, p, positions + i, skipped);
    const Finish f = amx_begin(NT, kind, even, p, s < STEPS ? done : u);
    _Pragma("GCC unroll 4") for (int t = 0; t < 4; t++) {
      amx_store(NT, t, before->sums);
      amx_start(NT, t, kind, p->bias);
      amx_multiply(NT, t, is_signed, u->positions, p->offsets[0], p->x_row, w, skipped);
      amx_fetch(NT, &far);
      for (int e = 0; e < during && s < STEPS; e++, s++) amx_finish(NT, kind, has_terms, even, &f, s);
    }
    for (ptrdiff_t k = 1; k < p->steps; k++) {
      w += NT * 1024;
      _Pragma("GCC unroll 4") for (int t = 0; t < 4; t++) {
        amx_multiply(NT, t, is_signed, u->positions, p->offsets[k], p->x_row, w, skipped);
        amx_fetch(NT, &far);
        for (int e = 0; e < during && s < STEPS; e++, s++) amx_finish(NT, kind, has_terms, even, &f, s);
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
    for (int s = 0; s < STEPS; s++) amx_finish(NT, kind, has_terms, even, &f, s);
  }
  const Finish f = amx_begin(NT, kind, even, p, before);
  for (int s = 0; s < STEPS; s++) amx_finish(NT, kind, has_terms, even, &f, s);
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
AMX_PANELS(bytes, AMX_8, 0, 0)
AMX_PANELS(bytes_even, AMX_8, 0, 1)
AMX_PANELS(bytes_terms, AMX_8, 1, 0)
AMX_PANELS(bytes_terms_even, AMX_8, 1, 1)
AMX_PANELS(floats, AMX_F32, 1, 0)
AMX_PANELS(floats_even, AMX_F32, 1, 1)
AMX_PANELS(sums, AMX_I32, 0, 0)
AMX_PANELS(sums_terms, AMX_I32, 1, 0)

typedef void (*PanelFunction)(const Panel *, const Positions *, ptrdiff_t, Pipeline *);
typedef void (*FlushFunction)(const Panel *, Pipeline *);
#define AMX_BY_TILES(NAME, KIND) {amx_##NAME##_1_##KIND, amx_##NAME##_2_##KIND, amx_##NAME##_3_##KIND, amx_##NAME##_4_##KIND}
#define AMX_BY_EVEN(NAME, KIND) {AMX_BY_TILES(NAME, KIND), AMX_BY_TILES(NAME, KIND##_even)}
#define AMX_UNEVEN(NAME, KIND) {AMX_BY_TILES(NAME, KIND), AMX_BY_TILES(NAME, KIND)}
/* By kind, terms (floats always have them), even (sums never are), tiles of columns. */
#define AMX_TABLE(NAME)                                                          \
  {{AMX_BY_EVEN(NAME, bytes), AMX_BY_EVEN(NAME, bytes_terms)},                   \
   {AMX_BY_EVEN(NAME, floats), AMX_BY_EVEN(NAME, floats)},                       \
   {AMX_UNEVEN(NAME, sums), AMX_UNEVEN(NAME, sums_terms)}}
static const PanelFunction AMX_RUN[AMX_KINDS][2][2][4] = AMX_TABLE(panel);
static const FlushFunction AMX_FLUSH[AMX_KINDS][2][2][4] = AMX_TABLE(flush);

static void finish_waiting(const Panel *p, Pipeline *line) {
  if (line->tiles != 0) AMX_FLUSH[p->kind][p->has_terms][p->even][line->tiles - 1](p, line);
}

/* NT tiles of columns; what waits with another NT is finished first. */
static void multiply_panel(const Panel *p, int tiles, const Positions *m, ptrdiff_t count, Pipeline *line) {
  if (line->tiles != tiles) finish_waiting(p, line);
  AMX_RUN[p->kind][p->has_terms][p->even][tiles - 1](p, m, count, line);
}

#include "amx_windows.h"
#endif
