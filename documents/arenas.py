"""Pictures of arenas: what `python -m tflm_cy arena MODEL --svg F.svg` writes for a model that ships, by plan."""

from pathlib import Path

import tflm_cy.demo

MODEL = Path(tflm_cy.demo.__file__).with_name("digits_int8.tflite")
PLANS = {
    "greedy": ["--planner", "greedy"],
    "overlap": ["--planner", "overlap"],
    "patches": ["--patches", "--optimize", "head"],
}


def picture(plan):
    """The SVG of a plan of PLANS."""
    import contextlib
    import io
    import tempfile

    from tflm_cy.cli.main import main

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "arena.svg")
        with contextlib.redirect_stdout(io.StringIO()):
            code = main(["arena", str(MODEL), *PLANS[plan], "--svg", str(path)])
        if code:
            raise RuntimeError(f"python -m tflm_cy arena ended with {code}")
        return path.read_text()
