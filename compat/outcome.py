"""What one side made of one case, and whether two sides made the same.

An outcome is "ok" with every output's bytes after every invoke, "raised" with the exception's type and the call that
raised it, "crashed" with the signal that ended the process, or "hung". Outcomes compare by bytes: a NaN's payload and
the sign of a zero count. Of exceptions the type and the call compare; their texts are kept for the report. What the default delegate has
taken counts too: the inputs and outputs of each of the main graph's DELEGATE nodes, as users see them, and of every
subgraph the execution plan and which nodes each delegate node runs.
"""

import base64
from dataclasses import asdict, dataclass, field

import numpy as np

from .details import details_difference


@dataclass
class Array:
    """An output as bytes, so that nothing (NaN == NaN, 0.0 == -0.0) is lost on the way."""

    dtype: str
    shape: tuple
    data: bytes

    @classmethod
    def of(cls, value):
        array = np.asarray(value)
        if array.dtype == object:
            return cls("string", array.shape, repr([bytes(v) for v in array.ravel()]).encode())
        return cls(array.dtype.name, array.shape, array.tobytes())

    def values(self):
        """The array again; strings and types that numpy lacks (bfloat16) as raw bytes."""
        try:
            return np.frombuffer(self.data, np.dtype(self.dtype)).reshape(self.shape)
        except (TypeError, ValueError):
            return np.frombuffer(self.data, np.uint8)


@dataclass
class Outcome:
    """`invokes[i][k]` is output k after invoke i. `stage` is the call that raised.

    `delegates[n]` are the inputs and the outputs of the n-th node named DELEGATE after allocation; None when it was not
    reached, or the interpreter does not show its nodes. `plans[g]` are the execution plan of subgraph g and its delegate
    nodes [node, nodes that it runs, inputs, outputs]; None likewise. `details` are the main graph's tensors after the last
    invoke, as `details.described` has them. `before` is the type, the call and the text of what was raised at the file's shapes.
    `calls` are those of a program: the call, the type of what it raised, what that or the call says, and how many arrays were read
    until then.
    """

    status: str
    invokes: list[list[Array]] = field(default_factory=list)
    stage: str = ""
    error: str = ""
    text: str = ""
    seconds: float = 0.0
    delegates: list[list[list[int]]] | None = None
    plans: list | None = None
    details: dict | None = None
    before: list | None = None
    calls: list = field(default_factory=list)

    def summary(self):
        """For people: "ok", "raised ValueError in invoke: ...", "crashed (SIGABRT): ..."."""
        if self.status == "raised":
            return f"raised {self.error} in {self.stage}: {self.text}"
        return self.status if self.status == "ok" else f"{self.status} ({self.error}): {self.text}"

    def to_json(self):
        plain = asdict(self)
        if self.before is None:
            del plain["before"]
        if not self.calls:
            del plain["calls"]
        for arrays in plain["invokes"]:
            for array in arrays:
                array["data"] = base64.b64encode(array["data"]).decode()
        return plain

    @classmethod
    def from_json(cls, plain):
        invokes = [
            [Array(a["dtype"], tuple(a["shape"]), base64.b64decode(a["data"])) for a in arrays]
            for arrays in plain["invokes"]
        ]
        return cls(**{**plain, "invokes": invokes})


def difference(a, b, calls=True):
    """None when both sides did the same, else what differs first, for people. Without `calls` either may have raised in another call."""
    if (a.before or ())[: 1 + calls] != (b.before or ())[: 1 + calls]:
        return f"before: {_raised(a.before)}  <>  {_raised(b.before)}"
    if a.status != b.status or a.error != b.error or (calls and a.status == "raised" and a.stage != b.stage):
        return f"{a.summary()}  <>  {b.summary()}"
    found = _delegates_difference(a.delegates, b.delegates) or _plans_difference(a.plans, b.plans)
    if found:
        return found
    n, found = _calls_difference(a.calls, b.calls)
    return _arrays_difference(a.invokes[:n], b.invokes[:n]) or found or details_difference(a.details, b.details)


def _arrays_difference(a, b):
    for i, (outputs_a, outputs_b) in enumerate(zip(a, b, strict=False)):
        if len(outputs_a) != len(outputs_b):
            return f"invoke {i}: {len(outputs_a)} <> {len(outputs_b)} outputs"
        for k, (x, y) in enumerate(zip(outputs_a, outputs_b, strict=True)):
            found = _array_difference(x, y)
            if found:
                return f"invoke {i}, output {k}: {found}"
    return None if len(a) == len(b) else f"{len(a)} <> {len(b)} invokes"


def _calls_difference(a, b):
    """(how many arrays were read until then, the first call of a program that is not the same); (None, None): there is none."""
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        if x[1] != y[1] or (not x[1] and x[2] != y[2]):
            first, second = (
                "ok" if not call[1] else f"raised {call[1]} in {call[0].partition('(')[0]}: {call[2]}"
                for call in (x, y)
            )
            if not x[1] and not y[1]:
                first, second = x[2], y[2]
            return min(x[3], y[3]), f"call {i}, {x[0]}: {first}  <>  {second}"
    return None, None


def _raised(before):
    return "ok" if not before else f"raised {before[0]} in {before[1]}: {before[2]}"


def _delegates_difference(a, b):
    if a is None or b is None or a == b:
        return None
    if len(a) == len(b):
        n = next(n for n, (x, y) in enumerate(zip(a, b, strict=True)) if x != y)
        return f"delegate node {n}: {_delegate(a[n])} <> {_delegate(b[n])}"
    return f"delegate nodes: {', '.join(map(_delegate, a)) or 'none'} <> {', '.join(map(_delegate, b)) or 'none'}"


def _plans_difference(a, b):
    if a is None or b is None or a == b:
        return None
    if len(a) != len(b):
        return f"{len(a)} <> {len(b)} subgraphs"
    g = next(g for g, (x, y) in enumerate(zip(a, b, strict=True)) if x != y)
    part = 0 if a[g][0] != b[g][0] else 1
    return f"{('plan', 'delegate nodes')[part]} of subgraph {g}: {a[g][part]} <> {b[g][part]}"


def _delegate(node):
    return f"{node[0]} -> {node[1]}"


def _array_difference(x, y, shown=4):
    if x.dtype != y.dtype or x.shape != y.shape:
        return f"{x.dtype} {list(x.shape)} <> {y.dtype} {list(y.shape)}"
    if x.data == y.data:
        return None
    values_x, values_y = x.values(), y.values()
    if values_x.size == 0 or values_x.size != values_y.size:
        return f"{x.data[:60]!r} <> {y.data[:60]!r}"
    width = values_x.itemsize
    rows_x, rows_y = (np.frombuffer(v.data, np.uint8).reshape(-1, width) for v in (x, y))
    where = np.flatnonzero((rows_x != rows_y).any(1))
    elements = "; ".join(
        f"[{', '.join(map(str, np.unravel_index(i, values_x.shape)))}] "
        f"{_element(values_x.ravel()[i])} <> {_element(values_y.ravel()[i])}"
        for i in where[:shown]
    )
    nans = ", all NaN on both sides" if _all_nan(values_x.ravel()[where]) and _all_nan(values_y.ravel()[where]) else ""
    return f"{x.dtype} {list(x.shape)}, {len(where)} of {values_x.size} elements{nans}: {elements}"


def _all_nan(values):
    return values.dtype.kind in "fc" and bool(np.isnan(values).all())


def _element(value):
    """A value, with its bits where the decimal text may hide the difference."""
    if value.dtype.kind == "f":
        return f"{value!s} (0x{value.tobytes()[::-1].hex()})"
    return str(value)
