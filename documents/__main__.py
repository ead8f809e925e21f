"""python -m documents: write what is generated; with --check say what is out of date, exit code 1."""

import argparse
import sys
from functools import partial
from pathlib import Path

from . import arenas, deviations, operators, passes
from .blocks import replaced

ROOT = Path(__file__).parents[1]
BLOCKS = {
    ("docs/deviations.md", "deviations"): deviations.content,
    ("docs/coverage.md", "operators"): operators.content,
    ("docs/architecture.md", "passes"): passes.content,
}
PICTURES = {
    "docs/pictures/passes.svg": passes.picture,
    **{f"docs/pictures/arena_{plan}.svg": partial(arenas.picture, plan) for plan in arenas.PLANS},
}


def generated(root=ROOT):
    """(path, what it should hold) of every file with something generated."""
    for (name, block), content in BLOCKS.items():
        path = root / name
        yield path, replaced(path.read_text(), block, content())
    for name, content in PICTURES.items():
        yield root / name, content()


def main(arguments=None):
    parser = argparse.ArgumentParser("python -m documents", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if a file is out of date")
    args = parser.parse_args(arguments)
    stale = [(path, text) for path, text in generated() if not path.exists() or path.read_text() != text]
    for path, text in stale:
        print(f"{path.relative_to(ROOT)}: {'out of date' if args.check else 'written'}")
        if not args.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return 1 if args.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
