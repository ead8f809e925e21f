"""An operator package of one module: what a user of tflm_cy writes, with nothing from tflm_cy but its installed .pxd files.

python setup.py build_ext --inplace
"""

from Cython.Build import cythonize
from setuptools import Extension, setup

setup(
    name="example-ops",
    version="1.0",
    packages=["example_ops"],
    ext_modules=cythonize(
        [Extension("example_ops.running_mean", ["example_ops/running_mean.pyx"])],
        compiler_directives={"language_level": 3},
    ),
)
