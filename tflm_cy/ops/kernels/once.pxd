"""What is done once, by the first of several threads that comes, and that the others wait for.

    if begin_once(&state):       # int state = 1
        ...
        end_once(&state)
"""

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
    """
    bint begin_once "tflm_cy_begin"(int* state) noexcept nogil     # state: 1 while it is still to be done
    void end_once "tflm_cy_done"(int* state) noexcept nogil
