"""How an operator stops a graph on purpose, without an error."""


class Stopped(BaseException):
    """No error, and nothing on the way may take it for one.

    Raised through `Context.fail_because`; MicroInterpreter.invoke turns it into a status.
    """
