"""Random small networks over tensors of any rank whose positions are computed by themselves: sums, softmax, products of
matrices, reshapes, broadcasts."""

import numpy as np

from compat.builder import Tensor
from tests.micro.image_networks import ImageNetwork


class RowNetwork(ImageNetwork):
    """A network drawn from a seed; see ImageNetwork."""

    def _pick_shape(self):
        return [self._pick(1, 7) for _ in range(self._pick(2, 5))]

    def __init__(self, seed, dtype, most=8):
        super().__init__(seed, dtype, most)

    def _image(self, shape, like=None):
        if not hasattr(self, "images"):  # the first one is the input
            shape = self._pick_shape()
        return super()._image(list(shape), like)

    def _step(self):
        source = self.images[-1] if self.rng.random() < 0.8 else self.images[self._pick(0, len(self.images))]
        kinds = ["unary", "binary", "softmax", "sum", "reshape", "dense", "matmul", "part", "joined", "scaled"]
        result = getattr(self, f"_{kinds[self._pick(0, len(kinds))]}")(source)
        if result is not None:
            self.images.append(result)

    def _unary(self, source):
        ops = ("ABS", "LEAKY_RELU", "SQUARE", "COS", "EXP") if self.dtype == "float32" else ("ABS", "LEAKY_RELU")
        out = self._image(source.shape, source)
        self.main.op(ops[self._pick(0, len(ops))], [source], [out])
        return out

    def _binary(self, source):
        same = [t for t in self.images if t.shape == source.shape]
        out = self._image(source.shape)
        op = ("ADD", "MUL", "SUB")[self._pick(0, 3)]
        self.main.op(op, [same[self._pick(0, len(same))], source], [out])
        return out

    def _scaled(self, source):
        """By one factor per row, which is computed."""
        if self.dtype == "int16":
            return None
        rank = len(source.shape)
        sums = self._image([*source.shape[:-1], 1])
        axes = Tensor.constant(np.array([rank - 1], np.int32))
        self.main.op("MEAN", [source, axes], [sums], keep_dims=True)
        self.images.append(sums)
        out = self._image(source.shape)
        self.main.op("MUL", [source, sums], [out])
        return out

    def _softmax(self, source):
        if self.dtype != "float32":
            return None
        out = self._image(source.shape)
        op = ("SOFTMAX", "LOG_SOFTMAX", "L2_NORMALIZATION")[self._pick(0, 3)]
        self.main.op(op, [source], [out], **({"beta": 1.0} if op == "SOFTMAX" else {}))
        return out

    def _sum(self, source):
        rank = len(source.shape)
        if rank < 2 or self.dtype == "int16":
            return None
        axes = sorted({self._pick(0, rank) for _ in range(2)})
        keep = bool(self.rng.integers(2))
        shape = [1 if a in axes else n for a, n in enumerate(source.shape) if keep or a not in axes]
        if not shape:
            return None
        op = ("MEAN", "SUM", "REDUCE_MAX")[self._pick(0, 3)]
        out = self._image(shape, source if op == "REDUCE_MAX" else None)
        self.main.op(op, [source, Tensor.constant(np.array(axes, np.int32))], [out], keep_dims=keep)
        return out

    def _reshape(self, source):
        """Behind some axes, which stay."""
        kept = self._pick(0, len(source.shape))
        rest = int(np.prod(source.shape[kept:]))
        between = [1] if len(source.shape) < 4 and self.rng.random() < 0.5 else []
        shape = [*source.shape[:kept], *between, rest]
        out = self._image(shape, source)
        inputs = [source] if self.rng.random() < 0.5 else [source, Tensor.constant(np.array(shape, np.int32))]
        self.main.op("RESHAPE", inputs, [out], new_shape=shape)
        return out

    def _dense(self, source):
        depth, units = source.shape[-1], self._pick(1, 5)
        if self.dtype == "float32":
            weights, bias = self._weights(source, [units, depth], 0, units)
        else:
            weights = Tensor.constant(
                self.rng.integers(-127, 128, [units, depth]).astype(np.int8), scale=[0.01], zero_point=[0]
            )
            kind = np.int64 if self.dtype == "int16" else np.int32
            bias = Tensor.constant(np.zeros(units, kind), scale=[0.01 * source.scale], zero_point=[0])
        out = self._image([*source.shape[:-1], units])
        self.main.op("FULLY_CONNECTED", [source, weights, bias], [out], keep_num_dims=len(source.shape) != 2)
        return out

    def _matmul(self, source):
        """With another tensor, or with itself transposed."""
        if len(source.shape) < 2:
            return None
        others = [t for t in self.images if t.shape == source.shape]
        out = self._image([*source.shape[:-1], source.shape[-2]])
        self.main.op("BATCH_MATMUL", [source, others[self._pick(0, len(others))]], [out], adj_y=True)
        return out

    def _part(self, source):
        axis = self._pick(0, len(source.shape))
        count = self._pick(1, source.shape[axis] + 1)
        begin, size = [0] * len(source.shape), list(source.shape)
        begin[axis], size[axis] = source.shape[axis] - count, count
        out = self._image(size, source)
        constants = [Tensor.constant(np.array(values, np.int32)) for values in (begin, size)]
        self.main.op("SLICE", [source, *constants], [out])
        return out

    def _joined(self, source):
        axis = self._pick(0, len(source.shape))
        if source.shape[axis] > 20:
            return None
        shape = list(source.shape)
        shape[axis] *= 2
        out = self._image(shape, source)
        self.main.op("CONCATENATION", [source, source], [out], axis=axis)
        return out
