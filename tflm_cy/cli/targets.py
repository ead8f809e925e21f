"""The options --target and --kernels: for which board, and with which kernels, a figure is."""

from tflm_cy.cli.errors import UserError
from tflm_cy.micro.device import CMSIS_NN, DEVICES, ESP_NN, ESP_NN_ANSI, FIRMWARE, KERNELS, REFERENCE, resolve

_USUAL = {REFERENCE: "host64", CMSIS_NN: FIRMWARE, ESP_NN: "esp32", ESP_NN_ANSI: "esp32"}  # where no target is named
_SHOWN = [name for name in DEVICES if name not in ("x64", "arm32", "arm32_short")]

TEXT = f"""Targets: {", ".join(_SHOWN[:8])},
{", ".join(_SHOWN[8:])} (arm32 and
arm32_short are the names of layouts, with reference kernels). +nodsp and +nomve behind a Cortex-M leave these extensions
out, as in cortex-m33+nodsp. Kernels: {", ".join(KERNELS)}; Cortex-M usually has cmsis-nn, ESP32 esp-nn."""


def add_target_arguments(parser, default="host64"):
    parser.add_argument("--target", metavar="NAME", help=f"the board whose memory is shown (default {default})")
    parser.add_argument("--kernels", choices=KERNELS, help="the library that the firmware is built with")


def chosen_target(args, default="host64"):
    """The name in `micro.device` of what --target and --kernels say.

    Raises
    ------
    UserError
        There is no such target, or the kernels do not run on it.
    """
    device = args.target or (_USUAL[args.kernels] if args.kernels else default)
    try:
        return resolve(device, args.kernels).name
    except ValueError as error:
        raise UserError(str(error)) from None
