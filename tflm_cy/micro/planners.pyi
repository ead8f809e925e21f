"""The planners by name."""

from typing import Any

from tflm_cy.memory.problem import Plan

NAMES: tuple[str, ...]

def planners() -> list[str]: ...
def live_bytes(buffers: Any, apart: bool = False) -> list[int]: ...
def plan_with(name: str, demand: Any) -> tuple[Plan, Any]: ...
