"""Which functions of a C file are cold: those that can raise. Operators raise in prepare; kernels run without the GIL and raise nothing.

    text = mark_cold(text)                 # of a file that Cython has written

A compiler makes cold functions as small as it can and keeps them away from the others; an operator's file is a fifth smaller for it. What
only cold functions call it takes for cold, too. Prepare packs weights, scans them and fills tables, which takes its time: functions with
loops are not cold, and those of ours that raise nothing are hot where a function that raises reaches them. A compiler would put such a
function into its only caller, and make that as small as it can: what no kernel needs stays a function of its own.

Cython declares each function in a line of its own before it defines it: the attribute is added there.
"""

import re

DEFINITION = re.compile(r"^static [^;]*?\b(\w+)\([^;]*\) \{$")
PROTOTYPE = re.compile(r"^(static [^;{]*?\b(\w+)\([^;{]*\))(; /\*proto\*/)$", re.M)
RAISES = "__Pyx_AddTraceback("
LOOP = re.compile(r"^\s*(?:for|while) \(")
CALL = re.compile(r"__pyx_f\w+(?=\()")  # of our functions, not of Cython's own


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


def called(functions: dict[str, list[str]], names: set[str]) -> set[str]:
    """The functions of ours that these call."""
    return {call for name in names for call in CALL.findall("\n".join(functions[name]))} & functions.keys()


def reached(functions: dict[str, list[str]], names: set[str]) -> set[str]:
    """The functions of ours that these call, and those that are called by them."""
    found: set[str] = set()
    while new := called(functions, names) - found:
        found |= new
        names = new
    return found


def attributes(text: str) -> dict[str, str]:
    """Function -> "cold", "hot" or "hot, noinline", for those that are one of them."""
    functions = bodies(text)
    raising = {name for name, body in functions.items() if any(RAISES in line for line in body)}
    loops = {name for name, body in functions.items() if any(map(LOOP.match, body))}
    prepared = reached(functions, raising)
    hot = prepared & loops - raising
    apart = called(functions, raising) - reached(functions, functions.keys() - raising - prepared)
    return (
        dict.fromkeys(raising - loops, "cold") | dict.fromkeys(hot, "hot") | dict.fromkeys(hot & apart, "hot, noinline")
    )


def mark_cold(text: str) -> str:
    """The text with the attributes in the declarations of these functions."""
    marks = attributes(text)
    apart = "|".join(name for name, mark in marks.items() if "noinline" in mark)
    if apart:
        text = re.sub(rf"^static CYTHON_INLINE (?=[^;{{]*?\b(?:{apart})\()", "static ", text, flags=re.M)
    return PROTOTYPE.sub(
        lambda match: f"{match[1]} __attribute__(({marks[match[2]]})){match[3]}" if match[2] in marks else match[0],
        text,
    )
