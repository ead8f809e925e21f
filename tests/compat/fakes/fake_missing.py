"""A side whose package is not installed."""

import importlib

MODES = ("BUILTIN_REF",)
DISTRIBUTIONS = ()


def start():
    importlib.import_module("a_package_that_nobody_has")
