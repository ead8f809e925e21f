"""One pool of threads for the process: it computes the parts of a node while an interpreter runs.

An invoke *engages* the pool, *shares* node after node, and releases it. An invoke that finds it engaged computes alone: nobody waits for a pool.
Workers start at the first engagement that asks for them. They spin while the pool is engaged and a little longer, so that the next node, or the next
invoke, finds them awake; then they sleep. Waking takes longer than a small model: the invoke wakes them once, at its start, and only
if it is worth it or if invokes follow each other closely; until they come, the caller takes their parts.

On a machine with more to do than it has processors, a worker may be suspended amid a part, and the caller waits for it. Where such waits take more than
a fifth of the time, everybody computes alone for ten times as long as the wait, and twice as long again when it goes on like that, so that several
threads lose little where one would do better. That is for two threads: each further one saves time, and so much more may be waited. Rarer waits, of a
machine that does something else now and then, change nothing, and neither do some that come close together.

A node is cut into parts beforehand, as its shape and `num_threads` say; which thread computes which part changes nothing. Each thread has a *lane* of
neighbouring parts, so that in node after node it meets the same rows in its cache; a thread that has finished its lane helps in the others. A part is
taken by one exchange of the lane's word `claimed`, on a line of the cache that its own thread alone needs as long as no other helps.

A worker learns of a job from what the caller publishes, or before that: a job may know the one that will follow directly (`Job.next`). Who has computed
a part of the first goes on to the next as soon as all parts are done (`Lane.done`), and the caller's word is not waited for, which takes as long
as a small node. A job is alive as long as a part that somebody has taken is not done: what a worker needs of the next one it reads before.
A thread that was suspended in between finds the parts of a job that is over taken: its number is in `claimed`, or a higher one.

A child of fork has no workers: it begins anew when it needs some. The mode of float arithmetic (denormals as zeros, in delegates' nodes) goes with
the job, and with those that follow. Workers take no signals, no lock of Python, and allocate nothing.
"""
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memset

from tflm_cy.platform.clock cimport nanoseconds
from tflm_cy.platform.threads cimport (
    Condition, Mutex, call_in_child, let_others_run, lock, make_condition, make_mutex, start_thread, this_thread, unlock, usable_processors,
    wait_for, wake_all,
)
from tflm_cy.threads.processor cimport (
    Atomic64, add32, float_mode, keep_order, load32, load32_relaxed, load64, load64_relaxed, publish64, set_float_mode, store32, store32_relaxed,
    store64, store64_relaxed, swap32, swap64, wait_a_little,
)

cdef extern from *:
    """
    static char pool_memory[1 << 14] __attribute__((aligned(64)));
    """
    char[1 << 14] pool_memory
    const Job* load_job "ATOMIC_LOAD_RELAXED"(const Job** at) noexcept nogil
    void store_job "ATOMIC_STORE_RELAXED"(const Job** at, const Job* job) noexcept nogil

cdef enum:
    SPIN_NS = 200000             # a worker without a job, before it sleeps
    ENGAGED_SPIN_NS = 2000000    # the same while the pool is engaged
    GRACE = 32                   # pauses of the caller at the end of a job, before it looks whether somebody has not begun
    PATIENCE = 4096              # and before it lets other threads run; of a worker, before it stops to wait for the next job
    LOOKS = 64                   # pauses between two looks at the clock
    DISTURBED_NS = 50000         # a wait from which on the machine counts as busy
    ALONE = 10                   # times the wait
    LONGEST_ALONE_NS = 1000000000
    WORTH = 4                    # times a wait that a single worker must have computed with the caller before it; several in their number less
    MOST_CREDIT_NS = 5000000     # of that time, which waits use up, and of which no more is kept
    MOST_DOUBLINGS = 5
    CLOSE_NS = 300000            # invokes that follow each other within this time are worth waking workers

