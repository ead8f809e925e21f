"""IF and WHILE: subgraphs called while invoking, values copied in and out.

IF runs one of two subgraphs on inputs 1 ..; WHILE copies its inputs to its outputs and, as long as the condition subgraph says
true of them, replaces them by what the body subgraph makes of them. Outputs are dynamic where the subgraphs cannot tell their shapes
in prepare, or where these shapes differ (between the branches of an IF, between the body's inputs and outputs). Calls
take the GIL for this node. A WHILE that never ends can be interrupted (Ctrl-C).

Source: LiteRT:tflite/kernels/{if,while}.cc.
"""
from libc.stdint cimport uint8_t

from tflm_cy.graph.context cimport Context, Node, register
from tflm_cy.graph.tensor cimport BOOL, Tensor, count, same_shape, type_name
from tflm_cy.schema.table cimport table_i32

cdef enum:                       # IfOptions: then, else; WhileOptions: condition, body
    FIRST_SUBGRAPH = 0
    SECOND_SUBGRAPH = 1

cdef struct Callees:
    void* first                  # Context: then, or the condition
    void* second                 # Context: else, or the body


cdef Callees* find_callees(Context context, Node* node) except NULL:
    cdef Callees* data = <Callees*>context.persistent(sizeof(Callees))
    cdef Context first = context.subgraph(table_i32(node.options, FIRST_SUBGRAPH, 0))
    cdef Context second = context.subgraph(table_i32(node.options, SECOND_SUBGRAPH, 0))
    data.first = <void*>first
    data.second = <void*>second
    node.data = data
    return data


cdef int expect_arity(Context callee, int inputs, int outputs) except -1:
    if callee.input_total() != inputs or callee.output_total() != outputs:
        raise ValueError(
            f"the called subgraph has {callee.input_total()} inputs and {callee.output_total()} outputs, "
            f"{inputs} and {outputs} are wanted")
    return 0


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
        callee.shape_input(i, given.rank, given.dims)
    return callee.prepare_call()


cdef int pass_value(Context context, const Tensor* value, Context callee, int i) except -1:
    """Copy a value into a callee's input, which takes the value's shape."""
    cdef Tensor* target = callee.graph_input(i)
    if value == NULL or target == NULL:
        return 0
    callee.shape_input(i, value.rank, value.dims)
    callee.prepare_call()
    return callee.store(callee.graph_input(i), value)


# ---------------------------------------------------------------- IF

cdef int prepare_if(Context context, Node* node) except -1:
    cdef const Tensor* condition = context.input(node, 0)
    cdef Callees* data = find_callees(context, node)
    cdef Context then = <Context>data.first
    cdef Context otherwise = <Context>data.second
    cdef Context callee
    cdef const Tensor* a
    cdef const Tensor* b
    cdef Tensor* y
    cdef bint dynamic
    cdef int i
    if condition == NULL or condition.type != BOOL or count(condition) != 1:
        raise ValueError("IF wants a condition of one BOOL")
    for callee in (then, otherwise):
        expect_arity(callee, node.input_count - 1, node.output_count)
        shape_inputs(context, node, 1, callee)
    dynamic = then.has_dynamic() or otherwise.has_dynamic()
    for i in range(node.output_count):
        a = then.graph_output(i)
        b = otherwise.graph_output(i)
        if a == NULL or b == NULL or a.type != b.type:
            raise ValueError(f"the branches give different types for output {i}")
        dynamic = dynamic or not same_shape(a, b)
    for i in range(node.output_count):
        y = context.output(node, i)
        if y == NULL:
            continue
        if y.type != then.graph_output(i).type:
            raise ValueError(f"output {i} has type {type_name(y.type)}, the branches give {type_name(then.graph_output(i).type)}")
        if dynamic:
            context.set_dynamic(y)
        else:
            context.set_shape(y, then.graph_output(i).rank, then.graph_output(i).dims)
    node.invoke = run_if
    return 0


cdef int run_if(Context context, Node* node) noexcept nogil:
    cdef int status
    with gil:
        status = call_branch(context, node)
    return status


cdef int call_branch(Context context, Node* node) noexcept:
    cdef Callees* data = <Callees*>node.data
    cdef Context callee = <Context>(data.first if (<const uint8_t*>context.input(node, 0).data)[0] else data.second)
    cdef int i
    try:
        for i in range(callee.input_total()):
            pass_value(context, context.input(node, i + 1), callee, i)
        callee.prepare_call()
        if callee.call(context) != 0:
            return -1
        for i in range(node.output_count):
            if context.output(node, i) != NULL:
                context.store(context.output(node, i), callee.graph_output(i))
    except BaseException as error:
        return context.fail_because(error)
    return 0


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
    dynamic = body.has_dynamic()
    for i in range(node.input_count):
        if body.graph_input(i) == NULL or body.graph_output(i) == NULL or context.input(node, i) == NULL:
            raise ValueError(f"the body subgraph omits tensor {i}")
        if body.graph_input(i).type != body.graph_output(i).type:
            raise ValueError(f"the body subgraph changes the type of tensor {i}")
        dynamic = dynamic or not same_shape(body.graph_input(i), body.graph_output(i))
    for i in range(node.output_count):
        y = context.output(node, i)
        if y == NULL:
            raise ValueError("an omitted output of WHILE is not supported")
        if y.type != body.graph_output(i).type:
            raise ValueError(f"output {i} has type {type_name(y.type)}, the body gives {type_name(body.graph_output(i).type)}")
        if dynamic:
            context.set_dynamic(y)
        else:
            context.set_shape(y, body.graph_output(i).rank, body.graph_output(i).dims)
    node.invoke = run_while
    return 0


cdef int run_while(Context context, Node* node) noexcept nogil:
    cdef int status
    with gil:
        status = loop(context, node)
    return status


cdef int loop(Context context, Node* node) noexcept:
    cdef Callees* data = <Callees*>node.data
    cdef Context condition = <Context>data.first
    cdef Context body = <Context>data.second
    cdef const Tensor* answer
    cdef int i
    try:
        for i in range(node.input_count):
            context.store(context.output(node, i), context.input(node, i))
        while True:
            for i in range(node.input_count):
                pass_value(context, context.output(node, i), condition, i)
            if condition.call(context) != 0:
                return -1
            answer = condition.graph_output(0)
            if answer.bytes != 1 or answer.data == NULL:
                raise ValueError("the condition subgraph must give one BOOL")
            if not (<const uint8_t*>answer.data)[0]:
                return 0
            for i in range(node.input_count):
                pass_value(context, context.output(node, i), body, i)
            if body.call(context) != 0:
                return -1
            for i in range(node.input_count):
                context.store(context.output(node, i), body.graph_output(i))
    except BaseException as error:
        return context.fail_because(error)


OPERATORS = {
    "IF": register(prepare_if, version=1),
    "WHILE": register(prepare_while, version=1),
}
