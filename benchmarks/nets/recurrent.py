"""Recurrent nets: as a WHILE, which is what the converter makes of Keras' layers, and unrolled, which it can quantize."""

from .nets import net


@net("lstm", while_loop=True)
def lstm_asr(layers, draw):
    x = start = layers.Input([50, 40], batch_size=1)
    for _ in range(2):
        x = layers.LSTM(draw(56, 72), return_sequences=True)(x)
    return start, layers.Softmax()(layers.Dense(30)(x))


@net("lstm", while_loop=True)
def lstm_forecast(layers, draw):
    x = start = layers.Input([32, 6], batch_size=1)
    return start, layers.Dense(4)(layers.LSTM(draw(28, 36))(x))


@net("lstm")
def lstm_unrolled(layers, draw):
    x = start = layers.Input([12, 24], batch_size=1)
    return start, layers.Dense(10)(layers.LSTM(draw(40, 56), unroll=True)(x))


@net("gru", while_loop=True)
def gru_keyword(layers, draw):
    x = start = layers.Input([49, 20], batch_size=1)
    return start, layers.Softmax()(layers.Dense(12)(layers.GRU(draw(60, 100))(x)))


@net("gru", while_loop=True)
def gru_denoiser(layers, draw):
    x = start = layers.Input([20, 42], batch_size=1)
    x = layers.Dense(24, activation="tanh")(x)
    for units in (24, draw(44, 52)):
        x = layers.GRU(units, return_sequences=True, reset_after=False)(x)
    return start, layers.Dense(22, activation="sigmoid")(x)


@net("gru")
def gru_unrolled(layers, draw):
    x = start = layers.Input([10, 16], batch_size=1)
    return start, layers.Dense(5)(layers.GRU(draw(30, 40), unroll=True)(x))


@net("bidirectional", while_loop=True)
def bilstm_tagger(layers, draw):
    tokens = layers.Input([24], batch_size=1, dtype="int32")
    x = layers.Embedding(200, 32)(tokens)
    x = layers.Bidirectional(layers.LSTM(draw(28, 40), return_sequences=True))(x)
    return tokens, layers.Dense(9)(x)


@net("bidirectional", while_loop=True)
def crnn(layers, draw):
    x = start = layers.Input([16, 64, 1], batch_size=1)
    for filters in (12, 24):
        x = layers.MaxPooling2D(2)(layers.Conv2D(filters, 3, padding="same", activation="relu")(x))
    x = layers.Reshape([16, -1])(layers.Permute([2, 1, 3])(x))
    x = layers.Bidirectional(layers.GRU(draw(28, 36), return_sequences=True))(x)
    return start, layers.Softmax()(layers.Dense(27)(x))


@net("convlstm", while_loop=True)
def convlstm(layers, draw):
    x = start = layers.Input([6, 20, 20, 3], batch_size=1)
    x = layers.ConvLSTM2D(draw(7, 10), 3, padding="same", return_sequences=True)(x)
    x = layers.ConvLSTM2D(6, 3, padding="same")(x)
    return start, layers.Conv2D(1, 1, activation="sigmoid")(x)


@net("convlstm", while_loop=True)
def convlstm_1d(layers, draw):
    x = start = layers.Input([12, 40, 4], batch_size=1)
    return start, layers.Dense(3)(layers.GlobalAveragePooling1D()(layers.ConvLSTM1D(draw(8, 12), 5)(x)))


@net("lstm", while_loop=True)
def lstm_autoencoder(layers, draw):
    x = start = layers.Input([40, 6], batch_size=1)
    x = layers.LSTM(32)(layers.LSTM(draw(48, 64), return_sequences=True)(x))
    x = layers.LSTM(32, return_sequences=True)(layers.RepeatVector(40)(x))
    return start, layers.TimeDistributed(layers.Dense(6))(x)
