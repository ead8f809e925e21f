"""Tables that are filled with the first file: whoever sees that one is filled sees what is in it, with or without a GIL.

    if seen(&table.count) < 0: ...; publish(&table.count, n)      # two threads may fill it at once, with the same values
"""

cdef extern from *:
    """
    #define TFLM_CY_SEEN(at) __atomic_load_n((at), __ATOMIC_ACQUIRE)
    #define TFLM_CY_PUBLISH(at, value) __atomic_store_n((at), (value), __ATOMIC_RELEASE)
    """
    int seen "TFLM_CY_SEEN"(int* at) noexcept nogil
    void publish "TFLM_CY_PUBLISH"(int* at, int value) noexcept nogil
