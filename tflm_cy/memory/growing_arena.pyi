from tflm_cy.memory.arena import Arena

class GrowingArena(Arena):
    def __init__(self, alignment: int = 64, slack: int = 64) -> None: ...
