"""compat.rolling: few problems here, and that what is wrong is found."""

import numpy as np

from compat.rolling import Drawn, destroyed, draw, main, nearer, refused
from tests.draws import examples
from tflm_cy.memory.overlap import overlap
from tflm_cy.memory.problem import Plan


def test_few_problems(capsys):
    assert main(["--problems", str(examples(150))]) == 0
    told = capsys.readouterr().out
    assert ": 0 violations" in told and "0 of 0" not in told


def test_bytes_that_are_gone_are_missed():
    """Buffer 1 is written over the second half of buffer 0, which is read at its birth."""
    drawn = Drawn([32, 16], [0, 1], [1, 1], [(0, 1, 16, 32)], {})
    assert refused(drawn, Plan([0, 0], 32)) == (False, False)
    assert refused(drawn, Plan([0, 16], 32)) == (True, True)
    assert destroyed(drawn, [0, 16]) == (1, 0)


def test_a_kernel_reads_ahead_of_its_own_output_alone():
    drawn = Drawn([32, 32], [0, 1], [1, 1], [(0, 1, 0, 32)], {(1, 0): 16})
    assert refused(drawn, Plan([16, 0], 48)) == (False, False)
    assert refused(drawn, Plan([0, 0], 32)) == (True, True)
    third = Drawn([32, 16, 32], [0, 1, 2], [2, 1, 2], [(0, 1, 0, 16), (0, 2, 0, 32)], {(2, 0): 0})
    assert refused(third, Plan([0, 0, 0], 32))[1]


def test_tight_plans_are_moved():
    drawn = draw(np.random.default_rng(2))
    plan = overlap(drawn.problem(drawn.rows), budget=300)
    assert all(
        sum(a != b for a, b in zip(other.offsets, plan.offsets, strict=True)) == 1 for other in nearer(drawn, plan)
    )
