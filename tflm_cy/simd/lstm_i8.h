/* The inner parts of lstm_i8.pxi, sixteen cells at a time: products of 16 rows of weights, packed by turn_taps (conv_i8.h), with one row of
 * unsigned values (step8.h); rescaling; gemmlowp's logistic and tanh on int16.
 *
 * Rounded divisions by 2^n are (x + 2^(n-1)) >> n where the definition rounds half away from zero only after a truncating division
 * (high products), and that less 1 for negative x where it rounds away (RoundingDivideByPOT). */
#ifndef TFLM_CY_SIMD_LSTM_I8_H
#define TFLM_CY_SIMD_LSTM_I8_H

static void multiply_16(const uint8_t *w, const int32_t *bias, const uint8_t *x, ptrdiff_t steps, int32_t *y) {
  enum { N = 16 / VL, STEP = 4 * PARTS8 };
  vi acc[N], more[N];
  ptrdiff_t s = 0;
  _Pragma("GCC unroll 4") for (int i = 0; i < N; i++) {
    acc[i] = vi_load(bias + i * VL);
    more[i] = vi_set1(0);
  }
  for (; s + 2 <= steps; s += 2, w += 128, x += 2 * STEP) {
    _Pragma("GCC unroll 2") for (int part = 0; part < PARTS8; part++) {
      const vb first = vb_set1_32(x + 4 * part), second = vb_set1_32(x + STEP + 4 * part);
      _Pragma("GCC unroll 4") for (int i = 0; i < N; i++) acc[i] = dot8(acc[i], first, taps8(w + i * VB, part));
      _Pragma("GCC unroll 4") for (int i = 0; i < N; i++) more[i] = dot8(more[i], second, taps8(w + 64 + i * VB, part));
    }
  }
  if (s < steps) {
    _Pragma("GCC unroll 2") for (int part = 0; part < PARTS8; part++) {
      const vb last = vb_set1_32(x + 4 * part);
      _Pragma("GCC unroll 4") for (int i = 0; i < N; i++) acc[i] = dot8(acc[i], last, taps8(w + i * VB, part));
    }
  }
  _Pragma("GCC unroll 4") for (int i = 0; i < N; i++) vi_store(y + i * VL, vi_add(acc[i], more[i]));
}

typedef int32_t Lanes __attribute__((vector_size(4 * VL))); /* what a register holds: the compiler compares larger ones lane by lane */
typedef uint32_t UnsignedLanes __attribute__((vector_size(4 * VL)));

#define EACH for (int i = 0; i < VL; i++)
#define SIXTEEN for (int n = 0; n < 16; n += VL) /* n: the first of VL cells */

SIMD_INLINE Lanes lanes_select(Lanes mask, Lanes a, Lanes b) { return (mask & a) | (~mask & b); }
SIMD_INLINE Lanes lanes_min(Lanes a, Lanes b) { return (Lanes)vi_min((vi)a, (vi)b); }
SIMD_INLINE Lanes lanes_max(Lanes a, Lanes b) { return (Lanes)vi_max((vi)a, (vi)b); }
SIMD_INLINE Lanes lanes_of(int32_t x) { return (Lanes){0} + x; }
SIMD_INLINE Lanes lanes_saturate16(Lanes x) { return lanes_max(lanes_min(x, lanes_of(32767)), lanes_of(-32768)); }
/* Of values that fit 16 bits: a product of 32 bits takes the CPU two to five times as long as one of pairs of words, of which one is 0 here. */
SIMD_INLINE Lanes lanes_product16(Lanes a, Lanes b) {
#if SIMD_ISA == 512
  return (Lanes)_mm512_madd_epi16((__m512i)a, (__m512i)(b & 0xFFFF));
#elif SIMD_ISA == 256
  return (Lanes)_mm256_madd_epi16((__m256i)a, (__m256i)(b & 0xFFFF));
#else
  return a * b;
#endif
}
SIMD_INLINE Lanes lanes_high_product16(Lanes a, Lanes b) { return lanes_min((lanes_product16(a, b) + (1 << 14)) >> 15, lanes_of(32767)); }
SIMD_INLINE Lanes lanes_round_shift(Lanes x, int n) { return n == 0 ? x : (x + (1 << (n - 1)) + (x >> 31)) >> n; } /* x + 2^(n-1) fits */
SIMD_INLINE Lanes lanes_rescale16(Lanes x, int n) { return n >= 0 ? lanes_saturate16(x * (1 << n)) : lanes_round_shift(x, -n); }

