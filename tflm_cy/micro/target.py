"""What TFLM's structs measure on a machine: sizes and alignments as data, one column per target.

    >>> from tflm_cy.micro.target import target
    >>> target("arm32").size("TfLiteEvalTensor"), target("host64").alignment("pointer")
    (12, 8)

| target | machine | allocator |
| --- | --- | --- |
| host64 | the tflite_micro package for Python on x86-64: built with tensor compression | recording |
| x64 | x86-64 without compression | plain |
| arm32 | ILP32, AAPCS (int64 and double aligned to 8), enumerations of 4 bytes | plain |
| arm32_short | the same with -fshort-enums, the default of GCC for bare metal ARM | plain |

These are layouts; the devices of `device` name one of them and the kernels. Where a library of kernels replaces TFLM's
reference kernels, what a node keeps is another struct: `_CMSIS_NN`, `_ESP_NN`.

host64 is measured: the package's own `print_allocations()` agrees to the byte. The others are computed from the C
definitions with a cross compiler, and measured on builds for ARM.
"""

from dataclasses import dataclass, field
from functools import cache

from tflm_cy.micro.device import CMSIS_NN, ESP_NN, ESP_NN_ANSI, resolve

NAMES = ("host64", "x64", "arm32", "arm32_short")

ARENA_ALIGNMENT = 16  # of the arena, planned buffers, variables and whatever a kernel asks for

# name, then size/alignment per target; one entry for all, or one per target in the order of NAMES
_STRUCTS = """
RecordingSingleArenaBufferAllocator  104/8 104/8 52/4 52/4
SingleArenaBufferAllocator           72/8 72/8 36/4 36/4
PersistentArenaBufferAllocator       32/8 32/8 16/4 16/4
NonPersistentArenaBufferAllocator    56/8 56/8 32/4 32/4
GreedyMemoryPlanner                  72/8 72/8 44/4 44/4
LinearMemoryPlanner                  8216/8 8216/8 4108/4 4108/4
RecordingMicroAllocator              272/8 248/8 124/4 124/4
MicroAllocator                       72/8 72/8 36/4 36/4
MicroBuiltinDataAllocator            16/8 16/8 8/4 8/4
MicroResourceVariables               16/8 16/8 12/4 12/4
MicroResourceVariable                40/8 40/8 20/4 20/4
SubgraphAllocations                  24/8 16/8 8/4 8/4
NodeAndRegistration                  64/8 64/8 32/4 32/4
TfLiteEvalTensor                     24/8 24/8 12/4 12/4
TfLiteTensor                         64/8 64/8 40/4 32/4
TfLiteAffineQuantization             24/8 24/8 12/4 12/4
ScratchBufferRequest                 16/8 16/8 12/4 12/4
ScratchBufferHandle                  8/8 8/8 4/4 4/4
AllocationInfo                       32/8 32/8 24/4 24/4
GreedyPlannerBuffer                  40/4
pointer                              8/8 8/8 4/4 4/4
"""

# builtin options as the parser leaves them: TfLite<name>Params
_OPTIONS = """
Add                         8/4 8/4 8/4 2/1
ArgMax                      4/4 4/4 4/4 1/1
ArgMin                      4/4 4/4 4/4 1/1
BatchMatMul                 3/1
CallOnce                    4/4
Cast                        8/4 8/4 8/4 2/1
Concatenation               8/4
Conv                        28/4
Cumsum                      2/1
DepthToSpace                4/4
DepthwiseConv               28/4
Div                         4/4 4/4 4/4 1/1
FullyConnected              32/8 16/4 16/4 5/1
Gather                      8/4
If                          8/4
L2Norm                      4/4 4/4 4/4 1/1
LeakyRelu                   4/4
MirrorPadding               4/4 4/4 4/4 1/1
Mul                         4/4 4/4 4/4 1/1
Pack                        8/4
Pool                        40/4
Reducer                     1/1
Reshape                     36/4
ResizeBilinear              2/1
ResizeNearestNeighbor       2/1
SVDF                        12/4 12/4 12/4 8/4
Shape                       4/4 4/4 4/4 1/1
Softmax                     4/4
SpaceToDepth                4/4
Split                       4/4
SplitV                      4/4
Squeeze                     36/4
StridedSlice                24/4
Sub                         8/4 8/4 8/4 2/1
TransposeConv               20/4 20/4 20/4 16/4
UnidirectionalSequenceLSTM  16/4
Unpack                      8/4
VarHandle                   16/8 16/8 8/4 8/4
While                       8/4
"""

