from typing import Any

from tflm_cy.memory.arena import Arena
from tflm_cy.memory.single_arena import SingleArena

class ArenaPair(Arena):
    persistent: SingleArena
    non_persistent: SingleArena
    def __init__(self, persistent: Any, non_persistent: Any, alignment: int = 16) -> None: ...
    @property
    def size(self) -> int: ...
    @property
    def alignment_loss(self) -> int: ...
