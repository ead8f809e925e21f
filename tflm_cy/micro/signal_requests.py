"""What the kernels of TFLM's custom operators ask of the arena: the Signal library, detection and (`decode_requests`) TFLM_DECODE.

    >>> from tflm_cy.micro.signal_requests import CUSTOM_KERNELS
    >>> CUSTOM_KERNELS["SignalFramer"].op_data
    'SignalFramer'

As `requests`, of which this is the second half: their sizes come from FlexBuffer options. A ring buffer of n samples
takes 4 n bytes after its struct. The FFT's state is kiss_fftr for `fft_length` reals over kiss_fft for half as many
complex numbers.

Source: tensorflow/tflite-micro:signal/micro/kernels and tensorflow/lite/micro/kernels/detection_postprocess.cc.
"""

from tflm_cy.micro.decode_requests import DECODE
from tflm_cy.micro.requests import Kernel, Request, scratch

_KISS_FFT = 264  # bytes of its struct: two ints and 32 pairs of factors
_COMPLEX = 2


def _option(node, name):
    value = node.custom_options.get(name)
    if not isinstance(value, (int, float)) or value < 0:
        raise ValueError(f"{node} has no usable option {name}: {value}")
    return int(value)


def _ring(target, samples):
    return Request(target.op_data["RingBuffer"] + 4 * samples)


def _rings(node, target, samples):
    """A ring per row of the input, and two arrays of pointers to them."""
    last = node.input(0).shape[-1]
    rows = node.input(0).elements // last if last else 0
    yield Request(target.size("pointer") * rows)
    yield Request(target.size("pointer") * rows)
    for _ in range(rows):
        yield _ring(target, samples)


def _framer(node, target):
    size, step = _option(node, "frame_size"), _option(node, "frame_step")
    if step == 0:
        raise ValueError(f"{node} has frame_step 0")
    yield from _rings(node, target, -(-size // step) * step)


def _delay(node, target):
    yield from _rings(node, target, node.input(0).shape[-1] + _option(node, "delay_length"))


def _overlap_add(node, target):
    x = node.input(0)
    rows = x.elements // (x.shape[-1] * x.shape[-2])
    yield Request(target.size("pointer") * rows)
    for _ in range(rows):
        yield Request(x.shape[-1] * x.element_bytes)


def _rfft(node, target):
    yield scratch(_option(node, "fft_length") * node.input(0).element_bytes)


def _fft_state(node, target):
    half, complex_bytes = _option(node, "fft_length") // 2, _COMPLEX * node.input(0).element_bytes
    whole = _KISS_FFT + complex_bytes * half
    return 3 * target.size("pointer") + whole + complex_bytes * (half * 3 // 2)


def _rfft_state(node, target):
    yield Request(_fft_state(node, target))


def _irfft_state(node, target):
    float_state = 2 * target.size("pointer") if node.input(0).type == "FLOAT32" else 0
    yield Request(_fft_state(node, target) + float_state)


def _filter_bank(node, target):
    yield Request(8 * (_option(node, "num_channels") + 1))


def _noise_estimate(node, target):
    yield Request(4 * _option(node, "num_channels"))


def _stacker(node, target):
    frames = _option(node, "stacker_left_context") + _option(node, "stacker_right_context") + 1
    yield _ring(target, _option(node, "num_channels") * frames)


def _detection(node, target):
    boxes, classes = node.input(0).shape[1], node.input(1).shape
    most, kinds = _option(node, "max_detections"), _option(node, "num_classes")
    yield scratch(boxes)  # which are active
    yield scratch(16 * boxes)  # decoded
    yield scratch(4 * classes[1] * classes[2])  # scores as float
    yield scratch(4 * boxes)
    yield scratch(4 * boxes)
    yield scratch(4 * boxes * most)
    yield scratch(4 * boxes * most)
    yield scratch(4 * boxes)
    yield scratch(4 * boxes * most)
    yield scratch(4 * boxes * max(kinds, most))
    yield scratch(4 * boxes * min(boxes, most))


CUSTOM_KERNELS = {
    "CIRCULAR_BUFFER": Kernel(op_data="CIRCULAR_BUFFER"),
    "SignalDelay": Kernel(op_data="SignalDelay", prepare=_delay),
    "SignalEnergy": Kernel(op_data="SignalEnergy"),
    "SignalFftAutoScale": Kernel(),
    "SignalFilterBank": Kernel(op_data="SignalFilterBank", init=_filter_bank),
    "SignalFilterBankLog": Kernel(op_data="SignalFilterBankLog"),
    "SignalFilterBankSpectralSubtraction": Kernel(op_data="SignalFilterBankSpectralSubtraction", init=_noise_estimate),
    "SignalFilterBankSquareRoot": Kernel(),
    "SignalFramer": Kernel(op_data="SignalFramer", prepare=_framer),
    "SignalIrfft": Kernel(op_data="SignalIrfft", init=_irfft_state),
    "SignalOverlapAdd": Kernel(op_data="SignalOverlapAdd", prepare=_overlap_add),
    "SignalPCAN": Kernel(op_data="SignalPCAN"),
    "SignalRfft": Kernel(op_data="SignalRfft", prepare=_rfft, init=_rfft_state),
    "SignalStacker": Kernel(op_data="SignalStacker", init=_stacker),
    "SignalWindow": Kernel(op_data="SignalWindow"),
    "TFLM_DECODE": DECODE,
    "TFLite_Detection_PostProcess": Kernel(op_data="TFLite_Detection_PostProcess", prepare=_detection),
}
