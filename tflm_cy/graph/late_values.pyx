"""Values that are known in prepare and written later: what DEQUANTIZE and DENSIFY make of constants.

    context.compute_later(node, y)        # in prepare: node.invoke writes y, once: when the node first runs ...
    context.settle(y)                     # ... or when somebody wants the value before: a prepare, a user
    context.release(w)                    # in invoke, by its reader: packed, and asked for from now on by ...
    context.reread(w)                     # ... which writes it again, on the thread that invokes

TensorFlow does the same outside of its delegate, so that a model is ready before megabytes of weights are unpacked. Before a node is
prepared its inputs are settled, but the one that its registration calls `late_input`. A microcontroller writes such values in prepare.
The pages of a value that its only reader has packed are given back: such values have an arena of their own, so that they share pages with each other.

In a partition, whose nodes run with flushed denormals and prepares without, values are written while nodes are prepared. What is packed then
and read by nobody later (`packed_input`) has memory for so long only: one room serves all.
"""
from tflm_cy.graph.context cimport MICRO, PREPARE, Context, Node, Registration, make_idle
from tflm_cy.graph.tensor cimport COMPUTED, CONSTANT, Tensor
from tflm_cy.graph.workspace cimport SLACK
from tflm_cy.memory.arena cimport KIND_OP_DATA
from tflm_cy.memory.block cimport give_back as give_pages_back, new_block
from tflm_cy.memory.growing_arena cimport GrowingArena

cdef enum:
    LEAST_RELEASED = 1 << 10         # bytes
    SMALL_PAGE = 1 << 12

cdef size_t MOST_VALUES = 1 << 24    # bytes of the first stretch of memory for values that may be given back


