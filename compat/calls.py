"""Programs: an interpreter's calls in an order that nobody planned, and what each of them gives or raises.

A program is a tuple of calls, each a name of `Program`'s methods and its arguments; inputs are named by their position. What a call reads
joins the outcome's arrays, what it says or raises the outcome's calls.

Only what is defined is read: constants, outputs after an invoke, bytes of inputs that were fed. Where TensorFlow says nothing about
memory (an input after a new allocation, an output before an invoke or after one that failed), the call is made where it may raise, and
only the type and the shape of its result count.
"""

import numpy as np

from .builder import read_model
from .builder.schema import ENUMS
from .details import details_text
from .inside import Inside, told
from .outcome import Array
from .structures import SECOND, constant_results

HANDLES = tuple(ENUMS["TensorType"][name] for name in ("RESOURCE", "VARIANT"))
STRING = ENUMS["TensorType"]["STRING"]
BITS = {
    ENUMS["TensorType"]["INT2"]: 2,
    ENUMS["TensorType"]["UINT4"]: 4,
}  # packed in memory; TensorFlow does not unpack them
NAMES = {
    "get_outputs": "get_tensor",
    "get_inputs": "get_tensor",
    "resize_all": "resize_tensor_input",
    "set_wrong": "set_tensor",
}
KEEP = "experimental_preserve_all_tensors"
LONGEST = 300  # of an exception's text


def fitted(array, shape):
    """Values of another shape: the array's own, again where it ends."""
    if array.ndim != len(shape) or not array.size:
        return np.resize(array, shape) if array.size else np.zeros(shape, array.dtype)
    for axis, size in enumerate(shape):
        array = array.take(np.arange(size) % array.shape[axis], axis)
    return array


