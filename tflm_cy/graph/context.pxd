"""What an operator sees: its node, its tensors, and the context that it is handed. Declared here, once.

An operator is a `Registration`: a name, the versions it accepts, and two functions.

    cdef int prepare(Context context, Node* node) except -1:      # with the GIL; raise ValueError to refuse
        cdef Tensor* x = context.input(node, 0)
        cdef Tensor* y = context.output(node, 0)
        context.set_shape(y, x.rank, x.dims)
        node.invoke = negate_f32                                   # everything is resolved here ...
        return 0

    cdef int negate_f32(Context context, Node* node) noexcept nogil:   # ... so that this only computes
        ...
        return 0

    OPERATORS = {
        "NEG": register(prepare, version=1, reference_version=1),
    }

| call | allowed in | what |
| --- | --- | --- |
| input, output, intermediate | anywhere | the tensor, NULL when omitted (index -1) or absent |
| set_shape, set_dynamic, set_computed | prepare | the shape of an output; "known only while invoking"; "known now" |
| defer | prepare | "known now, and written by the node's first invoke", or when `materialize` asks for it |
| acquire, evict | invoke | the value of a constant input; "packed: `acquire` will be called before it is read again" |
| persistent | prepare | zeroed memory in the tail, until the next prepare |
| unfilled | prepare | the same with any bytes in it, for what prepare writes whole |
| packing | prepare | memory for packed weights, which a later prepare finds filled where the layout is the same (`graph.packed_weights`) |
| same_bytes | prepare | a read-only row of one byte's value, for all nodes that ask for it |
| request_scratch -> scratch | prepare -> invoke | memory in the head that lives during this node only |
| keep | prepare | holds a Python object as long as the node's data lives |
| parallelize | prepare | a node that threads can share: see below |
| resize | invoke | shape and memory of a DYNAMIC output |
| fail, fail_with, fail_because | invoke | the error text; returns -1, to be returned by invoke |

`node.arithmetic` says whose bytes are wanted; a body exists twice only where they differ. Registrations in `ops/xnnpack` serve
nodes that the default delegate takes, with flushed denormals (FTZ and DAZ) while they run, not while they prepare.

A node that can run in parallel says so in prepare: `context.parallelize(node, work, space, nanoseconds)`. The engine may then call
`work(context, node, first, end, worker)` for ranges of its units on any thread, instead of `invoke`. Ranges write different outputs, and the bytes
do not depend on them. Memory that a range needs while it runs belongs to the worker (a number below `context.workers`): `context.worker_scratch` of
a request of `context.for_all_workers(bytes)`. An `IterationSpace` says what units are:

| | |
| --- | --- |
| units, granularity, min_chunk | how many; a range begins and ends at multiples of the granularity, or at the end, and has at least `min_chunk` |
| per_position | units are the output's positions (all dimensions but the last), in the order of memory |
| elementwise_inputs | inputs of which unit i reads position i only, one bit each |
| window | which rows of input 0 the rows of an output see, image by image |

`node.in_place` names the inputs (bit i: input i) over whose bytes the output may lie: each value is read before it is written, and it is
as large. `node.is_view` says that the output has the bytes of input 0, whatever its shape. The pass `alias_buffers` uses both.

`node.transpose_rows` and `node.transpose_columns` say that the output is input 0 as a matrix, transposed (the pass `cancel_transposes`).

`node.epilogue` says what a node does to each value of an input by itself, and `node.try_fuse` that a node can do such things to what it computes
before it writes it (the pass `fuse_epilogues`): `try_fuse(context, node, reader, operand, other)` says whether the node computes the reader's output
instead of its own. The reader's input `operand` is the node's result; its other operand is the node's input `other` from now on (-1: it has none).

`prepare` may run again and must rebuild all its state: node.data is NULL at its start.
"""
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from tflm_cy.graph.tensor cimport Tensor

