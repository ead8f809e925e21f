"""This package by TFLM's rules, through the runtime that replaces tflite_micro's."""

import importlib

from .tflite_micro import Runtime

MODES = ("MICRO",)
DISTRIBUTIONS = ()


def start():
    runtime = importlib.import_module("tflm_cy.micro.runtime")
    return lambda model, mode, threads=1: Runtime(runtime, model)
