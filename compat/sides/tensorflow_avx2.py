"""TensorFlow as on a CPU with AVX2 and FMA but without AVX-512: XNNPACK chooses other kernels there, whose bytes differ in places.

XNNPACK asks one function of its own what the CPU can do, and keeps the answer. That function is found in the library's
symbol table, and the bits above AVX2 are taken out of the answer before the first interpreter is made. Linux only.
"""

import ctypes
import struct

from . import tensorflow

MODES = tensorflow.MODES
DISTRIBUTIONS = tensorflow.DISTRIBUTIONS
plans = tensorflow.plans
_LIBRARY = "libpywrap_tflite_common"
_FUNCTION = b"xnn_init_hardware_config"
_UP_TO_AVX2 = 0xFF  # of the word of features


def start():
    open_interpreter = tensorflow.start()
    base, path = _loaded_library()
    configuration = ctypes.CFUNCTYPE(ctypes.c_void_p)(base + _symbol(path, _FUNCTION))()
    words = (ctypes.c_uint32 * 3).from_address(configuration)  # microarchitecture, reserved, features
    words[2] &= _UP_TO_AVX2
    return open_interpreter


def _loaded_library():
    """(address, path) of TensorFlow's library in this process."""
    with open("/proc/self/maps") as maps:
        for line in maps:
            fields = line.split()
            if len(fields) > 5 and _LIBRARY in fields[5] and int(fields[2], 16) == 0:
                return int(fields[0].split("-")[0], 16), fields[5]
    raise ImportError(f"{_LIBRARY} is not loaded")


def _symbol(path, name):
    """The offset of a function in a 64-bit ELF library."""
    with open(path, "rb") as file:
        blob = file.read()
    (offset,) = struct.unpack_from("<Q", blob, 0x28)
    size, count = struct.unpack_from("<HH", blob, 0x3A)
    sections = [struct.unpack_from("<IIQQQQIIQQ", blob, offset + i * size) for i in range(count)]
    table = next(section for section in sections if section[1] == 2)  # SHT_SYMTAB
    names = sections[table[6]][4]
    for entry in struct.iter_unpack("<IBBHQQ", blob[table[4] : table[4] + table[5]]):
        start = names + entry[0]
        if blob[start : start + len(name) + 1] == name + b"\0":
            return entry[4]
    raise ImportError(f"{path} has no symbol {name.decode()}")
