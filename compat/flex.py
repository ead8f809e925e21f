"""TensorFlow's operators inside of models (Flex*): does running them through TensorFlow give TensorFlow's bytes?

    python -m compat.flex                      # every function below, in every mode
    python -m compat.flex --only cholesky

Each function is converted with SELECT_TF_OPS, run by tflm_cy, and run by TensorFlow itself; TensorFlow 2.21's own tf.lite.Interpreter
cannot be the judge: its pip package holds no Flex delegate and refuses such models ("Select TensorFlow op(s) ... not supported"), which is
shown in the last line. The functions consist of operators that the converter leaves to TensorFlow, and of exact ones.

Exit code: 0 all equal, 1 not.
"""

import argparse
import os
import sys
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

from .verdict import UsageError, judge

MODES = ("BUILTIN_REF", "BUILTIN_WITHOUT_DEFAULT_DELEGATES", "AUTO")


def functions(tf):
    """Name -> (signature, function, feeds(rng, n))."""
    f32, i32, string = tf.float32, tf.int32, tf.string

    def spec(shape, dtype=f32):
        return tf.TensorSpec(shape, dtype)

    def normal(*shape):
        return lambda rng: rng.standard_normal(shape).astype(np.float32)

    def integers(low, high, *shape):
        return lambda rng: rng.integers(low, high, shape).astype(np.int32)

    def words(*shape):
        return lambda rng: rng.choice(np.array([b"a", b"bc", "dü".encode(), b"", b"17"], object), shape)

    def loop(x):
        array = tf.TensorArray(f32, size=3, element_shape=[4])
        for i in range(3):
            array = array.write(i, tf.math.erf(x[i]))
        return array.stack()

    return {
        "erf": ([spec([2, 3])], tf.math.erf, [normal(2, 3)]),
        "erf of any batch": ([spec([None, 3])], tf.math.erf, [normal(5, 3)]),
        "several outputs": ([spec([4, 4])], lambda x: tf.add(*tf.linalg.qr(x)), [normal(4, 4)]),
        "cholesky": (
            [spec([4, 4])],
            lambda x: tf.linalg.cholesky(tf.raw_ops.MatrixInverse(input=x) * 0 + tf.eye(4)),
            [normal(4, 4)],
        ),
        "chain": ([spec([3, 4])], lambda x: tf.tan(tf.math.erf(tf.tan(x))), [normal(3, 4)]),
        "islands": ([spec([3, 4])], lambda x: tf.math.erf(-tf.abs(tf.math.erf(x))), [normal(3, 4)]),
        "int32": ([spec([5], i32)], lambda x: tf.math.bincount(x, minlength=9, maxlength=9), [integers(0, 9, 5)]),
        "float64": ([spec([5])], lambda x: tf.cast(tf.tan(tf.cast(x, tf.float64)), f32), [normal(5)]),
        "strings": ([spec([3], string)], lambda s: tf.strings.join([s, s], "-"), [words(3)]),
        "strings to numbers": (
            [spec([None], string)],
            lambda s: tf.strings.to_hash_bucket_fast(s, 1000),
            [words(6)],
        ),
        "shape known while running": (
            [spec([None], i32)],
            lambda x: tf.raw_ops.UniqueWithCounts(x=x)[2],
            [integers(0, 4, 9)],
        ),
        "behind an unknown shape": (
            [spec([None], i32)],
            lambda x: -tf.raw_ops.UniqueWithCounts(x=x)[0],
            [integers(0, 4, 9)],
        ),
        "attributes": (
            [spec([1, 5, 5, 2])],
            lambda x: tf.image.extract_patches(x, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME"),
            [normal(1, 5, 5, 2)],
        ),
        "constant inputs": (
            [spec([2, 3])],
            lambda x: tf.raw_ops.MatrixBandPart(input=x, num_lower=1, num_upper=0),
            [normal(2, 3)],
        ),
        "stateless random": (
            [spec([2], i32)],
            lambda seed: tf.random.stateless_normal([7], seed),
            [integers(0, 99, 2)],
        ),
        "variants": ([spec([3, 4])], loop, [normal(3, 4)]),
        "float16": (
            [spec([5])],
            lambda x: tf.cast(tf.math.erf(tf.cast(x, tf.float16)), f32),
            [normal(5)],
        ),
    }


def convert(tf, function, signature):
    module = tf.Module()
    module.run = tf.function(function, input_signature=signature)
    concrete = module.run.get_concrete_function()
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], module)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
    converter._experimental_lower_tensor_list_ops = False
    return converter.convert(), concrete


def outputs(interpreter, feeds):
    details = interpreter.get_input_details()
    for detail, value in zip(details, feeds, strict=True):
        interpreter.resize_tensor_input(detail["index"], value.shape)
    interpreter.allocate_tensors()
    for detail, value in zip(details, feeds, strict=True):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    return [np.asarray(interpreter.get_tensor(detail["index"])) for detail in interpreter.get_output_details()]


def same(a, b):
    if a.dtype == object or b.dtype == object:
        return a.shape == b.shape and a.tolist() == b.tolist()
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@judge("compat.flex")
def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m compat.flex", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="functions whose name contains this")
    parser.add_argument("--feeds", type=int, default=3, help="runs of each interpreter (3)")
    args = parser.parse_args(arguments)
    warnings.filterwarnings("ignore", message=".*tf.lite.Interpreter is deprecated.*")
    import tensorflow as tf

    import tflm_cy

    different, refused, count = 0, 0, 0
    for name, (signature, function, feeds) in functions(tf).items():
        if args.only not in name:
            continue
        try:
            model, concrete = convert(tf, function, signature)
        except Exception as error:
            print(f"{name:28} not converted: {str(error).splitlines()[0][:120]}")
            different += 1
            continue
        interpreters = [
            tflm_cy.Interpreter(model_content=model, experimental_op_resolver_type=tflm_cy.OpResolverType[mode])
            for mode in MODES
        ]
        taken = [op["op_name"] for op in interpreters[0]._get_ops_details() if op["op_name"] != "DELEGATE"]
        rng, wrong = np.random.default_rng(7), []
        for run in range(args.feeds):
            values = [feed(rng) for feed in feeds]
            wanted = concrete(*[tf.constant(value) for value in values])
            wanted = [np.asarray(w.numpy()) for w in (wanted if isinstance(wanted, (list, tuple)) else [wanted])]
            for mode, interpreter in zip(MODES, interpreters, strict=True):
                count += 1
                try:
                    got = outputs(interpreter, values)
                except Exception as error:
                    wrong.append(f"{mode}, run {run}: {type(error).__name__}: {error}")
                    continue
                if len(got) != len(wanted) or not all(map(same, got, wanted)):
                    wrong.append(f"{mode}, run {run}: {got} instead of {wanted}")
        try:
            tf.lite.Interpreter(model_content=model).allocate_tensors()
        except RuntimeError as error:
            refused += "Select TensorFlow op(s)" in str(error)
        different += len(wrong)
        print(f"{name:28} {'equal' if not wrong else wrong[0][:300]:8} {' '.join(taken)}")
    if not count and not different:
        raise UsageError(f"no function's name contains {args.only!r}")
    print(
        f"{count} runs, {different} different; tf.lite.Interpreter of TensorFlow {tf.__version__} refuses {refused} of the models"
    )
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
