"""How the models in tflm_cy/demo are made; part of the repository, not of the installed package.

    pip install -e '.[train]'
    python -m tflm_cy.demo.train          # from the checkout's root; well under a minute on one core

The net is trained in plain numpy (`network`) on scikit-learn's copy of the UCI handwritten digits (`digits`),
quantized (`quantize`) and written as .tflite (`export`). Seeds are fixed: the same numpy on the same kind of machine
writes the same bytes; elsewhere the last bits of float32 sums, and so the files, may differ.
"""
