"""What the package promises without being asked: no noise, few imports, no TensorFlow."""

import subprocess
import sys

SILENT = """
import sys, warnings
warnings.simplefilter("error")
import tflm_cy
assert "tensorflow" not in sys.modules
assert "flatbuffers" not in sys.modules
names = [name for name in sys.modules if name.startswith("tflm_cy.ops.")]
assert not names, names
"""


def test_importing_is_silent_and_takes_no_operator_along():
    result = subprocess.run([sys.executable, "-c", SILENT], capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
