"""Entries of tracebacks in a C file: Cython writes the function that adds one into each file, the library has it once.

    text = share_tracebacks(text)          # of a file that Cython has written

Its calls become those of a function that passes the module's globals on to `tflm_cy_add_traceback` (platform/add_traceback.h).
Cython's own is left where it is, and the compiler leaves out what nobody calls. A file in which it does not look as known here
stays as it is.
"""

import re

PROTOTYPE = re.compile(r"^/\* AddTraceback\.proto \*/\nstatic void __Pyx_AddTraceback\([^;]*\);\n", re.M)
DEFINITION = re.compile(r"^/\* AddTraceback \*/\n", re.M)
GLOBALS = re.compile(r"^\s*(\S+),\s*/\*PyObject \*globals,\*/$", re.M)
SHARED = """#include "add_traceback.h"
static void tflm_cy_traceback(const char *function, int line, const char *file);
#define __Pyx_AddTraceback(function, c_line, line, file) ((void)(c_line), tflm_cy_traceback(function, line, file))
"""
CALLER = """#undef __Pyx_AddTraceback
static void tflm_cy_traceback(const char *function, int line, const char *file) {{
    tflm_cy_add_traceback(function, line, file, {globals});
}}
"""


def share_tracebacks(text: str) -> str:
    """Return the text with calls of the shared function."""
    found = [pattern.search(text) for pattern in (PROTOTYPE, DEFINITION, GLOBALS)]
    if None in found or not found[0].end() < found[1].start() < found[2].start():
        return text
    prototype, definition, module = found
    caller = CALLER.format(globals=module[1])
    return "".join(
        [
            text[: prototype.end()],
            SHARED,
            text[prototype.end() : definition.start()],
            caller,
            text[definition.start() :],
        ]
    )
