"""Cutting an execution plan into partitions of a delegate."""
from tflm_cy.graph.subgraph cimport Subgraph


cdef class Partition:
    cdef readonly object delegate
    cdef readonly int index          # of the DELEGATE node
    cdef readonly list nodes         # claimed nodes, in the order in which they run
    cdef readonly list inputs        # tensors read and not computed by them, constants included, ascending
    cdef readonly list outputs       # tensors computed by them that others read or that the graph gives back, ascending
    cdef public list steps           # what runs: node indices, by default the DELEGATE node alone
    cdef public bint flushes         # denormals count as zeros while it runs
    cdef public str defect           # why it cannot run: raised by allocate
    cdef readonly dict shapes        # tensor of a handle -> shape of the variable that it names, from one allocation to the next
    cdef readonly set moved          # those handles whose variable got another shape while the partition was prepared the last time
    cdef readonly dict channels      # convolution -> channels of its image in the file, where they are not as many as the filter's
    cdef readonly dict largest       # output of a reduction -> the most bytes that it has ever had
    cdef readonly dict first_shapes  # attention, product -> the shapes of its operands, the rank when it was prepared first
    cdef readonly dict sides         # image -> its first four dimensions, at first the file's; behind fewer are those that were there
    cdef readonly dict padded        # image that a PAD makes and the convolution behind it pads itself -> the PAD's input, rows, columns of border
    cdef public list shown           # what building it has changed in tensors' descriptions (`graph.shown`)


cdef inline Partition partition_in_preparation(Subgraph g):
    """The one whose node is being prepared."""
    return g.partitions[g.graph.laid_out[g.compilation.current].partition]


cdef list cut(Subgraph g, set claimed, bint clustering)
