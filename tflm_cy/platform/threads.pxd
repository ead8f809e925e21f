"""Threads, their locks, and the processors that this process may use.

    start_thread(run, argument)               # detached, deaf to signals; not 0: there is none
    lock(&mutex); wait(&condition, &mutex); unlock(&mutex)
    wake_all(&condition)
    call_in_child(function)                   # of a fork, where there are such
"""
from libc.stdint cimport uintptr_t

cdef extern from *:
    """
    #include <stdint.h>
    #include <stdlib.h>
    #define THREAD_STACK_BYTES (1 << 20)
    #ifdef _WIN32
    #define WIN32_LEAN_AND_MEAN
    #define NOMINMAX
    #include <windows.h>
    typedef SRWLOCK thread_mutex;
    typedef CONDITION_VARIABLE thread_condition;
    static inline void make_mutex(thread_mutex *mutex) { InitializeSRWLock(mutex); }
    static inline void lock(thread_mutex *mutex) { AcquireSRWLockExclusive(mutex); }
    static inline void unlock(thread_mutex *mutex) { ReleaseSRWLockExclusive(mutex); }
    static inline void make_condition(thread_condition *condition) { InitializeConditionVariable(condition); }
    static inline void wait_for(thread_condition *condition, thread_mutex *mutex) { SleepConditionVariableSRW(condition, mutex, INFINITE, 0); }
    static inline void wake_all(thread_condition *condition) { WakeAllConditionVariable(condition); }
    static inline uintptr_t this_thread(void) { return GetCurrentThreadId(); }
    static inline void let_others_run(void) { SwitchToThread(); }
    static inline int usable_processors(void) {
        DWORD_PTR mine, all;
        int n = 0;
        if (!GetProcessAffinityMask(GetCurrentProcess(), &mine, &all)) return 1;
        for (; mine != 0; mine &= mine - 1) n++;
        return n < 1 ? 1 : n;
    }
    typedef struct { void *(*run)(void *); void *argument; } thread_start;
    static DWORD WINAPI begin_thread(LPVOID given) {
        thread_start start = *(thread_start *)given;
        free(given);
        start.run(start.argument);
        return 0;
    }
    static inline int start_thread(void *(*run)(void *), void *argument) {
        thread_start *start = malloc(sizeof *start);
        HANDLE thread;
        if (start == NULL) return -1;
        start->run = run;
        start->argument = argument;
        thread = CreateThread(NULL, THREAD_STACK_BYTES, begin_thread, start, STACK_SIZE_PARAM_IS_A_RESERVATION, NULL);
        if (thread == NULL) { free(start); return -1; }
        CloseHandle(thread);
        return 0;
    }
    static inline void call_in_child(void (*function)(void)) { (void)function; }
    #else
    #include <pthread.h>
    #include <sched.h>
    #include <signal.h>
    #include <unistd.h>
    typedef pthread_mutex_t thread_mutex;
    typedef pthread_cond_t thread_condition;
    static inline void make_mutex(thread_mutex *mutex) { pthread_mutex_init(mutex, NULL); }
    static inline void lock(thread_mutex *mutex) { pthread_mutex_lock(mutex); }
    static inline void unlock(thread_mutex *mutex) { pthread_mutex_unlock(mutex); }
    static inline void make_condition(thread_condition *condition) { pthread_cond_init(condition, NULL); }
    static inline void wait_for(thread_condition *condition, thread_mutex *mutex) { pthread_cond_wait(condition, mutex); }
    static inline void wake_all(thread_condition *condition) { pthread_cond_broadcast(condition); }
    static inline uintptr_t this_thread(void) { return (uintptr_t)pthread_self(); }
    static inline void let_others_run(void) { sched_yield(); }
    static inline int usable_processors(void) {
        long n;
    #ifdef __linux__
        cpu_set_t set;
        if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    #endif
        n = sysconf(_SC_NPROCESSORS_ONLN);
        return n < 1 ? 1 : (int)n;
    }
    static inline int start_thread(void *(*run)(void *), void *argument) {
        pthread_attr_t attributes;
        pthread_t thread;
        sigset_t all, before;
        int status;
        if (pthread_attr_init(&attributes) != 0) return -1;
        pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        status = pthread_create(&thread, &attributes, run, argument);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        pthread_attr_destroy(&attributes);
        return status;
    }
    static inline void call_in_child(void (*function)(void)) { pthread_atfork(NULL, NULL, function); }
    #endif
    """
    ctypedef struct Mutex "thread_mutex":
        pass
    ctypedef struct Condition "thread_condition":
        pass
    void make_mutex(Mutex* mutex) noexcept nogil
    void lock(Mutex* mutex) noexcept nogil
    void unlock(Mutex* mutex) noexcept nogil
    void make_condition(Condition* condition) noexcept nogil
    void wait_for(Condition* condition, Mutex* mutex) noexcept nogil
    void wake_all(Condition* condition) noexcept nogil
    uintptr_t this_thread() noexcept nogil
    void let_others_run() noexcept nogil
    int usable_processors() noexcept nogil
    int start_thread(void* (*run)(void*) noexcept nogil, void* argument) noexcept nogil
    void call_in_child(void (*function)() noexcept nogil) noexcept nogil
