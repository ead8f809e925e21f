# tflm_cy: optimize=speed
"""Which nodes TensorFlow's default delegate takes.

    support = Support(subgraph)
    support.run()              # node indices, ascending
    support.reasons            # node -> why it was not taken

The delegate looks at a subgraph once, before any operator has been prepared: every shape is the file's (or given by a
resize of an input before the first allocation), never a computed one. Nodes are judged one by one in plan order; what
passes from one to the next are quasi-static tensors (outputs of DEQUANTIZE and DENSIFY of constants, which are unpacked
once) and resource variables.

The rules of matrix products and convolutions are in `matrices`, what a rule asks of a tensor in `operands`. Adding an operator: a rule here, its
kernel in `ops/xnnpack` and `arithmetic/xnnpack`.

Source: LiteRT:tflite/delegates/xnnpack/xnnpack_delegate.cc.
"""
from libc.math cimport fabsf
from libc.stdint cimport int32_t
from libc.string cimport memcpy

from tflm_cy.delegates.xnnpack.datatype cimport NO_DATATYPE, has_blockwise, is_normal, same_parameters
from tflm_cy.delegates.xnnpack.families cimport is_binary, is_matrix, is_reduction, is_unary
from tflm_cy.delegates.xnnpack.matrices cimport backward_geometry, batch_matmul, convolution, fully_connected, transpose_conv
from tflm_cy.delegates.xnnpack.operands cimport (
    MOST_DIMS, Operands, clips, constant, counted, f32_q8, f32_s8, integers, is_f32, is_float, need, q8, ratio, shape_like, shaped,
)
from tflm_cy.delegates.xnnpack.operands import Reject
from tflm_cy.graph.context cimport Node
from tflm_cy.graph.subgraph cimport Subgraph
from tflm_cy.graph.tensor cimport CONSTANT, FLOAT16, FLOAT32, INT8, INT32, INT64, UINT8, Tensor, count
from tflm_cy.schema.builtins cimport (
    BUILTIN_ADD, BUILTIN_ASSIGN_VARIABLE, BUILTIN_AVERAGE_POOL_2D, BUILTIN_BATCH_MATMUL, BUILTIN_CONCATENATION, BUILTIN_CONV_2D,
    BUILTIN_CUSTOM, BUILTIN_DENSIFY, BUILTIN_DEPTHWISE_CONV_2D, BUILTIN_DEPTH_TO_SPACE, BUILTIN_DEQUANTIZE, BUILTIN_DIV,
    BUILTIN_ELU, BUILTIN_FULLY_CONNECTED, BUILTIN_LEAKY_RELU, BUILTIN_LOGISTIC, BUILTIN_MAX_POOL_2D, BUILTIN_MUL, BUILTIN_PAD,
    BUILTIN_PRELU, BUILTIN_QUANTIZE, BUILTIN_READ_VARIABLE, BUILTIN_RESHAPE, BUILTIN_RESIZE_BILINEAR, BUILTIN_SLICE,
    BUILTIN_SOFTMAX, BUILTIN_SPACE_TO_DEPTH, BUILTIN_SPLIT, BUILTIN_STABLEHLO_COMPOSITE, BUILTIN_STRIDED_SLICE, BUILTIN_SUB,
    BUILTIN_TANH, BUILTIN_TRANSPOSE, BUILTIN_TRANSPOSE_CONV, BUILTIN_VAR_HANDLE,
)
from tflm_cy.schema.option_slots cimport ADD_FUSED_ACTIVATION_FUNCTION
from tflm_cy.schema.table cimport table_f32, table_i8, table_i32, table_vector

cdef enum:                       # slots of the options that the rules read
    LEAKY_ALPHA = 0
    POOL_PADDING = 0
    POOL_STRIDE_W = 1
    POOL_STRIDE_H = 2
    POOL_FILTER_W = 3
    POOL_FILTER_H = 4
    POOL_ACTIVATION = 5
    SOFTMAX_BETA = 0
    SPLIT_COUNT = 0
    BLOCK_SIZE = 0
    SLICE_ELLIPSIS_MASK = 2
    SLICE_NEW_AXIS_MASK = 3
    SLICE_SHRINK_AXIS_MASK = 4
    COMPOSITE_NAME = 0


