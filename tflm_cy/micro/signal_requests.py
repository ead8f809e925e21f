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
from tflm_cy.micro.requests import Kernel, Request

NPU = "ethos-u"  # what Vela makes of the operators that run on an Ethos-U

_KISS_FFT = 264  # bytes of its struct: two ints and 32 pairs of factors
_COMPLEX = 2


def _option(node, name):
    value = node.custom_options.get(name)
    if not isinstance(value, (int, float)) or value < 0:
        raise ValueError(f"{node} has no usable option {name}: {value}")
    return int(value)


def _ring(target, samples):
    return Request(target.op_data["RingBuffer"] + 4 * samples)


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


CUSTOM_KERNELS = {
    "CIRCULAR_BUFFER": Kernel(op_data="CIRCULAR_BUFFER"),
    "SignalDelay": Kernel(op_data="SignalDelay"),
    "SignalEnergy": Kernel(op_data="SignalEnergy"),
    "SignalFftAutoScale": Kernel(),
    "SignalFilterBank": Kernel(op_data="SignalFilterBank", init=_filter_bank),
    "SignalFilterBankLog": Kernel(op_data="SignalFilterBankLog"),
    "SignalFilterBankSpectralSubtraction": Kernel(op_data="SignalFilterBankSpectralSubtraction", init=_noise_estimate),
    "SignalFilterBankSquareRoot": Kernel(),
    "SignalFramer": Kernel(op_data="SignalFramer"),
    "SignalIrfft": Kernel(op_data="SignalIrfft", init=_irfft_state),
    "SignalOverlapAdd": Kernel(op_data="SignalOverlapAdd"),
    "SignalPCAN": Kernel(op_data="SignalPCAN"),
    "SignalRfft": Kernel(op_data="SignalRfft", init=_rfft_state),
    "SignalStacker": Kernel(op_data="SignalStacker", init=_stacker),
    "SignalWindow": Kernel(op_data="SignalWindow"),
    "TFLite_Detection_PostProcess": Kernel(op_data="TFLite_Detection_PostProcess"),
    NPU: Kernel(op_data="ethos-u"),
    "TFLM_DECODE": DECODE,
}
