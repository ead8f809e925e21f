"""The lines for a firmware."""

from tests.micro.models import chain, loaded
from tflm_cy.micro.graph_view import view
from tflm_cy.micro.requests import KERNELS
from tflm_cy.micro.resolver import firmware, method
from tflm_cy.micro.signal_requests import CUSTOM_KERNELS


def test_the_lines_of_a_model():
    lines = firmware(view(loaded(chain())), 1999).split("\n")
    assert lines[0] == "constexpr int kTensorArenaSize = 2000;"
    assert lines[3] == "static tflite::MicroMutableOpResolver<3> resolver;"
    assert [line.split("resolver.")[1] for line in lines[4:]] == ["AddConv2D());", "AddReshape());", "AddSoftmax());"]


def test_names_that_are_no_plain_words():
    expected = {
        "AVERAGE_POOL_2D": "AddAveragePool2D",
        "L2_POOL_2D": "AddL2Pool2D",
        "SPACE_TO_BATCH_ND": "AddSpaceToBatchNd",
        "REVERSE_V2": "AddReverseV2",
        "RELU6": "AddRelu6",
        "SVDF": "AddSvdf",
        "CUMSUM": "AddCumSum",
        "CIRCULAR_BUFFER": "AddCircularBuffer",
        "SignalFftAutoScale": "AddFftAutoScale",
    }
    assert {op: method(op) for op in expected} == expected
    names = [method(op) for op in (*KERNELS, *CUSTOM_KERNELS)]
    assert len(set(names)) == len(names) and all(name.startswith("Add") for name in names)
