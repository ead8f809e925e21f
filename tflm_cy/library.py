"""Finds the compiled modules of the package, which are linked into one library.

    >>> from tflm_cy import library
    >>> library.Finder.find_spec("tflm_cy.memory.arena").origin == library.PATH
    True

It is loaded once, with the first module; a module that nobody imports is never set up.
"""

import sys
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec

from tflm_cy.index import MODULES

PATH = __file__.removesuffix("library.py") + "compiled" + EXTENSION_SUFFIXES[0]


class Finder:
    """What `sys.meta_path` asks; names of other packages are passed on."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """The spec of a compiled module, or None."""
        if name in MODULES:
            return ModuleSpec(name, ExtensionFileLoader(name, PATH), origin=PATH)
        return None


sys.meta_path.insert(0, Finder)
