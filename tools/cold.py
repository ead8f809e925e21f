"""Which functions of a C file are cold: those that can raise. Operators raise in prepare; kernels run without the GIL and raise nothing.

    text = mark_cold(text)                 # of a file that Cython has written

A compiler makes cold functions as small as it can and keeps them away from the others; an operator's file is a fifth smaller for it.
Cython declares each function in a line of its own before it defines it: the attribute is added there.
"""

import re

DEFINITION = re.compile(r"^static [^;]*?\b(\w+)\([^;]*\) \{$")
PROTOTYPE = re.compile(r"^(static [^;{]*?\b(\w+)\([^;{]*\))(; /\*proto\*/)$", re.M)
RAISES = "__Pyx_AddTraceback("


def raising(text: str) -> set[str]:
    """The names of the functions whose bodies note where an exception has come through."""
    found = set()
    name = None
    for line in text.splitlines():
        if name is None:
            if line.startswith("static ") and (match := DEFINITION.match(line)):
                name = match[1]
        elif line.startswith("}"):
            name = None
        elif RAISES in line:
            found.add(name)
    return found


def mark_cold(text: str) -> str:
    """The text with the attribute in the declarations of these functions."""
    cold = raising(text)
    return PROTOTYPE.sub(
        lambda match: f"{match[1]} __attribute__((cold)){match[3]}" if match[2] in cold else match[0], text
    )
