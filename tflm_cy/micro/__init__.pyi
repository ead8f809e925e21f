"""TensorFlow Lite Micro: models run by its rules, its figures for a model without running it, and plans for the device."""

from tflm_cy.micro.interpreter import MicroInterpreter as MicroInterpreter
