/* Entries of tracebacks, for all modules of the library: tools/tracebacks.py has Cython's own functions replaced by this one. */
#ifndef TFLM_CY_ADD_TRACEBACK_H
#define TFLM_CY_ADD_TRACEBACK_H

#include <Python.h>

/* Adds a function's line to the traceback of the exception that is set. */
void tflm_cy_add_traceback(const char *function, int line, const char *file, PyObject *globals);

#ifdef TFLM_CY_DEFINE_ADD_TRACEBACK /* in one module */
#include <frameobject.h>

void tflm_cy_add_traceback(const char *function, int line, const char *file, PyObject *globals) {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyCodeObject *code = PyCode_NewEmpty(file, function, line);
  PyFrameObject *frame = code == NULL ? NULL : PyFrame_New(PyThreadState_Get(), code, globals, NULL);
  if (frame == NULL) PyErr_Clear(); /* the exception that there was says more than one entry of its traceback */
  PyErr_Restore(type, value, traceback);
  if (frame != NULL) {
#if PY_VERSION_HEX < 0x030B0000
    frame->f_lineno = line; /* later ones have the line of their code */
#endif
    PyTraceBack_Here(frame);
  }
  Py_XDECREF((PyObject *)code);
  Py_XDECREF((PyObject *)frame);
}
#endif
#endif
