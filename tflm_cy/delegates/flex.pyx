"""TensorFlow's operators in a model (`FlexErf` and all other names that begin so), run by TensorFlow where it is installed.

A custom operator Flex<Name> carries TensorFlow's NodeDef in its options. Such nodes are taken when the interpreter is constructed, before any
other delegate, and cut into partitions by the usual rules; a partition becomes one function of TensorFlow's, without
graph optimization, so that every node runs as the kernel that its NodeDef names. TensorFlow is imported at the first allocation.

Values cross the border as copies. Resources and variants, which only TensorFlow understands, stay on its side: their tensors hold handles,
which travel between partitions and through IF, WHILE and other calls as `graph.resource` tells. An output whose shape TensorFlow
can infer is static, else it is shaped while invoking. What has a name in TensorFlow (tables) is each interpreter's own (`containers`).

Source of the options' layout: LiteRT:tflite/delegates/flex/kernel.cc.
"""
import functools
import hashlib
import importlib.util
import re

from libc.stdint cimport int32_t

from tflm_cy.delegates.containers import Container, destroy_abandoned
from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.delegate import Delegate
from tflm_cy.graph.description cimport array_of, is_viewable, store_value, strings_of
from tflm_cy.graph.passes.partition cimport Partition
from tflm_cy.graph.resource cimport is_handle
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport MAX_RANK, STRING, Tensor, is_constant, shape_of, type_name
from tflm_cy.schema.flexbuffer import strings

cdef enum:
    MOST_FUNCTIONS = 8       # of a partition, each for its own shapes: making one takes milliseconds

TYPES = {"STRING": "string", "RESOURCE": "resource", "VARIANT": "variant", "BOOL": "bool"}


def installed():
    """True when TensorFlow can be imported."""
    return importlib.util.find_spec("tensorflow") is not None


cdef str operators_at(Subgraph g, nodes, int t):
    """Which of some nodes read or write a tensor, for messages."""
    cdef const Node* node
    cdef int i
    who = []
    for n in nodes:
        node = &g.graph.nodes[<int>n]
        tensors = [node.inputs[i] for i in range(node.input_count)] + [node.outputs[i] for i in range(node.output_count)]
        if t in tensors:
            who.append(f"{g.operator_names[n]} (node {n})")
    return ", ".join(who)


cdef list flex_nodes(Subgraph g):
    return [n for n in g.execution_plan if n in g.custom_nodes and g.registrations[n] is None and g.operator_names[n].startswith("Flex")]


def refuse(list subgraphs):
    """Let nodes that need TensorFlow say so when they are prepared."""
    cdef Subgraph g
    for g in subgraphs:
        for n in flex_nodes(g):
            g.registrations[n] = MISSING


class FlexDelegate(Delegate):
    """One object serves all subgraphs of an interpreter."""

    name = "TfLiteFlexDelegate"

    def __init__(self):
        self.parts = {}                  # (subgraph, DELEGATE node) -> Part
        self.container = Container()

    def claim(self, Subgraph subgraph):
        return flex_nodes(subgraph)

    def build(self, Subgraph subgraph, Partition partition):
        cdef int t
        for t in partition.inputs + partition.outputs:
            if not is_crossing(&subgraph.tensors[t]):
                partition.defect = (
                    f"{operators_at(subgraph, partition.nodes, t)}: tensor {t} of type {type_name(subgraph.tensors[t].type)} cannot be given to TensorFlow.")
        self.parts[(subgraph.index, partition.index)] = Part(subgraph, partition, self.container)
        subgraph.registrations[partition.index] = REGISTRATION


