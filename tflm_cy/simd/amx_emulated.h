/* AMX's tile instructions in C, for machines without them: TFLM_CY_EMULATE=amx pip install -e . has the kernels of amx.pyx tested there.
 * All tiles have 16 rows of 64 bytes, as amx.h configures them. */
#ifndef TFLM_CY_SIMD_AMX_EMULATED_H
#define TFLM_CY_SIMD_AMX_EMULATED_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

static __thread uint8_t amx_tiles[8][16][64];
static __thread uint8_t amx_config[64];

static __attribute__((noinline)) void amx_emulated_load(int tile, const void *from, ptrdiff_t stride) {
  for (int r = 0; r < 16; r++) memcpy(amx_tiles[tile][r], (const uint8_t *)from + r * stride, 64);
}

static __attribute__((noinline)) void amx_emulated_store(int tile, void *to, ptrdiff_t stride) {
  for (int r = 0; r < 16; r++) memcpy((uint8_t *)to + r * stride, amx_tiles[tile][r], 64);
}

/* sums[m][n] += 4 taps of x[m] times those of column n, whose rows hold four taps of each column. */
static __attribute__((noinline)) void amx_emulated_dot(int sums, int x, int w, int x_signed) {
  for (int m = 0; m < 16; m++) {
    for (int n = 0; n < 16; n++) {
      int32_t sum;
      memcpy(&sum, amx_tiles[sums][m] + 4 * n, 4);
      for (int k = 0; k < 64; k++) {
        const uint8_t tap = amx_tiles[x][m][k];
        sum = (int32_t)((uint32_t)sum + (uint32_t)((x_signed ? (int8_t)tap : tap) * (int8_t)amx_tiles[w][k / 4][4 * n + k % 4]));
      }
      memcpy(amx_tiles[sums][m] + 4 * n, &sum, 4);
    }
  }
}

#undef _tile_loadconfig
#undef _tile_storeconfig
#undef _tile_loadd
#undef _tile_stream_loadd
#undef _tile_stored
#undef _tile_zero
#undef _tile_dpbusd
#undef _tile_dpbssd
#define _tile_loadconfig(FROM) memcpy(amx_config, FROM, 64)
#define _tile_storeconfig(TO) memcpy(TO, amx_config, 64)
#define _tile_loadd(TILE, FROM, STRIDE) amx_emulated_load(TILE, FROM, STRIDE)
#define _tile_stream_loadd(TILE, FROM, STRIDE) amx_emulated_load(TILE, FROM, STRIDE)
#define _tile_stored(TILE, TO, STRIDE) amx_emulated_store(TILE, TO, STRIDE)
#define _tile_zero(TILE) memset(amx_tiles[TILE], 0, sizeof amx_tiles[TILE])
#define _tile_dpbusd(SUMS, X, W) amx_emulated_dot(SUMS, X, W, 0)
#define _tile_dpbssd(SUMS, X, W) amx_emulated_dot(SUMS, X, W, 1)
#endif
