"""One pool of threads for the process: it computes the parts of a node while an interpreter runs.

An invoke *engages* the pool, *shares* node after node, and releases it. Who finds it engaged computes alone: nobody waits for a pool.
Workers start at the first engagement that asks for them. They spin while the pool is engaged and a little longer, so that the next node, or the next
invoke, finds them awake; then they sleep. Waking takes longer than a small model: the invoke wakes them once, at its start, and only
if it is worth it or if invokes follow each other closely; until they come, the caller takes their parts.

On a machine with more to do than it has processors, a worker may be suspended amid a part, and the caller waits for it. Where such waits take more than
a fifth of the time, everybody computes alone for ten times as long as the wait, and twice as long again when it goes on like that, so that several
threads lose little where one would do better. Rarer waits, of a machine that does something else now and then, change nothing.

A node is cut into parts beforehand, as its shape and `num_threads` say; which thread computes which part changes nothing. The caller takes
parts from the front, workers from the back, so that in node after node the same thread meets the same rows in its cache. A job is
one word, `ticket`: its number, and the parts not yet taken. Taking a part is one exchange of this word, which fails when anything has changed, so that
a thread that was suspended in between cannot take part of a job that is over.

    63 .. 32   number of the job
    31 .. 16   parts taken from the front
    15 .. 0    parts left

A child of fork has no workers: it begins anew when it needs some. The mode of float arithmetic (denormals as zeros, in delegates' nodes) goes with
the job. Workers take no signals, no lock of Python, and allocate nothing.
"""
from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from tflm_cy.threads.processor cimport (
    add32, float_mode, load32, load64, set_float_mode, store32, store64, swap32, swap64, wait_a_little,
)

