"""The table of operators, made from their registrations."""

from importlib import import_module

from .blocks import table


def content():
    """A row per operator: where it is, which versions each resolver accepts, what the default delegate computes with kernels of its own."""
    from tflm_cy.ops import find, index

    builtin = [(name, module, find(name)) for name, module in index.MODULES.items()]
    custom = [(name, module, find(name, custom=True)) for name, module in index.CUSTOM_MODULES.items()]
    rows = [
        [
            f"`{name}`",
            f"`{module}`",
            _versions(found.lowest_version, found.version),
            _versions(found.lowest_version, found.reference_version),
            _delegate(name, index),
        ]
        for name, module, found in sorted(builtin + custom)
    ]
    micro = ", ".join(f"`{name}`" for name in sorted(index.MICRO_MODULES))
    for module in set(index.MICRO_MODULES.values()):
        import_module(f"tflm_cy.ops.{module}")
    return (
        f"{len(builtin)} builtin operators, {len(custom)} custom ones.\n\n"
        + table(["operator", "file in `ops/`", "versions", "versions, REF", "delegate's kernels"], rows, "<<<<<")
        + f"\n\nOnly in `MicroInterpreter`: {micro}."
    )


_MOST = 1000  # a version beyond is "any"


def _versions(lowest, highest):
    if highest == 0:
        return ""
    if highest > _MOST:
        return "any"
    return str(highest) if lowest >= highest else f"{lowest} to {highest}"


def _delegate(name, index):
    tables = (
        ("float32", index.XNNPACK_FLOAT32),
        ("float16", index.XNNPACK_FLOAT16),
        ("8 bits", index.XNNPACK_QUANTIZED),
    )
    return ", ".join(kind for kind, modules in tables if name in modules)
