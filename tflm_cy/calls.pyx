# cython: binding=True
"""What an Interpreter's user calls for each input: in Python these methods would take longer than a tiny model.

    class Interpreter(Calls): ...
"""
cimport cython

from tflm_cy.core cimport Core

cdef extern from *:           # for all modules: platform/add_traceback.h
    """
    #define TFLM_CY_DEFINE_ADD_TRACEBACK
    """


cdef class Calls:
    """`set_tensor`, `invoke` and `get_tensor` of an Interpreter."""
    cdef Core core

    @property
    def _interpreter(self):
        return self.inside()

    @_interpreter.setter
    def _interpreter(self, Core core):
        with cython.critical_section(self):      # matters without a GIL only: who replaces it while another thread takes it
            self.core = core

    @_interpreter.deleter
    def _interpreter(self):
        with cython.critical_section(self):
            self.core = None

    cdef Core inside(self):
        cdef Core core
        with cython.critical_section(self):
            core = self.core
        if core is None:
            raise AttributeError("the interpreter was made without __init__")
        return core

    def invoke(self):
        """Run the model once, with the GIL released.

        Raises
        ------
        RuntimeError
            `allocate_tensors` was not called, an operator fails (names the node), or a view of a tensor is alive.
        """
        cdef Core core = self.inside()
        core.run(core.primary)

    def set_tensor(self, tensor_index, value):
        """Copy a value into a tensor.

        Parameters
        ----------
        tensor_index : int
            Index of the tensor; `get_input_details()[i]["index"]`.
        value : array_like
            Of the tensor's dtype and shape exactly: nothing is cast or broadcast.

        Raises
        ------
        ValueError
            Another dtype or shape, no such tensor, a constant, or `allocate_tensors` was not called.
        """
        self.inside().put(tensor_index, value, 0)

    def get_tensor(self, tensor_index, subgraph_index=0):
        """A fresh copy of a tensor's value; a numpy scalar for rank 0, an object array of bytes for strings.

        Raises
        ------
        ValueError
            No such tensor, no memory yet, or its memory serves another tensor by now (see
            experimental_preserve_all_tensors).
        """
        return self.inside().get(tensor_index, subgraph_index)
