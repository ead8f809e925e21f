"""In which order a float32 product of the xnnpack arithmetic adds its terms.

On x86-64 every output is ONE_CHAIN. On aarch64 kernels for a single row, and those for few columns, keep several sums:

| order | a tap's values k = 0 .. n-1 |
| --- | --- |
| ONE_CHAIN | acc = fma(x[k], w[k], acc), from the bias on |
| TWO_CHAINS | those of even k from the bias on, those of odd k from +0, over all taps; then their sum |
| FOUR_LANES | k % 4 over whole groups of four, the first from the bias, (s0 + s1) + (s2 + s3), then a chain over what is left; one tap |
| FOUR_CHAINS | k % 4 over whole groups of four, s0 + s2 and s1 + s3, which go on as TWO_CHAINS; one tap |

Which one runs is told by the shape and the rules of the core: `order_of_matrix` for matrix products and convolutions that are one (1x1,
stride 1), `order_of_windows` for other convolutions.

Source: XNNPACK's f32-gemm and f32-igemm microkernels for aarch64, gemm-config.c, xnn_use_nr2, xnn_get_heuristic_mr_igemm.
"""
from libc.stddef cimport ptrdiff_t

from tflm_cy.arithmetic.shapes cimport ConvShape


cdef enum Order:
    ONE_CHAIN = 0
    TWO_CHAINS = 1
    FOUR_LANES = 2
    FOUR_CHAINS = 3

cdef struct ProductRules:
    int single_row               # the order of a matrix product of one row
    ptrdiff_t positions          # convolutions of at most so many positions are TWO_CHAINS
    ptrdiff_t width              # columns of a whole block, 0: there are no kernels for fewer


cdef inline bint is_narrow(const ProductRules* rules, ptrdiff_t columns) noexcept nogil:
    """A product for which blocks of two columns compute less that nobody wants."""
    cdef ptrdiff_t surplus
    if rules.width == 0:
        return False
    surplus = (rules.width - columns % rules.width) % rules.width
    return columns < rules.width or (columns % 2 < surplus and surplus * 100 > columns)


cdef inline int order_of_rows(const ProductRules* rules, ptrdiff_t rows) noexcept nogil:
    """A matrix product whose right side is not a layer's weights."""
    return rules.single_row if rows == 1 else ONE_CHAIN


cdef inline int order_of_matrix(const ProductRules* rules, ptrdiff_t rows, ptrdiff_t columns) noexcept nogil:
    return FOUR_LANES if is_narrow(rules, columns) else order_of_rows(rules, rows)


cdef inline int order_of_windows(const ProductRules* rules, ptrdiff_t positions, ptrdiff_t columns) noexcept nogil:
    """columns: of a group. positions: those that a kernel shares out."""
    return TWO_CHAINS if columns < rules.width or positions <= rules.positions else ONE_CHAIN


cdef inline ptrdiff_t transposed_positions(const ConvShape* g) noexcept nogil:
    """The positions of a transposed convolution: with strides, when each phase is a product of its own, XNNPACK takes the number of images."""
    if (g.stride_h > 1 or g.stride_w > 1) and g.kh >= g.stride_h and g.kw >= g.stride_w:
        return g.batches
    return g.oh * g.ow
