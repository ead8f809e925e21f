"""Functions of TensorFlow's whose operators the converter leaves to TensorFlow; part of `python -m compat.flex`.

They consist of such operators and of exact ones, so that the bytes are TensorFlow's: the converted function itself is the judge. Lists
(VARIANT) and tables (RESOURCE) go through IF and WHILE in each of the ways in which a value can.
"""

import tempfile

import numpy as np

from .flex_layers import quietly


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
        **lists(tf),
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


def lists(tf):
    """As `functions`: lists that travel into subgraphs and back."""
    f32, raw, four = tf.float32, tf.raw_ops, [4]

    def spec(shape, dtype=f32):
        return tf.TensorSpec(shape, dtype)

    def normal(*shape):
        return lambda rng: rng.standard_normal(shape).astype(np.float32)

    def rows(rng):
        return rng.standard_normal((int(rng.integers(1, 6)), 4)).astype(np.float32)

    def stack(handle):
        return raw.TensorListStack(input_handle=handle, element_shape=tf.constant(four), element_dtype=f32)

    def made_of(x):
        return raw.TensorListFromTensor(tensor=x, element_shape=tf.constant(four))

    def put(handle, k, item):
        return raw.TensorListSetItem(input_handle=handle, index=k, item=item)

    def any_length(x, n):
        array = tf.TensorArray(f32, size=0, dynamic_size=True, element_shape=four)
        for k in tf.range(n):
            array = array.write(k, x[k % 3] * tf.cast(k, f32))
        return array.stack()

    def either(condition, x):
        handle = made_of(x)
        return stack(
            tf.cond(
                condition,
                lambda: put(handle, 0, tf.ones(four)),
                lambda: raw.TensorListPushBack(input_handle=handle, tensor=x[0]),
            )
        )

    def untouched(condition, x):
        handle = made_of(x)
        return stack(tf.cond(condition, lambda: put(handle, 1, tf.ones(four)), lambda: handle))

    def loop_in_loop(x):
        array = tf.TensorArray(f32, size=3, element_shape=four, clear_after_read=False)
        for k in tf.range(3):
            array = array.write(k, x[k])
        for j in tf.range(2):
            for k in tf.range(3):
                array = array.write(k, array.read(k) + tf.cast(j, f32))
        return array.stack()

    def changing_places(x):
        def turn(k, a, b):
            return k + 1, b, put(a, k, tf.fill(four, tf.cast(k, f32)))

        _, a, b = tf.while_loop(lambda k, a, b: k < 3, turn, (0, made_of(x), made_of(-x)))
        return stack(a) + 8 * stack(b)

    def beside_what_grows(x):
        def turn(k, y, a):
            return k + 1, tf.concat([y, tf.math.erf(y[:1])], 0), put(a, k, y[k])

        shapes = (tf.TensorSpec([], tf.int32), tf.TensorSpec([None, 4], f32), tf.TensorSpec([], tf.variant))
        _, y, a = tf.while_loop(lambda k, y, a: k < 3, turn, (0, x, made_of(x)), shape_invariants=shapes)
        return tf.concat([y, stack(a)], 0)

    def stack_of_plates(x):
        handle = raw.EmptyTensorList(
            element_shape=tf.constant(four), max_num_elements=tf.constant(9), element_dtype=f32
        )

        def turn(k, handle):
            return k + 1, raw.TensorListPushBack(input_handle=handle, tensor=x[k % 3])

        _, handle = tf.while_loop(lambda k, _: k < 5, turn, (0, handle))
        handle, last = raw.TensorListPopBack(input_handle=handle, element_shape=tf.constant(four), element_dtype=f32)
        return last + tf.cast(raw.TensorListLength(input_handle=handle), f32)

    return {
        "table of the model's": (
            [spec([4], tf.int32)],
            Table(tf).look_up,
            [lambda rng: rng.integers(0, 5, 4, np.int32)],
        ),
        "table that is filled": ([spec([4], tf.int32)], Table(tf).count, [lambda rng: rng.integers(0, 5, 4, np.int32)]),
        "table that is written last": (
            [spec([4], tf.int32)],
            Table(tf).exchange,
            [lambda rng: rng.integers(0, 5, 4, np.int32)],
        ),
        "list of any length": (
            [spec([3, 4]), spec([], tf.int32)],
            any_length,
            [normal(3, 4), lambda rng: np.int32(rng.integers(1, 9))],
        ),
        "list through IF": (
            [spec([], tf.bool), spec([3, 4])],
            either,
            [lambda rng: np.bool_(rng.integers(2)), normal(3, 4)],
        ),
        "list untouched by IF": (
            [spec([], tf.bool), spec([3, 4])],
            untouched,
            [lambda rng: np.bool_(rng.integers(2)), normal(3, 4)],
        ),
        "list through WHILE in WHILE": ([spec([3, 4])], loop_in_loop, [normal(3, 4)]),
        "lists that change places": ([spec([3, 4])], changing_places, [normal(3, 4)]),
        "list beside what grows": ([spec([None, 4])], beside_what_grows, [normal(3, 4)]),
        "list that grows": ([spec([3, 4])], stack_of_plates, [normal(3, 4)]),
        "map": ([spec([None, 4])], lambda x: tf.map_fn(lambda row: tf.math.erf(row) + 1, x), [rows]),
        "scan": ([spec([None, 4])], lambda x: tf.scan(lambda a, row: a * 0.5 + row, x), [rows]),
    }


class Table:
    """Functions of tables, which outlive an invoke."""

    def __init__(self, tf):
        keys, values = tf.constant([1, 2, 3]), tf.constant([10.0, 20.0, 30.0])
        initial = tf.lookup.KeyValueTensorInitializer(keys, values)
        self.constant = tf.lookup.StaticHashTable(initial, -1.0)
        self.filled = tf.lookup.experimental.MutableHashTable(tf.int32, tf.float32, 0.0)

    def look_up(self, keys):
        return self.constant.lookup(keys)

    def count(self, keys):
        self.filled.insert(keys, self.filled.lookup(keys) + 1.0)
        return self.filled.lookup(keys)

    def exchange(self, keys):
        before = self.filled.lookup(keys)
        self.filled.insert(keys, self.constant.lookup(keys))
        return before


def convert(tf, function, signature):
    """(the model, the function that it is made of); by way of a file where tables are to be filled."""
    module = tf.Module()
    module.tables = getattr(function, "__self__", None) and (function.__self__.constant, function.__self__.filled)
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
