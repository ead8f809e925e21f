"""TFLM's custom operators: the signal library, the circular buffer, detection, and what runs on an Ethos-U.

A ring buffer of n samples takes 4 n bytes after its struct.
"""


def _types(w, **wanted):
    """Types and ranks by name: `i0="INT16 1"`; a rank that does not matter is left out."""
    for name, text in wanted.items():
        kind, *rank = text.split()
        w.types(name, kind)
        if rank:
            w.rank(name, int(rank[0]))


def delay(w):
    w.counts(1)
    x, _ = w.open("i0 o0")
    _types(w, i0="INT16", o0="INT16")
    _rings(w, x, x.shape[-1] + w.option("delay_length"))


def framer(w):
    w.counts(1, 2)
    x, y, _ = w.open("i0 o0 o1")
    w.equal("the rank of output 0", y.rank, x.rank + 1)
    _types(w, i0="INT16", o0="INT16", o1="BOOL 0")
    size, step = w.option("frame_size"), w.option("frame_step")
    w.ensure(step > 0, "it has frame_step 0")
    w.ensure(
        x.shape[-1] >= step and x.shape[-1] % step == 0, f"{x.shape[-1]} samples are no multiple of frame_step {step}"
    )
    _rings(w, x, -(-size // step) * step)


def _rings(w, x, samples):
    """A ring per row of the input, and two arrays of pointers to them."""
    rows = x.elements // x.shape[-1] if x.shape[-1] else 0
    w.keep(w.machine.size("pointer") * rows)
    w.keep(w.machine.size("pointer") * rows)
    for _ in range(rows):
        w.keep(w.machine.op_data["RingBuffer"] + 4 * samples)


def overlap_add(w):
    kind = _fft_type(w, "FLOAT32 INT16")
    w.counts(1)
    x, y = w.open("i0 o0")
    w.equal("the rank of input 0", x.rank, y.rank + 1)
    _types(w, i0=kind, o0=kind)
    w.ensure(x.rank >= 2, f"input 0 has {x.rank} dimensions; TFLM wants 2 or more")
    rows = x.elements // (x.shape[-1] * x.shape[-2])
    w.keep(w.machine.size("pointer") * rows)
    for _ in range(rows):
        w.keep(x.shape[-1] * x.element_bytes)


def rfft(w):
    kind = _fft_type(w, "FLOAT32 INT32 INT16")
    w.counts(1)
    x, y = w.open("i0 o0")
    w.equal("the rank of output 0", y.rank, x.rank)
    _types(w, i0=kind, o0=kind)
    w.scratch(w.option("fft_length") * x.element_bytes)


def irfft(w):
    kind = _fft_type(w, "FLOAT32 INT32 INT16")
    w.counts(1)
    x, y = w.open("i0 o0")
    w.equal("the rank of output 0", y.rank, x.rank)
    _types(w, i0=kind, o0=kind)


def _fft_type(w, allowed):
    """The kernel is chosen by the type of its input."""
    w.types("i0", allowed)
    return w.type("i0")


def energy(w):
    w.counts(1)
    w.open("i0 o0")
    _types(w, i0="INT16 1", o0="UINT32 1")


def fft_auto_scale(w):
    w.counts(1, 2)
    w.open("i0 o0 o1")
    _types(w, i0="INT16 1", o0="INT16 1", o1="INT32 0")


def filter_bank(w):
    w.counts(6)
    for i in range(6):
        w.open(f"i{i}")
        w.rank(f"i{i}", 1)
        w.types(f"i{i}", "INT16" if i else "UINT32")
    w.open("o0")
    _types(w, o0="UINT64 1")


def filter_bank_log(w):
    w.counts(1)
    w.open("i0 o0")
    _types(w, i0="UINT32 1", o0="INT16 1")


def spectral_subtraction(w):
    w.counts(1, 2)
    w.open("i0 o0 o1")
    _types(w, i0="UINT32 1", o0="UINT32 1", o1="UINT32 1")


def filter_bank_square_root(w):
    w.counts(2)
    w.open("i0 i1 o0")
    _types(w, i0="UINT64 1", i1="INT32 0", o0="UINT32 1")


def pcan(w):
    w.counts(3)
    w.open("i0 i1 i2 o0")
    _types(w, i0="UINT32 1", i1="UINT32 1", i2="INT16 1", o0="UINT32 1")


def stacker(w):
    w.counts(1, 2)
    w.open("i0 o0 o1")
    _types(w, i0="INT16 1", o0="INT16 1", o1="BOOL 0")


def window(w):
    w.counts(2)
    x, _, y = w.open("i0 i1 o0")
    w.ensure(x.rank >= 1, "input 0 is a scalar")
    w.equal("the rank of output 0", y.rank, x.rank)
    _types(w, i0="INT16", i1="INT16 1", o0="INT16")


def circular_buffer(w):
    x, y = w.open("i0 o0")
    w.equal("the batch of output 0", y.shape[0], x.shape[0])
    w.equal("the rows of input 0", x.shape[1], 1)
    w.ensure(x.shape[2:4] == y.shape[2:4], f"{x.shape} and {y.shape} differ behind the rows")
    w.same_type("i0", "o0")
    w.types("i0", "INT8")


def detection(w):
    w.counts(3, 4)
    boxes, classes, _ = w.open("i0 i1 i2")
    w.rank("i0", 3)
    w.rank("i1", 3)
    w.rank("i2", 2)
    count, most, kinds = boxes.shape[1], w.option("max_detections"), w.option("num_classes")
    w.scratch(count)  # which are active
    w.scratch(16 * count)  # decoded
    w.scratch(4 * classes.shape[1] * classes.shape[2])  # scores as float
    w.scratch(4 * count)
    w.scratch(4 * count)
    w.scratch(4 * count * most)
    w.scratch(4 * count * most)
    w.scratch(4 * count)
    w.scratch(4 * count * most)
    w.scratch(4 * count * max(kinds, most))
    w.scratch(4 * count * min(count, most))


def ethos_u(w):
    """Addresses of all inputs and outputs, and their sizes."""
    w.ensure(w.node.inputs, "it has no inputs")
    w.ensure(w.node.custom_bytes, "it has no custom options")
    tensors = len(w.node.inputs) + len(w.node.outputs)
    w.scratch(8 * tensors)
    w.scratch(w.machine.size("pointer") * tensors)
    w.open("i0")


_MOST = (1 << 32) - 1

# op -> options that it reads, with the least and the most that mean anything
_OPTIONS = {
    "SignalDelay": {"delay_length": (0, _MOST)},
    "SignalEnergy": {"start_index": (0, _MOST), "end_index": (0, _MOST)},
    "SignalFilterBank": {"num_channels": (1, _MOST)},
    "SignalFilterBankLog": {"input_correction_bits": (0, 31), "output_scale": (0, _MOST)},
    "SignalFilterBankSpectralSubtraction": {
        "num_channels": (1, _MOST),
        "smoothing": (0, _MOST),
        "one_minus_smoothing": (0, _MOST),
        "alternate_smoothing": (0, _MOST),
        "alternate_one_minus_smoothing": (0, _MOST),
        "smoothing_bits": (0, 31),
        "min_signal_remaining": (0, _MOST),
        "clamping": (0, 1),
        "spectral_subtraction_bits": (0, 63),
    },
    "SignalFramer": {"frame_size": (1, _MOST), "frame_step": (1, _MOST), "prefill": (0, 1)},
    "SignalIrfft": {"fft_length": (4, _MOST)},
    "SignalOverlapAdd": {"frame_step": (1, _MOST)},
    "SignalPCAN": {"snr_shift": (0, 63)},
    "SignalRfft": {"fft_length": (4, _MOST)},
    "SignalStacker": {
        "num_channels": (1, _MOST),
        "stacker_left_context": (0, _MOST),
        "stacker_right_context": (0, _MOST),
        "stacker_step": (1, _MOST),
    },
    "SignalWindow": {"shift": (0, 31)},
}


def _with_options(walk, options):
    def whole(w):
        for name, (least, most) in options.items():
            value = w.option(name)
            w.ensure(least <= value <= most, f"its option {name} is {value}; {least} to {most} mean something")
        walk(w)

    return whole


_BY_OP = {
    "CIRCULAR_BUFFER": circular_buffer,
    "SignalDelay": delay,
    "SignalEnergy": energy,
    "SignalFftAutoScale": fft_auto_scale,
    "SignalFilterBank": filter_bank,
    "SignalFilterBankLog": filter_bank_log,
    "SignalFilterBankSpectralSubtraction": spectral_subtraction,
    "SignalFilterBankSquareRoot": filter_bank_square_root,
    "SignalFramer": framer,
    "SignalIrfft": irfft,
    "SignalOverlapAdd": overlap_add,
    "SignalPCAN": pcan,
    "SignalRfft": rfft,
    "SignalStacker": stacker,
    "SignalWindow": window,
    "TFLite_Detection_PostProcess": detection,
    "ethos-u": ethos_u,
}

WALKS = {op: _with_options(walk, _OPTIONS.get(op, {})) for op, walk in _BY_OP.items()}
