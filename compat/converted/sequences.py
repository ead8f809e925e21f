"""Recurrent layers, loops over time, audio."""

from . import Input, Program, family
from .layers import sequential


@family
def recurrent(d):
    """LSTM, GRU and SimpleRNN: stacked, both ways, backwards, unrolled, masked, with a free length."""
    layers = d.keras.layers
    features, units = d.between(1, 6), d.between(1, 9)
    kind = d.choice(layers.LSTM, layers.LSTM, layers.GRU, layers.SimpleRNN)
    time = d.between(1, 6)
    unroll = d.flag(0.3)
    free = not unroll and d.flag(0.4)
    options = {"return_sequences": d.flag(), "go_backwards": d.flag(0.3), "unroll": unroll, "use_bias": d.flag(0.8)}
    if kind is not layers.SimpleRNN and d.flag(0.3):
        options["recurrent_activation"] = d.choice("hard_sigmoid", "tanh", "relu")
    layer = kind(units, **options)
    if d.flag(0.4):
        options["go_backwards"] = False
        layer = layers.Bidirectional(kind(units, **options), merge_mode=d.choice("concat", "sum", "mul", "ave"))
    chain = [layer, *([layers.Dense(3)] if d.flag() else [])]
    if d.flag(0.2):
        chain.insert(0, layers.Masking(0.0))
    length = None if free else time
    return Program(sequential(d, [length, features], chain), [Input([d.batch(), length, features], free=(1, 6))])


@family
def cells(d):
    """A cell stepped by the program, whose state is an input and an output, as streaming models have it."""
    tf, layers = d.tf, d.keras.layers
    units, features, batch = d.between(1, 7), d.between(1, 6), d.batch()
    cell = d.choice(layers.GRUCell, layers.LSTMCell)(units)
    lstm, steps = isinstance(cell, layers.LSTMCell), d.between(1, 4)
    cell.build([None, features])
    for weight in cell.trainable_variables:
        weight.assign(d.array(*weight.shape))

    def function(x, *state):
        state = list(state)
        for _ in range(steps):
            y, state = cell(x, state)
        return [y, *state]

    inputs = [Input([batch, features]), *(Input([batch, units]) for _ in range(2 if lstm else 1))]
    del tf
    return Program(function, inputs, {(i, 0): "batch" for i in range(len(inputs))}, [cell], True)


@family
def distributed(d):
    """A small network at every step, then something over time."""
    layers = d.keras.layers
    steps, shape = d.between(1, 5), [d.between(4, 7), d.between(4, 7), d.between(1, 3)]
    inner = d.keras.Sequential([layers.Conv2D(3, 3, activation="relu"), layers.GlobalAveragePooling2D()])
    chain = [
        layers.TimeDistributed(inner),
        d.choice(layers.LSTM(4), layers.Conv1D(3, 1), layers.GlobalMaxPooling1D(), layers.RepeatVector(3)),
    ]
    if isinstance(chain[1], layers.RepeatVector):
        chain[1:1] = [layers.Flatten()]
    return Program(sequential(d, [steps, *shape], chain), [Input([d.batch(), steps, *shape])])


@family
def convolutional_lstm(d):
    layers = d.keras.layers
    steps, shape = d.between(1, 4), [*d.sizes(2, 3, 6), d.between(1, 3)]
    layer = layers.ConvLSTM2D(
        d.between(1, 4), d.choice(1, 2, 3), padding=d.choice("same", "valid"), return_sequences=d.flag()
    )
    return Program(sequential(d, [steps, *shape], [layer]), [Input([d.batch(), steps, *shape])])


@family
def streaming(d):
    """A buffer of the last frames in a variable: shifted, extended, filtered, written back."""
    tf = d.tf
    length, features, new = d.between(2, 8), d.between(1, 5), d.between(1, 2)
    module = tf.Module()
    module.buffer = tf.Variable(tf.zeros([1, length, features]))
    module.count = tf.Variable(0, dtype=tf.int32)
    kernel = d.constant(length, features, 2)

    def function(x):
        module.buffer.assign(tf.concat([module.buffer[:, new:], x], 1))
        module.count.assign_add(1)
        y = tf.nn.conv1d(module.buffer, kernel, 1, "VALID")
        return y, module.buffer.read_value(), module.count.read_value()

    return Program(function, [Input([1, new, features])], keeps=[module])


@family
def audio(d):
    """Frames, a window, a power spectrum, mel bands, their logarithm, cepstral coefficients."""
    tf = d.tf
    length, step = d.choice(16, 32, 64), d.choice(8, 16, 24)
    bands, log, form = d.between(3, 8), d.flag(), d.choice("stft", "frames", "preemphasis")
    samples = length + step * d.between(1, 4) + d.between(0, 5)

    def function(x):
        if form == "frames":
            frames = tf.signal.frame(x, length, step, pad_end=log)
            return frames * tf.signal.hann_window(length)
        if form == "preemphasis":
            x = tf.concat([x[:, :1], x[:, 1:] - 0.97 * x[:, :-1]], 1)
        spectrum = tf.abs(tf.signal.stft(x, length, step))
        mel = tf.signal.linear_to_mel_weight_matrix(bands, length // 2 + 1, 1000, 20.0, 480.0)
        energy = tf.tensordot(spectrum**2, mel, 1)
        return tf.math.log(energy + 1e-6) if log else energy

    return Program(function, [Input([d.between(1, 2), samples])])


@family
def loops(d):
    """scan, map_fn, foldl over time: while loops with lists."""
    tf = d.tf
    features, time = d.between(1, 5), d.between(1, 5)
    way, weights = d.choice("scan", "map", "foldl", "array"), d.constant(features, features)

    def function(x):
        if way == "scan":
            return tf.scan(lambda a, b: tf.tanh(tf.matmul(a, weights) + b), x, tf.zeros([2, features]))
        if way == "map":
            return tf.map_fn(lambda row: tf.nn.softmax(tf.matmul(row, weights)), x)
        if way == "foldl":
            return tf.foldl(lambda a, b: a * 0.5 + b, x, tf.zeros([2, features]))
        total = tf.TensorArray(tf.float32, time)
        state = tf.zeros([2, features])
        for i in tf.range(time):
            state = state + x[i]
            total = total.write(i, state)
        return total.stack()

    return Program(function, [Input([time, 2, features])])


@family
def fading(d):
    """An exponential mean, differences, a cumulative sum and product, a centered window over time."""
    tf, axis = d.tf, d.between(0, 2)
    exclusive, reverse, size = d.flag(), d.flag(), d.between(1, 3)

    def function(x):
        total = tf.cumsum(x, axis, exclusive, reverse)
        rows = tf.transpose(x, [0, 2, 1])
        mean = tf.nn.avg_pool1d(rows, size, 1, "SAME")
        return total, mean, x[:, 1:] - x[:, :-1], tf.math.cumulative_logsumexp(x, 1) if size == 9 else total * 2.0

    return Program(function, [Input([d.batch(), d.between(2, 9), d.between(1, 5)])])