cdef class LateValues(Workspace):
    """See the module."""

    cdef int compute_later(self, Node* node, Tensor* tensor) except -1:
        """As `set_computed`; node.invoke is there."""
        cdef LateValue* late
        if self.late is None:
            self.late = new_block(self.tensor_count * sizeof(LateValue), 16)
            self.note_readers()
        late = &(<LateValue*>self.late.data)[tensor.index]
        late.node = node.index
        late.write = node.invoke
        late.written = late.lent = False
        late.chunk = NULL
        node.invoke = write_once
        if node.arithmetic == MICRO:
            self.set_computed(tensor)
            return self.settle(tensor)
        if self.step_partitions is None or self.step_partitions[self.current_step] is None:
            return self.set_late(tensor)
        if late.kept or not self.hidden[tensor.index]:
            self.set_late(tensor)
            return self.settle(tensor)
        late.lent = True
        make_idle(node)
        tensor.allocation = COMPUTED
        tensor.data = NULL
        return 0

    cdef int set_late(self, Tensor* tensor) except -1:
        """As `set_computed`, among values that may be given back."""
        cdef LateValue* values = <LateValue*>self.late.data
        cdef LateValue* late = &values[tensor.index]
        if tensor.bytes < LEAST_RELEASED or late.readers != 1:
            return self.set_computed(tensor)
        if self.values is None:
            self.values = GrowingArena(self.alignment, SLACK)
            self.values.next_capacity = min(self.values.next_capacity + self.expected_values(), MOST_VALUES)
        tensor.data = self.values.allocate_unfilled(tensor.bytes, self.alignment, KIND_OP_DATA)
        tensor.allocation = COMPUTED
        late.chunk = self.values.tail_chunk
        late.before, late.after = self.last_value, -1
        if self.last_value >= 0:
            values[self.last_value].after = tensor.index
        self.last_value = tensor.index
        return 0

    cdef size_t expected_values(self) noexcept:
        """Bytes, as if all constants were float16 that become float32: one stretch of memory, which costs nothing before it is used."""
        cdef size_t bytes = 0
        cdef int t
        for t in range(self.tensor_count):
            if self.tensors[t].allocation == CONSTANT:
                bytes += 2 * self.tensors[t].bytes
        return bytes

    cdef int trim_bulk(self) noexcept:
        Workspace.trim_bulk(self)
        if self.values is not None:
            self.values.trim_tail()
        return 0

    cdef size_t values_mark(self) except? 0:
        return 0 if self.values is None else self.values.mark()

    cdef int forget_values(self, size_t mark) except -1:
        """Those since the mark; 0: all."""
        self.last_value = -1
        if mark == 0:
            self.values = None
        elif self.values is not None:
            self.values.rewind(mark)
        return 0

    cdef int note_readers(self) except -1:
        """Who looks at tensors."""
        cdef LateValue* late = <LateValue*>self.late.data
        cdef Registration registration
        cdef const Node* node
        cdef const Tensor* tensor
        cdef int step, i, packed
        for step in range(self.plan_count):
            node = &self.nodes[self.plan[step]]
            registration = self.registrations[node.index]
            packed = -1 if registration is None else registration.packed_input
            for i in range(node.input_count):
                if node.inputs[i] < 0:
                    continue
                late[node.inputs[i]].readers += 1
                if i != packed:
                    late[node.inputs[i]].kept = True
        for i in range(self.output_total()):
            tensor = self.graph_output(i)
            if tensor != NULL:
                late[tensor.index].readers += 1
        return 0

    cdef int settle(self, const Tensor* tensor) except -1:
        """Have the value written of a tensor that has been left for later."""
        cdef LateValue* late
        cdef Node* node
        if self.late is None or tensor == NULL or tensor.allocation != COMPUTED:
            return 0
        late = &(<LateValue*>self.late.data)[tensor.index]
        if late.write == NULL:
            return 0
        if self.state != PREPARE:
            late.readers += 1                # whoever asks may hold on to what it sees
        if late.written:
            return 0
        node = &self.nodes[late.node]
        self.settle_inputs(node, -1)
        if late.lent:
            if self.room is None or self.room.size < tensor.bytes:
                self.room = None
                self.room = new_block(tensor.bytes, self.alignment)
            self.borrowed = &self.tensors[tensor.index]
            self.borrowed.data = self.room.data
        if self.write_late(late) != 0:
            raise ValueError((<bytes>self.message).decode("utf-8", "replace"))
        late.written = not late.lent
        return 0

    cdef int settle_inputs(self, const Node* node, int but) except -1:
        cdef int i
        for i in range(node.input_count):
            if i != but:
                self.settle(self.input(node, i))
        return 0

    cdef const void* reread(self, const Tensor* tensor) noexcept nogil:
        """The value of a constant, written if it is not; NULL when that fails, which it does not the second time."""
        cdef LateValue* late
        if self.late is not None and tensor.allocation == COMPUTED:
            late = &(<LateValue*>self.late.data)[tensor.index]
            if late.write != NULL and not late.written and not late.lent:
                if self.write_late(late) != 0:
                    return NULL
        return tensor.data

    cdef int write_late(self, LateValue* late) noexcept nogil:
        """Have a value written whose inputs may be late ones, too."""
        cdef Node* node = &self.nodes[late.node]
        cdef int status, i
        for i in range(node.input_count):
            if node.inputs[i] >= 0:
                self.reread(&self.tensors[node.inputs[i]])
        status = late.write(self, node)
        late.written = status == 0
        for i in range(node.input_count):
            if node.inputs[i] >= 0:
                self.release(&self.tensors[node.inputs[i]])
        return status

    cdef void release(self, const Tensor* tensor) noexcept nogil:
        """The node that asks looks at a constant by `reread` only from now on."""
        cdef LateValue* late
        if self.late is None or tensor.allocation != COMPUTED or tensor.bytes < LEAST_RELEASED:
            return
        late = &(<LateValue*>self.late.data)[tensor.index]
        if late.readers == 1 and late.written:
            late.written = False
            if late.chunk != NULL:
                give_pages_back(self.bare_from(tensor, -1), self.bare_from(tensor, 1))

    cdef char* bare_from(self, const Tensor* tensor, int way) noexcept nogil:
        """Where what need not be kept begins (way: -1) or ends (1): at least as far as the page of the value's first or last byte, if no value there
        is written. Values that lie side by side were placed one after the other."""
        cdef const LateValue* values = <const LateValue*>self.late.data
        cdef const LateValue* late = &values[tensor.index]
        cdef const Tensor* last = tensor
        cdef const Tensor* next
        cdef int t = late.before if way < 0 else late.after
        while t >= 0 and values[t].chunk == late.chunk and not values[t].written:
            next = &self.tensors[t]
            if not self.side_by_side(next, last) if way < 0 else not self.side_by_side(last, next):
                break
            last = next
            if last.bytes >= SMALL_PAGE:
                break
            t = values[t].before if way < 0 else values[t].after
        return <char*>last.data if way < 0 else <char*>last.data + last.bytes

    cdef bint side_by_side(self, const Tensor* a, const Tensor* b) noexcept nogil:
        cdef const char* end = <const char*>a.data + a.bytes
        return end <= <const char*>b.data < end + self.alignment

    cdef int give_back(self) noexcept:
        """A node has been prepared."""
        if self.borrowed != NULL:
            self.borrowed.data = NULL
            self.borrowed = NULL
        return 0


cdef int write_once(Context context, Node* node) noexcept nogil:
    """The first invoke of a node whose value is written later."""
    if context.reread(context.output(node, 0)) == NULL:
        return -1
    make_idle(node)
    return 0
