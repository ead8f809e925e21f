"""The boards that a firmware is built for, and the libraries of kernels that run on them.

    >>> from tflm_cy.micro.device import resolve
    >>> resolve("cortex-m4"), resolve("cortex-m4", "reference").name
    (Build(device='cortex-m4', kernels='cmsis-nn', layout='arm32_short', features=frozenset({'dsp'})), 'cortex-m4+reference')
    >>> resolve("cortex-m33+nodsp+cmsis-nn").features
    frozenset()

A name is a device, then what it lacks (`+nodsp`, `+nomve`), then the kernels: `cortex-m55+nomve+cmsis-nn`. Where the
kernels are left out it means those that a firmware for this device usually has, the first in `DEVICES`. `layout` names
the column of `target` with the sizes of TFLM's structs: TFLM's makefile builds for Cortex-M with short enumerations,
GCC for Linux and Espressif's compilers have enumerations of 4 bytes.

| kernels | library | versions that the sizes were read from |
| --- | --- | --- |
| reference | TFLM's own portable kernels | tflite-micro 90b983c |
| cmsis-nn | Arm's CMSIS-NN, optimized for speed, compiled by GCC | CMSIS-NN 4ab83cc, which tflite-micro 90b983c downloads |
| esp-nn | Espressif's esp-nn, optimized for the chip (the default of its menu) | esp-nn 1.2.3 with esp-tflite-micro |
| esp-nn-ansi | esp-nn with "ANSI C" chosen in its menu | the same |
"""

from dataclasses import dataclass

REFERENCE, CMSIS_NN, ESP_NN, ESP_NN_ANSI = KERNELS = ("reference", "cmsis-nn", "esp-nn", "esp-nn-ansi")

VERSIONS = {
    REFERENCE: "tflite-micro's portable reference kernels",
    CMSIS_NN: "CMSIS-NN 4ab83cc with tflite-micro 90b983c, for speed, GCC",
    ESP_NN: "esp-nn 1.2.3 with esp-tflite-micro",
    ESP_NN_ANSI: 'esp-nn 1.2.3 with esp-tflite-micro, "ANSI C" in its menu',
}

_CORTEX_M = (CMSIS_NN, REFERENCE)
_ESP = (ESP_NN, ESP_NN_ANSI, REFERENCE)

# device -> (layout, instruction set extensions, kernels: the usual ones first)
DEVICES = {
    "host64": ("host64", "", (REFERENCE,)),
    "x64": ("x64", "", (REFERENCE,)),
    "arm-linux": ("arm32", "", (REFERENCE,)),
    "arm32": ("arm32", "", (REFERENCE,)),
    "arm32_short": ("arm32_short", "", (REFERENCE,)),
    "cortex-m0": ("arm32_short", "", _CORTEX_M),
    "cortex-m0plus": ("arm32_short", "", _CORTEX_M),
    "cortex-m3": ("arm32_short", "", _CORTEX_M),
    "cortex-m4": ("arm32_short", "dsp", _CORTEX_M),
    "cortex-m7": ("arm32_short", "dsp", _CORTEX_M),
    "cortex-m33": ("arm32_short", "dsp", _CORTEX_M),
    "cortex-m55": ("arm32_short", "dsp mve", _CORTEX_M),
    "cortex-m85": ("arm32_short", "dsp mve", _CORTEX_M),
    "esp32": ("arm32", "", _ESP),
    "esp32c3": ("arm32", "", _ESP),
    "esp32s3": ("arm32", "s3", _ESP),
    "esp32p4": ("arm32", "p4", _ESP),
}

NAMES = tuple(DEVICES)

FIRMWARE = "cortex-m4"  # the device of the lines for a firmware, where none is named

# what a table of devices shows: each differs from the others in some kernel's bytes
COMPARED = (
    "host64",
    "arm-linux",
    "cortex-m3+reference",
    "cortex-m3+cmsis-nn",
    "cortex-m4+cmsis-nn",
    "cortex-m55+cmsis-nn",
    "esp32+esp-nn",
    "esp32s3+esp-nn",
    "esp32p4+esp-nn",
)


@dataclass(frozen=True)
class Build:
    """A device and the kernels that are compiled for it."""

    device: str
    kernels: str
    layout: str
    features: frozenset[str]

    @property
    def name(self):
        """The whole name; the kernels are left out where there are no others."""
        return self.device if len(DEVICES[self.device.split("+")[0]][2]) == 1 else f"{self.device}+{self.kernels}"

    @property
    def version(self):
        """The library's name and version."""
        return VERSIONS[self.kernels]


def resolve(name, kernels=None):
    """The Build of a name.

    Parameters
    ----------
    name : str
        Of `DEVICES`, with `+nodsp`, `+nomve` and `+kernels` behind it as in the module's text.
    kernels : str, optional
        Of `KERNELS`, where `name` does not say it.

    Raises
    ------
    ValueError
        No such device, no such kernels, or kernels that do not run on the device.
    """
    device, *rest = name.split("+")
    if device not in DEVICES:
        raise ValueError(f"no target {name!r}; there are {', '.join(NAMES)}")
    layout, features, usual = DEVICES[device]
    given = [word for word in rest if not word.startswith("no")]
    if len(given) > 1 or (given and kernels and given[0] != kernels):
        raise ValueError(f"target {name!r} with kernels {kernels or ' and '.join(given)}: name one library of kernels")
    chosen = given[0] if given else kernels or usual[0]
    if chosen not in KERNELS:
        raise ValueError(f"no kernels {chosen!r}; there are {', '.join(KERNELS)}")
    if chosen not in usual:
        raise ValueError(f"{chosen} has no kernels for {device}, which runs {', '.join(usual)}")
    lacking = [word[2:] for word in rest if word.startswith("no")]
    has = set(features.split())
    if set(lacking) - has:
        raise ValueError(f"target {name!r}: {device} has no {', '.join(sorted(set(lacking) - has))} to leave out")
    if "dsp" in lacking:
        lacking.append("mve")  # GCC's +nodsp takes MVE away, too
    return Build(
        device="+".join([device, *(word for word in rest if word.startswith("no"))]),
        kernels=chosen,
        layout=layout,
        features=frozenset(has - set(lacking)),
    )