cdef extern from *:
    """
    #include <pthread.h>
    #include <sched.h>
    #include <signal.h>
    #include <time.h>
    #include <unistd.h>
    static int usable_processors(void) {
    #ifdef __linux__
        cpu_set_t set;
        if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    #endif
        long n = sysconf(_SC_NPROCESSORS_ONLN);
        return n < 1 ? 1 : (int)n;
    }
    static int64_t now_ns(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    }
    #define STACK_BYTES (1 << 20)
    static char pool_memory[1024] __attribute__((aligned(64)));
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
    char[1024] pool_memory
    int64_t now_ns() noexcept nogil
    int start_thread(void* (*run)(void*) noexcept nogil, void* argument) noexcept nogil

cdef enum:
    SPIN_NS = 200000             # a worker without a job, before it sleeps
    ENGAGED_SPIN_NS = 2000000    # the same while the pool is engaged
    PATIENCE = 4096              # pauses of the caller at the end of a job, before it lets other threads run
    LOOKS = 64                   # pauses between two looks at the clock
    DISTURBED_NS = 50000         # a wait from which on the machine counts as busy
    ALONE = 10                   # times the wait
    LONGEST_ALONE_NS = 1000000000
    WORTH = 4                    # times the wait that threads have computed together before it: they are worth it
    MOST_DOUBLINGS = 5
    CLOSE_NS = 300000            # invokes that follow each other within this time are worth waking workers

cdef struct Pool:                # three lines of the cache, so that a worker finds a job with one look
    uint64_t ticket
    Part part
    void* argument
    uint64_t mode                # of float arithmetic
    uint64_t number
    int32_t parts
    uint32_t members             # hands that may take part, the caller's included
    char[16] apart
    uint32_t done                # parts of the job
    char[60] apart_too
    uint32_t busy                # somebody has the pool
    uint32_t engaged             # and will share jobs
    uint32_t sleeping            # workers
    uint32_t workers             # started
    uint32_t calls               # to wake up
    bint wakes                   # this crew is worth waking
    bint alone                   # this crew's worker was suspended
    int64_t alone_until          # when the pool may be engaged again
    int doublings                # of the time, since waits follow each other
    int64_t engaged_at
    int64_t together             # time with the pool engaged since the last wait, up to engaged_at
    int64_t seen                 # when it was last asked for
    pthread_t owner              # who has engaged the pool
    pthread_mutex_t mutex
    pthread_cond_t wake

cdef Pool* pool = <Pool*>pool_memory

assert sizeof(Pool) <= sizeof(pool_memory)


cdef void begin_anew() noexcept nogil:
    """No workers, nothing engaged."""
    store64(&pool.ticket, 0)
    pool.number = 0
    pool.done = pool.busy = pool.engaged = pool.sleeping = pool.workers = pool.calls = 0
    pool.alone_until = pool.seen = pool.together = 0
    pthread_mutex_init(&pool.mutex, NULL)
    pthread_cond_init(&pool.wake, NULL)


cdef void after_fork() noexcept nogil:
    """In the child. An invoke that forks itself, from an operator in Python, keeps the pool and goes on alone."""
    cdef bint mine = pool.busy and pthread_equal(pool.owner, pthread_self())
    cdef uint32_t engaged = pool.engaged
    begin_anew()
    if mine:
        pool.busy = 1
        pool.engaged = engaged


begin_anew()
pthread_atfork(NULL, NULL, after_fork)


cdef int pretended = 0


def pretend(int processors):
    """Count on so many processors, for interpreters made from now on; 0: on those that there are. For tests:
    a busy machine does not keep the threads from sharing then."""
    global pretended
    pretended = processors


def state():
    """Return what the pool has: started workers, jobs shared since the process began, whether somebody has engaged it."""
    return {"workers": pool.workers, "jobs": pool.number, "engaged": bool(load32(&pool.busy))}


cdef int hands(int threads) noexcept nogil:
    """At most the processors that this process may use: more would wait for each other."""
    cdef int most = 1 if threads <= 1 else pretended if pretended > 0 else usable_processors()
    if most > MOST_HANDS:
        most = MOST_HANDS
    return threads if threads < most else most


cdef bint engage(int crew, bint wake) noexcept nogil:
    """Get the pool for a crew of so many, the caller included; workers come as they wake up."""
    cdef int64_t now
    if crew <= 1:
        return False
    now = now_ns()
    wake = wake or now - pool.seen < CLOSE_NS
    pool.seen = now
    if now < pool.alone_until or (not wake and load32(&pool.sleeping) >= load32(&pool.workers)):
        return False
    if load32(&pool.busy) or not swap32(&pool.busy, 0, 1):
        return False
    while <int>pool.workers < crew - 1:
        if start_thread(work, <void*>(<size_t>pool.workers + 1)) != 0:
            break
        add32(&pool.workers, 1)
    if pool.workers == 0:
        store32(&pool.busy, 0)
        return False
    pool.owner = pthread_self()
    pool.members = crew
    pool.wakes = wake
    pool.alone = False
    pool.engaged_at = now
    store32(&pool.engaged, 1)
    if wake and load32(&pool.sleeping) > 0:
        call_workers()
    return True


cdef void release() noexcept nogil:
    if not pool.alone:
        pool.together += now_ns() - pool.engaged_at
    store32(&pool.engaged, 0)
    store32(&pool.busy, 0)


cdef void call_workers() noexcept nogil:
    pthread_mutex_lock(&pool.mutex)
    store32(&pool.sleeping, 0)
    pool.calls += 1
    pthread_cond_broadcast(&pool.wake)
    pthread_mutex_unlock(&pool.mutex)


cdef void share(Part part, void* argument, int parts) noexcept nogil:
    """Compute all parts of a job, with the workers that come. Only between engage and release."""
    cdef int waits = 0
    if pool.alone:
        part(argument, 0, 1, 0)
        return
    pool.part = part
    pool.argument = argument
    pool.parts = parts
    pool.mode = float_mode()
    pool.number += 1
    store32(&pool.done, 0)
    store64(&pool.ticket, pool.number << 32 | <uint64_t>parts)
    if pool.wakes and load32(&pool.sleeping) > 0:
        call_workers()
    while take(0):
        pass
    while load32(&pool.done) < <uint32_t>parts:
        wait_a_little()
        waits += 1
        if waits > PATIENCE:
            wait_for_others(parts)


cdef void wait_for_others(int parts) noexcept nogil:
    """Somebody was suspended amid a part, or it is a very large one: let others run, and see how long it takes."""
    cdef int64_t since = now_ns()
    cdef int64_t now, waited
    while load32(&pool.done) < <uint32_t>parts:
        sched_yield()
    now = now_ns()
    waited = now - since
    if waited <= DISTURBED_NS or pretended != 0:
        return
    if pool.together + since - pool.engaged_at > WORTH * waited:
        pool.doublings = 0
    else:
        pool.alone = True
        waited = ALONE * waited << pool.doublings
        pool.alone_until = now + (waited if waited < LONGEST_ALONE_NS else LONGEST_ALONE_NS)
        if pool.doublings < MOST_DOUBLINGS:
            pool.doublings += 1
    pool.together = 0
    pool.engaged_at = now


cdef bint take(uint32_t hand) noexcept nogil:
    """Take and compute one part; False when none is left for this hand."""
    cdef uint64_t ticket = load64(&pool.ticket)
    cdef uint64_t left = ticket & 0xFFFF
    cdef uint64_t front = ticket >> 16 & 0xFFFF
    cdef Part part = pool.part                  # of this job, if the exchange succeeds
    cdef void* argument = pool.argument
    cdef int parts = pool.parts
    cdef uint64_t mode = pool.mode
    if left == 0 or hand >= pool.members:
        return False
    if not swap64(&pool.ticket, ticket, ticket + 0xFFFF if hand == 0 else ticket - 1):
        return True
    if hand != 0 and float_mode() != mode:
        set_float_mode(mode)
    part(argument, <int>(front if hand == 0 else front + left - 1), parts, <int>hand)
    add32(&pool.done, 1)
    return True


cdef void* work(void* argument) noexcept nogil:
    """A worker's life."""
    cdef uint32_t hand = <uint32_t><size_t>argument
    cdef int64_t idle_since = 0
    cdef int64_t now
    cdef int looks = 0
    while True:
        if take(hand):
            idle_since = 0
            continue
        wait_a_little()
        looks += 1
        if looks < LOOKS:
            continue
        looks = 0
        now = now_ns()
        if idle_since == 0:
            idle_since = now
        elif now - idle_since > (ENGAGED_SPIN_NS if load32(&pool.engaged) else SPIN_NS):
            sleep(now - idle_since > ENGAGED_SPIN_NS)
            idle_since = 0


cdef void sleep(bint tired) noexcept nogil:
    """Until called; not if the pool has been engaged meanwhile, unless it had nothing to do for long."""
    cdef uint32_t calls
    pthread_mutex_lock(&pool.mutex)
    calls = pool.calls
    add32(&pool.sleeping, 1)
    if load32(&pool.engaged) and not tired:
        add32(&pool.sleeping, -1)
        calls -= 1
    while pool.calls == calls:
        pthread_cond_wait(&pool.wake, &pool.mutex)
    pthread_mutex_unlock(&pool.mutex)
