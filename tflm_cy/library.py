"""Finds the compiled modules of the package, which are linked into one library.

    >>> from tflm_cy import library
    >>> library.Finder.find_spec("tflm_cy.memory.arena").origin == library.PATH
    True

It is loaded once, with the first module; a module that nobody imports is never set up. Some modules are in it twice, with the
same bytes: the second body, for AVX2, is taken where their package says so (`AVX2`).
"""

import sys
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, ModuleSpec

from tflm_cy.index import AVX2, MODULES

PATH = __file__.removesuffix("library.py") + "compiled" + EXTENSION_SUFFIXES[0]


class Finder:
    """What `sys.meta_path` asks; names of other packages are passed on."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        """The spec of a compiled module, or None."""
        if name not in MODULES:
            return None
        loader = TwiceLoader if name in AVX2 else ExtensionFileLoader
        return ModuleSpec(name, loader(name, PATH), origin=PATH)


class TwiceLoader(ExtensionFileLoader):
    """Of a module that has a second body, whose entry has a name of its own."""

    def create_module(self, spec):
        """Create the module under the name that everybody knows.

        The package is asked here, because its answer may import: `find_spec` runs under the lock of all imports (before CPython 3.12), and
        two threads that import there wait for each other.
        """
        package = sys.modules.get(spec.name.rpartition(".")[0])
        if not getattr(package, "AVX2", False):
            return super().create_module(spec)
        module = super().create_module(ModuleSpec(f"{spec.name}_avx2", self, origin=PATH))
        module.__name__ = spec.name
        return module


sys.meta_path.insert(0, Finder)