class Part:
    """One partition: what each node computes, and the function of the shapes at hand."""

    def __init__(self, Subgraph g, Partition partition, container):
        cdef const Node* node
        self.container = container
        self.nodes = []
        for n in partition.nodes:
            node = &g.graph.nodes[n]
            options = b"" if node.custom_options == NULL else (<const char*>node.custom_options)[:node.custom_options_size]
            self.nodes.append((
                n, g.operator_names[n], options, [node.inputs[i] for i in range(node.input_count)],
                [node.outputs[i] for i in range(node.output_count)]))
        self.defined = None              # what `definitions` gives
        self.function = None             # of the shapes at hand
        self.functions = {}              # what it was made for -> (it, the shapes of its outputs); the newest at the end

    def definitions(self):
        """The nodes as a GraphDef whose inputs are named t<tensor>, and tensor -> name of what computes it."""
        from tensorflow.core.framework import graph_pb2

        if self.defined is not None:
            return self.defined
        graph = graph_pb2.GraphDef()
        made = {}
        before = None
        for n, op, options, inputs, outputs in self.nodes:
            definition = node_definition(op, options)
            definition.name = f"n{n}"
            definition.device = ""
            del definition.input[:]
            self.container.place_resource(definition)
            for t in inputs:
                if t >= 0:
                    definition.input.append(made.get(t, f"t{t}:0"))
            if before is not None:
                definition.input.append(f"^{before}")                    # tables and variables are read and written in the plan's order
            before = definition.name
            graph.node.append(definition)
            made.update({t: f"n{n}:{k}" for k, t in enumerate(outputs) if t >= 0})
        self.defined = graph, made
        return self.defined

    def trace(self, inputs, constants, outputs):
        """Make the function; returns the shapes of its outputs, None where unknown.

        `inputs`: (tensor, type, shape), `constants`: tensor -> array, `outputs`: tensors.
        """
        key = (tuple(inputs), tuple((t, str(value.dtype), value.shape, digest(value)) for t, value in constants.items()))
        known = self.functions.pop(key, None)
        if known is None:
            known = self.make(inputs, constants, outputs)
        self.functions[key] = known
        while len(self.functions) > MOST_FUNCTIONS:
            del self.functions[next(iter(self.functions))]
        self.function, shapes = known
        return shapes

    def make(self, inputs, constants, outputs):
        """A function of TensorFlow's for one set of shapes and constants, and the shapes of its outputs."""
        import tensorflow as tf

        destroy_abandoned()
        plain, made = self.definitions()
        last = f"n{self.nodes[len(self.nodes) - 1][0]}"
        graph = type(plain)()
        graph.CopyFrom(plain)
        for t, kind, _ in inputs:
            add_placeholder(graph, t, kind)
        for t, value in constants.items():
            add_placeholder(graph, t, tf.as_dtype(value.dtype if value.dtype != object else "string").name)

        def run(*given):
            feeds = {f"t{t}:0": value for (t, _, _), value in zip(inputs, given, strict=True)}
            feeds.update({f"t{t}:0": tf.constant(value) for t, value in constants.items()})
            wanted = [*[made[t] for t in outputs], last]
            *results, end = tf.graph_util.import_graph_def(graph, input_map=feeds, return_elements=wanted, name="")
            tf.compat.v1.get_default_graph().control_outputs.append(end)         # every node runs, also where nobody sees what it does
            return results

        signature = [tf.TensorSpec(shape, kind) for _, kind, shape in inputs]
        function = tf.compat.v1.wrap_function(run, signature)
        shapes = [tensor.shape for tensor in function.outputs]
        return function, [shape.as_list() if shape.is_fully_defined() else None for shape in shapes]

    def call(self, values):
        """The outputs of one run, as TensorFlow's tensors."""
        import tensorflow as tf
        from tensorflow.python.eager import context

        here = context.context()
        before = here.function_call_options
        here.function_call_options = as_written()
        try:
            return self.function(*[tf.convert_to_tensor(value) for value in values])
        finally:
            here.function_call_options = before

    def blame(self, error):
        """The text of an error of TensorFlow's, with the operator that it is about in front."""
        text = " ".join(str(getattr(error, "message", error)).split()).rpartition("<stack traces unavailable> ")[2]
        found = re.search(r"\{\{node n(\d+)(_\d+)?\}\}", text)
        who = [f"{op} (node {n})" for n, op, *_ in self.nodes if found is None or n == int(found[1])]
        return f"TensorFlow refuses to run {', '.join(who)}: {text}"


@functools.cache
def as_written():
    """Options of a call that let every node run as it is."""
    import tensorflow as tf
    from tensorflow.python.eager import context

    plain = tf.compat.v1.ConfigProto()
    plain.graph_options.rewrite_options.disable_meta_optimizer = True
    return context.FunctionCallOptions(config_proto=plain)


def digest(value):
    """Equal for equal constants of one type and shape."""
    return hashlib.blake2b(repr(value.tolist()).encode() if value.dtype == object else value.tobytes()).digest()


def node_definition(op, options):
    """The NodeDef in the options of a Flex operator: a FlexBuffer vector of the operator's name and the serialized definition."""
    from tensorflow.core.framework import node_def_pb2

    parts = strings(options)
    if len(parts) != 2:
        raise ValueError(f"{op}: its options are {len(parts)} strings, not a name and a NodeDef")
    try:
        definition = node_def_pb2.NodeDef.FromString(parts[1])
    except Exception as error:
        raise ValueError(f"{op}: its options hold no NodeDef: {error}") from error
    if f"Flex{definition.op}" != op:
        raise ValueError(f"{op}: its NodeDef is of {definition.op}")
    return definition


