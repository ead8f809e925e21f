"""What a kernel of TensorFlow's changes in a tensor's description when it is prepared: its name, or how often its scale is repeated.

An operator keeps one: `context.keep(Shown(tensor.index, name="Densify_output"))`; `details` looks for them.
"""


class Shown:
    def __init__(self, tensor, name=None, repeats=None):
        self.tensor, self.name, self.repeats = tensor, name, repeats


def shown(kept, tensor, key):
    """What the last kernel that has a say shows, None where none has."""
    found = None
    for value in kept:
        if type(value) is Shown and value.tensor == tensor and getattr(value, key) is not None:
            found = getattr(value, key)
    return found
