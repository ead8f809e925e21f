"""What the operating system gives: threads, their locks, the processors that this process may use."""
cdef extern from *:
    """
    #include <pthread.h>
    #include <sched.h>
    #include <signal.h>
    #include <unistd.h>
    static int usable_processors(void) {
    #ifdef __linux__
        cpu_set_t set;
        if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    #endif
        long n = sysconf(_SC_NPROCESSORS_ONLN);
        return n < 1 ? 1 : (int)n;
    }
    #define STACK_BYTES (1 << 20)
    static int start_thread(void *(*run)(void *), void *argument) {      /* detached, deaf to signals */
        pthread_attr_t attributes;
        pthread_t thread;
        sigset_t all, before;
        int status;
        if (pthread_attr_init(&attributes) != 0) return -1;
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_attr_setstacksize(&attributes, STACK_BYTES);
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        status = pthread_create(&thread, &attributes, run, argument);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
        return status;
    }
    """
    ctypedef struct pthread_mutex_t:
        pass
    ctypedef struct pthread_cond_t:
        pass
    int pthread_mutex_init(pthread_mutex_t* mutex, void* attributes) noexcept nogil
    int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept nogil
    int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept nogil
    int pthread_cond_init(pthread_cond_t* condition, void* attributes) noexcept nogil
    int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) noexcept nogil
    int pthread_cond_broadcast(pthread_cond_t* condition) noexcept nogil
    int pthread_atfork(void (*before)() noexcept nogil, void (*parent)() noexcept nogil, void (*child)() noexcept nogil) noexcept nogil
    ctypedef struct pthread_t:
        pass
    pthread_t pthread_self() noexcept nogil
    int pthread_equal(pthread_t a, pthread_t b) noexcept nogil
    int sched_yield() noexcept nogil
    int usable_processors() noexcept nogil
    int start_thread(void* (*run)(void*) noexcept nogil, void* argument) noexcept nogil
