"""What in the documents is generated: `python -m documents` writes it, `python -m documents --check` says what is out of date.

| file | made from |
| --- | --- |
| docs/deviations.md, between `<!-- deviations -->` marks | `compat/deviations.py`, `compat/crashes.py` |
| docs/coverage.md, between `<!-- operators -->` marks | the operators' registrations |
| docs/architecture.md, between `<!-- passes -->` marks; docs/pictures/passes.svg | the list of passes |
| docs/pictures/arena_*.svg | `python -m tflm_cy arena` on a model that ships |

Figures that take hours or other models have commands of their own: `compat.coverage`, `compat.planners`, `benchmarks --file`.
"""
