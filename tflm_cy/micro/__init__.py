"""TensorFlow Lite Micro: its figures for a model without running it, and plans for the device.

from tflm_cy.micro.figures import figures
print(figures(Model.from_path("model.tflite"), "arm32").text())
"""
