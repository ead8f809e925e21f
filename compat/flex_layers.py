"""Keras' recurrent layers whose lists stay TensorFlow's (FlexTensorListReserve around a WHILE, FlexTensorListSetItem in its body).

Part of `python -m compat.flex`. Each network is converted with SELECT_TF_OPS for one batch or for any, as float32 or with int8 weights
(dynamic range), and run in all modes by interpreters that live side by side: over several invokes, for other batches, and again after
`reset_all_variables`. There are two judges:

| | |
| --- | --- |
| Keras | TensorFlow's own graph: float32 networks differ by the rounding of sums, int8 weights by their steps |
| bytes | the same weights, converted for each batch without TensorFlow's operators, in TensorFlow's interpreter of the same mode |

The second judges where the converter can do without lists.
"""

import contextlib
import io
import os
import warnings
from pathlib import Path

import numpy as np

STEPS, FEATURES, UNITS = 7, 16, 20  # matrices of 1,024 values and more get int8 weights
TOLERANCE = {"float32": 1e-5, "dynamic_range": 0.06}
MOST_GROWTH = 4.0  # MiB
SIZES = {"1": (1, 1, 1), "2": (2, 2, 2), "any": (1, 3, 3, 2, 1)}


def networks(keras):
    """Name -> (how the layers are made, which batches)."""
    layers = keras.layers
    lstm, gru, both = layers.LSTM, layers.GRU, layers.Bidirectional
    either, fixed = ("1", "any"), ("1", "2")
    return {
        "LSTM": (lambda: [lstm(UNITS)], either),
        "LSTM, sequences": (lambda: [lstm(UNITS, return_sequences=True)], either),
        "LSTM, backwards": (lambda: [lstm(UNITS, go_backwards=True)], either),
        "LSTM, backwards, sequences": (lambda: [lstm(UNITS, go_backwards=True, return_sequences=True)], either),
        "LSTM, stacked": (lambda: [lstm(UNITS, return_sequences=True), lstm(UNITS)], either),
        "LSTM, masked": (lambda: [layers.Masking(), lstm(UNITS, return_sequences=True)], either),
        "LSTM, stateful": (lambda: [lstm(UNITS, stateful=True)], fixed),
        "GRU": (lambda: [gru(UNITS)], either),
        "GRU, sequences": (lambda: [gru(UNITS, return_sequences=True)], either),
        "GRU, backwards": (lambda: [gru(UNITS, go_backwards=True, return_sequences=True)], either),
        "GRU, reset before": (lambda: [gru(UNITS, reset_after=False)], either),
        "GRU, stacked": (lambda: [gru(UNITS, return_sequences=True), gru(UNITS, go_backwards=True)], either),
        "GRU, stateful": (lambda: [gru(UNITS, stateful=True, return_sequences=True)], fixed),
        "Bidirectional(LSTM)": (lambda: [both(lstm(UNITS))], either),
        "Bidirectional(LSTM), sequences": (lambda: [both(lstm(UNITS, return_sequences=True))], either),
        "Bidirectional(LSTM), stacked": (lambda: [both(lstm(UNITS, return_sequences=True)), both(lstm(UNITS))], either),
        "Bidirectional(GRU)": (lambda: [both(gru(UNITS), merge_mode="sum")], either),
        "Bidirectional(GRU), sequences": (lambda: [both(gru(UNITS, return_sequences=True))], either),
        "SimpleRNN": (lambda: [layers.SimpleRNN(UNITS, return_sequences=True)], either),
        "cells": (lambda: [layers.RNN([layers.LSTMCell(UNITS), layers.GRUCell(UNITS)])], either),
        "ConvLSTM1D": (
            lambda: [layers.Reshape([STEPS, FEATURES // 2, 2]), layers.ConvLSTM1D(3, 3, return_sequences=True)],
            either,
        ),
    }


class Network:
    """Random weights that can be built for any batch."""

    def __init__(self, tf, make, seed=5):
        self.tf, self.make, self.seed = tf, make, seed
        self.lowered = {}

    def build(self, batch):
        """The network for one batch (None: any); its states are zeros."""
        keras = self.tf.keras
        keras.utils.set_random_seed(self.seed)
        size = None if batch == "any" else int(batch)
        network = keras.Sequential([keras.layers.Input([STEPS, FEATURES], batch_size=size), *self.make()])
        rng = np.random.default_rng(self.seed)
        for layer in network.layers:
            weights = [rng.normal(0, 0.3, value.shape).astype(value.dtype) for value in layer.get_weights()]
            states = {id(v) for v in layer.non_trainable_variables}
            kept = layer.get_weights()
            layer.set_weights(
                [k if id(v) in states else w for v, w, k in zip(layer.weights, weights, kept, strict=True)]
            )
        return network

    def convert(self, batch, form, select):
        """The bytes of a model, with TensorFlow's lists or without; the states of a stateful network are written into it."""
        tf = self.tf
        converter = tf.lite.TFLiteConverter.from_keras_model(self.build(batch))
        if form == "dynamic_range":
            converter.optimizations = [tf.lite.Optimize.DEFAULT]
        if select:
            converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS, tf.lite.OpsSet.SELECT_TF_OPS]
            converter._experimental_lower_tensor_list_ops = False
        return quietly(converter.convert)

    def judge(self, batch, form, mode):
        """TensorFlow's interpreter of the model without TensorFlow's lists, None where it cannot be converted."""
        tf, key = self.tf, (batch, form)
        if key not in self.lowered:
            try:
                self.lowered[key] = self.convert(batch, form, select=False)
            except Exception:
                self.lowered[key] = None
        if self.lowered[key] is None:
            return None
        kind = tf.lite.experimental.OpResolverType[mode]
        interpreter = tf.lite.Interpreter(model_content=self.lowered[key], experimental_op_resolver_type=kind)
        interpreter.allocate_tensors()
        return interpreter


def quietly(function):
    """What the converter and Keras print, they print by several ways."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        here = os.dup(2)
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
            try:
                return function()
            finally:
                os.dup2(here, 2)
                os.close(here)


def feed(interpreter, value):
    """One invoke on an input of any batch."""
    given, made = interpreter.get_input_details()[0], interpreter.get_output_details()[0]
    if list(given["shape"]) != list(value.shape):
        interpreter.resize_tensor_input(given["index"], value.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(given["index"], value)
    interpreter.invoke()
    return interpreter.get_tensor(made["index"])


def live_handles(interpreter):
    """How many values of TensorFlow's an interpreter keeps."""
    return len(interpreter._interpreter.subgraphs[0].shared.handles)


def inputs(rng, size):
    """Numbers of which some steps are zeros, for a mask to hide."""
    value = rng.standard_normal((size, STEPS, FEATURES)).astype(np.float32)
    value[:, STEPS // 2] = 0
    return value


def compare(tflm_cy, modes, network, model, batch, form):
    """(the largest difference from Keras, runs of the same bytes, runs that were judged by bytes, faults)."""
    faults = []
    interpreters = {
        mode: tflm_cy.Interpreter(model_content=model, experimental_op_resolver_type=tflm_cy.OpResolverType[mode])
        for mode in modes
    }
    names = {name for graph in interpreters[modes[0]]._interpreter.subgraphs for name in graph.operator_names}
    if not any(name.startswith("FlexTensorList") for name in names):
        faults.append("the converter leaves no list to TensorFlow")
    keras, judges, rng = network.build(batch), {}, np.random.default_rng(11)
    largest, equal, judged = 0.0, 0, 0
    for after in ("", ", after reset_all_variables"):
        for size in SIZES[batch]:
            value = inputs(rng, size)
            wanted = keras(value).numpy()
            for mode, interpreter in interpreters.items():
                where = f"{mode}, batch {size}{after}"
                if (size, mode) not in judges:
                    judges[size, mode] = network.judge(size, form, mode)
                try:
                    got = feed(interpreter, value)
                except Exception as error:
                    faults.append(f"{where}: {type(error).__name__}: {error}")
                    continue
                if got.shape != wanted.shape or got.dtype != wanted.dtype or not np.isfinite(got).all():
                    faults.append(f"{where}: {got.dtype} {got.shape} instead of {wanted.dtype} {wanted.shape}")
                    continue
                largest = max(largest, float(np.abs(got - wanted).max()))
                if np.abs(got - wanted).max() > TOLERANCE[form]:
                    faults.append(f"{where}: {np.abs(got - wanted).max()} from Keras")
                if live_handles(interpreter):
                    faults.append(f"{where}: {live_handles(interpreter)} handles are alive after invoke")
                if judges[size, mode] is not None:
                    judged += 1
                    same = feed(judges[size, mode], value).tobytes() == got.tobytes()
                    equal += same
                    if not same:
                        faults.append(f"{where}: other bytes than the model without lists")
        for interpreter in [*interpreters.values(), *filter(None, judges.values())]:
            interpreter.reset_all_variables()
    return largest, equal, judged, faults


def watch(tflm_cy, model, invokes):
    """(faults, MiB that the process has grown by) over many invokes of one interpreter for batches 1 to 4, after as many to warm up."""
    interpreter, rng, faults = tflm_cy.Interpreter(model_content=model), np.random.default_rng(3), []
    for start in (-min(invokes, 200), 0):
        before = resident()
        for run in range(start, invokes if start == 0 else 0):
            feed(interpreter, inputs(rng, 1 + run % 4))
            if live_handles(interpreter):
                faults.append(f"invoke {run}: {live_handles(interpreter)} handles are alive after it")
    grown = resident() - before
    if grown > MOST_GROWTH:
        faults.append(f"the process has grown by {grown:.1f} MiB")
    return faults, grown


def resident():
    """MiB of the process that are in memory; 0 where the system does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20
    except (OSError, ValueError):
        return 0.0