cdef class Support(Operands):
    """One look at one subgraph."""

    def __cinit__(self, Subgraph graph):
        self.handles = {}
        self.proxies = {}
        self.reasons = {}

    # ---------------------------------------------------------------- element-wise

    cdef int unary(self, const Node* n) except -1:
        cdef const Tensor* x
        cdef const Tensor* y
        cdef float alpha, p, negative
        counted(n, 1, 1, 1, 1)
        x = self.x(n, 0)
        y = self.y(n, 0)
        shaped(x, 0, MOST_DIMS)
        if n.code == BUILTIN_DEQUANTIZE:
            q8(x)
            is_f32(y)
        elif n.code == BUILTIN_ELU:
            f32_s8(x)
            f32_s8(y)
        elif n.code == BUILTIN_LOGISTIC or n.code == BUILTIN_TANH:
            f32_q8(x)
            f32_q8(y)
        elif n.code == BUILTIN_LEAKY_RELU:
            f32_q8(x)
            f32_q8(y)
            alpha = table_f32(n.options, LEAKY_ALPHA, 0)
            need(is_normal(alpha), "alpha")
            if x.type != FLOAT32 and y.type != FLOAT32 and is_normal(x.scale) and is_normal(y.scale):
                p = x.scale / y.scale
                ratio(x.scale, y.scale, <float>(1.0 / 256), 128, True)
                negative = p * alpha
                need(<float>-127.99609375 <= negative <= 128 and fabsf(negative) >= <float>(1.0 / 256), "scale of the negative slope")
        elif n.code == BUILTIN_QUANTIZE:
            f32_q8(x)
            q8(y)
            if x.type != FLOAT32:
                need(x.type == y.type and self.datatype_of(x.index) != NO_DATATYPE and self.datatype_of(y.index) != NO_DATATYPE,
                     "requantization between types")
                ratio(x.scale, y.scale, <float>(1.0 / 256), 128, True)
        else:
            is_float(x)
            is_float(y)
        return 0

    cdef int binary(self, const Node* n) except -1:
        cdef const Tensor* a
        cdef const Tensor* b
        cdef const Tensor* y
        counted(n, 2, 2, 1, 1)
        a = self.x(n, 0)
        b = self.x(n, 1)
        y = self.y(n, 0)
        shaped(a, 0, MOST_DIMS)
        shaped(b, 0, MOST_DIMS)
        if n.code == BUILTIN_ADD or n.code == BUILTIN_SUB or n.code == BUILTIN_MUL:
            f32_q8(a)
            f32_q8(b)
            f32_q8(y)
            need(a.type == b.type and b.type == y.type, "mixed types")
            if a.type != FLOAT32 and n.code == BUILTIN_MUL:
                ratio(a.scale * b.scale, y.scale, <float>(1.0 / 65536), 256, False)
            elif a.type != FLOAT32:
                ratio(a.scale, y.scale, <float>(1.0 / 1024), 256, False)
                ratio(b.scale, y.scale, <float>(1.0 / 1024), 256, False)
            return clips(table_i8(n.options, ADD_FUSED_ACTIVATION_FUNCTION, 0))
        is_f32(a)
        is_f32(b)
        is_f32(y)
        if n.code == BUILTIN_DIV:
            clips(table_i8(n.options, ADD_FUSED_ACTIVATION_FUNCTION, 0))
        if n.code == BUILTIN_PRELU:
            self.static_input(n, 1)
        return 0

    # ---------------------------------------------------------------- windows, shapes and movement

    cdef int pool(self, const Node* n) except -1:
        cdef const Tensor* x
        cdef const Tensor* y
        cdef int sw = table_i32(n.options, POOL_STRIDE_W, 0)
        cdef int sh = table_i32(n.options, POOL_STRIDE_H, 0)
        cdef int fw = table_i32(n.options, POOL_FILTER_W, 0)
        cdef int fh = table_i32(n.options, POOL_FILTER_H, 0)
        counted(n, 1, 1, 1, 1)
        x = self.x(n, 0)
        y = self.y(n, 0)
        if n.code == BUILTIN_AVERAGE_POOL_2D:
            is_f32(x)
            is_f32(y)
        else:
            f32_q8(x)
            f32_q8(y)
        need(min(sw, sh, fw, fh) > 0 and sw <= fw and sh <= fh, "window")
        need(not (fw == 1 and fh == 1 and max(sw, sh) > 1), "window of one element with a stride")
        need(0 <= table_i8(n.options, POOL_PADDING, 0) <= 1, "padding")
        return clips(table_i8(n.options, POOL_ACTIVATION, 0))

    cdef int softmax(self, const Node* n) except -1:
        need(table_f32(n.options, SOFTMAX_BETA, 0) == 1, "beta")
        counted(n, 1, 1, 1, 1)
        is_f32(self.x(n, 0))
        return is_f32(self.y(n, 0))

    cdef int concatenation(self, const Node* n) except -1:
        cdef const Tensor* y
        cdef int i
        counted(n, 2, 5, 1, 1)
        y = self.y(n, 0)
        f32_q8(y)
        for i in range(n.input_count):
            if y.type == UINT8:
                need(same_parameters(self.x(n, i), y), "uint8 with other parameters")
        for i in range(n.input_count):
            f32_q8(self.x(n, i))
        return 0

    cdef int split(self, const Node* n) except -1:
        cdef const Tensor* axis
        cdef int i
        need(table_i32(n.options, SPLIT_COUNT, 0) == n.output_count, "num_splits")
        counted(n, 2, 2, 2, 4)
        axis = self.x(n, 0)
        need(axis.type == INT32, "type of the axis")
        constant(axis)
        f32_q8(self.x(n, 1))
        for i in range(n.output_count):
            f32_q8(self.y(n, i))
        return 0

    cdef int depth_space(self, const Node* n) except -1:
        cdef const Tensor* x
        cdef int block = table_i32(n.options, BLOCK_SIZE, 0)
        counted(n, 1, 1, 1, 1)
        x = self.x(n, 0)
        f32_q8(x)
        f32_q8(self.y(n, 0))
        need(block > 1, "block size")
        if n.code == BUILTIN_SPACE_TO_DEPTH:
            need(x.rank >= 3 and x.dims[1] % block == 0 and x.dims[2] % block == 0, "height and width are no multiples of the block")
        return 0

    cdef int reduce(self, const Node* n) except -1:
        cdef const Tensor* axes
        counted(n, 2, 2, 1, 1)
        axes = self.x(n, 1)
        f32_q8(self.x(n, 0))
        need(axes.type == INT32 and axes.rank <= 1, "axes")
        constant(axes)
        need(count(axes) > 0, "no axes")
        return f32_q8(self.y(n, 0))

    cdef int pad(self, const Node* n) except -1:
        cdef const Tensor* x
        cdef const Tensor* p
        counted(n, 2, 2, 1, 1)
        x = self.x(n, 0)
        p = self.x(n, 1)
        f32_q8(x)
        shaped(x, 1, MOST_DIMS)
        need(p.type == INT32 and p.rank == 2 and p.dims[0] == x.rank and p.dims[1] == 2, "paddings")
        constant(p)
        f32_q8(self.y(n, 0))
        shaped(self.y(n, 0), 1, MOST_DIMS)
        return need(min(integers(p)) >= 0, "negative padding")

    cdef int reshape(self, const Node* n) except -1:
        cdef const Tensor* x
        cdef const Tensor* y
        cdef const Tensor* s
        counted(n, 1, 2, 1, 1)
        x = self.x(n, 0)
        y = self.y(n, 0)
        f32_q8(x)
        shaped(x, 0, MOST_DIMS)
        f32_q8(y)
        shaped(y, 0, MOST_DIMS)
        if y.type != FLOAT32:
            need(same_parameters(x, y), "parameters differ")
        if n.input_count == 2:
            s = self.x(n, 1)
            need(s.type == INT32, "type of the shape")
            shape_like(s, True)
            constant(s)
        return 0

    cdef int resize_bilinear(self, const Node* n) except -1:
        cdef const Tensor* s
        counted(n, 2, 2, 1, 1)
        s = self.x(n, 1)
        f32_q8(self.x(n, 0))
        shaped(self.x(n, 0), 4, 4)
        need(s.type == INT32, "type of the size")
        shape_like(s, False)
        constant(s)
        f32_q8(self.y(n, 0))
        shaped(self.y(n, 0), 4, 4)
        sizes = integers(s)
        return need(len(sizes) > 0 and sizes[0] > 0, "height")       # only the first one is looked at

    cdef int slice(self, const Node* n) except -1:
        cdef const Tensor* begin = self.x(n, 1)
        cdef const Tensor* size = self.x(n, 2)
        shape_like(begin, False)
        constant(begin)
        need(begin.type == INT32 or begin.type == INT64, "type of the index")
        shape_like(size, False)
        constant(size)
        need(size.type == INT32 or size.type == INT64, "type of the index")
        need(begin.dims[0] == size.dims[0], "begin and size")
        f32_q8(self.x(n, 0))
        f32_q8(self.y(n, 0))
        return need(min(integers(size), default=1) > 0, "a size is not positive")

    cdef int strided_slice(self, const Node* n) except -1:
        cdef const Tensor* t
        cdef int i
        need(not (table_i32(n.options, SLICE_ELLIPSIS_MASK, 0) or table_i32(n.options, SLICE_NEW_AXIS_MASK, 0)
                  or table_i32(n.options, SLICE_SHRINK_AXIS_MASK, 0)), "masks")
        counted(n, 4, 4, 1, 1)
        for i in (3, 1, 2):
            t = self.x(n, i)
            shape_like(t, False)
            constant(t)
            need(t.type == INT32 and t.dims[0] == self.x(n, 0).rank, "index tensor")
        need(all([s == 1 for s in integers(self.x(n, 3))]), "stride")
        f32_q8(self.x(n, 0))
        return f32_q8(self.y(n, 0))

    cdef int transpose(self, const Node* n) except -1:
        counted(n, 2, 2, 1, 1)
        f32_q8(self.x(n, 0))
        shaped(self.x(n, 0), 1, MOST_DIMS)
        return constant(self.x(n, 1))                  # neither the output nor the type of perm is looked at

    # ---------------------------------------------------------------- variables: one type and shape per handle

    cdef int variable(self, const Node* n) except -1:
        cdef bint read = n.code == BUILTIN_READ_VARIABLE
        cdef const Tensor* value
        cdef const Tensor* first
        cdef int d
        value = self.y(n, 0) if read else self.x(n, 1)
        handle = n.inputs[0]
        need(not read or value.rank > 0, "a scalar is read")
        f32_q8(value)
        need(handle in self.handles, "no VAR_HANDLE before it in this subgraph")
        first = &self.g.tensors[<int>self.proxies.setdefault(handle, value.index)]
        need(first.type == value.type and first.rank == value.rank, "type or shape differ from the first value's")
        for d in range(value.rank):
            need(first.dims[d] == value.dims[d], "type or shape differ from the first value's")
        return 0

    # ---------------------------------------------------------------- custom operators and composites

    cdef int custom(self, const Node* n) except -1:
        cdef int32_t[7] fields
        cdef int padding
        cdef str op = self.g.operator_names[n.index]
        fields[:] = [0, 0, 0, 0, 0, 0, 0]
        if n.custom_options != NULL:
            memcpy(fields, n.custom_options, min(n.custom_options_size, 28))
        padding = {1: 0, 2: 1}.get(fields[0], -1)      # as the other options: 0 SAME, 1 VALID
        if op == "Convolution2DTransposeBias":
            counted(n, 3, 3, 1, 1)
            is_f32(self.x(n, 0))
            shaped(self.x(n, 0), 4, 4)
            is_f32(self.x(n, 1))
            shaped(self.x(n, 1), 4, 4)
            self.static_input(n, 1)
            is_f32(self.x(n, 2))
            shaped(self.x(n, 2), 1, 1)
            self.static_input(n, 2)
            is_f32(self.y(n, 0))
            shaped(self.y(n, 0), 4, 4)
            need(fields[1] > 0 and fields[2] > 0, "strides")
            return backward_geometry(
                self.x(n, 0), self.x(n, 1), self.y(n, 0).dims[1], self.y(n, 0).dims[2], fields[2], fields[1], padding)
        if op == "MaxPoolingWithArgmax2D" or op == "MaxUnpooling2D":
            unpool = op == "MaxUnpooling2D"
            counted(n, 2 if unpool else 1, 2 if unpool else 1, 1 if unpool else 2, 1 if unpool else 2)
            is_f32(self.x(n, 0))
            shaped(self.x(n, 0), 4, 4)
            is_f32(self.y(n, 0))
            shaped(self.y(n, 0), 4, 4)
            shaped(self.x(n, 1) if unpool else self.y(n, 1), 4, 4)
            need(min(fields[1], fields[2], fields[3], fields[4]) > 0 and fields[3] == fields[1] and fields[4] == fields[2]
                 and 0 <= fields[5] <= 3, "window")
            return need(padding >= 0, "padding")
        if op == "odml.scaled_dot_product_attention":
            return self.attention(n)
        raise Reject("a custom operator")

    cdef int composite(self, const Node* n) except -1:
        name = table_vector(n.options, COMPOSITE_NAME)
        need(name.data != NULL and (<const char*>name.data)[:name.length] == b"odml.scaled_dot_product_attention", "name of the composite")
        return self.attention(n)

    cdef int attention(self, const Node* n) except -1:
        cdef const Tensor* q = self.x(n, 0)
        cdef const Tensor* k = self.x(n, 1)
        cdef const Tensor* v = self.x(n, 2)
        cdef const Tensor* m
        is_f32(q)
        is_f32(k)
        is_f32(v)
        is_f32(self.y(n, 0))
        need(min(q.rank, k.rank, v.rank) > 1, "rank")
        need(q.dims[q.rank - 1] == k.dims[k.rank - 1] and k.dims[k.rank - 1] == v.dims[v.rank - 1], "size of a head")
        if n.input_count > 3:
            m = self.x(n, 3)
            is_f32(m)
            need(m.rank > 0 and k.dims[1] == v.dims[1] and v.dims[1] == m.dims[m.rank - 1], "length of the mask")
        return 0

    # ---------------------------------------------------------------- the whole subgraph

    cdef int judge(self, const Node* n) except -1:
        """Raise Reject when the delegate leaves a node."""
        cdef int code = n.code
        if code == BUILTIN_CUSTOM:
            return self.custom(n)
        if is_unary(code):
            return self.unary(n)
        if is_binary(code):
            return self.binary(n)
        if code == BUILTIN_CONV_2D or code == BUILTIN_DEPTHWISE_CONV_2D:
            return convolution(self, n)
        if code == BUILTIN_FULLY_CONNECTED:
            return fully_connected(self, n)
        if is_reduction(code):
            return self.reduce(n)
        if code == BUILTIN_AVERAGE_POOL_2D or code == BUILTIN_MAX_POOL_2D:
            return self.pool(n)
        if code == BUILTIN_SOFTMAX:
            return self.softmax(n)
        if code == BUILTIN_RESHAPE:
            return self.reshape(n)
        if code == BUILTIN_CONCATENATION:
            return self.concatenation(n)
        if code == BUILTIN_PAD:
            return self.pad(n)
        if code == BUILTIN_TRANSPOSE:
            return self.transpose(n)
        if code == BUILTIN_RESIZE_BILINEAR:
            return self.resize_bilinear(n)
        if code == BUILTIN_STRIDED_SLICE:
            return self.strided_slice(n)
        if code == BUILTIN_SLICE:
            return self.slice(n)
        if code == BUILTIN_SPLIT:
            return self.split(n)
        if code == BUILTIN_BATCH_MATMUL:
            return batch_matmul(self, n)
        if code == BUILTIN_TRANSPOSE_CONV:
            return transpose_conv(self, n)
        if code == BUILTIN_DEPTH_TO_SPACE or code == BUILTIN_SPACE_TO_DEPTH:
            return self.depth_space(n)
        if code == BUILTIN_READ_VARIABLE or code == BUILTIN_ASSIGN_VARIABLE:
            return self.variable(n)
        if code == BUILTIN_STABLEHLO_COMPOSITE:
            return self.composite(n)
        if code == BUILTIN_VAR_HANDLE:
            counted(n, 0, 0, 1, 1)
            self.handles[n.outputs[0]] = n.index
            raise Reject("a handle goes with its readers and writers")
        raise Reject("the delegate has no such operator")

    cdef bint is_unpacking(self, const Node* n) except -1:
        """A DEQUANTIZE or DENSIFY of a constant, whose output is then quasi-static."""
        cdef const Tensor* x
        cdef const Tensor* y
        if (n.code != BUILTIN_DEQUANTIZE and n.code != BUILTIN_DENSIFY) or n.input_count != 1 or n.output_count != 1:
            return False
        if n.inputs[0] < 0 or n.outputs[0] < 0:
            return False
        x = &self.g.tensors[n.inputs[0]]
        y = &self.g.tensors[n.outputs[0]]
        if n.code == BUILTIN_DENSIFY:
            return (x.allocation == CONSTANT and x.sparsity != NULL and y.type == x.type
                    and (x.type == FLOAT16 or x.type == INT8 or x.type == FLOAT32))
        if x.sparsity != NULL or not (x.allocation == CONSTANT or self.quasi[x.index] >= 0) or y.type != FLOAT32:
            return False
        if x.type == FLOAT16:
            self.elided[y.index] = self.is_matrix_weight(y.index)
            return True
        return x.type == INT8 and (x.scale_count > 0 or has_blockwise(self.g, x))

    cdef bint is_matrix_weight(self, int tensor) except -1:
        """Only matrix products and convolutions read it, and not as their input."""
        cdef const Node* n
        for user in self.readers_of(tensor):
            n = &self.g.graph.nodes[<int>user]
            if n.inputs[0] == tensor or not is_matrix(n.code):
                return False
        return True

    cdef list readers_of(self, int tensor):
        """Nodes of the plan; who reads what is noted when it is first asked, by models with float16 weights."""
        cdef const Node* n
        cdef int i
        if self.readers is None:
            self.readers = {}
            for index in self.g.execution_plan:
                n = &self.g.graph.nodes[<int>index]
                for i in range(n.input_count):
                    self.readers.setdefault(n.inputs[i], []).append(index)
        return self.readers.get(tensor, [])

    def run(self):
        """Node indices of the plan that the delegate takes, ascending."""
        cdef const Node* n
        cdef set taken = set()
        cdef int index, i
        if self.g.name.startswith("VALIDATION:"):
            return []
        for index in self.g.execution_plan:
            n = &self.g.graph.nodes[index]
            if self.is_unpacking(n):
                self.unpacked[index] = True
                self.quasi[n.outputs[0]] = index
                continue
            try:
                self.judge(n)
            except Reject as reject:
                self.reasons[index] = str(reject)
                for i in range(n.input_count):         # who reads it outside of the delegate keeps the node there
                    if n.inputs[i] >= 0 and self.quasi[n.inputs[i]] >= 0:
                        self.unpacked[self.quasi[n.inputs[i]]] = False
                continue
            taken.add(index)
        taken.update([self.handles[handle] for handle in self.proxies])
        taken.update([index for index in range(self.g.graph.node_count) if self.unpacked[index]])
        return sorted(taken)