SIMD_INLINE Lanes lanes_from16(const int16_t *p) {
  Lanes x = {0};
  EACH x[i] = p[i];
  return x;
}

/* The sum wraps as int32 does. */
SIMD_INLINE Lanes lanes_add(Lanes a, Lanes b) { return (Lanes)((UnsignedLanes)a + (UnsignedLanes)b); }

SIMD_INLINE int32_t upper_half16(int32_t constant) { return (int32_t)(((int64_t)constant + (1 << 15)) >> 16); }

SIMD_INLINE Lanes lanes_exp_factor16(Lanes y, Lanes rest, int bits, int exponent, int32_t factor) {
  if (bits <= exponent) return y;
  const Lanes has = (rest & (1 << (15 - bits + exponent))) != 0;
  return lanes_select(has, lanes_high_product16(y, lanes_of(upper_half16(factor))), y);
}

/* exp of a <= 0 with `bits` integer bits, as Q0.15 */
SIMD_INLINE Lanes lanes_exp16(Lanes a, const int bits) {
  const int32_t quarter = 1 << (13 - bits), eighth = upper_half16(1895147668);
  const Lanes m = (a & (quarter - 1)) - quarter, rest = m - a, x = lanes_rescale16(m, bits) + (1 << 12);
  const Lanes x2 = lanes_high_product16(x, x), x3 = lanes_high_product16(x2, x), x4 = lanes_high_product16(x2, x2);
  const Lanes t = lanes_rescale16(lanes_high_product16(lanes_rescale16(x4, -2) + x3, lanes_of(upper_half16(715827883))) + x2, -1);
  Lanes y = lanes_saturate16(eighth + lanes_high_product16(lanes_of(eighth), x + t));
  y = lanes_exp_factor16(y, rest, bits, -2, 1672461947);
  y = lanes_exp_factor16(y, rest, bits, -1, 1302514674);
  y = lanes_exp_factor16(y, rest, bits, 0, 790015084);
  y = lanes_exp_factor16(y, rest, bits, 1, 290630308);
  y = lanes_exp_factor16(y, rest, bits, 2, 39332535);
  y = lanes_exp_factor16(y, rest, bits, 3, 720401);
  y = lanes_exp_factor16(y, rest, bits, 4, 242);
  if (bits > 5) y = lanes_select(a < -(1 << (20 - bits)), lanes_of(0), y);
  return lanes_select(a == 0, lanes_of(32767), y);
}

/* Half of 2 / (1 + a) in Q2.13, a in [0, 1] in Q0.15 */
SIMD_INLINE Lanes lanes_newton16(Lanes a) {
  const Lanes half = (a + 32767 + 1) >> 1;
  Lanes x = upper_half16(1515870810) + lanes_high_product16(half, lanes_of(upper_half16(-1010580540)));
  for (int k = 0; k < 3; k++) x = x + lanes_rescale16(lanes_high_product16(x, (1 << 13) - lanes_high_product16(half, x)), 2);
  return x;
}

static void logistic_16(const int16_t *x, int16_t *y) {
  SIXTEEN {
    const Lanes a = lanes_from16(x + n);
    const Lanes v = lanes_rescale16(lanes_newton16(lanes_exp16(lanes_select(a < 0, a, -a), 3)), 1);
    const Lanes out = lanes_select(a == 0, lanes_of(1 << 14), lanes_select(a > 0, v, 32767 - v));
    EACH y[n + i] = (int16_t)out[i];
  }
}

