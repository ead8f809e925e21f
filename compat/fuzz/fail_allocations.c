/* Lets one call of the C library's allocation functions fail: preloaded, before AddressSanitizer's library if that is there, too.
   fail_allocation(n): the n-th from now on, on this thread; 0: none. allocations_since() counts them. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

static __thread unsigned long calls, wanted;

void fail_allocation(unsigned long n) { calls = 0; wanted = n; }
unsigned long allocations_since(void) { return calls; }

static int fails(void) {
    if (wanted == 0 || ++calls != wanted) return 0;
    errno = ENOMEM;
    return 1;
}

#define WEAK __attribute__((weak))
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t), *__libc_memalign(size_t, size_t);
extern void *__interceptor_malloc(size_t) WEAK, *__interceptor_calloc(size_t, size_t) WEAK;
extern void *__interceptor_realloc(void *, size_t) WEAK, *__interceptor_memalign(size_t, size_t) WEAK;
#define NEXT(name) (__interceptor_##name ? __interceptor_##name : __libc_##name)

void *malloc(size_t n) { return fails() ? NULL : NEXT(malloc)(n); }
void *calloc(size_t n, size_t m) { return fails() ? NULL : NEXT(calloc)(n, m); }
void *realloc(void *p, size_t n) { return fails() ? NULL : NEXT(realloc)(p, n); }
void *memalign(size_t a, size_t n) { return fails() ? NULL : NEXT(memalign)(a, n); }
void *aligned_alloc(size_t a, size_t n) { return memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) { *p = memalign(a, n); return *p ? 0 : ENOMEM; }

void *mmap(void *at, size_t n, int protection, int flags, int file, off_t offset) {
    static void *(*next)(void *, size_t, int, int, int, off_t);
    if (fails()) return MAP_FAILED;
    if (!next) next = (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
    return next(at, n, protection, flags, file, offset);
}
