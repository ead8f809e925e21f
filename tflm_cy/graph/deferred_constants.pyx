# tflm_cy: optimize=speed
"""Constants that are known in prepare and computed later: what DEQUANTIZE and DENSIFY make of constants.

    context.defer(node, y)                # in prepare: node.invoke computes y, once: when the node first runs ...
    context.materialize(y)                # ... or when its value is needed before: by a prepare, by a user
    context.evict(w)                      # in invoke, by its reader: packed; it is read again only after ...
    context.acquire(w)                    # ... which computes it again, on the thread that invokes

TensorFlow does the same outside of its delegate, so that a model is ready before megabytes of weights are unpacked. Before a node is
prepared its inputs are materialized, but the one that its registration calls `deferred_input`. A microcontroller computes such values in prepare.
The pages of an evicted value whose only reader has packed it are given back: such values have an arena of their own, so that they share pages with
each other.

In a partition, whose nodes run with flushed denormals and prepares without, values are computed while nodes are prepared. A value that is packed then
and that no node reads later (`packed_input`) is transient: it lies in a staging buffer, which serves all of them.
"""
from tflm_cy.graph.context cimport MICRO, PREPARE, Context, Node, Registration, elide
from tflm_cy.graph.graph cimport is_internal
from tflm_cy.graph.tensor cimport COMPUTED, CONSTANT, Tensor
from tflm_cy.graph.allocator cimport SLACK
from tflm_cy.memory.arena cimport KIND_OP_DATA
from tflm_cy.memory.block cimport give_back as give_pages_back, new_block
from tflm_cy.memory.growing_arena cimport GrowingArena
from tflm_cy.platform.pages cimport page_size

cdef enum:
    LEAST_EVICTED = 1 << 10          # bytes

cdef size_t MOST_VALUES = 1 << 24    # bytes of the first stretch of memory for values that may be evicted


