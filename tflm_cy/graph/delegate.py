"""What a delegate is: something that takes nodes out of the execution plan and runs them its own way.

    class Mine(Delegate):
        def claim(self, subgraph): ...            # which nodes of the plan it takes
        def build(self, subgraph, partition): ... # how one partition of them runs

`graph.partition.delegate` asks once per subgraph, cuts the claimed nodes into partitions (TensorFlow Lite's rules) and
puts one DELEGATE node per partition into the plan. The original nodes stay where they are, for whoever lists them.

TensorFlow's order: the user's delegates when the interpreter is constructed, the default one at the first allocation,
before any operator has been prepared; none of them ever again.
"""


class Delegate:
    """Base class of delegates; both methods are called once per subgraph or partition, before anything is prepared."""

    name = "Delegate"

    def claim(self, subgraph):
        """Node indices of the plan that this delegate takes.

        Parameters
        ----------
        subgraph : tflm_cy.graph.subgraph.Subgraph

        Returns
        -------
        iterable of int
        """
        raise NotImplementedError

    def build(self, subgraph, partition):
        """Set up one partition: `partition.steps`, the nodes to run, and what else it needs.

        Parameters
        ----------
        subgraph : tflm_cy.graph.subgraph.Subgraph
        partition : tflm_cy.graph.partition.Partition
        """
        raise NotImplementedError

    def renewed(self):
        """A delegate like this one that has built nothing yet, for a copy of the interpreter.

        Returns
        -------
        Delegate
        """
        return type(self)()

    def finish(self, subgraph):
        """All partitions of a subgraph are built, or none: forget what refers to the subgraph, which refers to this delegate.

        Parameters
        ----------
        subgraph : tflm_cy.graph.subgraph.Subgraph
        """
