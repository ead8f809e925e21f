"""Do threads help a graph? Found out by runs with and without them.

    if wants_threads(&trial):            # before a run that has something to share
        engaged = engage(...)
    ...                                  # the run
    if engaged:
        ran_together(&trial, release())
    else:
        ran_alone(&trial)

Two processors may be one that has two threads, or that another program uses, too; one may be slower than the other. None of it can be looked up
from within a virtual machine, and it changes while one runs. So once a graph has run some times with threads, it is measured without, when the workers
have gone to sleep: some runs, the first of which finds the caches cold. Then as many with threads, when they are awake. Where those were not
faster, it runs without for a while, which is twice as long whenever the next trial says the same. Where they were, the next trial comes when several
runs in succession have taken longer than one without threads, or after very many. Long runs are tried once: neither caches nor workers that are about
to sleep matter to them.

A ThreadAutotune of zeros is a new one.
"""
from libc.stdint cimport int32_t, int64_t

from tflm_cy.platform.clock cimport nanoseconds
from tflm_cy.threads.pool cimport workers_sleep

cdef enum Phase:
    BEGINNING = 0
    TOGETHER = 1
    TRYING_ALONE = 2
    TRYING_TOGETHER = 3
    ALONE = 4

cdef enum:
    FIRST_RUNS = 16              # before the first trial
    TRIED_RUNS = 3               # of each kind, the first of which does not count
    LONG_NS = 1000000            # of a run that is tried once
    AWAKE_RUNS = 40              # without threads, before which workers should sleep; another graph may keep them awake
    SLOW_RUNS = 4                # in succession, behind which there is another trial
    MANY_RUNS = 4096             # behind which there is one anyway
    SHORTEST_ALONE_NS = 10000000
    MOST_DOUBLINGS = 7

cdef struct ThreadAutotune:
    int32_t phase                # Phase
    int32_t runs                 # in it
    int32_t slow                 # the last ones, which took longer than one without threads
    int32_t doublings
    int64_t alone_runs           # of the phase ALONE
    int64_t alone                # nanoseconds of the fastest run without threads, and with: of the last trial
    int64_t together
    int32_t tried                # runs of each kind in this trial
    int64_t begun                # when the run did, if it is one without threads that is measured; 0: it is not
    int32_t awake                # runs without threads that were not


cdef inline bint wants_threads(ThreadAutotune* t) noexcept nogil:
    if t.phase == TRYING_ALONE:
        t.begun = nanoseconds() if t.tried == 1 or t.awake >= AWAKE_RUNS or workers_sleep() else 0
    return t.phase != TRYING_ALONE and t.phase != ALONE


cdef inline void ran_together(ThreadAutotune* t, int64_t time) noexcept nogil:
    """`time`: nanoseconds; negative where they mean nothing."""
    if time < 0:
        return
    t.runs += 1
    if t.phase == BEGINNING:
        if t.runs >= FIRST_RUNS:
            begin_trial(t, time)
    elif t.phase == TOGETHER:
        t.slow = t.slow + 1 if time > t.alone + t.alone / 16 else 0
        if t.slow >= SLOW_RUNS or t.runs >= MANY_RUNS:
            begin_trial(t, time)
    elif t.phase == TRYING_TOGETHER:
        t.together = fastest(t, t.together, time)
        if t.runs >= t.tried:
            decide(t)


cdef inline void ran_alone(ThreadAutotune* t) noexcept nogil:
    """Also where the pool was wanted and not had, which changes nothing."""
    if t.phase == TRYING_ALONE and t.begun == 0:
        t.awake += 1
    elif t.phase == TRYING_ALONE:
        t.runs += 1
        t.alone = fastest(t, t.alone, nanoseconds() - t.begun)
        if t.runs >= t.tried:
            begin_phase(t, TRYING_TOGETHER)
    elif t.phase == ALONE:
        t.runs += 1
        if t.runs >= t.alone_runs:
            begin_trial(t, t.alone)


cdef inline int64_t fastest(const ThreadAutotune* t, int64_t before, int64_t time) noexcept nogil:
    return time if t.runs <= 2 or time < before else before


cdef inline void begin_trial(ThreadAutotune* t, int64_t time) noexcept nogil:
    """`time`: of the last run."""
    t.tried = 1 if time > LONG_NS else TRIED_RUNS
    begin_phase(t, TRYING_ALONE)


cdef inline void decide(ThreadAutotune* t) noexcept nogil:
    if t.together < t.alone:
        t.doublings = 0
        begin_phase(t, TOGETHER)
        return
    t.alone_runs = (<int64_t>SHORTEST_ALONE_NS << t.doublings) / (t.alone + 1) + 1
    if t.doublings < MOST_DOUBLINGS:
        t.doublings += 1
    begin_phase(t, ALONE)


cdef inline void begin_phase(ThreadAutotune* t, int32_t phase) noexcept nogil:
    t.phase = phase
    t.runs = t.slow = t.awake = 0
