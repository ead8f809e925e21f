# tflm_cy: optimize=size
"""Resource variables: VAR_HANDLE names one, ASSIGN_VARIABLE writes it, READ_VARIABLE reads it; and CALL_ONCE, which fills them.

A handle is the variable's number, an int32 in a RESOURCE tensor. It is nearly always known in prepare: then the
operators hold the variable itself, and its memory is reserved. READ_VARIABLE takes its shape from the file; a rank of 0
there makes the output dynamic. (`xnnpack/variable_values.pyx` has the delegate's, which have shapes of their own.) A variable keeps
its value over allocate_tensors; CALL_ONCE runs its subgraph once in the life of an interpreter.

Source: LiteRT:tflite/kernels/{var_handle,assign_variable,read_variable,call_once}.cc.
"""
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memcpy, memset

from tflm_cy.graph.context cimport MICRO, Context, Node, register
from tflm_cy.graph.resource cimport Resources, Variable, assign, reserve
from tflm_cy.graph.tensor cimport DYNAMIC, INT8, INT32, RESOURCE, STRING, Tensor, is_constant, type_name
from tflm_cy.ops.operand cimport computed_in_prepare
from tflm_cy.ops.state cimport note_state
from tflm_cy.platform.long_copy cimport copy_bytes
from tflm_cy.schema.option_slots cimport CALL_ONCE_INIT_SUBGRAPH_INDEX, VAR_HANDLE_CONTAINER, VAR_HANDLE_SHARED_NAME
from tflm_cy.schema.table cimport table_i32, table_vector, text_bytes

from tflm_cy.graph.refusal import LateRefusalError

cdef struct CallData:
    void* resources
    void* callee                 # Context
    int32_t index
    bint done


cdef str text(const uint8_t* options, int slot):
    return text_bytes(table_vector(options, slot)).decode("utf-8", "replace")


cdef int prepare_handle(Context context, Node* node) except -1:
    cdef Tensor* y = context.output(node, 0)
    cdef Resources resources = context.resources()
    if y == NULL or y.type != RESOURCE:
        raise ValueError("VAR_HANDLE wants one RESOURCE output")
    context.set_computed(y)
    (<int32_t*>y.data)[0] = resources.identifier(text(node.options, VAR_HANDLE_CONTAINER), text(node.options, VAR_HANDLE_SHARED_NAME))
    node.invoke = computed_in_prepare
    return 0


cdef VariableData* find_variable(Context context, Node* node) except NULL:
    """Check the handle in input 0 and note the variable where it is known."""
    cdef const Tensor* handle = context.input(node, 0)
    cdef Resources resources = context.resources()
    cdef VariableData* data
    cdef int32_t number = 0
    if handle == NULL or (handle.type != RESOURCE and handle.type != INT32):
        raise ValueError(f"the resource input must be RESOURCE, not {'omitted' if handle == NULL else type_name(handle.type)}")
    if handle.allocation == DYNAMIC or handle.bytes < 4:
        raise ValueError("the resource input must hold one handle")
    data = <VariableData*>context.persistent(sizeof(VariableData))
    data.resources = <void*>resources
    if is_constant(handle):
        memcpy(&number, handle.data, 4)
        data.variable = resources.variable(number)
        if data.variable == NULL:
            raise ValueError(f"{number} is not the handle of a resource variable")
    node.data = data
    return data


cdef Variable* variable_of(Context context, Node* node) noexcept nogil:
    """The variable of a node; NULL, with a message, when the handle names none."""
    cdef VariableData* data = <VariableData*>node.data
    cdef Variable* variable = data.variable
    cdef int32_t number = 0
    if variable == NULL:
        memcpy(&number, context.input(node, 0).data, 4)
        with gil:
            variable = (<Resources>data.resources).variable(number)
        if variable == NULL:
            context.fail_with(b"%ld is not the handle of a resource variable", number, 0)
    return variable


cdef int prepare_assign(Context context, Node* node) except -1:
    cdef const Tensor* value = context.input(node, 1)
    cdef VariableData* data = find_variable(context, node)
    if value == NULL or value.type == RESOURCE or value.type == STRING:
        raise ValueError("ASSIGN_VARIABLE wants a value that is neither a string nor a handle")
    if data.variable != NULL and node.arithmetic == MICRO and not data.variable.planned:
        data.variable.data = context.persistent(value.bytes)
        data.variable.capacity = value.bytes
        data.variable.planned = True
        start_variable(context, data.variable, value)
    if data.variable != NULL and reserve(data.variable, value.bytes) != 0:
        raise MemoryError(f"no memory for a variable of {value.bytes} bytes")
    node.invoke = assign_variable
    return 0