cdef struct Lane:                # of a thread; numbers of jobs are followed by 16 bits
    Atomic64 claimed             # the last job that had parts taken here, how many
    char[56] apart
    Atomic64 done                # the last job of which the thread has computed parts, here or elsewhere, how many
    Atomic64 followed            # jobs that the thread began before they were published
    char[48] apart_too

cdef struct Pool:
    Atomic64 number              # the last job's, and a line of the cache that tells all of it; 0: it is being written
    const Job* job
    Atomic64 mode                # of float arithmetic
    int32_t parts
    int32_t members              # threads that may take part, the caller's included
    char[32] apart
    Lane[MOST_THREADS] lanes
    uint32_t busy                # somebody has the pool
    uint32_t engaged             # and will share jobs
    uint32_t sleeping            # workers that have not been called
    uint32_t present             # workers that are at work, or wait for it awake
    uint32_t workers             # started
    uint32_t calls               # to wake up
    bint wakes                   # the workers are worth waking
    bint alone                   # a worker was suspended
    Atomic64 alone_until         # when the pool may be engaged again
    int doublings                # of the time, since waits follow each other
    int64_t taken_at             # when it was engaged
    bint awake                   # all workers were, then
    int64_t engaged_at           # or when the last wait was over
    int64_t together             # time with the pool engaged that waits have not used up, until engaged_at
    Atomic64 seen                # when it was last asked for
    Atomic64 jobs                # since the process began
    int32_t threads              # for which it was engaged, the caller's included
    uint8_t[MOST_THREADS] late     # the caller has computed the last part of this thread's lane
    uintptr_t owner              # who has engaged the pool
    Mutex mutex
    Condition wake

cdef struct JobCursor:               # what a thread does of a job
    uint64_t number
    const Job* job               # may be looked at while a part that one has taken is not done
    int parts
    int members
    int thread
    int done                     # parts
    const Job* next              # what follows it, and into how many parts that is cut; NULL: nobody knows, or nothing was done
    int next_parts

cdef Pool* pool = <Pool*>pool_memory

assert sizeof(Pool) <= sizeof(pool_memory)


cdef void begin_anew() noexcept nogil:
    """No workers, nothing engaged."""
    store64(&pool.number, 0)
    memset(pool.lanes, 0, sizeof(pool.lanes))
    store64_relaxed(&pool.jobs, 0)
    pool.busy = pool.engaged = pool.sleeping = pool.present = pool.workers = pool.calls = 0
    pool.together = 0
    store64_relaxed(&pool.alone_until, 0)
    store64_relaxed(&pool.seen, 0)
    make_mutex(&pool.mutex)
    make_condition(&pool.wake)


cdef void after_fork() noexcept nogil:
    """In the child. An invoke that forks itself, from an operator in Python, keeps the pool and goes on alone."""
    cdef bint mine = pool.busy and pool.owner == this_thread()
    cdef uint32_t engaged = pool.engaged
    begin_anew()
    if mine:
        pool.busy = 1
        pool.engaged = engaged


begin_anew()
call_in_child(after_fork)


cdef int PROCESSORS = 0                   # 0: those that there are
cdef int64_t WORKER_DELAY = 0             # nanoseconds


def tune(int processors=-1, int64_t worker_delay=-1):
    """Change what the pool takes the machine for.

    Parameters
    ----------
    processors : int
        How many interpreters made from now on may count on, however busy they are; 0: on those that there are.
    worker_delay : int
        Nanoseconds that a worker spends more on each part, as on a processor that is slower than the caller's.

    Returns
    -------
    dict
        The former values, to be given back; a value below 0 changes nothing.
    """
    global PROCESSORS, WORKER_DELAY
    former = {"processors": PROCESSORS, "worker_delay": WORKER_DELAY}
    PROCESSORS = processors if processors >= 0 else PROCESSORS
    WORKER_DELAY = worker_delay if worker_delay >= 0 else WORKER_DELAY
    return former


