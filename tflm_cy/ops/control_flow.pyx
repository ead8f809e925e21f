"""IF, WHILE, STABLEHLO_CASE, STABLEHLO_COMPOSITE: subgraphs called while invoking, values copied in and out.

IF runs one of two subgraphs on inputs 1 .., CASE one of several (the last one for an index that has none), COMPOSITE its only one on all
inputs. WHILE hands its inputs to the body and, as long as the condition subgraph says true of them, what the body makes of them to the body again;
in the end they are its outputs, but for those that the body gives back as they are and that nobody reads. Outputs are dynamic where the
subgraphs cannot tell their shapes in prepare, or where these shapes differ (between the branches of an IF, between the body's inputs and
outputs). Handles, of type RESOURCE or VARIANT, have no shape that matters; `graph.resource` tells what copying one means. Calls take the GIL
for this node. A WHILE that never ends can be interrupted (Ctrl-C).

Source: LiteRT:tflite/kernels/{if,while,stablehlo_case,stablehlo_composite}.cc.
"""
from libc.stdint cimport int32_t, uint8_t, uint32_t

from tflm_cy.graph.callee cimport has_shapes_of, keeps_variable, omit_unread_outputs, reads_input, set_inputs
from tflm_cy.graph.context cimport MICRO, Context, Node, register
from tflm_cy.graph.resource cimport is_handle
from tflm_cy.graph.tensor cimport BOOL, INT32, Tensor, count, same_shape, type_name
from tflm_cy.schema.option_slots cimport (
    IF_ELSE_SUBGRAPH_INDEX, IF_THEN_SUBGRAPH_INDEX, STABLEHLO_CASE_BRANCH_SUBGRAPH_INDICES,
    STABLE_HLO_COMPOSITE_DECOMPOSITION_SUBGRAPH_INDEX,
)
from tflm_cy.schema.table cimport Vector, table_i32, table_vector, vector_i32

cdef enum:
    MOST_BRANCHES = 1024

cdef struct Callees:
    void* first                  # Context: then, or the condition
    void* second                 # Context: else, or the body
    const Tensor** values        # one per input of a callee: where its value is taken from, NULL: nowhere
    const Tensor** asked         # WHILE: those of the condition
    uint8_t* reads               # WHILE: one per input: the condition reads it
    bint staged                  # WHILE: values go through the node's outputs from each turn to the next
    bint crossed                 # WHILE: an output of the body is another variable's input

cdef struct Branches:            # CASE, COMPOSITE
    void** callees               # Context
    const Tensor** values        # one per input of a callee
    int32_t count
    int32_t skip                 # inputs of the node that are not the callee's


cdef Callees* find_callees(Context context, Node* node) except NULL:
    cdef Callees* data = <Callees*>context.persistent(sizeof(Callees))
    cdef Context first = context.subgraph(table_i32(node.options, IF_THEN_SUBGRAPH_INDEX, 0))
    cdef Context second = context.subgraph(table_i32(node.options, IF_ELSE_SUBGRAPH_INDEX, 0))
    data.first = <void*>first
    data.second = <void*>second
    data.values = new_values(context, node)
    node.data = data
    return data


cdef int expect_arity(Context callee, int inputs, int outputs) except -1:
    if callee.input_total() != inputs or callee.output_total() != outputs:
        raise ValueError(
            f"the called subgraph has {callee.input_total()} inputs and {callee.output_total()} outputs, "
            f"{inputs} and {outputs} are wanted")
    return 0


cdef bint alike(const Tensor* a, const Tensor* b) noexcept:
    """True when their values take the same room: handles do, whatever shapes are written beside them."""
    return is_handle(a) or same_shape(a, b)


cdef int shape_inputs(Context context, Node* node, int skip, Context callee) except -1:
    """Give a callee's inputs the shapes of the node's, and prepare it."""
    cdef const Tensor* given
    cdef const Tensor* wanted
    cdef int i
    for i in range(callee.input_total()):
        given = context.input(node, i + skip)
        wanted = callee.graph_input(i)
        if given == NULL or wanted == NULL:
            continue
        if given.type != wanted.type:
            raise ValueError(f"input {i} has type {type_name(given.type)}, the called subgraph wants {type_name(wanted.type)}")
        if not is_handle(given):
            callee.shape_input(i, given.rank, given.dims)
    return callee.prepare_call()


cdef const Tensor** new_values(Context context, const Node* node) except NULL:
    """Room for a pointer per input."""
    return <const Tensor**>context.persistent((node.input_count + 1) * sizeof(void*))


# ---------------------------------------------------------------- IF

cdef int prepare_if(Context context, Node* node) except -1:
    cdef const Tensor* condition = context.input(node, 0)
    cdef Callees* data = find_callees(context, node)
    cdef void* branches[2]
    branches[0] = data.first
    branches[1] = data.second
    if condition == NULL or condition.type != BOOL or count(condition) != 1:
        raise ValueError("IF wants a condition of one BOOL")
    shape_branches(context, node, branches, 2, 1)
    node.invoke = run_if
    return 0


