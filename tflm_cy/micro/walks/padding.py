"""The dilation and padding of a convolution, as TFLM computes them before it asks a library for sizes."""

_SAME, _VALID = 0, 1


def dilation_of(walk):
    """(rows, columns); 1 where the file leaves it out."""
    options = walk.node.options
    return tuple(
        getattr(options, field) if options.field_position(field) or not options.position else 1
        for field in ("dilation_h_factor", "dilation_w_factor")
    )


def padding_of(walk, x, weights):
    """(rows, columns) in front of the input `x`; weights are (.., height, width, ..)."""
    options = walk.node.options
    strides, dilations = (options.stride_h, options.stride_w), dilation_of(walk)
    return tuple(
        _before(x.shape[d], weights.shape[d], stride, dilation, options.padding)
        for d, stride, dilation in zip((1, 2), strides, dilations, strict=True)
    )


def _before(size, window, stride, dilation, padding):
    if padding not in (_SAME, _VALID) or min(window, stride, dilation) <= 0:
        return 0
    reach = (window - 1) * dilation + 1
    outputs = (size + stride - 1 if padding == _SAME else size + stride - reach) // stride
    return max(0, (outputs - 1) * stride + reach - size) // 2
