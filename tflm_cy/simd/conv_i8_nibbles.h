/* Matrix products with weights of four bits, two in a byte, for AVX2: a step is eight values of x, which stay bytes, and of each column eight weights,
 * the first four in the low halves. VPMADDUBSW adds two products to a word; it holds eight of those sums, which then go to the others.
 *
 * Panels are PANEL vectors wide. Instruction sets with dot products of bytes have no use for this. */
#ifndef TFLM_CY_SIMD_CONV_I8_NIBBLES_H
#define TFLM_CY_SIMD_CONV_I8_NIBBLES_H

#if SIMD_ISA == 256 && !defined(SIMD_VNNI)
enum { NIBBLES8 = 1, NIBBLE_ROWS8 = 4, NIBBLE_STEPS8 = 4 };

SIMD_INLINE void nibble_tile8(const int P, const int kind, const Positions8 *t, const Panel8 *w, ptrdiff_t first, void *y) {
  const vb values = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1));
  const vb halves = vb_set1(15), ones = vb_set1_16(1);
  const ptrdiff_t size = kind == TILE_F32 || kind == TILE_I32 ? 4 : 1;
  const uint8_t *rows[NIBBLE_ROWS8];
  const int8_t *from = w->w, *const last = from + PANEL * VB * t->steps;
  Sums8 sums;
  tile8_start(P, PANEL, 0, t, t->terms + first, w, kind, &sums);
  UNROLL for (int p = 0; p < P; p++) rows[p] = t->x + (first + p < t->count ? first + p : first) * t->step;
  for (ptrdiff_t at = 0; from < last;) {
    vb few[NIBBLE_ROWS8][PANEL];
    const int8_t *end = from + PANEL * VB * NIBBLE_STEPS8;
    if (end > last) end = last;
    UNROLL for (int p = 0; p < P; p++)
      UNROLL for (int j = 0; j < PANEL; j++) few[p][j] = vb_set1(0);
    for (; from < end; from += PANEL * VB, at += 8) {
      vb low[PANEL], high[PANEL];
      UNROLL for (int j = 0; j < PANEL; j++) {
        const vb v = vb_load(from + j * VB);
        low[j] = _mm256_shuffle_epi8(values, vb_and(v, halves));
        high[j] = _mm256_shuffle_epi8(values, vb_and(_mm256_srli_epi16(v, 4), halves));
      }
      UNROLL for (int p = 0; p < P; p++) {
        const vb x = vb_set1_32(rows[p] + at), more = vb_set1_32(rows[p] + at + 4);
        UNROLL for (int j = 0; j < PANEL; j++) {
          few[p][j] = _mm256_add_epi16(few[p][j], _mm256_maddubs_epi16(x, low[j]));
          few[p][j] = _mm256_add_epi16(few[p][j], _mm256_maddubs_epi16(more, high[j]));
        }
      }
    }
    UNROLL for (int p = 0; p < P; p++)
      UNROLL for (int j = 0; j < PANEL; j++) sums.whole[p][j] = vi_add(sums.whole[p][j], _mm256_madd_epi16(few[p][j], ones));
  }
  tile8_finish(P, PANEL, 0, t, first, w, kind, &sums, (uint8_t *)y + first * t->y_row * size);
}

#define NIBBLES_OF_KIND8(NAME, KIND)                                                                                         \
  static __attribute__((noinline)) void NAME##_row(const Positions8 *t, const Panel8 *w, ptrdiff_t first, void *y) {         \
    nibble_tile8(1, KIND, t, w, first, y);                                                                                   \
  }                                                                                                                          \
  static void NAME(const Positions8 *t, const Panel8 *w, void *y) {                                                          \
    ptrdiff_t first = 0;                                                                                                     \
    for (; first + 1 < t->count; first += NIBBLE_ROWS8) nibble_tile8(NIBBLE_ROWS8, KIND, t, w, first, y);                    \
    if (first < t->count) NAME##_row(t, w, first, y);                                                                        \
  }
NIBBLES_OF_KIND8(nibbles8_s8, TILE_S8)
NIBBLES_OF_KIND8(nibbles8_f32, TILE_F32)

SIMD_INLINE Tiles8 nibbles_i8(int kind) { return kind == TILE_F32 ? nibbles8_f32 : nibbles8_s8; }
#else
enum { NIBBLES8 = 0, NIBBLE_ROWS8 = 1 };
SIMD_INLINE Tiles8 nibbles_i8(int kind) { (void)kind; return NULL; }
#endif

/* Eight weights of up to 16 columns, `row` bytes apart; n: how many of them there are. */
static void pack_nibbles8(const uint8_t *w, ptrdiff_t row, ptrdiff_t columns, ptrdiff_t n, uint8_t *to) {
  for (ptrdiff_t c = 0; c < columns; c++) {
    uint64_t eight = 0;
    uint32_t both;
    memcpy(&eight, w + c * row, (size_t)n);
    eight &= 0x0F0F0F0F0F0F0F0Full;
    both = (uint32_t)eight | (uint32_t)(eight >> 32) << 4;
    memcpy(to + 4 * c, &both, 4);
  }
}
#endif