def state():
    """Return what the pool has: started workers, jobs shared since the process began, how often a worker went on to the next one by itself,
    whether somebody has engaged the pool."""
    cdef int thread
    followed = 0
    for thread in range(MOST_THREADS):
        followed += load64_relaxed(&pool.lanes[thread].followed)
    return {"workers": load32(&pool.workers), "jobs": load64_relaxed(&pool.jobs), "followed": followed, "engaged": bool(load32(&pool.busy))}


cdef int count_workers(int threads) noexcept nogil:
    """At most the processors that this process may use: more would wait for each other."""
    cdef int most = 1 if threads <= 1 else PROCESSORS if PROCESSORS > 0 else usable_processors()
    if most > MOST_THREADS:
        most = MOST_THREADS
    return threads if threads < most else most


cdef bint engage(int threads, bint wake) noexcept nogil:
    """Get the pool for so many threads, the caller's included; workers come as they wake up."""
    cdef int64_t now
    if threads <= 1:
        return False
    now = nanoseconds()
    wake = wake or now - <int64_t>load64_relaxed(&pool.seen) < CLOSE_NS
    store64_relaxed(&pool.seen, now)
    if now < <int64_t>load64_relaxed(&pool.alone_until) or (not wake and load32(&pool.sleeping) >= load32(&pool.workers)):
        return False
    if load32(&pool.busy) or not swap32(&pool.busy, 0, 1):
        return False
    pool.awake = <int>load32(&pool.present) >= threads - 1
    while <int>pool.workers < threads - 1:
        if start_thread(work, <void*>(<size_t>pool.workers + 1)) != 0:
            break
        add32(&pool.workers, 1)
    if pool.workers == 0:
        store32(&pool.busy, 0)
        return False
    pool.owner = this_thread()
    pool.threads = threads
    memset(pool.late, load32(&pool.sleeping) > 0, threads)
    pool.wakes = wake
    pool.alone = False
    pool.taken_at = pool.engaged_at = now
    store32(&pool.engaged, 1)
    if wake and load32(&pool.sleeping) > 0:
        call_workers()
    return True


cdef int64_t release() noexcept nogil:
    cdef int64_t now = nanoseconds()
    cdef int64_t time = now - pool.taken_at if pool.awake and PROCESSORS == 0 else -1
    if not pool.alone:
        pool.together += now - pool.engaged_at
    store32(&pool.engaged, 0)
    store32(&pool.busy, 0)
    return time


cdef bint workers_sleep() noexcept nogil:
    return load32(&pool.present) == 0


cdef void call_workers() noexcept nogil:
    lock(&pool.mutex)
    store32(&pool.sleeping, 0)
    pool.calls += 1
    wake_all(&pool.wake)
    unlock(&pool.mutex)


cdef void share(const Job* job) noexcept nogil:
    """Compute all parts of a job, with the workers that come. Only between engage and release."""
    cdef JobCursor cursor
    cdef int lane
    cdef int waits = 0
    store64_relaxed(&pool.jobs, load64_relaxed(&pool.jobs) + 1)
    begin(&cursor, pool.jobs, job, job.parts, pool.threads, 0)
    if pool.alone:
        compute_all(&cursor)
    else:
        publish(&cursor)
        if pool.wakes and load32(&pool.sleeping) > 0:
            call_workers()
        compute_lane(&cursor, 0)
        for lane in range(1, cursor.members):
            if pool.late[lane] or lane_size(&cursor, lane) > 1:
                help(&cursor, lane)
    while not is_over(&cursor):
        wait_a_little()
        waits += 1
        if waits == GRACE:
            for lane in range(1, cursor.members):
                help(&cursor, lane)
        elif waits > PATIENCE:
            wait_for_others(&cursor)


cdef inline void begin(JobCursor* s, uint64_t number, const Job* job, int parts, int members, int thread) noexcept nogil:
    s.number = number
    s.job = job
    s.parts = parts
    s.members = members
    s.thread = thread
    s.done = 0
    s.next = NULL


