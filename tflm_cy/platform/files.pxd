"""Files that are read in place.

    descriptor = open_to_read(path)                   # UTF-8 on Windows, the system's bytes elsewhere; does not wait at a named pipe; -1: no
    size = regular_file_size(descriptor)              # -1: it is no regular file
    start = map_file(descriptor, size)                # NULL: there is no room
    close_file(descriptor)
    forget_file_pages(start, size)                    # they come back as somebody looks at them
    unmap_file(start, size)
"""
from libc.stdint cimport int64_t

cdef extern from *:
    """
    #include <fcntl.h>
    #include <stdint.h>
    #include <sys/stat.h>
    #ifdef _WIN32
    #define WIN32_LEAN_AND_MEAN
    #define NOMINMAX
    #include <windows.h>
    #include <io.h>
    static inline int open_to_read(const char *path) {
        wchar_t wide[32768];
        if (MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, 32768) == 0) return -1;
        return _wopen(wide, _O_RDONLY | _O_BINARY | _O_NOINHERIT);
    }
    static inline int64_t regular_file_size(int descriptor) {
        struct _stat64 status;
        return _fstat64(descriptor, &status) == 0 && (status.st_mode & _S_IFMT) == _S_IFREG ? status.st_size : -1;
    }
    static inline void *map_file(int descriptor, size_t size) {
        void *start;
        HANDLE mapping = CreateFileMappingW((HANDLE)_get_osfhandle(descriptor), NULL, PAGE_READONLY, 0, 0, NULL);
        if (mapping == NULL) return NULL;
        start = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, size);
        CloseHandle(mapping);
        return start;
    }
    static inline void close_file(int descriptor) { _close(descriptor); }
    static inline void unmap_file(void *start, size_t size) { (void)size; UnmapViewOfFile(start); }
    static inline void forget_file_pages(void *start, size_t size) { VirtualUnlock(start, size); }   /* of what is not locked: out of the working set */
    #else
    #include <errno.h>
    #include <sys/mman.h>
    #include <unistd.h>
    static inline int open_to_read(const char *path) {
        int descriptor;
        do descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        while (descriptor < 0 && errno == EINTR);
        return descriptor;
    }
    static inline int64_t regular_file_size(int descriptor) {
        struct stat status;
        return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) ? (int64_t)status.st_size : -1;
    }
    static inline void *map_file(int descriptor, size_t size) {
        void *start = mmap(NULL, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        return start == MAP_FAILED ? NULL : start;
    }
    static inline void close_file(int descriptor) { close(descriptor); }
    static inline void unmap_file(void *start, size_t size) { munmap(start, size); }
    static inline void forget_file_pages(void *start, size_t size) { madvise(start, size, MADV_DONTNEED); }
    #endif
    """
    int open_to_read(const char* path) noexcept nogil
    int64_t regular_file_size(int descriptor) noexcept nogil
    void* map_file(int descriptor, size_t size) noexcept nogil
    void close_file(int descriptor) noexcept nogil
    void unmap_file(void* start, size_t size) noexcept nogil
    void forget_file_pages(void* start, size_t size) noexcept nogil
