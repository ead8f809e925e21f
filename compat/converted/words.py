"""Strings and tables."""

from . import Input, Program, family, integers

WORDS = (b"", b"a", b"bee", b"sea", "\u00fcber".encode(), b"longer than the others", b"UNK", b"\x00\xff")


def words(d, shape):
    import numpy as np

    flat = np.empty(int(np.prod(shape)), object)
    flat[:] = [WORDS[int(i)] for i in d.rng.integers(0, len(WORDS), len(flat))]
    return flat.reshape(shape)


@family
def labels(d):
    """Class numbers to words by a constant."""
    tf, count = d.tf, d.between(2, len(WORDS))
    picks = d.choice(None, d.between(1, 4))

    def function(x):
        table = tf.constant([w.decode("latin1") for w in WORDS[:count]])
        best = tf.argmax(x, -1)
        return tf.gather(table, best), tf.reduce_max(x, -1)

    return Program(function, [Input([picks, count])])


@family
def tables(d):
    """Words to numbers or numbers to words by a hash table, with a default."""
    tf, way = d.tf, d.choice("words", "numbers")
    module = tf.Module()
    keys = tf.constant(list(WORDS[1:5]))
    values = tf.range(4, dtype=tf.int64) * 3
    if way == "words":
        module.table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)
        inputs = [Input([d.choice(None, 3)], "string", words)]
    else:
        module.table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(values, keys), "none")
        inputs = [Input([d.choice(None, 3)], "int64", integers(0, 12, "int64"))]
    return Program(lambda x: module.table.lookup(x), inputs, keeps=[module])


@family
def moved_words(d):
    """Strings reshaped, sliced, gathered, compared, joined to others, passed through branches."""
    tf, way = d.tf, d.choice("reshape", "slice", "gather", "equal", "concat", "where", "cond", "pack")
    rows, columns = d.between(2, 4), d.between(1, 3)

    def function(x):
        if way == "reshape":
            return tf.reshape(x, [-1]), tf.shape(x)
        if way == "slice":
            return x[1:, ::-1], x[0]
        if way == "gather":
            return tf.gather(x, [1, 0])
        if way == "equal":
            return tf.equal(x, "bee"), tf.not_equal(x, x[:1])
        if way == "concat":
            return tf.concat([x, x], 0)
        if way == "where":
            return tf.where(tf.equal(x, "a"), x, tf.fill([rows, columns], "other"))
        if way == "cond":
            return tf.cond(tf.reduce_any(tf.equal(x, "sea")), lambda: x, lambda: x[::-1])
        return tf.stack([x, x], 1), tf.tile(x, [2, 1]), tf.expand_dims(x, 0)

    return Program(function, [Input([rows, columns], "string", words)])