def add_placeholder(graph, t, type):
    """A node of a GraphDef that stands for an input of a type."""
    import tensorflow as tf

    node = graph.node.add()
    node.name, node.op = f"t{t}", "Placeholder"
    node.attr["dtype"].type = tf.as_dtype(type).as_datatype_enum


cdef bint is_crossing(const Tensor* tensor) noexcept:
    """True for what can be given to TensorFlow or taken from it."""
    return is_viewable(tensor) or tensor.type == STRING or is_handle(tensor)


cdef object part_of(Subgraph g, const Node* node):
    """The part of a DELEGATE node."""
    for partition in g.partitions:
        if (<Partition>partition).index == node.index:
            return (<Partition>partition).delegate.parts[(g.index, node.index)]
    raise RuntimeError("the function is lost")


cdef object foreign_handle(Subgraph g, part, const Tensor* tensor):
    """The refusal of a handle that no operator of TensorFlow's has made in this invoke."""
    return ValueError(
        f"{operators_at(g, [n for n, *_ in part.nodes], tensor.index)}: tensor {tensor.index} of type {type_name(tensor.type)} holds no handle of "
        "TensorFlow's. What VAR_HANDLE, HASHTABLE or an operator of the user makes cannot be given to TensorFlow's operators, nor can an input of the model.")


cdef object value_of(Subgraph g, const Tensor* tensor):
    """A copy: TensorFlow may keep the array's memory as its tensor's."""
    return strings_of(g, tensor) if tensor.type == STRING else array_of(g, tensor, True).copy()


cdef int prepare(Context context, Node* node) except -1:
    cdef Subgraph g = <Subgraph>context
    cdef int32_t[MAX_RANK] dims
    cdef const Tensor* tensor
    cdef Tensor* output
    cdef int i, d
    part = part_of(g, node)
    inputs, constants = [], {}
    for i in range(node.input_count):
        tensor = g.input(node, i)
        if is_constant(tensor) and is_handle(tensor):
            raise foreign_handle(g, part, tensor)
        if is_constant(tensor):
            constants[tensor.index] = value_of(g, tensor)
        else:
            type = type_name(tensor.type)
            inputs.append((tensor.index, TYPES.get(type, type.lower()), None if is_handle(tensor) else tuple(shape_of(tensor))))
    part.definitions()
    try:
        shapes = part.trace(inputs, constants, [node.outputs[i] for i in range(node.output_count)])
    except Exception as error:
        raise ValueError(part.blame(error)) from error
    for i in range(node.output_count):
        output = g.output(node, i)
        if is_handle(output):
            continue
        shape = shapes[i]
        if shape is None or len(shape) > MAX_RANK or output.type == STRING:
            g.set_dynamic(output)
            continue
        for d in range(len(shape)):
            dims[d] = shape[d]
        g.set_shape(output, len(shape), dims)
    node.invoke = invoke
    return 0


cdef int invoke(Context context, Node* node) noexcept nogil:
    with gil:
        return call(<Subgraph>context, node)


cdef int call(Subgraph g, Node* node) noexcept:
    cdef const Tensor* tensor
    cdef Tensor* output
    cdef int i
    try:
        part = part_of(g, node)
        values = []
        for i in range(node.input_count):
            tensor = g.input(node, i)
            if is_constant(tensor):
                continue
            if is_handle(tensor):
                value = g.shared.held(tensor)
                if value is None:
                    raise foreign_handle(g, part, tensor)
                values.append(value)
            else:
                values.append(value_of(g, tensor))
        value = None
        try:
            results = part.call(values)
        except Exception as error:
            raise RuntimeError(part.blame(error)) from error
        for i, result in enumerate(results):
            output = g.output(node, i)
            if is_handle(output):
                g.shared.hold(g.index, output, result)
            else:
                store_value(g, output, result.numpy(), f"output {i}")
    except BaseException as error:
        return g.fail_because(error)
    return 0


cdef int prepare_missing(Context context, Node* node) except -1:
    cdef Subgraph g
    names = {}
    for g in (<Subgraph>context).siblings:
        names.update(dict.fromkeys([g.operator_names[n] for n in g.execution_plan if g.registrations[n] is MISSING]))
    raise ValueError(
        f"Select TensorFlow op(s), included in the given model, is(are) not supported by this interpreter: {', '.join(names)} "
        f"{'is' if len(names) == 1 else 'are'} run by TensorFlow, which is not installed. Install it (pip install 'tflm-cy[flex]'), convert the model "
        f"without SELECT_TF_OPS, or register {'an operator of this name' if len(names) == 1 else 'operators of these names'} "
        "(tflm_cy.register_custom_op).")


REGISTRATION = register(prepare, version=1)
MISSING = register(prepare_missing, version=1)