# what a kernel keeps between prepare and invoke, by operator; always allocated on ARENA_ALIGNMENT. "-": not there
_OP_DATA = """
ABS                                  28
ADD                                  60
ADD_N                                40
ASSIGN_VARIABLE                      4 - - -
AVERAGE_POOL_2D                      32
BATCH_MATMUL                         32 32 16 16
BATCH_MATMUL_quantized               28
CALL_ONCE                            8
CIRCULAR_BUFFER                      8
COMPARISON                           32
CONCATENATION                        80 40 24 24
CONV_2D                              80 72 56 56
CUMSUM                               36
DEQUANTIZE                           32
DIV                                  28
ELU                                  256
EMBEDDING_LOOKUP                     16 16 8 8
FULLY_CONNECTED                      72 64 48 48
HARD_SWISH                           20
IF                                   8
L2_NORMALIZATION                     4
LEAKY_RELU                           24
LOGISTIC                             16
LOG_SOFTMAX                          40 40 28 28
MIRROR_PAD                           20
MUL                                  36
PAD                                  56
PRELU                                28
QUANTIZE                             32
REDUCE                               44
RELU                                 28
RELU6                                8
SELECT_V2                            1
SOFTMAX                              80 80 56 56
SPACE_TO_BATCH_ND                    4
SQUARED_DIFFERENCE                   112
STRIDED_SLICE                        84
SUB                                  52
SVDF                                 36
TANH                                 16
TFLite_Detection_PostProcess         112
TRANSPOSE_CONV                       88 80 72 72
UNIDIRECTIONAL_SEQUENCE_LSTM         688
VAR_HANDLE                           4
WHILE                                8
SignalDelay                          32 32 20 20
SignalEnergy                         8
SignalFilterBank                     64 64 36 36
SignalFilterBankLog                  8
SignalFilterBankSpectralSubtraction  56 56 44 44
SignalFramer                         40 40 28 28
SignalIrfft                          32 32 24 24
SignalOverlapAdd                     32 32 24 24
SignalPCAN                           4
SignalRfft                           48 48 32 32
SignalStacker                        56 56 36 36
SignalWindow                         8
RingBuffer                           40 40 24 24
DecodeHuffman                        56 56 28 28
DecodeLut                            72 72 36 36
DecodePrune                          80 80 40 40
ethos-u                              12
"""


# op data of a library's own kernels, on arm32_short
_CMSIS_NN = {
    "AVERAGE_POOL_2D": 36,
    "BATCH_MATMUL": 36,
    "CONV_2D": 60,
    "FULLY_CONNECTED": 72,
    "SOFTMAX": 64,
    "SVDF": 40,
    "TRANSPOSE_CONV": 76,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": 912,
}
# on arm32
_ESP_NN = {"CONV_2D": 60, "SOFTMAX": 64}
_LIBRARIES = {CMSIS_NN: _CMSIS_NN, ESP_NN: _ESP_NN, ESP_NN_ANSI: _ESP_NN}


@dataclass(frozen=True)
class Target:
    """The struct sizes of one machine and build."""

    name: str
    kernels: str  # of `device.KERNELS`
    features: frozenset[str]  # that the kernels make use of
    recording: bool  # the allocator that counts what it hands out is larger
    compression: bool
    structs: dict[str, tuple[int, int]] = field(repr=False)
    options: dict[str, tuple[int, int]] = field(repr=False)
    op_data: dict[str, int | None] = field(repr=False)

    def size(self, struct):
        return self.structs[struct][0]

    def alignment(self, struct):
        return self.structs[struct][1]


@cache
def target(name, recording=None):
    """The target of a name of `device`, such as `cortex-m4+cmsis-nn`, or of NAMES.

    Parameters
    ----------
    name : str
    recording : bool, optional
        Another allocator than the target's usual one; see the table above.

    Raises
    ------
    ValueError
        No such target.
    """
    build = resolve(name)
    column = NAMES.index(build.layout)
    host = build.layout == "host64"
    op_data = {row: None if cell == "-" else int(cell) for row, cell in _column(_OP_DATA, column)}
    return Target(
        name=build.name,
        kernels=build.kernels,
        features=build.features,
        recording=host if recording is None else recording,
        compression=host,
        structs={row: _pair(cell) for row, cell in _column(_STRUCTS, column)},
        options={row: _pair(cell) for row, cell in _column(_OPTIONS, column)},
        op_data={**op_data, **_LIBRARIES.get(build.kernels, {})},
    )


def _column(table, column):
    for line in table.split("\n"):
        name, *cells = line.split() or [None]
        if name:
            yield name, cells[column] if len(cells) > 1 else cells[0]


def _pair(cell):
    size, alignment = cell.split("/")
    return int(size), int(alignment)
