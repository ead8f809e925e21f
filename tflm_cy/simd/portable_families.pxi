"""The families that every instruction set has, also portable C: an `isa_*.pyx` includes this file and fills its table."""
include "bytes.pxi"
include "products_i8.pxi"
include "elementwise_i8.pxi"
include "requantize_fixed.pxi"
include "loops.pxi"
include "elementwise_i16.pxi"
include "folds.pxi"


cdef void fill_portable_families(Kernels* table) noexcept:
    fill_bytes(&table.bytes)
    fill_products_i8(table)
    fill_elementwise_i8(&table.elementwise_i8)
    fill_requantize_fixed(&table.requantize_fixed)
    fill_loops(&table.loops)
    fill_elementwise_i16(&table.elementwise_i16)
    fill_folds(&table.folds)
