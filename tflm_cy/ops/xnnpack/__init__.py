"""The operators of the xnnpack arithmetic: what TensorFlow's default delegate computes, where its bytes are not the reference's.

`float32_*` modules serve nodes whose tensors are all floats, `float16_*` those with a float16 tensor, `quantized_*` modules
nodes with an 8-bit (or smaller) integer tensor, any other module float32 and quantized ones; `tflm_cy.ops.find_xnnpack`
tells them apart. Which nodes the delegate takes is decided in `tflm_cy.delegates.xnnpack`, before any of these prepares.

These modules are compiled for AVX2 and FMA on x86-64 and imported only where the CPU has both.
"""
