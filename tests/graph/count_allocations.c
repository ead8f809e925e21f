/* Counts the calls of the C library's allocation functions, for tests: preloaded, read through allocation_count(). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

static unsigned long calls;

unsigned long allocation_count(void) { return calls; }

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);

void *malloc(size_t n) { __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED); return __libc_malloc(n); }
void *calloc(size_t n, size_t m) { __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED); return __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED); return __libc_realloc(p, n); }
void *memalign(size_t a, size_t n) { __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED); return __libc_memalign(a, n); }
void *aligned_alloc(size_t a, size_t n) { return memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) { *p = memalign(a, n); return *p ? 0 : 12; }