cdef enum Arithmetic:
    REFERENCE = 0            # TensorFlow's BUILTIN_REF
    OPTIMIZED = 1            # BUILTIN_WITHOUT_DEFAULT_DELEGATES, and what the delegate leaves
    XNNPACK = 2              # nodes that the default delegate takes
    MICRO = 3                # TensorFlow Lite Micro

cdef enum Fusion:            # what a delegate's rewrite makes of a node (XNNPACK arithmetic only)
    NOT_FUSED = 0
    FUSED_SQUARE = 1         # MEAN, SUM: of the squares of input 0
    FUSED_CLAMP = 2          # pooling: a clamp of the result to clamp_low .. clamp_high is merged with the node's own
    FUSED_PAD = 3            # convolutions: the paddings of a PAD in front are input 3
    FUSED_GATE = 4           # MUL: of a tensor and its LOGISTIC, which no node computes. Bytes: input 1 is that; float32: the omitted one

cdef enum EpilogueKind:
    NO_EPILOGUE = 0
    EPILOGUE_ADD = 1             # the other input is added, which has as many values, as operand 0 or 1; then a clamp
    EPILOGUE_CLAMP = 2
    EPILOGUE_PRELU = 3           # what is below zero is multiplied: by `slope`, or by the other input's value for its channel
    EPILOGUE_PAD_CHANNELS = 4    # zeros follow the channels: not fusible itself; a node that adds the output may add the unpadded input
    EPILOGUE_PRELU_SIGNED = 5    # as EPILOGUE_PRELU, for what has its sign bit set, also -0 and NaN

cdef enum State:
    INIT = 0
    PREPARE = 1
    MEMORY_PLANNING = 2
    INVOKE = 3

ctypedef int (*InvokeFunction)(Context context, Node* node) noexcept nogil
ctypedef int (*PrepareFunction)(Context context, Node* node) except -1
ctypedef void (*WorkFunction)(Context context, Node* node, int64_t first, int64_t end, int worker) noexcept nogil
ctypedef bint (*FuseFunction)(Context context, Node* node, const Node* reader, int operand, int other) noexcept

cdef struct Epilogue:               # of float32 values, in XNNPACK's arithmetic
    int32_t kind                    # EpilogueKind
    int32_t operand                 # the input whose values it is about; -1: either of two
    float low
    float high
    float slope

cdef struct RowWindow:              # row r of an image of the output sees rows r * stride - before .. r * stride + reach - 1 of the image in input 0
    int64_t images
    int64_t row                     # positions in a row of the output; 0: nothing is known
    int64_t input_row
    int64_t input_rows
    int64_t stride
    int64_t before
    int64_t reach

cdef struct IterationSpace:         # of a node that can run in parallel, see above
    int64_t units
    int64_t granularity
    int64_t min_chunk
    bint per_position
    uint32_t elementwise_inputs
    RowWindow window

cdef enum:
    LAYOUT_WORDS = 48
    FOUND_POINTERS = 12

cdef struct Packing:                # of a node: weights as a kernel wants them
    uint8_t* data
    size_t capacity
    bint filled                     # the weights are there; to be set by who packs them
    bint unverified                 # with checks: packed again, they must be the bytes of `expected`
    int words
    int32_t layout[LAYOUT_WORDS]    # how they are packed
    void* found[FOUND_POINTERS]     # what the kernel found while it packed them
    Packing* next                   # of the same node
    uint8_t* expected

