"""tools.tracebacks: a C file's entries of tracebacks are made by the library's function."""

import traceback

import pytest

from tools.tracebacks import share_tracebacks

TEXT = """/* AddTraceback.proto */
static void __Pyx_AddTraceback(const char *funcname, int c_line,
                               int py_line, const char *filename);

static int __pyx_f_check(int a) {
  __Pyx_AddTraceback("check", 1, 2, "a.pyx");
}

/* AddTraceback */
#include "traceback.h"
static void __Pyx_AddTraceback(const char *funcname, int c_line,
                               int py_line, const char *filename) {
    py_frame = PyFrame_New(
        __pyx_state->__pyx_d,    /*PyObject *globals,*/
        0                  /*PyObject *locals*/
    );
}
"""


def test_calls_are_of_the_shared_function_and_the_definition_is_not_touched():
    shared = share_tracebacks(TEXT)
    lines = shared.splitlines()
    define = next(i for i, line in enumerate(lines) if line.startswith("#define __Pyx_AddTraceback("))
    undefine = lines.index("#undef __Pyx_AddTraceback")
    assert define < lines.index("static int __pyx_f_check(int a) {") < undefine < lines.index("/* AddTraceback */")
    assert "    tflm_cy_add_traceback(function, line, file, __pyx_state->__pyx_d);" in lines
    assert shared[shared.index("/* AddTraceback */") :] == TEXT[TEXT.index("/* AddTraceback */") :]


@pytest.mark.parametrize("part", ["AddTraceback.proto", "/* AddTraceback */", "globals"])
def test_a_file_that_looks_otherwise_stays_as_it_is(part):
    text = TEXT.replace(part, "other")
    assert share_tracebacks(text) == text


def test_a_refusal_shows_the_lines_of_the_library():
    from tflm_cy import Interpreter

    with pytest.raises(ValueError) as refused:
        Interpreter(model_content=b"no model")
    frames = traceback.extract_tb(refused.value.__traceback__)
    inside = [frame for frame in frames if frame.filename.endswith(".pyx")]
    assert inside
    assert all(frame.lineno > 0 and frame.name.startswith("tflm_cy.") for frame in inside)
