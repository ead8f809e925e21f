"""A model by TensorFlow Lite Micro's rules, under the names of `Interpreter` that commands use: the side MICRO."""

from tflm_cy.cli.errors import UserError
from tflm_cy.micro import MicroInterpreter

STOPPED = "an operator stopped the run on purpose, as streaming models do between their cycles"


class MicroSide:
    """`MicroInterpreter` as the other interpreters look; its shapes are the file's.

    Parameters
    ----------
    source : str or bytes
        The model's path, or its bytes.
    preserve_all : bool
        Every tensor can be read after `invoke`, and nodes can be run one by one.
    """

    def __init__(self, source, preserve_all=False):
        self.micro = MicroInterpreter(source, preserve_all_tensors=preserve_all)
        self.core = self.micro.core
        self.stopped = False

    def allocate_tensors(self):
        """Done by the constructor."""

    def get_input_details(self):
        return [self.core.tensor_details(t) for t in self.micro.inputs]

    def get_output_details(self):
        return [self.core.tensor_details(t) for t in self.micro.outputs]

    def get_tensor_details(self):
        return [self.core.tensor_details(t) for t in range(self.core.tensor_count())]

    def resize_tensor_input(self, index, shape):
        details = self.core.tensor_details(index)
        raise UserError(
            f"input {details['name']} has the shape {' x '.join(map(str, details['shape'])) or 'scalar'} in the file, "
            f"not {' x '.join(map(str, shape)) or 'scalar'}: with TensorFlow Lite Micro shapes stay"
        )

    def set_tensor(self, index, value):
        self.core.set_tensor(index, value)

    def get_tensor(self, index):
        return self.core.get_tensor(index)

    def invoke(self):
        """Run once; `stopped` says whether an operator ended it."""
        self.stopped = self.micro.invoke() != 0

    def reset_all_variables(self):
        self.micro.reset()

    def _get_ops_details(self):
        return [self.core.node_details(n) for n in range(self.core.node_count())]

    def _run_node(self, index):
        self.core.run_node(index)

    def execution_plan(self):
        return self.core.execution_plan()

    def delegate_nodes(self):
        return {}

    def quirks(self):
        return []
