"""Whose call of an interpreter is under way: whole calls from several threads wait for each other, with the GIL released.

    make_call_lock(&self.call_lock, forks)      # once; and where is_left_behind(&self.call_lock, forks, survivor), before every call
    begin_call(&self.call_lock)            # a call begins; RuntimeError within another one of the same thread
    end_call(&self.call_lock)
    is_alone(&self.call_lock)              # then who only reads what calls may change needs no lock

With a GIL it guards `owner` and `waiting`; the lock is what others wait for, opened once for each who has to. Taking it in vain would cost as
much as a tiny model. Without a GIL the lock itself says who may, and who only reads must have it, too.

A forked child does not have the thread that may hold the lock: the first that finds `forks` (how many forks this process stems from) grown makes
it anew. The thread that has forked (`survivor`) goes on with a call that is its own.
"""
from cpython.pythread cimport (
    NOWAIT_LOCK, PyThread_acquire_lock, PyThread_allocate_lock, PyThread_get_thread_ident, PyThread_release_lock, PyThread_type_lock, WAIT_LOCK,
)
from libc.stdint cimport uint32_t

from tflm_cy.platform.threads cimport let_others_run
from tflm_cy.threads.processor cimport load32, store32, swap32

cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    enum { HAS_GIL = 0 };
    #else
    enum { HAS_GIL = 1 };
    #endif
    """
    const bint HAS_GIL

cdef enum:
    BEING_MADE = 0x40000000      # added to `forks` while a thread makes the lock anew

cdef struct CallLock:
    PyThread_type_lock lock
    uint32_t forks               # when the lock was made
    unsigned long owner          # thread whose call is under way, or 0
    Py_ssize_t waiting           # threads whose calls wait for it; with a GIL only


cdef inline int make_call_lock(CallLock* lock, uint32_t forks) except -1:
    lock.lock = PyThread_allocate_lock()
    if lock.lock == NULL:
        store32(&lock.forks, forks - 1)          # whoever comes next may try
        raise MemoryError("no memory for a lock")
    lock.owner = 0
    lock.waiting = 0
    if HAS_GIL:
        PyThread_acquire_lock(lock.lock, NOWAIT_LOCK)
    store32(&lock.forks, forks)
    return 0


cdef inline bint is_left_behind(CallLock* lock, uint32_t forks, unsigned long survivor) noexcept:
    """Whether this thread is the one that shall make the lock anew; others wait until it has."""
    cdef uint32_t seen = load32(&lock.forks)
    cdef unsigned long me = PyThread_get_thread_ident()
    while seen != forks:
        if seen != (forks | BEING_MADE) and swap32(&lock.forks, seen, forks | BEING_MADE):
            if lock.owner != me or me != survivor:
                return True
            store32(&lock.forks, forks)
            return False
        with nogil:
            let_others_run()
        seen = load32(&lock.forks)
    return False


cdef inline int begin_call(CallLock* lock) except -1:
    """Become the owner."""
    cdef unsigned long me = PyThread_get_thread_ident()
    if HAS_GIL and lock.owner == 0 and lock.waiting == 0:
        lock.owner = me
        return 0
    if lock.owner == me:
        raise RuntimeError("the interpreter is called from within one of its own calls")
    lock.waiting += HAS_GIL
    with nogil:
        PyThread_acquire_lock(lock.lock, WAIT_LOCK)
    lock.waiting -= HAS_GIL
    lock.owner = me
    return 0


cdef inline int end_call(CallLock* lock) noexcept:
    lock.owner = 0
    if lock.waiting > 0 or not HAS_GIL:
        PyThread_release_lock(lock.lock)
    return 0


cdef inline bint is_alone(const CallLock* lock) noexcept:
    """Nobody else can change anything meanwhile: because of the GIL, or because the call under way is one's own."""
    return HAS_GIL or lock.owner == PyThread_get_thread_ident()
