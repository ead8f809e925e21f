"""`--print-completion SHELL`: a script that completes commands, options and files in a shell.

tflm-cy --print-completion bash > ~/.local/share/bash-completion/completions/tflm-cy
"""

import argparse

SHELLS = ("bash", "zsh", "tcsh")


class PrintCompletion(argparse.Action):
    """Print the script that shtab makes of the parser, and leave."""

    def __call__(self, parser, namespace, values, option_string=None):
        """See argparse."""
        try:
            import shtab
        except ImportError:
            parser.error("shell completion is made by shtab, which is not installed: pip install 'tflm-cy[completion]'")
        parser.prog = "tflm-cy"
        print(shtab.complete(parser, values))
        parser.exit()
