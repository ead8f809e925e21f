"""How an operator stops a graph on purpose, without an error."""


class Stopped(BaseException):
    """Raised through `Context.fail_because`; MicroInterpreter.invoke turns it into a status."""
