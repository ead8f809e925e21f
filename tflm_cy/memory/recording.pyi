from tflm_cy.memory.arena import Arena

KINDS: tuple[str, ...]

class RecordingArena(Arena):
    inner: Arena
    temp_peak: int
    def __init__(self, inner: Arena) -> None: ...
    @property
    def records(self) -> dict[str, dict[str, int]]: ...
    def table(self) -> str: ...
