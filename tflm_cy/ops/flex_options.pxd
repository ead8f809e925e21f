"""The options of a custom operator: a FlexBuffer map of numbers.

    cdef dict options = options_of(node)
    op.shift = option(options, "shift", 0, 31)               # ValueError when it is missing or out of range
"""
from libc.stdint cimport int64_t

from tflm_cy.graph.context cimport Node


cdef inline dict options_of(const Node* node):
    from tflm_cy.schema.flexbuffer import numbers
    return {} if node.custom_options == NULL else numbers((<const char*>node.custom_options)[:node.custom_options_size])


cdef inline int64_t option(dict options, str name, int64_t low, int64_t high) except? -1:
    value = options.get(name)
    if not isinstance(value, (int, bool)) or not low <= value <= high:
        raise ValueError(f"the option {name} must be an integer from {low} to {high}, is {value}")
    return value
