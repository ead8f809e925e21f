"""Which custom operator a name means."""

from collections.abc import Callable, Iterable
from typing import Any

from tflm_cy.custom.operator import Invocation, Preparation

Prepare = Callable[[Preparation], object]
Invoke = Callable[[Invocation], object]

def register_custom_op(name: str, prepare: Prepare | Any | None, invoke: Invoke | None = None) -> None: ...
def unregister_custom_op(name: str) -> None: ...

class CustomOpResolver:
    operators: dict[str, Any]
    def register_custom_op(self, name: str, prepare: Prepare | Any | None, invoke: Invoke | None = None) -> None: ...

def collect(registerers: Iterable[str | Callable[[CustomOpResolver], object]]) -> dict[str, Any]: ...
def resolver(find: Callable[..., Any], operators: dict[str, Any]) -> Callable[..., Any]: ...
