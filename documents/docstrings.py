"""Docstrings of compiled modules for the API reference: mkdocstrings sees their stubs only."""

import inspect
from importlib import import_module

import griffe


class CompiledDocstrings(griffe.Extension):
    """Gives what has no docstring in the sources the one that it has at run time."""

    def on_package(self, *, pkg, loader, **kwargs):
        for module in _modules(pkg):
            _describe(module, import_module(module.path), loader.docstring_parser)


def _modules(module):
    """The modules that have a stub."""
    if not isinstance(module.filepath, list) and module.filepath.with_suffix(".pyi").exists():
        yield module
    for member in module.members.values():
        if not member.is_alias and member.is_module:
            yield from _modules(member)


def _describe(described, found, parser):
    if described.docstring is None and (text := _own_docstring(found)):
        described.docstring = griffe.Docstring(text, parent=described, parser=parser)
    for name, member in described.members.items():
        if not member.is_alias and (member.is_class or member.is_function) and hasattr(found, name):
            _describe(member, getattr(found, name), parser)


def _own_docstring(found):
    if inspect.isclass(found) and "__doc__" not in vars(found):
        return None  # the base class's
    return inspect.cleandoc(found.__doc__) if isinstance(getattr(found, "__doc__", None), str) else None