cdef inline void publish(const JobCursor* s) noexcept nogil:
    publish64(&pool.number, 0)
    keep_order()
    store_job(&pool.job, s.job)
    store64_relaxed(&pool.mode, float_mode())
    store32_relaxed(&pool.parts, s.parts)
    store32_relaxed(&pool.members, s.members)
    publish64(&pool.number, s.number)


cdef inline void help(JobCursor* s, int lane) noexcept nogil:
    """The caller's look at another lane."""
    cdef int done = s.done
    compute_lane(s, lane)
    pool.late[lane] = s.done > done


cdef inline int lane_begin(const JobCursor* s, int lane) noexcept nogil:
    return s.parts * lane / s.members


cdef inline int lane_size(const JobCursor* s, int lane) noexcept nogil:
    return lane_begin(s, lane + 1) - lane_begin(s, lane)


cdef inline int take(const JobCursor* s, int lane, int size, bint all) noexcept nogil:
    """Take a lane's next part, or all that are left: how many have been taken before; -1 when none is left."""
    cdef Atomic64* word = &pool.lanes[lane].claimed
    cdef uint64_t claimed, taken
    while True:
        claimed = load64(word)
        taken = claimed & 0xFFFF if claimed >> 16 == s.number else 0
        if claimed >> 16 > s.number or taken >= <uint64_t>size:
            return -1
        if swap64(word, claimed, s.number << 16 | (<uint64_t>size if all else taken + 1)):
            return <int>taken


cdef void pass_time(int64_t time) noexcept nogil:
    cdef int64_t since = nanoseconds()
    while nanoseconds() - since < time:
        wait_a_little()


cdef inline void compute(JobCursor* s, int lane, int size, int taken) noexcept nogil:
    """The part behind so many others that have been taken: the caller's from the front, workers' from the back."""
    cdef int part = lane_begin(s, lane) + (taken if lane == 0 else size - 1 - taken)
    if s.next == NULL and s.job.next != NULL:
        s.next = s.job.next
        s.next_parts = s.next.parts
    s.job.part(s.job.argument, part, s.parts, s.thread)
    if WORKER_DELAY != 0 and s.thread != 0:
        pass_time(WORKER_DELAY)
    s.done += 1
    publish64(&pool.lanes[s.thread].done, s.number << 16 | <uint64_t>s.done)


cdef void compute_lane(JobCursor* s, int lane) noexcept nogil:
    """What is left of a lane."""
    cdef int size = lane_size(s, lane)
    cdef int taken = take(s, lane, size, False)
    while taken >= 0:
        compute(s, lane, size, taken)
        taken = take(s, lane, size, False)


cdef void compute_all(JobCursor* s) noexcept nogil:
    """All lanes, taken beforehand, so that nobody can be suspended amid a part; who knew of the job may have been faster."""
    cdef int[MOST_THREADS] first
    cdef int lane, taken, size
    for lane in range(s.members):
        first[lane] = take(s, lane, lane_size(s, lane), True)
    for lane in range(s.members):
        size = lane_size(s, lane)
        for taken in range(first[lane] if first[lane] >= 0 else size, size):
            compute(s, lane, size, taken)


cdef inline bint is_over(const JobCursor* s) noexcept nogil:
    """All parts are done, by whomever; whoever is at a later job has seen that."""
    cdef uint64_t done
    cdef int parts = 0
    cdef int thread
    for thread in range(s.members):
        done = load64(&pool.lanes[thread].done)
        if done >> 16 > s.number:
            return True
        if done >> 16 == s.number:
            parts += <int>(done & 0xFFFF)
    return parts >= s.parts


