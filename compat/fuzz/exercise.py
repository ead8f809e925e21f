"""All that a user may do with one model, whatever the outcome of each step.

    kind, text = exercise(content, "BUILTIN_REF", rng, stage=print)

Construct, read every description, allocate, set inputs, invoke twice, read every tensor, reset variables, resize the
inputs to other shapes and run again, call the signatures. A step that raises is noted and the next one is tried, for
what follows a failure must be as safe as what follows success.

The outcome is the first exception of the way to the outputs. An exception of another type than the documented ones,
in any step, is a failure: it is what a check that is missing looks like.
"""

import numpy as np

EXPECTED = (ValueError, RuntimeError, MemoryError)
LARGEST = 1 << 26  # bytes: larger tensors are neither set nor read, which would only take time


class UnexpectedError(Exception):
    """An exception of an undocumented type; the text says where and what."""


class Run:
    """One model's life; `outcome` is ("ok", "") or the first exception on the way to the outputs."""

    def __init__(self, rng, stage):
        self.rng, self.stage = rng, stage
        self.outcome = ("ok", "")

    def step(self, name, function, *arguments, decides=False):
        """Result of a call, None when it raises what it may raise."""
        self.stage("step", name)
        try:
            return function(*arguments)
        except Exception as error:
            text = f"{name}: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
            kind = next((kind for kind in EXPECTED if isinstance(error, kind)), None)
            if kind is None or isinstance(error, (NotImplementedError, RecursionError, UnicodeError)):
                raise UnexpectedError(text) from error
            if decides and self.outcome[0] == "ok":
                self.outcome = (kind.__name__, text)
        return None

    def values(self, details):
        """A value for an input, None when there cannot be one."""
        shape, dtype = tuple(int(d) for d in details["shape"]), np.dtype(details["dtype"])
        if np.prod([max(d, 1) for d in shape], dtype=object) * max(dtype.itemsize, 8) > LARGEST:
            return None  # numpy refuses large dimensions beside a 0, too
        how = self.rng.integers(3)
        if details["dtype"] is np.bytes_:
            return np.full(shape, b"text", object)
        if dtype.kind == "b":
            return self.rng.random(shape) < 0.5
        if dtype.kind in "iu":
            low, high = (np.iinfo(dtype).min, np.iinfo(dtype).max) if how == 0 else (0, 4)
            return self.rng.integers(low, high, shape, dtype, endpoint=True)
        values = np.asarray(self.rng.standard_normal(shape) * (1, 100, 1e30)[how]).astype("float32").astype(dtype)
        if how == 2 and values.size:
            values.ravel()[:: max(1, values.size // 3)] = np.nan
        return values

    def feed_and_invoke(self, interpreter, decides):
        self.weigh(interpreter)
        for details in self.step("get_input_details", interpreter.get_input_details) or ():
            value = self.values(details)
            if value is not None:
                self.step("set_tensor", interpreter.set_tensor, details["index"], value, decides=decides)
            elif not decides:
                return
        self.step("invoke", interpreter.invoke, decides=decides)

    def weigh(self, interpreter):
        """Tell how many element operations an invoke may ask for at most: no operator exceeds inputs times outputs."""
        tensors = self.step("get_tensor_details", interpreter.get_tensor_details) or ()
        sizes = {details["index"]: int(np.prod(details["shape"], dtype=object)) for details in tensors}
        total = 0
        for operator in self.step("get_ops_details", interpreter._get_ops_details) or ():
            inputs, outputs = (sum(sizes.get(int(i), 0) for i in operator[role]) for role in ("inputs", "outputs"))
            total += (inputs + 1) * (outputs + 1) if operator["op_name"] != "WHILE" else 1 << 62
        self.stage("work", total)

    def read_everything(self, interpreter):
        for details in self.step("get_tensor_details", interpreter.get_tensor_details) or ():
            if np.prod(details["shape"], dtype=object) * 16 <= LARGEST:
                self.step("get_tensor", interpreter.get_tensor, details["index"])
        for details in self.step("get_output_details", interpreter.get_output_details) or ():
            if np.prod(details["shape"], dtype=object) * 16 <= LARGEST:
                view = self.step("tensor", interpreter.tensor(details["index"]))
                if view is not None:
                    self.step("read a view", np.array, view)  # not bytes(): a scalar of bfloat16 cannot be exported
                    del view

    def replace_constants(self, interpreter):
        """Other values for a few tensors, of which the constants are what matters: what was checked when they were loaded may not hold."""
        details = self.step("get_tensor_details", interpreter.get_tensor_details) or ()
        for index in self.rng.choice(len(details), min(4, len(details)), replace=False) if details else ():
            value = self.values(details[index])
            if value is not None:
                self.step("set a constant", interpreter.set_tensor, details[index]["index"], value)

    def resize(self, interpreter):
        """Inputs with another batch, another size, another rank."""
        change = int(self.rng.integers(4))
        for details in self.step("get_input_details", interpreter.get_input_details) or ():
            shape = [int(d) for d in details["shape"]]
            if change == 0 and shape:
                shape[0] += 1
            elif change == 1 and shape:
                shape[int(self.rng.integers(len(shape)))] = int(
                    self.rng.choice([0, 1, 2, 3, 7, 1 << 20, (1 << 31) - 1])
                )
            elif change == 2:
                shape = shape[1:] if self.rng.random() < 0.5 else [1, *shape]
            else:
                shape = [d + 1 for d in shape]
            shape = [min(d, (1 << 31) - 1) for d in shape]  # larger ones are an OverflowError, as in TensorFlow
            self.step("resize_tensor_input", interpreter.resize_tensor_input, details["index"], shape)

    def signatures(self, interpreter):
        for key in self.step("get_signature_list", interpreter.get_signature_list) or ():
            runner = self.step("get_signature_runner", interpreter.get_signature_runner, key)
            if runner is None:
                continue
            inputs = self.step("signature input details", runner.get_input_details) or {}
            self.step("signature output details", runner.get_output_details)
            values = {name: self.values(details) for name, details in inputs.items()}
            if all(value is not None for value in values.values()):
                self.step("signature call", lambda runner=runner, values=values: runner(**values))


def exercise(content, resolver, rng, stage, preserve_all=False):
    """(kind, text) of the outcome; raises UnexpectedError. `stage` is called as ("step", name) and ("work", number)."""
    from tflm_cy.interpreter import Interpreter, OpResolverType

    run = Run(rng, stage)

    def construct():
        return Interpreter(
            model_content=content,
            experimental_op_resolver_type=OpResolverType[resolver],
            experimental_preserve_all_tensors=preserve_all,
        )

    interpreter = run.step("construct", construct, decides=True)
    if interpreter is None:
        return run.outcome
    run.weigh(interpreter)
    run.step("allocate_tensors", interpreter.allocate_tensors, decides=True)
    run.feed_and_invoke(interpreter, decides=True)
    run.read_everything(interpreter)
    run.feed_and_invoke(interpreter, decides=True)
    run.step("reset_all_variables", interpreter.reset_all_variables)
    run.replace_constants(interpreter)
    run.feed_and_invoke(interpreter, decides=False)
    run.resize(interpreter)
    run.step("allocate_tensors again", interpreter.allocate_tensors)
    run.feed_and_invoke(interpreter, decides=False)
    run.read_everything(interpreter)
    run.signatures(interpreter)
    return run.outcome
