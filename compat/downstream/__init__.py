"""Unmodified programs of others on this interpreter: the same results?

    python -m compat.downstream --into DIR             # installs the packages into DIR (about 2 GB), runs each twice
    python -m compat.downstream --into DIR --only face_detection

Each file in `programs/` drives one package as its README shows: `REQUIREMENTS` and `ALONE` (installed without what they
ask for) are pip's, `STANDS_IN_FOR` names what the package imports, `run(models)` gives {name: array}. It runs in two
processes, once with TensorFlow's interpreter under the name that the package imports, once with tflm_cy through
`tflm_cy.install`; every array must have the same bytes.
"""
