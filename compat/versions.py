"""Which versions of each builtin operator are resolved: `python -m compat.versions`. Exit code 1 when one side alone resolves one.

Every builtin operator of the schema, versions 1 to 16, in the reference and the optimized resolver; only constructing counts.
"""

import sys
import warnings

from tflm_cy.schema.names import BUILTIN_NAMES

from .builder import Model, Tensor
from .verdict import judge

MODES = ("BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES")
NO_OPERATORS = ("CUSTOM", "DELEGATE", "PLACEHOLDER_FOR_GREATER_OP_CODES")
HIGHEST = 16


def resolves(interpreter, mode, model):
    """Whatever else is wrong with such a model shows as another error or later."""
    try:
        interpreter(model_content=model, experimental_op_resolver_type=mode)
    except ValueError as error:
        return "Didn't find op" not in str(error)
    return True


def differences(names=BUILTIN_NAMES):
    """(operator, version, mode, side that resolves it) where the sides disagree."""
    import tensorflow as tf

    import tflm_cy

    warnings.simplefilter("ignore")
    for name in names:
        for version in range(1, HIGHEST + 1) if name not in NO_OPERATORS else ():
            model = Model.single(name, [Tensor([1], "float32")], [Tensor([1], "float32")], version).to_bytes()
            for mode in MODES:
                theirs = resolves(tf.lite.Interpreter, getattr(tf.lite.experimental.OpResolverType, mode), model)
                ours = resolves(tflm_cy.Interpreter, getattr(tflm_cy.OpResolverType, mode), model)
                if theirs != ours:
                    yield name, version, mode, "tensorflow" if theirs else "tflm_cy"


@judge("compat.versions")
def main():
    found = list(differences())
    for name, version, mode, side in found:
        print(f"{name} version {version} in {mode}: only {side} resolves it")
    print(f"{len(BUILTIN_NAMES) - len(NO_OPERATORS)} operators, versions 1 to {HIGHEST}: {len(found)} differences")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