cdef void wait_for_others(const JobCursor* s) noexcept nogil:
    """Somebody was suspended amid a part, or it is a very large one: let others run, and see how long it takes."""
    cdef int64_t since = nanoseconds()
    cdef int64_t now, waited, cost
    while not is_over(s):
        let_others_run()
    now = nanoseconds()
    waited = now - since
    if waited <= DISTURBED_NS or PROCESSORS != 0:
        return
    cost = WORTH * waited / (pool.threads - 1)
    pool.together = min(pool.together + since - pool.engaged_at, <int64_t>MOST_CREDIT_NS)
    if pool.together > cost:
        pool.doublings = 0
        pool.together -= cost
    else:
        pool.together = 0
        pool.alone = True
        waited = ALONE * waited << pool.doublings
        store64_relaxed(&pool.alone_until, now + (waited if waited < LONGEST_ALONE_NS else LONGEST_ALONE_NS))
        if pool.doublings < MOST_DOUBLINGS:
            pool.doublings += 1
    pool.engaged_at = now


cdef bint take_part(int thread, uint64_t* last) noexcept nogil:
    """In the job that is published, if it is newer than the last one that this worker knows, and in those that follow it directly."""
    cdef JobCursor s
    cdef uint64_t mode
    cdef uint64_t number = load64(&pool.number)
    if number <= last[0]:
        return False
    begin(&s, number, load_job(&pool.job), load32_relaxed(&pool.parts), load32_relaxed(&pool.members), thread)
    mode = load64_relaxed(&pool.mode)
    keep_order()
    if load64(&pool.number) != number:
        return True
    last[0] = number
    if thread >= s.members:
        return False
    if float_mode() != mode:
        set_float_mode(mode)
    compute_and_help(&s)
    while s.next != NULL and comes_to_end(&s):
        begin(&s, s.number + 1, s.next, s.next_parts, s.members, thread)
        last[0] = s.number
        store64_relaxed(&pool.lanes[thread].followed, load64_relaxed(&pool.lanes[thread].followed) + 1)
        compute_and_help(&s)
    return True


cdef void compute_and_help(JobCursor* s) noexcept nogil:
    """A worker's own lane, then the others'. The caller begins with its own at once: if that is a single part it is taken."""
    cdef int i, lane
    compute_lane(s, s.thread)
    for i in range(1, s.members):
        lane = (s.thread + i) % s.members
        if lane != 0 or lane_size(s, 0) > 1:
            compute_lane(s, lane)


cdef bint comes_to_end(const JobCursor* s) noexcept nogil:
    """Wait for the last part of a job; False: not any longer, the next job will be published."""
    cdef int waits = 0
    while not is_over(s):
        wait_a_little()
        waits += 1
        if waits > PATIENCE:
            return False
    return True


cdef void* work(void* argument) noexcept nogil:
    """A worker's life."""
    cdef int thread = <int><size_t>argument
    cdef uint64_t last = 0
    cdef int64_t idle_since = 0
    cdef int64_t now
    cdef int looks = 0
    add32(&pool.present, 1)
    while True:
        if take_part(thread, &last):
            idle_since = 0
            continue
        wait_a_little()
        looks += 1
        if looks < LOOKS:
            continue
        looks = 0
        now = nanoseconds()
        if idle_since == 0:
            idle_since = now
        elif now - idle_since > (ENGAGED_SPIN_NS if load32(&pool.engaged) else SPIN_NS):
            sleep(now - idle_since > ENGAGED_SPIN_NS)
            idle_since = 0


cdef void sleep(bint long_idle) noexcept nogil:
    """Until called; not if the pool has been engaged meanwhile, unless it had nothing to do for long."""
    cdef uint32_t calls
    lock(&pool.mutex)
    calls = pool.calls
    add32(&pool.sleeping, 1)
    if load32(&pool.engaged) and not long_idle:
        add32(&pool.sleeping, -1)
        calls -= 1
    add32(&pool.present, -1)
    while pool.calls == calls:
        wait_for(&pool.wake, &pool.mutex)
    add32(&pool.present, 1)
    unlock(&pool.mutex)
