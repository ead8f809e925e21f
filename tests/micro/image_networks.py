"""Random small networks over images: convolutions, pools, residuals, explicit paddings, in every type that can be tiled."""

import numpy as np

from compat.builder import Model, Tensor

TYPES = ("int8", "int16", "float32")


class ImageNetwork:
    """A network drawn from a seed; `operators` are its number, `dtype` one of TYPES."""

    def __init__(self, seed, dtype, most=7):
        self.rng = np.random.default_rng([seed, TYPES.index(dtype)])
        self.dtype = dtype
        self.model = Model()
        self.main = self.model.subgraph("main")
        shape = [1, self._pick(5, 17), self._pick(5, 17), self._pick(1, 6)]
        self.images = [self._image(shape)]
        self.main.inputs = [self.images[0]]
        for _ in range(self._pick(2, most)):
            self._step()
        while not self.main.operators:
            self._step()
        read = {id(t) for op in self.main.operators for t in op["inputs"]}
        ends = [t for t in self.images[1:] if id(t) not in read]
        self.main.outputs = ends or [self.images[-1]]

    def content(self):
        return self.model.to_bytes()

    def values(self):
        """Random values of the input."""
        shape = self.images[0].shape
        if self.dtype == "float32":
            return self.rng.standard_normal(shape).astype(np.float32)
        limits = np.iinfo(self.dtype)
        return self.rng.integers(limits.min, limits.max, shape, endpoint=True).astype(self.dtype)

    def _pick(self, low, high):
        return int(self.rng.integers(low, high))

    def _image(self, shape, like=None):
        if self.dtype == "float32":
            return Tensor(shape, "float32")
        if like is not None:
            return Tensor(shape, self.dtype, scale=like.scale, zero_point=like.zero_point)
        point = 0 if self.dtype == "int16" else self._pick(-20, 20)
        return Tensor(shape, self.dtype, scale=float(self.rng.uniform(0.02, 0.06)), zero_point=point)

    def _step(self):
        source = self.images[-1] if self.rng.random() < 0.8 else self.images[self._pick(0, len(self.images))]
        kinds = ["conv", "conv", "depthwise", "depthwise", "pointwise", "pool", "pad", "relu", "residual", "channels"]
        kinds += ["transposed", "transposed", "resize", "blocks"]
        result = getattr(self, f"_{kinds[self._pick(0, len(kinds))]}")(source)
        if result is not None:
            self.images.append(result)

    def _windows(self, source, window, stride, padding, dilation=1):
        sizes = []
        for size, extent in zip(source.shape[1:3], window, strict=True):
            reach = (extent - 1) * dilation + 1
            sizes.append(-(-size // stride) if padding == "SAME" else (size - reach) // stride + 1)
        return sizes if min(sizes) > 0 else None

    def _conv(self, source, op="CONV_2D", window=None, stride=None):
        window = window or (self._pick(1, 4), self._pick(1, 4))
        stride = stride or self._pick(1, 3)
        dilation = 2 if stride == 1 and self.rng.random() < 0.2 else 1
        padding = ("SAME", "SAME", "VALID")[self._pick(0, 3)]
        size = self._windows(source, window, stride, padding, dilation)
        if size is None:
            return None
        depth = source.shape[3]
        channels = depth * self._pick(1, 3) if op != "CONV_2D" else self._pick(1, 7)
        shape, axis = ([channels, *window, depth], 0) if op == "CONV_2D" else ([1, *window, channels], 3)
        weights, bias = self._weights(source, shape, axis, channels)
        options = {"stride_h": stride, "stride_w": stride, "dilation_h_factor": dilation, "dilation_w_factor": dilation}
        if op != "CONV_2D":
            options["depth_multiplier"] = channels // depth
        options["fused_activation_function"] = ("NONE", "RELU", "RELU6")[self._pick(0, 3)]
        out = self._image([1, *size, channels])
        self.main.op(op, [source, weights, bias], [out], padding=padding, **options)
        return out

    def _weights(self, source, shape, axis, channels):
        if self.dtype == "float32":
            draw = self.rng.standard_normal
            return Tensor.constant(draw(shape).astype(np.float32)), Tensor.constant(draw(channels).astype(np.float32))
        scales = self.rng.uniform(0.005, 0.02, channels)
        zeros = [0] * channels
        weights = Tensor.constant(
            self.rng.integers(-127, 128, shape).astype(np.int8), scale=scales, zero_point=zeros, axis=axis
        )
        kind = np.int64 if self.dtype == "int16" else np.int32
        bias = self.rng.integers(-500, 500, channels).astype(kind)
        return weights, Tensor.constant(bias, scale=scales * source.scale, zero_point=zeros)

    def _depthwise(self, source):
        return self._conv(source, "DEPTHWISE_CONV_2D")

    def _pointwise(self, source):
        return self._conv(source, window=(1, 1), stride=1)

    def _pool(self, source):
        op, window, stride = (
            ("AVERAGE_POOL_2D", "MAX_POOL_2D")[self._pick(0, 2)],
            (2, self._pick(2, 4)),
            self._pick(1, 3),
        )
        padding = ("SAME", "VALID")[self._pick(0, 2)]
        size = self._windows(source, window, stride, padding)
        if size is None:
            return None
        out = self._image([1, *size, source.shape[3]], source)
        options = {"filter_height": window[0], "filter_width": window[1], "stride_h": stride, "stride_w": stride}
        self.main.op(op, [source], [out], padding=padding, **options)
        return out

    def _pad(self, source):
        if source.shape[1] > 20:
            return None
        pads = np.array([[0, 0], *self.rng.integers(0, 3, (2, 2)), [0, self._pick(0, 2)]], np.int32)
        out = self._image((np.array(source.shape) + pads.sum(1)).tolist(), source)
        self.main.op("PAD", [source, Tensor.constant(pads)], [out])
        return out

    def _transposed(self, source):
        """TRANSPOSE_CONV; the output's shape is fed, or a constant."""
        height, width, depth = source.shape[1:]
        stride = self._pick(1, 4)
        window = self._pick(stride, stride + 3), self._pick(stride, stride + 3)
        if max(height, width) * stride > 40:
            return None
        padding = ("SAME", "VALID")[self._pick(0, 2)]
        channels = self._pick(1, 5)
        more = [0, 0] if padding == "SAME" else [extent - stride for extent in window]
        shape = [1, height * stride + more[0], width * stride + more[1], channels]
        weights, bias = self._weights(source, [channels, *window, depth], 0, channels)
        out = self._image(shape)
        inputs = [Tensor.constant(np.array(shape, np.int32)), weights, source, bias]
        self.main.op("TRANSPOSE_CONV", inputs, [out], padding=padding, stride_h=stride, stride_w=stride)
        return out

    def _resize(self, source):
        height, width, depth = source.shape[1:]
        nearest = self.dtype == "int16" or self.rng.random() < 0.4
        factors = [self._pick(1, 4) if nearest else 2 ** self._pick(0, 3) for _ in range(2)]
        if height * factors[0] > 40 or width * factors[1] > 40:
            return None
        size = [height * factors[0], width * factors[1]]
        out = self._image([1, *size, depth], source)
        op = "RESIZE_NEAREST_NEIGHBOR" if nearest else "RESIZE_BILINEAR"
        centers = bool(self.rng.integers(2))
        self.main.op(op, [source, Tensor.constant(np.array(size, np.int32))], [out], half_pixel_centers=centers)
        return out

    def _blocks(self, source):
        """SPACE_TO_DEPTH, DEPTH_TO_SPACE."""
        height, width, depth = source.shape[1:]
        block = 2
        if self.dtype == "int16":
            return None
        if depth % 4 == 0 and height < 20:
            op, shape = "DEPTH_TO_SPACE", [1, height * block, width * block, depth // 4]
        elif height % 2 == 0 and width % 2 == 0:
            op, shape = "SPACE_TO_DEPTH", [1, height // block, width // block, depth * 4]
        else:
            return None
        out = self._image(shape, source)
        self.main.op(op, [source], [out], block_size=block)
        return out

    def _relu(self, source):
        out = self._image(source.shape)
        self.main.op("LEAKY_RELU" if self.rng.random() < 0.5 else "LOGISTIC", [source], [out])
        if self.main.operators[-1]["name"] == "LOGISTIC" and self.dtype != "float32":
            scale, point = (1 / 256, -128) if self.dtype == "int8" else (1 / 32768, 0)
            out.scale, out.zero_point = scale, point
        return out

    def _residual(self, source):
        same = [t for t in self.images if t.shape == source.shape and t is not source]
        if not same:
            return None
        out = self._image(source.shape)
        self.main.op("ADD", [same[self._pick(0, len(same))], source], [out])
        return out

    def _channels(self, source):
        """Beside one of the same height and width, if there is one of the same quantization."""
        same = [t for t in self.images if t.shape[1:3] == source.shape[1:3] and t.scale == source.scale]
        other = same[self._pick(0, len(same))]
        if self.dtype != "float32" and other.zero_point != source.zero_point:
            return None
        out = self._image([*source.shape[:3], source.shape[3] + other.shape[3]], source)
        self.main.op("CONCATENATION", [other, source], [out], axis=3)
        return out
