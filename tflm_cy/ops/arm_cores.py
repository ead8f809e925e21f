"""Which of XNNPACK's matrix kernels an Arm core gets, as far as bytes go.

    row, positions, width = product_kernels(least)        # float32
    twice = rounds_twice()                                # uint8: arithmetic/xnnpack/requantize_products.pxd

| | what |
| --- | --- |
| row | the order in which a product of one row is added: "one", "two" or "four" chains |
| positions | convolutions of at most so many output positions have two chains |
| width | columns of a whole block; fewer take other kernels |

The orders are those of arithmetic/xnnpack/product_order.pxd. TFLM_CY_XNNPACK makes this a Cortex-A72 (neon), a Cortex-A76 (dotprod) or a
Neoverse V1 (i8mm, sme). Otherwise the core's number decides: that of the fastest core that Linux lists; on macOS they are all Apple's.

Source: XNNPACK:src/configs/gemm-config.c; pytorch/cpuinfo:src/arm/uarch.c.
"""

import os

from tflm_cy.platform.cores import APPLE_CORE, fastest_core

PAIRS = ("two", 1, 8)  # kernels written for Cortex-A53, A55 and A75
PAIRS_OF_A73 = ("two", 2, 8)
PLAIN = ("one", 1, 8)  # what other cores get
PLAIN_WIDE_STEP = ("one", 2, 8)
WIDE = ("one", 0, 16)
APPLE = ("four", 2, 8)

FORCED = {"neon": PAIRS, "dotprod": PAIRS, "i8mm": PLAIN, "sme": PLAIN}

ARM, HISILICON, QUALCOMM, SAMSUNG = 0x41, 0x48, 0x51, 0x53
CORES = {
    APPLE_CORE: APPLE,
    (ARM, 0xD03): PAIRS,  # Cortex-A53
    (ARM, 0xD04): PAIRS,  # Cortex-A35
    (ARM, 0xD05): PAIRS,  # Cortex-A55
    (ARM, 0xD07): PAIRS,  # Cortex-A57
    (ARM, 0xD08): PAIRS,  # Cortex-A72
    (ARM, 0xD09): PAIRS_OF_A73,
    (ARM, 0xD0A): PAIRS,  # Cortex-A75
    (ARM, 0xD0B): PAIRS,  # Cortex-A76
    (ARM, 0xD0C): PAIRS,  # Neoverse N1
    (ARM, 0xD0D): PAIRS,  # Cortex-A77
    (ARM, 0xD0E): PAIRS,  # Cortex-A76AE
    (ARM, 0xD4E): PLAIN_WIDE_STEP,  # Cortex-X3
    (ARM, 0xD4F): PLAIN_WIDE_STEP,  # Neoverse V2
    (ARM, 0xD82): WIDE,  # Cortex-X4
    (HISILICON, 0xD40): PAIRS,  # Cortex-A76
    (QUALCOMM, 0x001): WIDE,  # Oryon
    (QUALCOMM, 0x201): PAIRS,  # Kryo
    (QUALCOMM, 0x205): PAIRS,
    (QUALCOMM, 0x211): PAIRS,
    (QUALCOMM, 0x800): PAIRS_OF_A73,  # Kryo 260, 280
    (QUALCOMM, 0x801): PAIRS,
    (QUALCOMM, 0x802): PAIRS,  # Kryo 385
    (QUALCOMM, 0x803): PAIRS,
    (QUALCOMM, 0x804): PAIRS,  # Kryo 485
    (QUALCOMM, 0x805): PAIRS,
    (SAMSUNG, 0x002): PAIRS,  # Exynos M3
    (SAMSUNG, 0x003): PAIRS,
    (SAMSUNG, 0x004): PAIRS,
}

TWICE = ((ARM, 0xD03), (ARM, 0xD05))  # Cortex-A53, A55


def product_kernels(least):
    """Return (row, positions, width); `least` counts the generations from neon on."""
    forced = os.environ.get("TFLM_CY_XNNPACK")
    if forced:
        return list(FORCED.values())[least]
    return CORES.get(fastest_core(), PLAIN)


def rounds_twice():
    """Return whether sums of uint8 products are rounded twice."""
    return not os.environ.get("TFLM_CY_XNNPACK") and fastest_core() in TWICE
