# tflm_cy: optimize=speed
"""The list of passes, in their order.

    partition -> rewrite                      once, when a delegate takes nodes (`partition`, and the delegate's own `build`)
    PASSES                                    at each allocation, and for each stage behind a dynamic output

Only `plan` solves memory, and only `bind` writes addresses. An optional pass can be switched off by its name (`Interpreter(disable_passes=...)`,
`fuse=False` for all of them), and changes no byte of any output. Where all tensors are preserved none of them runs.

To add a pass: a file of this folder with a function `int (*)(Compilation)` and `PASS = new_pass(...)`, and its line in the list below.
"""
import os

from tflm_cy.graph.compilation cimport Pass, is_enabled
from tflm_cy.graph.context cimport INVOKE, Context
from tflm_cy.graph.passes.invariants cimport check_invariants
from tflm_cy.graph.passes.prepare cimport out_of_memory

from tflm_cy.graph.passes import alias_buffers, bind, cancel_transposes, fuse_epilogues, line_buffers, plan, prepare, tiling
from tflm_cy.graph.refusal import OutOfMemoryError

PASSES = (
    prepare.PASS,
    cancel_transposes.PASS,
    fuse_epilogues.PASS,
    tiling.PASS,
    alias_buffers.PASS,
    line_buffers.PASS,
    plan.PASS,
    bind.PASS,
)

# What can be switched off, by name; `rewrite` is the default delegate's.
SWITCHES = ("rewrite", *[one.name for one in PASSES if one.optional])

cdef bint DEBUG = os.environ.get("TFLM_CY_DEBUG", "") not in ("", "0")       # invariants are checked behind each pass


cdef int run_passes(Compilation c) except -1:
    """All passes over the stage that begins at c.first."""
    cdef Pass one
    try:
        for one in PASSES:
            if (one.plans and c.micro) or (one.optional and not one.partial and not is_enabled(c, one.name)):
                continue
            one.run(c)
            if DEBUG:
                check_invariants(c, one.name)
    except MemoryError as error:
        if c.micro or isinstance(error, OutOfMemoryError):
            raise
        raise out_of_memory(c, error) from error
    (<Context>c.graph.context).state = INVOKE
    return 0
