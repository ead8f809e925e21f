/* Lets one call of the C library's allocation functions fail: preloaded, before AddressSanitizer's library if that is there, too.
   fail_allocation(n): the n-th from now on, on this thread; 0: none. allocations_since() counts them. */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Found without a call: the sanitizer's own __tls_get_addr is not ready when the first memory is asked for. */
static __thread unsigned long calls __attribute__((tls_model("initial-exec"))), wanted __attribute__((tls_model("initial-exec")));

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

/* By the system call: to look the library's function up asks for memory, which a sanitizer that begins asks of mmap. */
void *mmap(void *at, size_t n, int protection, int flags, int file, off_t offset) {
    return fails() ? MAP_FAILED : (void *)syscall(SYS_mmap, at, n, protection, flags, file, offset);
}
