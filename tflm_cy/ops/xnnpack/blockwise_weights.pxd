"""int4 weights of a FULLY_CONNECTED layer that have a scale for each block of a row.

    prepare_blocks(context, w, n, k, &scaling, &blocks)
    if ready_blocks_i4(context, &by_blocks, rows, stride):       # the caller has filled in the first part; else: multiply_blockwise
        context.parallelize(node, blocks_range, iteration_space(by_blocks.panels, 1), blocks_i4_time(&by_blocks))
"""
from libc.stddef cimport ptrdiff_t
from libc.stdint cimport int8_t, int64_t, uint8_t, uint16_t

from tflm_cy.arithmetic.half cimport half_to_f32
from tflm_cy.arithmetic.machine cimport AARCH64
from tflm_cy.arithmetic.multipliers cimport Scaling
from tflm_cy.arithmetic.xnnpack.blockwise cimport FOUR_SUMS, ONE_SUM, ONE_SUM_VNNI, SUMMED, Blocks, cut
from tflm_cy.arithmetic.xnnpack.dynamic_range cimport ROWS_NEON
from tflm_cy.arithmetic.xnnpack.generation cimport AVX512, cpu_has_avx512vnni
from tflm_cy.graph.context cimport Context
from tflm_cy.graph.tensor cimport FLOAT16, INT4, Tensor, count, type_name
from tflm_cy.ops.generation cimport generation
from tflm_cy.ops.xnnpack.constant_weights cimport want_constant
from tflm_cy.simd.blocks_i4 cimport BlocksI4
from tflm_cy.simd.table cimport kernels


cdef inline int prepare_blocks(Context context, const Tensor* w, ptrdiff_t n, ptrdiff_t k, Scaling* scaling, Blocks* blocks) except -1:
    """The scales as float32, cut to bfloat16, and room for the sums of rows (`fill_sums`); weights of zero point 0."""
    cdef const Tensor* s
    cdef const uint16_t* halves
    cdef ptrdiff_t total, i
    cdef float* scales
    cdef float* sums
    if w.block_scales < 0 or w.block_scales >= context.tensor_count:
        raise ValueError(f"FULLY_CONNECTED: tensor {w.block_scales} does not exist")
    s = &context.tensors[w.block_scales]
    halves = <const uint16_t*>s.data
    want_constant(s, "FULLY_CONNECTED", "scale")
    if w.type != INT4 or s.type != FLOAT16 or w.block_size < 0 or w.block_size % SUMMED != 0 or k % w.block_size != 0:
        raise ValueError(f"FULLY_CONNECTED: blocks of {w.block_size} weights {type_name(w.type)} with scales {type_name(s.type)}")
    total = n * (k / w.block_size)
    if count(s) != total or <int64_t>s.bytes < 2 * total:
        raise ValueError(f"FULLY_CONNECTED: {count(s)} scales for {total} blocks")
    scales = <float*>context.persistent(4 * total + 4)
    sums = <float*>context.persistent(4 * n + 4)
    for i in range(total):
        scales[i] = cut(half_to_f32(halves[i]))
    blocks.size = w.block_size
    blocks.scales = scales
    blocks.sums = sums
    if AARCH64:
        blocks.order = ONE_SUM if scaling.rows == ROWS_NEON else scaling.rows
        scaling.rows = ROWS_NEON              # the values are quantized as XNNPACK does it
    else:
        blocks.order = ONE_SUM_VNNI if generation() == AVX512 and cpu_has_avx512vnni() else FOUR_SUMS
    return 0


cdef inline bint ready_blocks_i4(Context context, BlocksI4* b, const int8_t* rows, ptrdiff_t stride) except -1:
    """True when the vector kernels will serve."""
    if kernels().blocks_i4.plan == NULL or not kernels().blocks_i4.plan(b):
        return False
    b.packed = <uint8_t*>context.unfilled(b.packed_bytes)
    b.scratch = context.request_scratch(context.for_all_workers(b.scratch_bytes))
    b.pack(b, rows, stride)
    return True


cdef inline double blocks_i4_time(const BlocksI4* b) noexcept nogil:
    """Nanoseconds, roughly."""
    return <double>b.m * b.n * b.k / (50 if b.m == 1 else 100)
