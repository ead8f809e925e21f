"""Which functions of a C file are cold: those that can raise. Operators raise in prepare; kernels run without the GIL and raise nothing.

    text = mark_cold(text)                 # of a file that Cython has written

A compiler makes cold functions as small as it can and keeps them away from the others; an operator's file is a fifth smaller for it. What
only cold functions call it takes for cold, too. Prepare packs weights and fills tables, which takes its time: functions with loops are
not cold, and those that a cold function calls and that raise nothing are hot.

Cython declares each function in a line of its own before it defines it: the attribute is added there.
"""

import re

DEFINITION = re.compile(r"^static [^;]*?\b(\w+)\([^;]*\) \{$")
PROTOTYPE = re.compile(r"^(static [^;{]*?\b(\w+)\([^;{]*\))(; /\*proto\*/)$", re.M)
RAISES = "__Pyx_AddTraceback("
LOOP = re.compile(r"^\s*(?:for|while) \(")
CALL = re.compile(r"\b(\w+)\(")


def bodies(text: str) -> dict[str, list[str]]:
    """The lines of each function."""
    found: dict[str, list[str]] = {}
    name = None
    for line in text.splitlines():
        if name is None:
            if line.startswith("static ") and (match := DEFINITION.match(line)):
                name = match[1]
                found[name] = []
        elif line.startswith("}"):
            name = None
        else:
            found[name].append(line)
    return found


def attributes(text: str) -> dict[str, str]:
    """Function -> "cold" or "hot", for those that are either."""
    functions = bodies(text)
    raising = {name for name, body in functions.items() if any(RAISES in line for line in body)}
    loops = {name for name, body in functions.items() if any(map(LOOP.match, body))}
    cold = raising - loops
    called = {call for name in cold for line in functions[name] for call in CALL.findall(line)}
    return dict.fromkeys(cold, "cold") | dict.fromkeys(called & loops - raising, "hot")


def mark_cold(text: str) -> str:
    """The text with the attributes in the declarations of these functions."""
    marks = attributes(text)
    return PROTOTYPE.sub(
        lambda match: f"{match[1]} __attribute__(({marks[match[2]]})){match[3]}" if match[2] in marks else match[0],
        text,
    )
