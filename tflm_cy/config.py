"""What this process runs with: `show_config`."""

import os


def show_config() -> dict[str, str]:
    """Print, and return, which vector kernels and which generation of XNNPACK's bytes this process uses, and why.

    >>> import tflm_cy
    >>> sorted(tflm_cy.show_config())  # doctest: +ELLIPSIS
    version...
    ['available', 'kernels', 'version', 'xnnpack bytes']
    """
    from tflm_cy import __version__
    from tflm_cy.ops import generation
    from tflm_cy.simd import table

    def because(variable: str, otherwise: str) -> str:
        value = os.environ.get(variable)
        return f"{variable}={value}" if value else otherwise

    xnnpack = "none: wants x86-64 with AVX2 and FMA"
    if generation.supported():
        xnnpack = f"{generation.generation_name()} ({because('TFLM_CY_XNNPACK', 'what TensorFlow takes on this CPU')})"
    config = {
        "version": __version__,
        "kernels": f"{table.name()} ({because('TFLM_CY_ISA', 'the best that this CPU has')})",
        "available": ", ".join(table.available()),
        "xnnpack bytes": xnnpack,
    }
    for key, value in config.items():
        print(f"{key:14} {value}")
    return config
