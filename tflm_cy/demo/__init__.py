"""The models that ship: two small nets that read handwritten digits, and the images that they were never shown.

    digits_float.tflite    float32
    digits_int8.tflite     the same net in int8: weights per channel, activations per tensor, int8 in and out
    digits_test.npz        `images` (n, 8, 8) uint8, 0 (paper) to 16 (ink), and `labels` (n,) uint8

`python -m tflm_cy demo` runs them. All three files are written by `python -m tflm_cy.demo.train` from a checkout.
"""
