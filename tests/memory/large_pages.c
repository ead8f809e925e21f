/* Pages of 16 KiB, for tests: preloaded, mmap and madvise do what they do where pages are as large. given_back() counts the calls that gave some back. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 1 << 14 };

static unsigned long calls;

unsigned long given_back(void) { return calls; }

static size_t whole(size_t size) { return (size + PAGE - 1) / PAGE * PAGE; }

long sysconf(int name) {
  static long (*real)(int);
  if (real == NULL) real = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
  return name == _SC_PAGESIZE ? PAGE : real(name);
}

void *mmap(void *wish, size_t size, int protection, int flags, int file, off_t offset) {
  static void *(*real)(void *, size_t, int, int, int, off_t);
  uintptr_t room;
  if (real == NULL) real = (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap");
  if (flags & MAP_FIXED) return real(wish, size, protection, flags, file, offset);
  room = (uintptr_t)real(NULL, whole(size) + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if ((void *)room == MAP_FAILED) return MAP_FAILED;
  return real((void *)whole(room), size, protection, flags | MAP_FIXED, file, offset);
}

void *mmap64(void *wish, size_t size, int protection, int flags, int file, off_t offset) { return mmap(wish, size, protection, flags, file, offset); }

int madvise(void *start, size_t size, int advice) {
  static int (*real)(void *, size_t, int);
  if (real == NULL) real = (int (*)(void *, size_t, int))dlsym(RTLD_NEXT, "madvise");
  if ((uintptr_t)start % PAGE) {
    errno = EINVAL;
    return -1;
  }
  calls += advice == MADV_DONTNEED;
  return real(start, whole(size), advice);
}