cdef int start_variable(Context context, Variable* variable, const Tensor* value) except -1:
    """TFLM's variables have a value from the start: zeros, int8 ones the zero point of what is assigned."""
    cdef int d
    memset(variable.data, value.zero_point if value.type == INT8 else 0, value.bytes)
    variable.assigned = True
    variable.bytes = value.bytes
    variable.type = value.type
    variable.rank = value.rank
    for d in range(value.rank):
        variable.dims[d] = value.dims[d]
    return note_state(context, variable.data, value.bytes)


cdef int assign_variable(Context context, Node* node) noexcept nogil:
    cdef Variable* variable = variable_of(context, node)
    if variable == NULL:
        return -1
    if assign(variable, context.input(node, 1)) != 0:
        return context.fail(b"no memory for the variable")
    return 0


cdef int prepare_read(Context context, Node* node) except -1:
    cdef Tensor* y = context.output(node, 0)
    if y == NULL or y.type == STRING or y.type == RESOURCE:
        raise ValueError("READ_VARIABLE wants one output that is neither a string nor a handle")
    find_variable(context, node)
    if y.rank == 0:
        context.set_dynamic(y)
    node.invoke = read_variable
    return 0


cdef Variable* assigned_variable(Context context, Node* node) noexcept nogil:
    """As variable_of, of one that has a value."""
    cdef Variable* variable = variable_of(context, node)
    if variable != NULL and not variable.assigned:
        context.fail(b"the variable is read before a value is assigned to it (variable != nullptr was not true)")
        return NULL
    return variable


cdef int copy_value(Context context, const Variable* variable, Tensor* y) noexcept nogil:
    """Of a larger variable the beginning."""
    if y.bytes > variable.bytes:
        return context.fail_with(b"the variable has %ld bytes, the output %ld", variable.bytes, y.bytes)
    copy_bytes(y.data, variable.data, y.bytes)
    return 0


cdef int read_variable(Context context, Node* node) noexcept nogil:
    cdef Tensor* y = context.output(node, 0)
    cdef Variable* variable = assigned_variable(context, node)
    if variable == NULL:
        return -1
    if variable.type != y.type:
        return context.fail_with(b"the variable has type %ld, the output %ld", variable.type, y.type)
    if y.allocation == DYNAMIC and context.resize(y, variable.rank, variable.dims) != 0:
        return -1
    return copy_value(context, variable, y)


cdef int prepare_call_once(Context context, Node* node) except -1:
    cdef int32_t index = table_i32(node.options, CALL_ONCE_INIT_SUBGRAPH_INDEX, 0)
    cdef Context callee = context.subgraph(index)
    cdef CallData* data
    cdef Resources resources = context.resources()
    if callee.input_total() != 0 or callee.output_total() != 0 or node.input_count != 0 or node.output_count != 0:
        raise ValueError("CALL_ONCE and its subgraph must have no inputs and no outputs")
    try:
        callee.prepare_call()
    except RuntimeError as error:
        if node.arithmetic == MICRO or callee is context:
            raise
        raise LateRefusalError(str(error)) from None         # TensorFlow prepares the subgraph when it is called
    data = <CallData*>context.persistent(sizeof(CallData))
    data.resources = <void*>resources
    data.callee = <void*>callee
    data.index = index
    node.data = data
    node.invoke = call_once
    return 0


cdef int call_once(Context context, Node* node) noexcept nogil:
    cdef CallData* data = <CallData*>node.data
    if data.done:
        return 0
    with gil:
        if data.index not in (<Resources>data.resources).initialized:
            if (<Context>data.callee).call(context) != 0:
                return -1
            (<Resources>data.resources).initialized.add(data.index)
    data.done = True
    return 0


OPERATORS = {
    "VAR_HANDLE": register(prepare_handle, version=1),
    "ASSIGN_VARIABLE": register(prepare_assign, version=1),
    "READ_VARIABLE": register(prepare_read, version=1),
    "CALL_ONCE": register(prepare_call_once, version=1),
}
