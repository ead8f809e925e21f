"""Delegates written in Python: `Interpreter(..., experimental_delegates=[mine])`.

    class Negate:
        def supports(self, node):              # asked for every node of the plan, once
            return node.op_name == "NEG"

        def build(self, subset):               # one call for each partition of the nodes that are supported
            def kernel(inputs, outputs):       # numpy views, in the order of subset.inputs and subset.outputs
                np.negative(inputs[0], out=outputs[0])
            return kernel

A kernel may have a method `prepare(shapes)`, which gets the shapes of its inputs and returns those of its outputs,
whenever they may have changed; without it they are the file's. It runs with the GIL held; what it raises is raised by `invoke`.

Views die with the call: a kernel that keeps one makes `invoke` raise, and every call after it until the view is gone.
"""
from libc.stdint cimport int32_t

from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.description cimport array_of, is_viewable, node_info, tensor_info
from tflm_cy.graph.delegate import Delegate
from tflm_cy.graph.passes.partition cimport Partition
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport MAX_RANK, Tensor, shape_of, type_name


class Subset:
    """One partition: nodes (NodeInfo, in the order in which they would run), inputs and outputs (TensorInfo)."""

    __slots__ = ("inputs", "nodes", "outputs")


class PythonDelegate(Delegate):
    """A user's object with `supports` and `build` as a delegate."""

    def __init__(self, mine):
        self.mine = mine
        self.name = type(mine).__name__
        self.kernels = {}

    def renewed(self):
        return PythonDelegate(self.mine)

    def claim(self, Subgraph subgraph):
        delegated = {(<Partition>partition).index for partition in subgraph.partitions}
        return [n for n in subgraph.execution_plan if n not in delegated and self.mine.supports(node_info(subgraph, n))]

    def build(self, Subgraph subgraph, Partition partition):
        cdef int t
        subset = Subset()
        subset.nodes = [node_info(subgraph, n) for n in partition.nodes]
        subset.inputs = [tensor_info(subgraph, t) for t in partition.inputs]
        subset.outputs = [tensor_info(subgraph, t) for t in partition.outputs]
        for t in partition.inputs + partition.outputs:
            if not is_viewable(&subgraph.tensors[t]):
                raise ValueError(
                    f"{self.name} cannot take nodes with tensor {t}: {type_name(subgraph.tensors[t].type)} has no numpy view")
        kernel = self.mine.build(subset)
        if not callable(kernel):
            raise TypeError(f"{self.name}.build gave {type(kernel).__name__}, not a callable")
        self.kernels[(subgraph.index, partition.index)] = kernel
        subgraph.registrations[partition.index] = REGISTRATION


cdef object kernel_of(Subgraph g, const Node* node):
    for partition in g.partitions:
        if (<Partition>partition).index == node.index:
            return (<Partition>partition).delegate.kernels[(g.index, node.index)]
    raise RuntimeError("the kernel is lost")


cdef int prepare(Context context, Node* node) except -1:
    """Shapes of the outputs."""
    cdef Subgraph g = <Subgraph>context
    cdef int32_t[MAX_RANK] dims
    cdef int i, d
    cdef Tensor* tensor
    kernel = kernel_of(g, node)
    if hasattr(kernel, "prepare"):
        shapes = list(kernel.prepare([tuple(shape_of(context.input(node, i))) for i in range(node.input_count)]))
        if len(shapes) != node.output_count:
            raise ValueError(f"prepare gave {len(shapes)} shapes for {node.output_count} outputs")
        for i in range(node.output_count):
            shape = tuple(shapes[i])
            if len(shape) > MAX_RANK:
                raise ValueError(f"rank {len(shape)} exceeds {MAX_RANK}")
            for d in range(len(shape)):
                dims[d] = shape[d]
            context.set_shape(context.output(node, i), len(shape), dims)
    for i in range(node.output_count):
        tensor = context.output(node, i)
        for d in range(tensor.rank):
            if tensor.dims[d] < 0:
                raise ValueError(f"the shape {shape_of(tensor)} of output {i} is not known; the kernel wants a method prepare")
    node.invoke = invoke
    return 0


cdef int invoke(Context context, Node* node) noexcept nogil:
    with gil:
        return call(context, node)


cdef int call(Context context, Node* node) noexcept:
    cdef Subgraph g = <Subgraph>context
    cdef int i
    try:
        inputs = [array_of(g, context.input(node, i), True) for i in range(node.input_count)]
        outputs = [array_of(g, context.output(node, i), False) for i in range(node.output_count)]
        kernel_of(g, node)(inputs, outputs)
        del inputs, outputs
        if g.shared.live_views > 0:
            raise RuntimeError("the kernel has kept a view of a tensor; it must copy what it keeps")
    except BaseException as error:
        return context.fail_because(error)
    return 0


REGISTRATION = register(prepare, version=1)
