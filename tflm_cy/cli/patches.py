"""The options of `arena` that compute stages of a model tile by tile: --patches, --extra-macs, --optimize, --strict."""

import sys

from tflm_cy.cli.errors import UserError
from tflm_cy.micro.patchwise import Wanted, export, search
from tflm_cy.micro.patchwise.report import as_dict, figure_rows, lines, stage_rows
from tflm_cy.micro.survey import Survey
from tflm_cy.schema.model import Model

TEXT = """

With --patches stages of the model are computed tile by tile, by SLICE, PAD and CONCATENATION: the largest tensors need
not be there at once. The copy that --export-plan writes computes the same bytes in TFLM and in TensorFlow Lite; all that
is shown is of this copy. --strict plans are for any kernels."""

_WIDTH = 28


def add_patches_arguments(parser):
    group = parser.add_argument_group("patches")
    group.add_argument("--patches", action="store_true", help="compute stages of the model tile by tile")
    group.add_argument(
        "--extra-macs", type=float, default=10.0, metavar="P", help="at most P %% more multiplications (default 10)"
    )
    group.add_argument(
        "--optimize",
        choices=("total", "head"),
        default="total",
        help="head and tail together, or the head (default total)",
    )
    group.add_argument("--strict", action="store_true", help="keep every operator's output apart from its inputs")
    group.add_argument(
        "--seconds", type=float, default=0.0, metavar="S", help="a limit in time (default: the work is counted)"
    )


class Patches:
    """What --patches came to.

    Parameters
    ----------
    args : argparse.Namespace
    given : micro.survey.Survey
        Of the model as it is.

    Attributes
    ----------
    content : bytes
        The copy.
    survey : micro.survey.Survey
        Of the copy.
    """

    def __init__(self, args, given):
        if args.extra_macs < 0 or args.seconds < 0:
            raise UserError("--extra-macs and --seconds are not negative")
        if given.objections:
            raise UserError(f"TFLM refuses the model, which cannot be planned: {given.refusals[0]}")
        wanted = Wanted(args.target, args.optimize, args.extra_macs, args.strict, seconds=args.seconds)
        self.found = search(given.model, wanted, given.graph, _progress())
        self._greedy = given.plan("greedy")
        self.content = export(self.found)
        self._growth = len(self.content) - given.graph.file_bytes
        self.survey = Survey(Model.from_buffer(self.content), given.arena_size, given.targets)

    @property
    def remarks(self):
        """Sentences."""
        return lines(self.found, self._growth)

    @property
    def tables(self):
        """[(title, (column titles, rows))]."""
        stages = [("Stages", stage_rows(self.found))] if self.found.best.stages else []
        return [*stages, ("Patches", figure_rows(self.found, self._greedy))]

    def as_json(self):
        return as_dict(self.found, self._greedy, self._growth)


def _progress():
    """A line on a terminal; nothing elsewhere."""
    if sys.stderr is None or not sys.stderr.isatty():
        return None

    def show(what, share):
        done = round(_WIDTH * share)
        sys.stderr.write(f"\r{what:7} [{'#' * done}{' ' * (_WIDTH - done)}]")
        if share >= 1:
            sys.stderr.write("\r" + " " * (_WIDTH + 10) + "\r")
        sys.stderr.flush()

    return show
