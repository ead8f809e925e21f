"""What is done before a node's ranges can be computed: by the first thread that comes, or by all that come, step by step; nobody goes on before all is done.

    if begin_once(&state):                       # int state = 1: in the first invoke only
        ...
        end_once(&state)

    while take_step(&steps, count, &step):       # Steps steps of zeros: in every invoke
        ...                                      # step `step` of `count`
        end_step(&steps)
    wait_for_steps(&steps, count)
    ...                                          # the range
    leave_steps(&steps, end - first, units)      # at the end of every range; the last of an invoke's makes everything as it was

A thread waits for steps that others have taken and are at, never for one that nobody has begun: a thread alone does all of them.
"""
from libc.stdint cimport int32_t, int64_t

from tflm_cy.platform.threads cimport let_others_run

cdef extern from *:
    """
    /* True for one caller, who then says `tflm_cy_done`; the others wait until then. */
    static inline int tflm_cy_begin(int *state) {
      int expected = 1;
      if (__atomic_load_n(state, __ATOMIC_ACQUIRE) == 0) return 0;
      if (__atomic_compare_exchange_n(state, &expected, 2, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return 1;
      while (__atomic_load_n(state, __ATOMIC_ACQUIRE) != 0) {}
      return 0;
    }
    static inline void tflm_cy_done(int *state) { __atomic_store_n(state, 0, __ATOMIC_RELEASE); }
    typedef struct { int32_t taken, done; int64_t left; } tflm_cy_steps;
    static inline int tflm_cy_take(tflm_cy_steps *s, int32_t count, int32_t *step) {
      if (__atomic_load_n(&s->taken, __ATOMIC_RELAXED) >= count) return 0;
      *step = __atomic_fetch_add(&s->taken, 1, __ATOMIC_RELAXED);
      return *step < count;
    }
    static inline void tflm_cy_step_done(tflm_cy_steps *s) { __atomic_fetch_add(&s->done, 1, __ATOMIC_RELEASE); }
    static inline int tflm_cy_steps_done(tflm_cy_steps *s, int32_t count) { return __atomic_load_n(&s->done, __ATOMIC_ACQUIRE) >= count; }
    static inline int tflm_cy_leave(tflm_cy_steps *s, int64_t units, int64_t all) {
      if (__atomic_add_fetch(&s->left, units, __ATOMIC_ACQ_REL) < all) return 0;
      s->taken = s->done = 0;
      s->left = 0;
      return 1;
    }
    """
    bint begin_once "tflm_cy_begin"(int* state) noexcept nogil     # state: 1 while it is still to be done
    void end_once "tflm_cy_done"(int* state) noexcept nogil
    ctypedef struct Steps "tflm_cy_steps":
        int32_t taken
        int32_t done
        int64_t left
    bint take_step "tflm_cy_take"(Steps* s, int32_t count, int32_t* step) noexcept nogil
    void end_step "tflm_cy_step_done"(Steps* s) noexcept nogil
    bint are_steps_done "tflm_cy_steps_done"(Steps* s, int32_t count) noexcept nogil
    bint leave_steps "tflm_cy_leave"(Steps* s, int64_t units, int64_t all) noexcept nogil

cdef enum:
    PATIENCE = 20000             # looks, before other threads get the processor


cdef inline void wait_for_steps(Steps* s, int32_t count) noexcept nogil:
    cdef int looks = 0
    while not are_steps_done(s, count):
        looks += 1
        if looks > PATIENCE:
            let_others_run()