cdef int shape_branches(Context context, Node* node, void** branches, int total, int skip) except -1:
    """Prepare the subgraphs of which one will run, and give the outputs their shapes."""
    cdef Context first = <Context>branches[0]
    cdef Context callee
    cdef const Tensor* a
    cdef const Tensor* b
    cdef Tensor* y
    cdef bint dynamic = False
    cdef int i, k
    for k in range(total):
        callee = <Context>branches[k]
        expect_arity(callee, node.input_count - skip, node.output_count)
        shape_inputs(context, node, skip, callee)
        dynamic = dynamic or callee.has_dynamic()
        for i in range(node.output_count):
            a = first.graph_output(i)
            b = callee.graph_output(i)
            if a == NULL or b == NULL or a.type != b.type:
                raise ValueError(f"the branches give different types for output {i}")
            dynamic = dynamic or not alike(a, b)
    for i in range(node.output_count):
        y = context.output(node, i)
        if y == NULL:
            continue
        a = first.graph_output(i)
        if y.type != a.type:
            raise ValueError(f"output {i} has type {type_name(y.type)}, the branches give {type_name(a.type)}")
        if dynamic and not is_handle(y):
            context.set_dynamic(y)
        else:
            context.set_shape(y, a.rank, a.dims)
    return 0


cdef int run_if(Context context, Node* node) noexcept nogil:
    cdef const Callees* data = <const Callees*>node.data
    cdef void* branch = data.first if (<const uint8_t*>context.input(node, 0).data)[0] else data.second
    cdef int status
    with gil:
        status = call_branch(context, node, <Context>branch, data.values, 1)
    return status


cdef int call_branch(Context context, Node* node, Context callee, const Tensor** values, int skip) noexcept:
    cdef int i
    try:
        for i in range(callee.input_total()):
            values[i] = context.input(node, i + skip)
        set_inputs(callee, values)
        if callee.call(context) != 0:
            return -1
        for i in range(node.output_count):
            if context.output(node, i) != NULL:
                context.store(context.output(node, i), callee.graph_output(i))
    except BaseException as error:
        return context.fail_because(error)
    return 0


# ---------------------------------------------------------------- STABLEHLO_CASE, STABLEHLO_COMPOSITE

cdef Branches* find_branches(Context context, Node* node, int total, int skip) except NULL:
    cdef Branches* data = <Branches*>context.persistent(sizeof(Branches))
    data.callees = <void**>context.persistent(total * sizeof(void*))
    data.values = new_values(context, node)
    data.count = total
    data.skip = skip
    node.data = data
    return data


cdef int prepare_case(Context context, Node* node) except -1:
    cdef const Tensor* index = context.input(node, 0)
    cdef Vector indices = table_vector(node.options, STABLEHLO_CASE_BRANCH_SUBGRAPH_INDICES)
    cdef Branches* data
    cdef Context callee
    cdef uint32_t k
    if not 1 <= indices.length <= MOST_BRANCHES:
        raise ValueError(f"params->num_branches > 0 was not true ({indices.length}), or there are more than {MOST_BRANCHES}")
    if index == NULL or index.type != INT32 or count(index) != 1:
        raise ValueError("STABLEHLO_CASE wants an index of one INT32")
    data = find_branches(context, node, <int>indices.length, 1)
    for k in range(indices.length):
        callee = context.subgraph(vector_i32(indices, k))
        data.callees[k] = <void*>callee
    shape_branches(context, node, data.callees, data.count, 1)
    node.invoke = run_case
    return 0


cdef int run_case(Context context, Node* node) noexcept nogil:
    cdef const Branches* data = <const Branches*>node.data
    cdef int32_t index = (<const int32_t*>context.input(node, 0).data)[0]
    cdef int status
    if index < 0 or index >= data.count:
        index = data.count - 1
    with gil:
        status = call_branch(context, node, <Context>data.callees[index], data.values, data.skip)
    return status


cdef int prepare_composite(Context context, Node* node) except -1:
    cdef Branches* data = find_branches(context, node, 1, 0)
    cdef Context callee = context.subgraph(table_i32(node.options, STABLE_HLO_COMPOSITE_DECOMPOSITION_SUBGRAPH_INDEX, 0))
    if node.input_count == 0:
        raise ValueError("node->inputs->size > 0 was not true")
    data.callees[0] = <void*>callee
    shape_branches(context, node, data.callees, 1, 0)
    node.invoke = run_composite
    return 0


cdef int run_composite(Context context, Node* node) noexcept nogil:
    cdef const Branches* data = <const Branches*>node.data
    cdef int status
    with gil:
        status = call_branch(context, node, <Context>data.callees[0], data.values, 0)
    return status


# ---------------------------------------------------------------- WHILE