cdef class DeferredConstants:
    """See the module."""

    cdef int forget(self) except -1:
        """As if nothing had been prepared."""
        self.table = None
        self.values = None
        self.last_value = -1
        self.staging_buffer = None
        self.staged = NULL
        return 0

    cdef int defer(self, Context context, Node* node, Tensor* tensor, int partition) except -1:
        """As `set_computed`; node.invoke is there."""
        cdef Deferred* deferred
        if self.table is None:
            self.table = new_block(self.graph.tensor_count * sizeof(Deferred), 16)
            self.note_readers()
        deferred = &(<Deferred*>self.table.data)[tensor.index]
        deferred.node = node.index
        deferred.compute = node.invoke
        deferred.present = deferred.transient = False
        deferred.chunk = NULL
        node.invoke = compute_once
        if node.arithmetic == MICRO:
            context.set_computed(tensor)
            return self.materialize(context, tensor)
        if partition < 0:
            return self.place(context, tensor)
        if deferred.kept or not is_internal(self.graph, tensor.index):
            self.place(context, tensor)
            return self.materialize(context, tensor)
        deferred.transient = True
        elide(node)
        tensor.allocation = COMPUTED
        tensor.data = NULL
        return 0

    cdef int place(self, Context context, Tensor* tensor) except -1:
        """As `set_computed`, among values that may be evicted."""
        cdef Deferred* table = <Deferred*>self.table.data
        cdef Deferred* deferred = &table[tensor.index]
        if tensor.bytes < LEAST_EVICTED or deferred.readers != 1:
            return context.set_computed(tensor)
        if self.values is None:
            self.values = GrowingArena(self.allocator.alignment, SLACK)
            self.values.next_capacity = min(self.values.next_capacity + self.expected_values(), MOST_VALUES)
        tensor.data = self.values.allocate_unfilled(tensor.bytes, self.allocator.alignment, KIND_OP_DATA)
        tensor.allocation = COMPUTED
        deferred.chunk = self.values.tail_chunk
        deferred.before, deferred.after = self.last_value, -1
        if self.last_value >= 0:
            table[self.last_value].after = tensor.index
        self.last_value = tensor.index
        return 0

    cdef size_t expected_values(self) noexcept:
        """Bytes, as if all constants were float16 that become float32: one stretch of memory, which costs nothing before it is used."""
        cdef size_t bytes = 0
        cdef int t
        for t in range(self.graph.tensor_count):
            if self.graph.tensors[t].allocation == CONSTANT:
                bytes += 2 * self.graph.tensors[t].bytes
        return bytes

    cdef int trim(self) noexcept:
        if self.values is not None:
            self.values.trim_tail()
        return 0

    cdef size_t mark(self) except? 0:
        return 0 if self.values is None else self.values.mark()

    cdef int rewind(self, size_t mark) except -1:
        """Forget the values since the mark; 0: all."""
        self.last_value = -1
        if mark == 0:
            self.values = None
        elif self.values is not None:
            self.values.rewind(mark)
        return 0

    cdef int note_readers(self) except -1:
        """Which nodes read a tensor, and whether they do after prepare."""
        cdef Deferred* deferred = <Deferred*>self.table.data
        cdef Registration registration
        cdef const Node* node
        cdef int step, i, packed
        for step in range(self.graph.step_count):
            node = &self.graph.nodes[self.graph.laid_out[step].source]
            registration = self.registrations[node.index]
            packed = -1 if registration is None else registration.packed_input
            for i in range(node.input_count):
                if node.inputs[i] < 0:
                    continue
                deferred[node.inputs[i]].readers += 1
                if i != packed:
                    deferred[node.inputs[i]].kept = True
        for i in range(self.graph.output_count):
            if 0 <= self.graph.outputs[i] < self.graph.tensor_count:
                deferred[self.graph.outputs[i]].readers += 1
        return 0

    cdef bint are_fixed(self, const Node* node) noexcept:
        """Whether the inputs that are known in prepare are the same in every prepare: none is computed from shapes."""
        cdef const Node* maker
        cdef int i, j
        for i in range(node.input_count):
            if node.inputs[i] < 0 or self.graph.tensors[node.inputs[i]].allocation != COMPUTED:
                continue
            if self.table is None or (<Deferred*>self.table.data)[node.inputs[i]].compute == NULL:
                return False
            maker = &self.graph.nodes[(<Deferred*>self.table.data)[node.inputs[i]].node]
            for j in range(maker.input_count):
                if maker.inputs[j] >= 0 and self.graph.tensors[maker.inputs[j]].allocation != CONSTANT:
                    return False
        return True

    cdef int materialize(self, Context context, const Tensor* tensor) except -1:
        """Compute the value of a deferred tensor, if it is not there."""
        cdef Deferred* deferred
        cdef Node* node
        if self.table is None or tensor == NULL or tensor.allocation != COMPUTED:
            return 0
        deferred = &(<Deferred*>self.table.data)[tensor.index]
        if deferred.compute == NULL:
            return 0
        if context.state != PREPARE:
            deferred.readers += 1            # whoever asks may hold on to what it sees
        if deferred.present:
            return 0
        node = &self.graph.nodes[deferred.node]
        self.materialize_inputs(context, node, -1)
        if deferred.transient:
            if self.staging_buffer is None or self.staging_buffer.size < tensor.bytes:
                self.staging_buffer = None
                self.staging_buffer = new_block(tensor.bytes, self.allocator.alignment)
            self.staged = &self.graph.tensors[tensor.index]
            self.staged.data = self.staging_buffer.data
        if self.compute(context, deferred) != 0:
            raise ValueError((<bytes>context.message).decode("utf-8", "replace"))
        deferred.present = not deferred.transient
        return 0

    cdef int materialize_inputs(self, Context context, const Node* node, int but) except -1:
        cdef int i
        if self.table is None:
            return 0
        for i in range(node.input_count):
            if i != but and node.inputs[i] >= 0:
                self.materialize(context, &self.graph.tensors[node.inputs[i]])
        return 0

    cdef const void* acquire(self, Context context, const Tensor* tensor) noexcept nogil:
        """The value of a constant, computed if it is not there; NULL when that fails, which it does not the second time."""
        cdef Deferred* deferred
        if self.table is not None and tensor.allocation == COMPUTED:
            deferred = &(<Deferred*>self.table.data)[tensor.index]
            if deferred.compute != NULL and not deferred.present and not deferred.transient:
                if self.compute(context, deferred) != 0:
                    return NULL
        return tensor.data

    cdef int compute(self, Context context, Deferred* deferred) noexcept nogil:
        """Compute a value whose inputs may be deferred, too."""
        cdef Node* node = &self.graph.nodes[deferred.node]
        cdef int status, i
        for i in range(node.input_count):
            if node.inputs[i] >= 0:
                self.acquire(context, &self.graph.tensors[node.inputs[i]])
        status = deferred.compute(context, node)
        deferred.present = status == 0
        for i in range(node.input_count):
            if node.inputs[i] >= 0:
                self.evict(&self.graph.tensors[node.inputs[i]])
        return status

    cdef void evict(self, const Tensor* tensor) noexcept nogil:
        """The node that calls reads this constant after `acquire` only."""
        cdef Deferred* deferred
        if self.table is None or tensor.allocation != COMPUTED or tensor.bytes < LEAST_EVICTED:
            return
        deferred = &(<Deferred*>self.table.data)[tensor.index]
        if deferred.readers == 1 and deferred.present:
            deferred.present = False
            if deferred.chunk != NULL:
                give_pages_back(self.unused_from(tensor, -1), self.unused_from(tensor, 1))

    cdef char* unused_from(self, const Tensor* tensor, int way) noexcept nogil:
        """Where what need not be kept begins (way: -1) or ends (1): at least as far as the page of the value's first or last byte, if no value there
        is present. Values that lie side by side were placed one after the other."""
        cdef const Deferred* table = <const Deferred*>self.table.data
        cdef const Deferred* deferred = &table[tensor.index]
        cdef const Tensor* last = tensor
        cdef const Tensor* next
        cdef int t = deferred.before if way < 0 else deferred.after
        while t >= 0 and table[t].chunk == deferred.chunk and not table[t].present:
            next = &self.graph.tensors[t]
            if not self.side_by_side(next, last) if way < 0 else not self.side_by_side(last, next):
                break
            last = next
            if last.bytes >= page_size():
                break
            t = table[t].before if way < 0 else table[t].after
        return <char*>last.data if way < 0 else <char*>last.data + last.bytes

    cdef bint side_by_side(self, const Tensor* a, const Tensor* b) noexcept nogil:
        cdef const char* end = <const char*>a.data + a.bytes
        return end <= <const char*>b.data < end + self.allocator.alignment

    cdef int unstage(self) noexcept:
        """A node has been prepared: what was staged for it is gone."""
        if self.staged != NULL:
            self.staged.data = NULL
            self.staged = NULL
        return 0


cdef int compute_once(Context context, Node* node) noexcept nogil:
    """The first invoke of a node whose value is deferred."""
    if context.acquire(context.output(node, 0)) == NULL:
        return -1
    elide(node)
    return 0
