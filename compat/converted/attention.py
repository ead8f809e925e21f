"""Transformers and their parts."""

import numpy as np

from . import Input, Program, family, integers


@family
def keras_attention(d):
    layers, keras = d.keras.layers, d.keras
    time, features = d.between(1, 7), d.between(2, 8)
    x = keras.Input([time, features])
    kind = d.choice("multi", "multi", "dot", "additive")
    if kind == "multi":
        layer = layers.MultiHeadAttention(d.between(1, 3), d.between(1, 4), use_bias=d.flag())
        y = layer(x, x, use_causal_mask=d.flag())
    else:
        y = (layers.Attention if kind == "dot" else layers.AdditiveAttention)(use_scale=d.flag())([x, x])
    y = layers.LayerNormalization()(layers.Add()([x, y]))
    y = layers.Add()([y, layers.Dense(features)(layers.Dense(2 * features, activation=d.choice("gelu", "relu"))(y))])
    return Program(keras.Model(x, y), [Input([d.batch(), time, features])])


@family
def einsums(d):
    tf = d.tf
    rule = d.choice(
        *(
            "bthd,bshd->bhts",
            "bhts,bshd->bthd",
            "abc,cd->abd",
            "abc,dc->abd",
            "bij,bjk->bik",
            "bij,bkj->bik",
            "i,j->ij",
        ),
        *(
            "bhwc,cd->bhwd",
            "abcd,cde->abe",
            "ab,ab->a",
            "ab,cb->ac",
            "bnd,bmd->bnm",
            "abc,abd->acd",
            "ba,cb->ac",
            "aij->aji",
        ),
    )
    left = rule.split("->")[0].split(",")
    size = {letter: d.between(1, 5) for letter in sorted(set("".join(left)))}
    free = left[0][0] if d.flag(0.4) else ""
    shapes = [[None if letter == free else size[letter] for letter in part] for part in left]
    ties = {(i, k): free for i, part in enumerate(left) for k, letter in enumerate(part) if letter == free}
    return Program(lambda *x: tf.einsum(rule, *x), [Input(shape) for shape in shapes], ties)


@family
def rotary(d):
    """Positions turned into sines; halves exchanged; a causal mask made by band_part or by comparing ranges."""
    tf = d.tf
    heads, half, way = d.between(1, 3), d.between(1, 4), d.choice("band", "range", "fill")
    time = None if d.flag() else d.between(1, 6)
    turns = tf.constant((1.0 / 100 ** (np.arange(half) / half)).astype(np.float32))

    def function(q, k):
        length = tf.shape(q)[1]
        angle = tf.cast(tf.range(length), tf.float32)[:, None] * turns
        cosine, sine = (f(tf.concat([angle, angle], -1))[None, :, None] for f in (tf.cos, tf.sin))

        def turned(x):
            return x * cosine + tf.concat([-x[..., half:], x[..., :half]], -1) * sine

        scores = tf.matmul(
            tf.transpose(turned(q), [0, 2, 1, 3]), tf.transpose(turned(k), [0, 2, 1, 3]), transpose_b=True
        )
        if way == "band":
            mask = tf.linalg.band_part(tf.ones([length, length]), -1, 0)
            return tf.nn.softmax(scores - (1.0 - mask) * 1e9)
        rows, columns = tf.range(length)[:, None], tf.range(length)[None, :]
        if way == "range":
            return tf.nn.softmax(tf.where(rows >= columns, scores, -1e9))
        return tf.nn.softmax(tf.where(rows < columns, tf.fill(tf.shape(scores), -np.inf), scores))

    shape = [1, time, heads, 2 * half]
    ties = {(0, 1): "time", (1, 1): "time"}
    return Program(function, [Input(shape, free=(1, 6)), Input(shape, free=(1, 6))], ties)


@family
def relative_positions(d):
    """Scores shifted by a pad, a reshape and a slice."""
    tf = d.tf
    time = None if d.flag() else d.between(1, 6)

    def function(x):
        batch, rows, columns = tf.shape(x)[0], tf.shape(x)[1], tf.shape(x)[2]
        y = tf.pad(x, [[0, 0], [0, 0], [1, 0]])
        y = tf.reshape(y, [batch, columns + 1, rows])
        return tf.reshape(y[:, 1:], [batch, rows, columns])

    return Program(function, [Input([d.batch(), time, time], free=(1, 6))], {(0, 1): "time", (0, 2): "time"})


@family
def embeddings(d):
    """Tokens and positions looked up, summed, normalized; the same table for the logits."""
    tf = d.tf
    words, features, time = d.between(3, 40), d.between(1, 9), d.choice(None, d.between(1, 7))
    table, places = d.constant(words, features), d.constant(8, features)
    dtype, masked = d.choice("int32", "int64"), d.flag()

    def function(tokens):
        x = tf.gather(table, tokens) + places[: tf.shape(tokens)[1]]
        x -= tf.reduce_mean(x, -1, keepdims=True)
        x *= tf.math.rsqrt(tf.reduce_mean(tf.square(x), -1, keepdims=True) + 1e-5)
        if masked:
            x *= tf.cast(tokens != 0, tf.float32)[..., None]
        logits = tf.einsum("btd,vd->btv", x, table)
        return logits, tf.argmax(logits, -1, "int32"), tf.nn.log_softmax(logits)

    return Program(function, [Input([d.batch(), time], dtype, integers(0, words - 1, dtype), (1, 7))])


@family
def decoding(d):
    """A step with a cache of keys and values: written at a position by one-hot, scatter or an updated slice."""
    tf = d.tf
    length, heads, features = d.between(2, 8), d.between(1, 3), d.between(1, 5)
    way = d.choice("one hot", "scatter", "where", "concat")

    def function(cache, new, position):
        if way == "one hot":
            hot = tf.one_hot(position, length)[:, None, None]
            cache = cache * (1.0 - hot) + new * hot
        elif way == "scatter":
            cache = tf.tensor_scatter_nd_update(cache, tf.reshape(position, [1, 1]), new)
        elif way == "where":
            cache = tf.where(tf.equal(tf.range(length), position)[:, None, None], new, cache)
        else:
            cache = tf.concat([cache[1:], new], 0)
        scores = tf.nn.softmax(tf.reduce_sum(cache * new, -1) / features**0.5, 0)
        return cache, tf.reduce_sum(scores[..., None] * cache, 0)

    return Program(
        function,
        [Input([length, heads, features]), Input([1, heads, features]), Input([], "int32", integers(0, length - 1))],
    )


@family
def beam_search(d):
    """Top k over beams and words, parents gathered by batch."""
    tf = d.tf
    beams, words, time = d.between(1, 4), d.between(2, 9), d.between(1, 4)

    def function(scores, logits, history):
        total = scores[..., None] + tf.nn.log_softmax(logits)
        best, place = tf.math.top_k(tf.reshape(total, [-1, beams * words]), beams)
        parents, word = place // words, tf.math.floormod(place, words)
        history = tf.gather(history, parents, batch_dims=1)
        return best, tf.concat([history, word[..., None]], -1)

    batch = d.batch()
    inputs = [Input([batch, beams]), Input([batch, beams, words]), Input([batch, beams, time], "int32", integers(0, 9))]
    return Program(function, inputs, {(i, 0): "batch" for i in range(3)})
