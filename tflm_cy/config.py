"""What this process runs with: `show_config`."""

import os
import platform


def peaks() -> dict[str, float]:
    """Return what one thread of this machine multiplies and adds per second at most, measured now with the kernels in use.

    Keys are "float32" and "int8", each only where the kernels have such products.
    """
    from tflm_cy.simd import table

    return table.peaks()


def show_config() -> dict[str, str]:
    """Print, and return, which vector kernels and which generation of XNNPACK's bytes this process uses, and why.

    >>> import tflm_cy
    >>> sorted(tflm_cy.show_config())  # doctest: +ELLIPSIS
    version...
    ['available', 'definitions', 'kernels', 'other definitions', 'version', 'xnnpack bytes']
    """
    from tflm_cy import __version__
    from tflm_cy.ops import generation, machine_definitions
    from tflm_cy.simd import table

    def because(variable: str, otherwise: str) -> str:
        value = os.environ.get(variable)
        return f"{variable}={value}" if value else otherwise

    xnnpack = "none: wants x86-64 with AVX2 and FMA, or aarch64"
    definitions = "none"
    if generation.supported():
        from tflm_cy.ops.xnnpack.definitions import table as taken

        forms = taken()
        definitions = ", ".join(f"{name} {forms[name]}" for name in sorted(forms))
        xnnpack = f"{generation.generation_name()} ({because('TFLM_CY_XNNPACK', 'what TensorFlow takes on this CPU')})"
    config = {
        "version": __version__,
        "kernels": f"{table.name()} ({because('TFLM_CY_ISA', 'the best that this CPU has')})",
        "available": ", ".join(table.available()),
        "xnnpack bytes": xnnpack,
        "definitions": definitions,
        "other definitions": "; ".join(
            f"{what}: {form}" for what, form in machine_definitions.taken(platform.machine()).items()
        ),
    }
    for key, value in config.items():
        print(f"{key:17} {value}")
    return config
