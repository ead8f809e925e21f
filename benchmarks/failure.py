"""Why something was not measured, for people."""


class NotRunError(Exception):
    """The text is the reason; `blamed` names the side that failed where one can be named; `fatal`: its process died."""

    def __init__(self, reason, blamed=None, fatal=False):
        super().__init__(reason)
        self.reason, self.blamed, self.fatal = reason, blamed, fatal


def one_line(text, longest=240):
    """The end of a text on one line; runtimes put the cause last."""
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    text = " ".join(text.split())
    return text if len(text) <= longest else "..." + text[-longest:]
