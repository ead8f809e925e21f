"""Pages of memory of one's own.

    start = map_pages(size)                   # zeroed, nothing of it in use yet; NULL: there is no room
    want_huge_pages(start, size)              # and want_small_pages: wishes
    forget_pages(start, size)                 # whole pages: nobody needs what they hold, it may change
    unmap_pages(start, size)
    page_size()                               # 4 KiB, or 16 KiB as on a Raspberry Pi 5 and Apple's cores, or 64 KiB
"""
cdef extern from *:
    """
    #include <stddef.h>
    #ifdef _WIN32
    #define WIN32_LEAN_AND_MEAN
    #define NOMINMAX
    #include <windows.h>
    static inline size_t page_size(void) {
        SYSTEM_INFO info;
        GetSystemInfo(&info);
        return info.dwPageSize;
    }
    static inline void *map_pages(size_t size) { return VirtualAlloc(NULL, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE); }
    static inline void unmap_pages(void *start, size_t size) { (void)size; VirtualFree(start, 0, MEM_RELEASE); }
    static inline void forget_pages(void *start, size_t size) { VirtualAlloc(start, size, MEM_RESET, PAGE_READWRITE); }
    static inline void want_huge_pages(void *start, size_t size) { (void)start; (void)size; }
    static inline void want_small_pages(void *start, size_t size) { (void)start; (void)size; }
    #else
    #include <sys/mman.h>
    #include <unistd.h>
    static inline size_t page_size(void) {
        const long size = sysconf(_SC_PAGESIZE);
        return size > 0 ? (size_t)size : (size_t)1 << 16;
    }
    static inline void *map_pages(size_t size) {
        void *start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return start == MAP_FAILED ? NULL : start;
    }
    static inline void unmap_pages(void *start, size_t size) { munmap(start, size); }
    static inline void forget_pages(void *start, size_t size) {
    #ifdef __APPLE__                                 /* where DONTNEED keeps what they hold */
        madvise(start, size, MADV_FREE);
    #else
        madvise(start, size, MADV_DONTNEED);
    #endif
    }
    static inline void want_huge_pages(void *start, size_t size) {
    #ifdef MADV_HUGEPAGE
        madvise(start, size, MADV_HUGEPAGE);
    #else
        (void)start; (void)size;
    #endif
    }
    static inline void want_small_pages(void *start, size_t size) {
    #ifdef MADV_NOHUGEPAGE
        madvise(start, size, MADV_NOHUGEPAGE);
    #else
        (void)start; (void)size;
    #endif
    }
    #endif
    """
    size_t page_size() noexcept nogil
    void* map_pages(size_t size) noexcept nogil
    void unmap_pages(void* start, size_t size) noexcept nogil
    void forget_pages(void* start, size_t size) noexcept nogil
    void want_huge_pages(void* start, size_t size) noexcept nogil
    void want_small_pages(void* start, size_t size) noexcept nogil
