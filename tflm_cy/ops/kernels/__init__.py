"""How operators use the vector kernels of `tflm_cy.simd`: plan, memory, pack and run, one file per family of kernels.

Operators of every arithmetic cimport these files; none of them decides which arithmetic a node has.
"""