cdef int prepare_while(Context context, Node* node) except -1:
    cdef Callees* data = find_callees(context, node)
    cdef Context condition = <Context>data.first
    cdef Context body = <Context>data.second
    cdef const Tensor* answer
    cdef Tensor* y
    cdef bint dynamic
    cdef int i
    if condition is body:
        raise ValueError("WHILE wants two different subgraphs")
    expect_arity(condition, node.input_count, 1)
    expect_arity(body, node.input_count, node.input_count)
    if node.output_count != node.input_count:
        raise ValueError(f"WHILE has {node.input_count} inputs and {node.output_count} outputs")
    shape_inputs(context, node, 0, condition)
    shape_inputs(context, node, 0, body)
    answer = condition.graph_output(0)
    if answer == NULL or answer.type != BOOL or (not condition.has_dynamic() and count(answer) != 1):
        raise ValueError("the condition subgraph must give one BOOL")
    if not condition.has_dynamic() and answer.rank > 1:
        raise ValueError(f"cond_output->dims->size != 1 ({answer.rank} != 1): the condition subgraph must give one BOOL")
    dynamic = body.has_dynamic()
    for i in range(node.input_count):
        if body.graph_input(i) == NULL or body.graph_output(i) == NULL or context.input(node, i) == NULL:
            raise ValueError(f"the body subgraph omits tensor {i}")
        if body.graph_input(i).type != body.graph_output(i).type:
            raise ValueError(f"the body subgraph changes the type of tensor {i}")
        dynamic = dynamic or not alike(body.graph_input(i), body.graph_output(i))
    if node.arithmetic != MICRO:
        omit_unread_outputs(context, node, body)
    for i in range(node.output_count):
        y = context.output(node, i)
        if y == NULL and keeps_variable(body, i):
            continue
        if y == NULL:
            raise ValueError("an omitted output of WHILE is not supported")
        if y.type != body.graph_output(i).type:
            raise ValueError(f"output {i} has type {type_name(y.type)}, the body gives {type_name(body.graph_output(i).type)}")
        if dynamic and not is_handle(y):
            context.set_dynamic(y)
        else:
            context.set_shape(y, body.graph_output(i).rank, body.graph_output(i).dims)
    data.asked = new_values(context, node)
    data.reads = <uint8_t*>context.persistent(node.input_count + 1)
    for i in range(node.input_count):
        data.reads[i] = reads_input(condition, i)
    data.staged = node.arithmetic == MICRO
    data.crossed = changes_places(body)
    node.invoke = run_while
    return 0


cdef bint changes_places(Context body) noexcept:
    """An output is another loop variable's input."""
    cdef int i, k
    for i in range(body.output_total()):
        for k in range(body.input_total()):
            if i != k and body.graph_output(i) == body.graph_input(k):
                return True
    return False


cdef int run_while(Context context, Node* node) noexcept nogil:
    cdef int status
    with gil:
        status = loop(context, node)
    return status


cdef int loop(Context context, Node* node) noexcept:
    """Values go from the body's outputs to its inputs, and to the node's outputs when the loop ends."""
    cdef Callees* data = <Callees*>node.data
    cdef Context condition = <Context>data.first
    cdef Context body = <Context>data.second
    cdef const Tensor* answer
    cdef bint turned = False
    cdef int i
    try:
        for i in range(node.input_count):
            data.values[i] = context.input(node, i)
        if data.staged:
            stage_values(context, node, data)
        while True:
            for i in range(node.input_count):
                data.asked[i] = data.values[i] if data.reads[i] else NULL
            set_inputs(condition, data.asked)
            if condition.call(context) != 0:
                return -1
            answer = condition.graph_output(0)
            if answer.bytes != 1 or answer.data == NULL:
                raise ValueError("the condition subgraph must give one BOOL")
            if not (<const uint8_t*>answer.data)[0]:
                break
            if turned and not data.staged and not has_shapes_of(body, data.values):
                stage_values(context, node, data)        # it is prepared anew, and its outputs lose their memory
            set_inputs(body, data.values)
            if body.call(context) != 0:
                return -1
            for i in range(node.input_count):
                data.values[i] = body.graph_output(i)
            if data.staged:
                stage_values(context, node, data)
            elif data.crossed:
                overwrite_inputs(body, data)
            turned = True
        return stage_values(context, node, data)
    except BaseException as error:
        return context.fail_because(error)


cdef int overwrite_inputs(Context body, Callees* data) except -1:
    """One variable after the other, as in TensorFlow: of two that change places the second one gets what the first one has got."""
    cdef Tensor* target
    cdef int i
    for i in range(body.input_total()):
        target = body.graph_input(i)
        if target != data.values[i] and same_shape(target, data.values[i]):
            body.store(target, data.values[i])
            data.values[i] = target
    return 0


cdef int stage_values(Context context, Node* node, Callees* data) except -1:
    """Loop variables lie in the node's outputs; those that the body keeps and nobody reads where they came from."""
    cdef int i
    for i in range(node.input_count):
        if context.output(node, i) == NULL:
            data.values[i] = context.input(node, i)
            continue
        context.store(context.output(node, i), data.values[i])
        data.values[i] = context.output(node, i)
    return 0


OPERATORS = {
    "IF": register(prepare_if, version=1),
    "STABLEHLO_CASE": register(prepare_case, version=1, reference_version=0),
    "STABLEHLO_COMPOSITE": register(prepare_composite, version=1),
    "WHILE": register(prepare_while, version=1),
}
