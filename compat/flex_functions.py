"""Functions of TensorFlow's whose operators the converter leaves to TensorFlow; part of `python -m compat.flex`.

They consist of such operators and of exact ones, so that the bytes are TensorFlow's: the converted function itself is the judge. Lists
and tables are in flex_lists.py.
"""

import tempfile

import numpy as np

from .flex_layers import quietly
from .flex_lists import Table, lists, normal


def functions(tf):
    """Name -> (signature, function, feeds(rng, n))."""
    return {**lists(tf), **of_numbers(tf), **of_shapes(tf)}


def integers(low, high, *shape):
    return lambda rng: rng.integers(low, high, shape).astype(np.int32)


def words(*shape):
    return lambda rng: rng.choice(np.array([b"a", b"bc", "dü".encode(), b"", b"17"], object), shape)


def of_numbers(tf):
    f32, i32, spec = tf.float32, tf.int32, tf.TensorSpec

    return {
        "erf": ([spec([2, 3], f32)], tf.math.erf, [normal(2, 3)]),
        "erf of any batch": ([spec([None, 3], f32)], tf.math.erf, [normal(5, 3)]),
        "several outputs": ([spec([4, 4], f32)], lambda x: tf.add(*tf.linalg.qr(x)), [normal(4, 4)]),
        "cholesky": (
            [spec([4, 4], f32)],
            lambda x: tf.linalg.cholesky(tf.raw_ops.MatrixInverse(input=x) * 0 + tf.eye(4)),
            [normal(4, 4)],
        ),
        "chain": ([spec([3, 4], f32)], lambda x: tf.tan(tf.math.erf(tf.tan(x))), [normal(3, 4)]),
        "islands": ([spec([3, 4], f32)], lambda x: tf.math.erf(-tf.abs(tf.math.erf(x))), [normal(3, 4)]),
        "int32": ([spec([5], i32)], lambda x: tf.math.bincount(x, minlength=9, maxlength=9), [integers(0, 9, 5)]),
        "float64": ([spec([5], f32)], lambda x: tf.cast(tf.tan(tf.cast(x, tf.float64)), f32), [normal(5)]),
    }


def of_shapes(tf):
    """Strings, shapes that are known while running, attributes, values of other kinds."""
    f32, i32, string, spec = tf.float32, tf.int32, tf.string, tf.TensorSpec

    def loop(x):
        array = tf.TensorArray(f32, size=3, element_shape=[4])
        for i in range(3):
            array = array.write(i, tf.math.erf(x[i]))
        return array.stack()

    return {
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
            [spec([1, 5, 5, 2], f32)],
            lambda x: tf.image.extract_patches(x, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME"),
            [normal(1, 5, 5, 2)],
        ),
        "constant inputs": (
            [spec([2, 3], f32)],
            lambda x: tf.raw_ops.MatrixBandPart(input=x, num_lower=1, num_upper=0),
            [normal(2, 3)],
        ),
        "stateless random": (
            [spec([2], i32)],
            lambda seed: tf.random.stateless_normal([7], seed),
            [integers(0, 99, 2)],
        ),
        "variants": ([spec([3, 4], f32)], loop, [normal(3, 4)]),
        "float16": (
            [spec([5], f32)],
            lambda x: tf.cast(tf.math.erf(tf.cast(x, tf.float16)), f32),
            [normal(5)],
        ),
    }


def convert(tf, function, signature):
    """(the model, the function that it is made of); by way of a file where tables are to be filled."""
    module = tf.Module()
    table = getattr(function, "__self__", None)
    module.tables = (table.constant, table.filled) if isinstance(table, Table) else None
    module.run = tf.function(function, input_signature=signature)
    concrete = module.run.get_concrete_function()
    with tempfile.TemporaryDirectory() as folder:
        if module.tables:
            tf.saved_model.save(module, folder, signatures=concrete)
            converter = tf.lite.TFLiteConverter.from_saved_model(folder)
        else:
            converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], module)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
        converter._experimental_lower_tensor_list_ops = False
        return quietly(converter.convert), concrete


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


def compare(tf, tflm_cy, modes, converted, feeds, runs):
    """(what differs or fails, the model's operators): all modes' interpreters against the function itself, run by run."""
    model, concrete = converted
    interpreters = {
        mode: tflm_cy.Interpreter(model_content=model, experimental_op_resolver_type=tflm_cy.OpResolverType[mode])
        for mode in modes
    }
    graphs = interpreters[modes[0]]._interpreter.subgraphs
    taken = [name for graph in graphs for name in graph.operator_names if name != "DELEGATE"]
    rng, wrong = np.random.default_rng(7), []
    for run in range(runs):
        values = [feed(rng) for feed in feeds]
        wanted = concrete(*[tf.constant(value) for value in values])
        wanted = [np.asarray(w.numpy()) for w in (wanted if isinstance(wanted, (list, tuple)) else [wanted])]
        for mode, interpreter in interpreters.items():
            try:
                got = outputs(interpreter, values)
            except Exception as error:
                wrong.append(f"{mode}, run {run}: {type(error).__name__}: {error}")
                continue
            if len(got) != len(wanted) or not all(map(same, got, wanted)):
                wrong.append(f"{mode}, run {run}: {got} instead of {wanted}")
            if interpreter._interpreter.subgraphs[0].shared.handles:
                wrong.append(f"{mode}, run {run}: handles are alive after invoke")
    return wrong, list(dict.fromkeys(taken))
