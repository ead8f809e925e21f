"""What TensorFlow refuses while it reads the options of an operator, which it does when an interpreter is constructed.

    problem = options_problem("CAST", options, False)    # a sentence, None when there is nothing to say

TensorFlow Lite Micro (`micro`) does the same, and knows two types more. Everything else that is wrong with options shows when the operator is prepared.

Source: LiteRT:tflite/converter/core/api/flatbuffer_conversions.cc.
"""
from libc.stdint cimport uint8_t

from tflm_cy.schema.table cimport Vector, table_i8, table_i32, table_vector

cdef enum:
    KNOWN_TYPES = 21             # TensorFlow 2.21 knows UINT4 as the last
    KNOWN_TYPES_MICRO = 23       # TFLM FLOAT8_E5M2
    MOST_DIMENSIONS = 8
    MOST_BRANCHES = 20

# operator -> options that name a tensor type
cdef dict TYPES = {
    "ARG_MAX": ("output_type",),
    "ARG_MIN": ("output_type",),
    "CAST": ("in_data_type", "out_data_type"),
    "CONV_2D": ("quantized_bias_type",),
    "FULLY_CONNECTED": ("quantized_bias_type",),
    "HASHTABLE": ("key_dtype", "value_dtype"),
    "SHAPE": ("out_type",),
    "TRANSPOSE_CONV": ("quantized_bias_type",),
}

# operator -> (option, values that there are, message)
cdef dict ENUMERATIONS = {
    "FULLY_CONNECTED": ("weights_format", range(2), "Unhandled fully-connected weights format."),
    "LSTM": ("kernel_type", range(2), "Unhandled LSTM kernel type: {}"),
    "REDUCE_WINDOW": ("reduce_function", range(1, 7), "Unsupported reduce function"),
}

# operator -> (lists, the longest that has a place, the operator's name in the message)
cdef dict LISTS = {
    "RESHAPE": (("new_shape",), MOST_DIMENSIONS, "reshape"),
    "SQUEEZE": (("squeeze_dims",), MOST_DIMENSIONS, "squeeze"),
    "STABLEHLO_CASE": (("branch_subgraph_indices",), MOST_BRANCHES, "stablehlo.case"),
    "STABLEHLO_PAD": (("edge_padding_low", "edge_padding_high", "interior_padding"), MOST_DIMENSIONS, "stablehlo.pad"),
}

# operators that must have options -> message
cdef dict REQUIRED = {
    "LSTM": "No valid LSTM builtin options exist",
    "STABLEHLO_CASE": "Could not get 'stablehlo.case' params",
    "STABLEHLO_COMPOSITE": "Could not get 'stablehlo.composite' operation parameters.",
    "STABLEHLO_PAD": "Could not get 'stablehlo.pad' operation parameters.",
    "STABLEHLO_REDUCE_WINDOW": "Could not get 'stablehlo.reduce_window' operation parameters.",
}

cdef set CHECKED = {*TYPES, *ENUMERATIONS, *LISTS, *REQUIRED, "BUCKETIZE"}


cdef str options_problem(str operator, const uint8_t* options, bint micro):
    if operator not in CHECKED:
        return None
    if options == NULL:
        return REQUIRED.get(operator)
    return (
        type_problem(operator, options, KNOWN_TYPES_MICRO if micro else KNOWN_TYPES) or value_problem(operator, options) or list_problem(operator, options)
        or window_problem(operator, options) or boundary_problem(operator, options)
    )


cdef dict SLOTS = {}             # (operator, option) -> its number, once looked up


cdef int slot(str operator, str option) except -1:
    cdef object number = SLOTS.get((operator, option))
    if number is None:
        from tflm_cy.schema.layouts import OPTIONS_OF, TABLES    # not when the package is imported: it is large
        names = [field.split(":")[0] for field in TABLES[OPTIONS_OF[operator]].split()]
        number = SLOTS[operator, option] = names.index(option)
    return number


cdef str type_problem(str operator, const uint8_t* options, int known):
    cdef int type
    for option in TYPES.get(operator, ()):
        type = table_i8(options, slot(operator, option), 0)
        if not 0 <= type < known:
            return f"Unsupported data type {type} in tensor"
    return None


cdef str value_problem(str operator, const uint8_t* options):
    cdef int value
    if operator not in ENUMERATIONS:
        return None
    option, known, message = ENUMERATIONS[operator]
    if operator == "REDUCE_WINDOW":
        value = table_i32(options, slot(operator, option), 0)
    else:
        value = table_i8(options, slot(operator, option), 0)
    return None if value in known else message.format(value)


cdef str list_problem(str operator, const uint8_t* options):
    cdef Vector values
    if operator not in LISTS:
        return None
    names, longest, name = LISTS[operator]
    for option in names:
        values = table_vector(options, slot(operator, option))
        if values.length > <unsigned>longest:
            return f"Found too many dimensions in the input array of operation '{name}'."
        if values.data == NULL and operator.startswith("STABLEHLO"):
            return f"Input array not provided for operation '{name}'."
    return None


cdef str window_problem(str operator, const uint8_t* options):
    cdef Vector values
    cdef unsigned rank
    if operator != "STABLEHLO_REDUCE_WINDOW":
        return None
    rank = table_vector(options, slot(operator, "window_dimensions")).length
    if rank == 0:
        return "'window_dimensions' attribute is not optional for 'stablehlo.reduce_window' and cannot be empty."
    if rank > MOST_DIMENSIONS:
        return "Found too many dimensions in the input array of operation 'stablehlo.reduce_window'."
    for option, expected in (("window_strides", rank), ("base_dilations", rank), ("window_dilations", rank), ("padding", 2 * rank)):
        values = table_vector(options, slot(operator, option))
        if values.length != 0 and values.length != <unsigned>expected:
            return f"'{option}' attribute of 'stablehlo.reduce_window' does not have the expected size ({values.length} != {expected})."
    return None


cdef str boundary_problem(str operator, const uint8_t* options):
    if operator == "BUCKETIZE" and table_vector(options, 0).data == NULL:
        return "boundaries array not provided for operation 'bucketize'."
    return None