def packed_bytes(array, bits):
    """The bytes in memory of a packed tensor. A side gives each value a byte, or those bytes as they are and what lies behind them."""
    per, values = 8 // bits, array.ravel().view(np.int8)
    if values.size and (values.min() < -(1 << bits - 1) or values.max() >= 1 << bits):
        return values[: -(-values.size // per)]
    rows = np.zeros((-(-values.size // per), per), np.uint8)
    rows.ravel()[: values.size] = values.view(np.uint8) & (1 << bits) - 1
    return np.bitwise_or.reduce(rows << np.arange(per, dtype=np.uint8) * bits, axis=1).astype(np.uint8).view(np.int8)


class Program:
    """The calls of one case on one interpreter, and what is known to be defined."""

    def __init__(self, interpreter, case, outcome):
        self.interpreter, self.case, self.outcome = interpreter, case, outcome
        self.model = read_model(case.model)
        self.fed = self.ran = False
        self.ready = False  # no allocation is due; None: nobody knows
        self.readable = True  # no call has failed that leaves shapes and memory as they come
        self.fresh = True  # nothing has been allocated
        self.refused = False  # the last allocation was: what was shaped for it has no memory
        self.had_run = False  # before that allocation: all that has memory has a value
        self.held = []
        self.said = ""  # by TensorFlow so far: it goes on telling

    def run(self):
        for call in self.case.program:
            name, *arguments = call
            self.outcome.stage = name
            try:
                said = getattr(self, name)(*arguments)
            except Exception as error:
                told = str(error).strip()
                found = type(error).__name__, (told.removeprefix(self.said) or told).replace("\n", " ")[:LONGEST]
                self.said = told if isinstance(error, RuntimeError) else self.said
                del error
            else:
                found = "", said or ""
            name = NAMES.get(name, name)
            self.outcome.calls.append([f"{name}({', '.join(map(str, arguments))})", *found, len(self.outcome.invokes)])

    # ---- calls

    def allocate_tensors(self):
        self.fresh = False
        try:
            self.interpreter.allocate_tensors()
        except Exception:
            if not self.held:  # else the call was, before it did anything
                self.had_run = self.ran if not self.refused else self.had_run
                self.ready, self.refused = False, True
            raise
        if not self.ready or not self.readable:
            self.fed = self.ran = False
        self.ready = self.readable = True
        self.refused = False

    def resize_tensor_input(self, place, kind, strict=False):
        details = self.interpreter.get_input_details()[place]
        shape = self._shape(place, kind)
        try:
            self.interpreter.resize_tensor_input(details["index"], shape, strict=strict)
        except Exception:
            if kind == "negative" and not self.held:  # refused behind what asks for an allocation
                self.fed, self.ready = False, self.ready and False
            raise
        if list(details["shape"]) != shape:
            self.fed, self.ready = False, self.ready and False

    def resize_all(self, kind):
        for place in range(len(self.interpreter.get_input_details())):
            self.resize_tensor_input(place, kind)

    def set_tensor(self, k):
        """All inputs, in the shapes that they have."""
        self.fed = False
        for details, array in zip(self.interpreter.get_input_details(), self._feed(k), strict=True):
            self.interpreter.set_tensor(details["index"], fitted(array, [int(d) for d in details["shape"]]))
        self.fed = True

    def set_wrong(self, place, kind):
        """An array that does not fit, or that numpy holds in another way."""
        details, array = self.interpreter.get_input_details()[place], self._feed(0)[place]
        array = fitted(array, [int(d) for d in details["shape"]])
        if kind == "shape":
            array = np.expand_dims(array, 0) if array.ndim < 2 else array[..., :0]
        elif kind == "type":
            array = array.astype("int64" if array.dtype.kind == "f" else "float32") if array.dtype != object else array
        elif kind == "order":
            array = np.asfortranarray(array)
        self.interpreter.set_tensor(details["index"] if kind != "index" else 1 << 20, array)

    def invoke(self):
        if self.ready is None or (self.ready and not self.fed):
            return "not fed"
        try:
            self.interpreter.invoke()
        except Exception:
            self.ran = False
            if self.ready:
                self.readable = False
            raise
        self.ran, self.readable = True, True
        return ""

    def get_outputs(self):
        return (
            self._read(self._plain(self.interpreter.get_output_details(), self.ran), self.ran)
            if self.ran or self.fresh
            else ""
        )

    def get_inputs(self):
        return self._read(self._plain(self.interpreter.get_input_details(), self.fed), self.fed)

    def get_tensor(self, index):
        """Of the file's tensors, or of none that there is, where the value is defined."""
        return self._read([{"index": index}], True) if self._is_defined(index) else "not defined"

    def read_after_refusal(self):
        """After an allocation that was refused: shape and value of each input and output, or what reading it raises."""
        if not self.refused or not self.had_run:
            return "not refused"
        details = self.interpreter.get_input_details() + self.interpreter.get_output_details()
        return "; ".join(
            f"{[int(d) for d in tensor['shape']]} {self._shape_or_error(tensor)}"
            for tensor in self._plain(details, True)
        )

    def _shape_or_error(self, details):
        try:
            array = self.interpreter.get_tensor(details["index"])
        except ValueError:
            return "ValueError"
        self.outcome.invokes.append([Array.of(array)])
        return f"{array.dtype} {list(array.shape)}"

    def hold(self, place):
        details = self.interpreter.get_input_details()[place]
        if not self._plain([details], False) or isinstance(self.interpreter, Inside):
            return "no view"
        self.held.append(self.interpreter.tensor(details["index"])())

    def drop(self):
        self.held.clear()

    def get_details(self):
        """Of outputs before the first allocation and after an invoke: what is shaped while invoking has the file's shape until then."""
        return details_text(self._shaped())

    def ask_wrapper(self):
        """What the private wrapper tells of the same tensors, and of the graph."""
        return told(self.interpreter, [int(details["index"]) for details in self._shaped()])

    def go_inside(self):
        """From now on all is done by the private wrapper; it does not look for views when it moves memory."""
        self.held.clear()
        self.interpreter = self.interpreter if isinstance(self.interpreter, Inside) else Inside(self.interpreter)

    def get_signature_list(self):
        return repr(self.interpreter.get_signature_list())

    def reset_all_variables(self):
        self.interpreter.reset_all_variables()

    def run_signature(self, key, k, kind):
        """All of its inputs by name, or all but one. Not under a view: TensorFlow's runner does not look for views when it moves memory."""
        if self.held:
            return "viewed"
        runner = self.interpreter.get_signature_runner(key)
        said = details_text([*runner.get_input_details().values()])
        places = {int(d["index"]): place for place, d in enumerate(self.interpreter.get_input_details())}
        feed = {}
        for name, details in runner.get_input_details().items():
            place = places[int(details["index"])]
            feed[name] = fitted(self._feed(k)[place], self._shape(place, kind if kind != "less" else "own"))
        if kind == "less" and feed:
            feed.pop(sorted(feed)[0])
        if key == SECOND or kind == "less":
            found = runner(**feed)
        else:
            self.fed = self.ran = False
            try:
                found = runner(**feed)
            except Exception:
                self.ready, self.readable = None, False
                raise
            self.fed = self.ran = self.readable = self.ready = True
        self.outcome.invokes.append([Array.of(found[name]) for name in sorted(found)])
        return f"{sorted(found)} {said}"

    # ---- what is defined

    def _is_defined(self, index):
        """Constants; with all tensors kept what was computed, but for what a delegate keeps to itself. No tensor: that raises."""
        tensors = self.model["subgraphs"][0]["tensors"]
        if not 0 <= index < len(tensors):
            return True
        if tensors[index]["type"] in HANDLES:
            return False
        if self.model["buffers"][tensors[index]["buffer"]]["data"] is not None and not tensors[index]["is_variable"]:
            return True
        return self.ran and not self.refused and bool(self.case.options.get(KEEP)) and index in self._shown()

    def _shown(self):
        """Tensors that the main graph's nodes write. Where there are delegates, those that the delegates show; constants that a delegate
        unpacks for itself it never writes."""
        nodes = self.interpreter._get_ops_details()
        delegates = [node for node in nodes if node["op_name"] == "DELEGATE"]
        shown = {int(t) for node in delegates or nodes for t in node["outputs"]}
        return shown - constant_results(self.model, self.model["subgraphs"][0]) if delegates else shown

    # ---- helpers

    def _shaped(self):
        """Details of the inputs, and of the outputs where they have a shape that is known."""
        outputs = self.interpreter.get_output_details() if self.readable and (self.fresh or self.ran) else []
        return self.interpreter.get_input_details() + outputs

    def _plain(self, tensors, defined):
        """Those whose bytes are values; strings only where they are defined."""
        kinds = self.model["subgraphs"][0]["tensors"]
        without = (*HANDLES, *([] if defined else [STRING]))
        return [details for details in tensors if kinds[details["index"]]["type"] not in without]

    def _feed(self, k):
        return self.case.feeds[k % len(self.case.feeds)]

    def _shape(self, place, kind):
        shape = list(np.shape(self._feed(0)[place]))
        if kind == "more" and shape:
            shape[0] += 1
        elif kind == "one" and shape:
            shape[0] = 1
        elif kind == "taller" and len(shape) > 2:
            shape[1] += 2
        elif kind == "rank":
            shape = [1, *shape]
        elif kind == "wider" and shape:
            shape[-1] += 1
        elif kind == "flat":
            shape = [int(np.prod(shape))]
        elif kind == "less" and len(shape) > 1:
            shape = [shape[0] * shape[1], *shape[2:]]
        elif kind in ("none", "negative") and shape:
            shape[0] = 0 if kind == "none" else -1
        return shape

    def _read(self, tensors, defined):
        if not self.readable:
            return "not readable"
        arrays = [self.interpreter.get_tensor(details["index"]) for details in tensors]
        if defined:
            kinds = [self.model["subgraphs"][0]["tensors"][details["index"]]["type"] for details in tensors]
            packed = [
                packed_bytes(array, BITS[kind]) if kind in BITS else array
                for array, kind in zip(arrays, kinds, strict=True)
            ]
            self.outcome.invokes.append([Array.of(array) for array in packed])
        return "; ".join(f"{np.asarray(array).dtype} {list(np.shape(array))}" for array in arrays)
