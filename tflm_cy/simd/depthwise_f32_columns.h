/* column32 and columns32 of depthwise_f32.h, for vectors V: included for whole ones and for half ones. */
#define PASTE32(a, b) a##_##b
#define NAME32(a, b) PASTE32(a, b)
#define OF(what) NAME32(V, what)

/* C output columns, which begin at ox, of R rows. Either all taps are in registers, or each filter column is loaded from w when it is needed. */
SIMD_INLINE void OF(column32)(
    const int K, const int S, const int R, const int C, const int PART, const int CHECK, const Columns32 *d, const float *const *rows, const float *w,
    const V *taps, V bias, V low, V high, ptrdiff_t ox, float *y) {
  const ptrdiff_t ic = d->ic, left = ox * S - d->pad_w;
  V acc[MOST_SUMS32], tap[5];
  UNROLL32D for (int r = 0; r < R * C; r++) acc[r] = bias;
  UNROLL32D for (int kx = 0; kx < K; kx++) {
    if (RELOAD32(K, S)) __asm__ volatile("" ::: "memory");
    UNROLL32D for (int ky = 0; ky < K; ky++) tap[ky] = RELOAD32(K, S) ? OF(load)(w + (1 + kx * K + ky) * VL) : taps[kx * K + ky];
    UNROLL32D for (int c = 0; c < C; c++) {
      const ptrdiff_t ix = left + c * S + kx, at = ix * ic;
      const int outside = CHECK && (ix < 0 || ix >= d->iw);
      UNROLL32D for (int i = 0; i < (R - 1) * S + K; i++) {
        V x;
        if (CHECK && outside) x = OF(set1)(0);
        else x = PART ? OF(load_part)(rows[i] + at, d->n) : OF(load)(rows[i] + at);
        if (LOADS32(K, S) && sizeof x == sizeof(vf)) SIMD_KEEP(x);
        UNROLL32D for (int r = 0; r < R; r++) {
          const int ky = i - r * S;
          if (ky >= 0 && ky < K) acc[r * C + c] = OF(fma_first)(x, tap[ky], acc[r * C + c]);
        }
      }
    }
  }
  UNROLL32D for (int r = 0; r < R * C; r++) {
    float *at = y + r / C * d->y_row + r % C * ic;
    V v = K == 3 ? OF(min)(high, OF(max)(low, acc[r])) : OF(min)(OF(of)(d->high), OF(max)(OF(of)(d->low), acc[r])); /* larger filters need all registers */
    if (PART) OF(store_part)(at, v, d->n);
    else OF(store)(at, v);
  }
}

SIMD_INLINE void OF(columns32)(const int K, const int S, const int R, const int C, const int PART, const Columns32 *d, const float *w, float *y) {
  const float *rows[16];
  V taps[25];
  const V bias = OF(load)(w), low = OF(of)(d->low), high = OF(of)(d->high);
  const ptrdiff_t ic = d->ic;
  ptrdiff_t ox = d->first, inside;
  UNROLL32D for (int i = 0; i < (R - 1) * S + K; i++) rows[i] = d->rows[i];
  if (!RELOAD32(K, S)) {
    UNROLL32D for (int i = 0; i < K * K; i++) taps[i] = OF(load)(w + (1 + i) * VL);
  }
  for (; ox < d->end && ox * S < d->pad_w; ox++) OF(column32)(K, S, R, 1, PART, 1, d, rows, w, taps, bias, low, high, ox, y + ox * ic);
  inside = d->iw + d->pad_w - K >= 0 ? (d->iw + d->pad_w - K) / S + 1 : 0;
  if (inside > d->end) inside = d->end;
  for (; ox + C <= inside; ox += C) OF(column32)(K, S, R, C, PART, 0, d, rows, w, taps, bias, low, high, ox, y + ox * ic);
  for (; ox < d->end; ox++) OF(column32)(K, S, R, 1, PART, 1, d, rows, w, taps, bias, low, high, ox, y + ox * ic);
}

#undef PASTE32
#undef NAME32
#undef OF