SIMD_INLINE void tanh_lanes16(const int16_t *x, const int bits, int16_t *y) {
  SIXTEEN {
    const Lanes a = lanes_from16(x + n);
    const Lanes v = lanes_rescale16(lanes_newton16(lanes_exp16(lanes_select(a < 0, a, -a), bits + 1)) - (1 << 13), 2);
    const Lanes out = lanes_select(a == 0, lanes_of(0), lanes_select(a < 0, -v, v));
    EACH y[n + i] = (int16_t)out[i];
  }
}

/* 0 to 6 integer bits */
static void tanh_16(const int16_t *x, int bits, int16_t *y) {
  if (bits == 0) tanh_lanes16(x, 0, y);
  else if (bits == 1) tanh_lanes16(x, 1, y);
  else if (bits == 2) tanh_lanes16(x, 2, y);
  else if (bits == 3) tanh_lanes16(x, 3, y);
  else if (bits == 4) tanh_lanes16(x, 4, y);
  else if (bits == 5) tanh_lanes16(x, 5, y);
  else tanh_lanes16(x, 6, y);
}

/* of x * 2^left, with 3 integer bits */
static void tanh_of_raised_16(const int16_t *x, int left, int16_t *y) {
  int16_t raised[16];
  SIXTEEN {
    const Lanes a = lanes_saturate16(lanes_from16(x + n) << left);
    EACH raised[n + i] = (int16_t)a[i];
  }
  tanh_lanes16(raised, 3, y);
}

/* MultiplyByQuantizedMultiplier, value >= 0; the halves of the 64-bit products meet again in the store. */
SIMD_INLINE Lanes lanes_multiply(Lanes x, int32_t value, int32_t shift) {
  int32_t from[VL] __attribute__((aligned(64))), to[VL] __attribute__((aligned(64)));
  const int left = shift > 0 ? shift : 0, right = shift < 0 ? -shift : 0;
  Lanes y;
  if (left > 0) x = (Lanes)((Lanes)x << left);
  memcpy(from, &x, sizeof x);
  EACH to[i] = (int32_t)(((int64_t)from[i] * value + (1 << 30)) >> 31);
  memcpy(&y, to, sizeof y);
  if (right == 0) return y;
  const int32_t mask = right > 31 ? -1 : (int32_t)((1u << right) - 1);
  return (y >> (right & 31)) - (Lanes)((y & mask) > (mask >> 1) - (y >> 31));
}

/* Both products of a gate, rescaled one after the other. */
static void add_products_16(const int32_t *a, int32_t a_value, int32_t a_shift, const int32_t *b, int32_t b_value, int32_t b_shift, int16_t *v) {
  SIXTEEN {
    Lanes x, y;
    memcpy(&x, a + n, sizeof x);
    memcpy(&y, b + n, sizeof y);
    x = lanes_saturate16(lanes_multiply(x, a_value, a_shift));
    x = lanes_saturate16(lanes_add(x, lanes_multiply(y, b_value, b_shift)));
    EACH v[n + i] = (int16_t)x[i];
  }
}

/* c = clamp(i * g + f * c) */
static void update_cell_16(const int16_t *i_gate, const int16_t *f_gate, const int16_t *g_gate, int right, int32_t low, int32_t high, int16_t *c) {
  SIXTEEN {
    const Lanes enters = lanes_round_shift(lanes_from16(i_gate + n) * lanes_from16(g_gate + n), right) << 16 >> 16; /* an int16 */
    const Lanes stays = lanes_round_shift(lanes_from16(f_gate + n) * lanes_from16(c + n), 15) << 16 >> 16;
    const Lanes out = lanes_max(lanes_min(enters + stays, lanes_of(high)), lanes_of(low));
    EACH c[n + i] = (int16_t)out[i];
  }
}

static void leave_cell_16(const int16_t *gate, const int16_t *hidden, int32_t value, int32_t shift, int32_t zero_point, int8_t *y) {
  SIXTEEN {
    const Lanes scaled = lanes_multiply(lanes_from16(gate + n) * lanes_from16(hidden + n), value, shift);
    const Lanes out = lanes_max(lanes_min(lanes_add(scaled, lanes_of(zero_point)), lanes_of(127)), lanes_of(-128));
    EACH y[n + i] = (int8_t)out[i];
  }
}
#endif
