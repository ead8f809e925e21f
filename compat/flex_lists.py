"""Functions of TensorFlow's lists (VARIANT) and tables (RESOURCE) for flex_functions.py: they go through IF and WHILE in each of the ways
in which a value can.
"""

import numpy as np

FOUR = [4]


def normal(*shape):
    return lambda rng: rng.standard_normal(shape).astype(np.float32)


def rows(rng):
    return rng.standard_normal((int(rng.integers(1, 6)), 4)).astype(np.float32)


def keys(rng):
    return rng.integers(0, 5, 4, np.int32)


def truth(rng):
    return np.bool_(rng.integers(2))


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


class Lists:
    """Functions of lists that travel into subgraphs and back."""

    def __init__(self, tf):
        self.tf = tf

    def stack(self, handle):
        tf = self.tf
        return tf.raw_ops.TensorListStack(
            input_handle=handle, element_shape=tf.constant(FOUR), element_dtype=tf.float32
        )

    def made_of(self, x):
        tf = self.tf
        return tf.raw_ops.TensorListFromTensor(tensor=x, element_shape=tf.constant(FOUR))

    def put(self, handle, k, item):
        tf = self.tf
        return tf.raw_ops.TensorListSetItem(input_handle=handle, index=k, item=item)

    def any_length(self, x, n):
        tf = self.tf
        array = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=FOUR)
        for k in tf.range(n):
            array = array.write(k, x[k % 3] * tf.cast(k, tf.float32))
        return array.stack()

    def either(self, condition, x):
        tf = self.tf
        handle = self.made_of(x)
        return self.stack(
            tf.cond(
                condition,
                lambda: self.put(handle, 0, tf.ones(FOUR)),
                lambda: tf.raw_ops.TensorListPushBack(input_handle=handle, tensor=x[0]),
            )
        )

    def untouched(self, condition, x):
        tf = self.tf
        handle = self.made_of(x)
        return self.stack(tf.cond(condition, lambda: self.put(handle, 1, tf.ones(FOUR)), lambda: handle))

    def loop_in_loop(self, x):
        tf = self.tf
        array = tf.TensorArray(tf.float32, size=3, element_shape=FOUR, clear_after_read=False)
        for k in tf.range(3):
            array = array.write(k, x[k])
        for j in tf.range(2):
            for k in tf.range(3):
                array = array.write(k, array.read(k) + tf.cast(j, tf.float32))
        return array.stack()

    def changing_places(self, x):
        tf = self.tf

        def turn(k, a, b):
            return k + 1, b, self.put(a, k, tf.fill(FOUR, tf.cast(k, tf.float32)))

        _, a, b = tf.while_loop(lambda k, a, b: k < 3, turn, (0, self.made_of(x), self.made_of(-x)))
        return self.stack(a) + 8 * self.stack(b)

    def beside_what_grows(self, x):
        tf = self.tf

        def turn(k, y, a):
            return k + 1, tf.concat([y, tf.math.erf(y[:1])], 0), self.put(a, k, y[k])

        shapes = (tf.TensorSpec([], tf.int32), tf.TensorSpec([None, 4], tf.float32), tf.TensorSpec([], tf.variant))
        _, y, a = tf.while_loop(lambda k, y, a: k < 3, turn, (0, x, self.made_of(x)), shape_invariants=shapes)
        return tf.concat([y, self.stack(a)], 0)

    def stack_of_plates(self, x):
        tf = self.tf
        handle = tf.raw_ops.EmptyTensorList(
            element_shape=tf.constant(FOUR), max_num_elements=tf.constant(9), element_dtype=tf.float32
        )

        def turn(k, handle):
            return k + 1, tf.raw_ops.TensorListPushBack(input_handle=handle, tensor=x[k % 3])

        _, handle = tf.while_loop(lambda k, _: k < 5, turn, (0, handle))
        handle, last = tf.raw_ops.TensorListPopBack(
            input_handle=handle, element_shape=tf.constant(FOUR), element_dtype=tf.float32
        )
        return last + tf.cast(tf.raw_ops.TensorListLength(input_handle=handle), tf.float32)


def lists(tf):
    """As `functions`."""
    of, f32, spec = Lists(tf), tf.float32, tf.TensorSpec
    return {
        "table of the model's": ([spec([4], tf.int32)], Table(tf).look_up, [keys]),
        "table that is filled": ([spec([4], tf.int32)], Table(tf).count, [keys]),
        "table that is written last": ([spec([4], tf.int32)], Table(tf).exchange, [keys]),
        "list of any length": (
            [spec([3, 4], f32), spec([], tf.int32)],
            of.any_length,
            [normal(3, 4), lambda rng: np.int32(rng.integers(1, 9))],
        ),
        "list through IF": ([spec([], tf.bool), spec([3, 4], f32)], of.either, [truth, normal(3, 4)]),
        "list untouched by IF": ([spec([], tf.bool), spec([3, 4], f32)], of.untouched, [truth, normal(3, 4)]),
        "list through WHILE in WHILE": ([spec([3, 4], f32)], of.loop_in_loop, [normal(3, 4)]),
        "lists that change places": ([spec([3, 4], f32)], of.changing_places, [normal(3, 4)]),
        "list beside what grows": ([spec([None, 4], f32)], of.beside_what_grows, [normal(3, 4)]),
        "list that grows": ([spec([3, 4], f32)], of.stack_of_plates, [normal(3, 4)]),
        "map": ([spec([None, 4], f32)], lambda x: tf.map_fn(lambda row: tf.math.erf(row) + 1, x), [rows]),
        "scan": ([spec([None, 4], f32)], lambda x: tf.scan(lambda a, row: a * 0.5 + row, x), [rows]),
    }