cdef struct Node:
    int32_t index                   # in the subgraph's list of operators
    int32_t input_count
    int32_t output_count
    int32_t intermediate_count
    const int32_t* inputs           # tensor indices, -1: omitted
    const int32_t* outputs
    const int32_t* intermediates
    const uint8_t* options          # the builtin options' table (schema.table reads it), NULL when absent
    const uint8_t* custom_options
    size_t custom_options_size
    int32_t version
    int32_t code                    # schema.builtins; -1: of a delegate's making
    int32_t arithmetic              # Arithmetic
    int32_t fusion                  # Fusion
    float clamp_low
    float clamp_high
    void* data                      # the operator's own struct, from context.persistent
    InvokeFunction invoke
    WorkFunction work               # computes a range of its units; NULL: the node runs on one thread
    IterationSpace space
    double time                     # nanoseconds that the whole node is expected to take on one thread
    uint32_t in_place               # inputs over which output 0 may lie, one bit each
    bint is_view                    # output 0 has the bytes of input 0: one buffer may hold both, also where the input is needed later
    bint elided                     # it does nothing when it runs
    int64_t transpose_rows          # output 0 is input 0 as a matrix of so many rows, transposed; 0: it is not, or nothing is known
    int64_t transpose_columns
    Epilogue epilogue
    FuseFunction try_fuse           # NULL: nothing can be fused into it


cdef enum:
    EVERY_INPUT = -2         # of Registration.sparse_input


cdef class Registration:
    cdef readonly int version              # highest version that the optimized resolvers accept
    cdef readonly int reference_version    # highest version that BUILTIN_REF accepts; 0: not in BUILTIN_REF
    cdef readonly int lowest_version
    cdef readonly int sparse_input         # which input may be a sparse constant, -1: none; EVERY_INPUT: prepare looks
    cdef readonly int deferred_input       # the input whose value prepare does not look at, or asks for by `materialize`; -1: none
    cdef readonly int packed_input         # the one of these that nothing but prepare looks at; -1: none
    cdef PrepareFunction prepare


cdef Registration register(PrepareFunction prepare, int version, int reference_version=*, int lowest_version=*, int sparse_input=*)
cdef Registration defers(Registration registration, int deferred_input)
cdef Registration packs(Registration registration, int packed_input)


cdef int elide(Node* node) noexcept nogil             # it does nothing when it runs


cdef inline IterationSpace iteration_space(int64_t units, int64_t granularity) noexcept nogil:
    """Of a node whose units are of its own kind."""
    cdef IterationSpace e
    e.units = units
    e.granularity = granularity
    e.min_chunk = 1
    e.per_position = False
    e.elementwise_inputs = 0
    e.window = RowWindow(images=1, row=0, input_row=0, input_rows=0, stride=0, before=0, reach=0)
    return e


cdef inline IterationSpace position_space(int64_t positions, int64_t granularity, uint32_t elementwise_inputs) noexcept nogil:
    """Of a node whose units are positions of the output."""
    cdef IterationSpace e = iteration_space(positions, granularity)
    e.per_position = True
    e.elementwise_inputs = elementwise_inputs
    return e


cdef inline RowWindow row_window(
    int64_t images, int64_t row, int64_t input_row, int64_t input_rows, int64_t stride, int64_t before, int64_t span,
) noexcept nogil:
    """Of windows that span so many rows, the first of which begins `before` rows in front of its image."""
    return RowWindow(images=images, row=row, input_row=input_row, input_rows=input_rows, stride=stride, before=before, reach=span - before)


cdef inline Epilogue epilogue_of(int32_t kind, int32_t operand, float low, float high, float slope) noexcept nogil:
    """What a node does to float32 values, one by one."""
    cdef Epilogue f
    f.kind = kind
    f.operand = operand
    f.low = low
    f.high = high
    f.slope = slope
    return f


cdef inline size_t per_worker(size_t bytes) noexcept nogil:
    """Scratch memory of one worker; those of others begin on cache lines of their own."""
    return (bytes + 127) // 64 * 64


cdef class Context:
    cdef Tensor* tensors
    cdef int tensor_count
    cdef int state                         # State
    cdef int num_threads                   # as asked for; TensorFlow's bytes depend on it here and there
    cdef int workers                       # threads that may take part in a node, the caller's included
    cdef bint fuse                         # delegates may rewrite nodes into fused ones
    cdef bint aligned_slack                # tensors start on 64 bytes and may be read 64 bytes past their end
    cdef void** scratch_buffers            # by handle
    cdef char[512] message                 # of the last failure in invoke

    # prepare
    cdef int set_shape(self, Tensor* tensor, int rank, const int32_t* dims) except -1
    cdef int set_dynamic(self, Tensor* tensor) except -1
    cdef int set_computed(self, Tensor* tensor) except -1
    cdef int defer(self, Node* node, Tensor* tensor) except -1
    cdef int materialize(self, const Tensor* tensor) except -1
    cdef void* persistent(self, size_t bytes) except NULL
    cdef Packing* packing(self, const int32_t* layout, int words, size_t bytes) except NULL
    cdef const uint8_t* same_bytes(self, uint8_t value, size_t bytes) except NULL
    cdef int request_scratch(self, size_t bytes) except -1
    cdef int keep(self, object value) except -1
    cdef int parallelize(self, Node* node, WorkFunction work, IterationSpace space, double nanoseconds) except -1
    cdef Context subgraph(self, int index)
    cdef object resources(self)
    cdef str operator_name(self, const Node* node)
    cdef list operators(self)                                  # the names of the file's operators, in this subgraph
    cdef str tensor_label(self, int t)                         # for a message: its number, its name, who reads it
    cdef bint has_open_shape(self, const Tensor* tensor) except -1         # the file calls dimensions of it unknown
    cdef bint kept_by_tensorflow(self, const Tensor* tensor) except -1     # of one whose value is known: does TensorFlow keep it, too?

    # calls of other subgraphs (see `subgraph`), in prepare and with the GIL in invoke
    cdef int input_total(self) noexcept
    cdef int output_total(self) noexcept
    cdef Tensor* graph_input(self, int i) noexcept             # NULL when omitted
    cdef Tensor* graph_output(self, int i) noexcept
    cdef int shape_input(self, int i, int rank, const int32_t* dims) except -1
    cdef int prepare_call(self) except -1                      # prepared and planned for the shapes given
    cdef bint has_dynamic(self) noexcept                       # some output's shape is known only while invoking
    cdef int store(self, Tensor* target, const Tensor* value) except -1
    cdef int call(self, Context caller) noexcept               # run; -1: the caller has the message

    # invoke
    cdef int resize(self, Tensor* tensor, int rank, const int32_t* dims) noexcept nogil
    cdef int resize_bytes(self, Tensor* tensor, size_t bytes) noexcept nogil
    cdef const void* acquire(self, const Tensor* tensor) noexcept nogil
    cdef void evict(self, const Tensor* tensor) noexcept nogil
    cdef int fail(self, const char* text) noexcept nogil
    cdef int fail_with(self, const char* format, long a, long b) noexcept nogil
    cdef int fail_because(self, object error) noexcept         # with the GIL; an interruption is raised as it is
    cdef void* unfilled(self, size_t bytes) except NULL        # in prepare

    cdef inline Tensor* input(self, const Node* node, int i) noexcept nogil:
        if i >= node.input_count or node.inputs[i] < 0:
            return NULL
        return &self.tensors[node.inputs[i]]

    cdef inline Tensor* output(self, const Node* node, int i) noexcept nogil:
        if i >= node.output_count or node.outputs[i] < 0:
            return NULL
        return &self.tensors[node.outputs[i]]

    cdef inline Tensor* intermediate(self, const Node* node, int i) noexcept nogil:
        if i >= node.intermediate_count or node.intermediates[i] < 0:
            return NULL
        return &self.tensors[node.intermediates[i]]

    cdef inline void* scratch(self, int handle) noexcept nogil:
        return self.scratch_buffers[handle]

    cdef inline size_t for_all_workers(self, size_t bytes) noexcept nogil:
        return bytes if self.workers <= 1 else self.workers * per_worker(bytes)

    cdef inline void* worker_scratch(self, int handle, size_t bytes, int worker) noexcept nogil:
        return <char*>self.scratch_buffers[handle] + worker * per_worker(bytes)
