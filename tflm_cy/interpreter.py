"""The surface of `tf.lite.Interpreter`: the same names, arguments, results and exception types.

    import tflm_cy as tflite

    interpreter = tflite.Interpreter("model.tflite")
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    y = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])

Plain Python over `tflm_cy.core.Core`: signatures, subclassing, pickling and weak references are those of any class, at
a cost of some tens of nanoseconds a call. Nothing is printed and no warning is given.
"""

import ctypes
import enum
import operator
import os
import types
from functools import lru_cache

import numpy as np

from tflm_cy.calls import Calls
from tflm_cy.core import SWITCHES
from tflm_cy.inspection import EXTRAS, description
from tflm_cy.ops import find
from tflm_cy.schema.model import Model
from tflm_cy.signature import SignatureRunner, definitions
from tflm_cy.wrapper import InterpreterWrapper

__all__ = [
    "Delegate",
    "Interpreter",
    "InterpreterWithCustomOps",
    "OpResolverType",
    "SignatureRunner",
    "load_delegate",
]


class OpResolverType(enum.Enum):
    """Whose bytes an Interpreter computes; see docs/modes.md."""

    AUTO = 0
    BUILTIN = 1
    BUILTIN_REF = 2
    BUILTIN_WITHOUT_DEFAULT_DELEGATES = 3


def _resolver_type(value):
    """A member of OpResolverType, also from a foreign enum of the same names."""
    if isinstance(value, OpResolverType):
        return value
    if isinstance(value, enum.Enum) and type(value).__name__ == "OpResolverType":
        try:
            return OpResolverType[value.name]
        except KeyError:
            pass
    hash(value)
    raise ValueError(f"Unrecognized passed in op resolver type: {value}")


def _thread_count(value):
    """num_threads as an int >= 1; None is 1."""
    if value is None:
        return 1
    try:
        if isinstance(value, (float, str)):
            raise TypeError
        count = operator.index(value)
    except TypeError:
        raise ValueError("type of num_threads should be int") from None
    if count < 1:
        raise ValueError("num_threads should >= 1")
    if count > 0x7FFFFFFF:
        raise TypeError(f"num_threads {count} is beyond int32")
    return count


class DelegateError(ValueError, AttributeError):
    """No delegate; the one type where TensorFlow has refused to make it, the other where it finds no such function in what it was given."""


class Delegate:
    """A delegate from a shared library, as in tf.lite; tflm_cy runs on the CPU only, so none can be loaded.

    Raises
    ------
    OSError
        The library does not exist.
    ValueError
        The library exists; the exception is an AttributeError, too, as TensorFlow's is where the library has no delegate.
    """

    def __init__(self, library, options=None):
        if library is not None:
            ctypes.CDLL(os.fspath(library) if not isinstance(library, str) else library)
        raise DelegateError(f"Failed to load delegate from {library}: tflm_cy runs on the CPU only")


def load_delegate(library, options=None):
    """Load a delegate: always fails, with the exception types that programs with a CPU fallback expect. See `Delegate`."""
    return Delegate(library, options)


_NONE = frozenset()


def _disabled(fuse, names):
    """The names of the passes that are switched off."""
    if fuse and not names:
        return _NONE
    unknown = sorted(set(names) - set(SWITCHES))
    if unknown:
        raise ValueError(f"no pass {unknown[0]!r}; disable_passes takes {', '.join(SWITCHES)}")
    return frozenset(names if fuse else SWITCHES)


def _checked_delegates(given):
    """The user's delegates, in a list."""
    found = list(given) if given else []
    for mine in found:
        if not (hasattr(mine, "supports") and hasattr(mine, "build")):
            raise DelegateError(
                f"a delegate is an object with supports(node) and build(subset), not {type(mine).__name__}; "
                "tflm_cy runs on the CPU only"
            )
    return found


def _is_given(value):
    """Whether an argument is not empty, as TensorFlow asks; arrays have no truth value."""
    try:
        return len(value) > 0
    except TypeError:
        return bool(value)


def _default_delegate():
    """TensorFlow's default delegate; imported only when an interpreter that has it allocates."""
    from tflm_cy.delegates.xnnpack.delegate import XnnpackDelegate

    return XnnpackDelegate()


def _view_function(core, tensor_index):
    """What `Interpreter.tensor` returns: evaluated only when called."""
    return lambda: core.view(tensor_index)


# What `__init__` makes of its arguments; everything else in an interpreter's dictionary is the user's.
_OWN = frozenset(("_arguments", "_custom_op_registerers", "_delegates", "_model_content", "_signature_defs"))


def _rebuild(cls, arguments):
    """Construct an unpickled or copied interpreter, whatever a subclass's constructor wants."""
    interpreter = cls.__new__(cls)
    interpreter._registerers = arguments.pop("custom_op_registerers", None)
    Interpreter.__init__(interpreter, **arguments)
    return interpreter


@lru_cache(64)
def _extras_of(kind):
    """(name, function) of what a class of interpreters does not define itself."""
    return [(name, function) for name, function in EXTRAS.items() if not hasattr(kind, name)]


class Interpreter(Calls):
    """A model, ready to be fed and run; a drop-in for tf.lite.Interpreter.

    Pickling and copying carry the path or the content, the options and what a user has set on the object, but not the
    state: the copy must allocate. Beyond tf.lite's methods every instance has those of `tflm_cy.inspection`:
    execution_plan, delegate_nodes, explain, quirks, profile.

    Parameters
    ----------
    model_path : str, bytes or os.PathLike, optional
        File of the model. It is mapped read-only and its weights are used in place: replacing the file is safe,
        truncating or overwriting it in place is not (nor is it in TensorFlow). With TFLM_CY_MMAP=0 in the environment a
        private copy is read.
    model_content : buffer, optional
        The model as any C-contiguous buffer (bytes, bytearray, memoryview, mmap, numpy array); held, used in place and
        never written to.
    experimental_delegates : list, optional
        Objects with `supports(node)` and `build(subset)`, see `tflm_cy.delegates.python`; they take their nodes here, before the
        default delegate.
    num_threads : int, optional
        At least 1; None is 1. How many threads may share a node. Changes bytes only where it changes TensorFlow's: see docs/modes.md.
    experimental_op_resolver_type : OpResolverType
        Whose bytes are computed, see docs/modes.md.
    experimental_preserve_all_tensors : bool
        Gives every tensor memory of its own, so that intermediate values can be read after `invoke`.
    experimental_disable_delegate_clustering : bool
        True: a delegate's partition ends at the first node, in the order of execution, that does not belong to it.
    experimental_default_delegate_latest_features : bool
    experimental_compress_quantization_zero_points, experimental_disable_delegate_node_fusion : bool
    experimental_force_delegate_node_profiling : bool
        Accepted; without effect.
    fuse : bool
        False: every node writes memory of its own and runs by itself, as the file says. Never changes results, only time and memory. Not an
        argument of tf.lite.Interpreter.
    disable_passes : iterable of str, optional
        Passes of the optimizer to leave out, by name (`tflm_cy.graph.passes.pipeline.SWITCHES`); `fuse=False` leaves out all of them. Never
        changes results. Not an argument of tf.lite.Interpreter.

    Raises
    ------
    ValueError
        Bad arguments; a file that cannot be opened (also a FileNotFoundError then); a model that is damaged, or whose
        operators are unknown.

    Examples
    --------
    >>> from tflm_cy import Interpreter
    >>> Interpreter("no_such_file.tflite")
    Traceback (most recent call last):
        ...
    tflm_cy.schema.errors.ModelNotFoundError: Could not open 'no_such_file.tflite'.
    """

    def __init__(
        self,
        model_path=None,
        model_content=None,
        experimental_delegates=None,
        num_threads=None,
        experimental_op_resolver_type=OpResolverType.AUTO,
        experimental_preserve_all_tensors=False,
        experimental_disable_delegate_clustering=False,
        experimental_default_delegate_latest_features=False,
        experimental_compress_quantization_zero_points=False,
        experimental_disable_delegate_node_fusion=False,
        experimental_force_delegate_node_profiling=False,
        *,
        fuse=True,
        disable_passes=(),
    ):
        from tflm_cy.custom.registry import collect, resolver

        self._custom_op_registerers = list(self.__dict__.pop("_registerers", None) or ())
        mode = _resolver_type(experimental_op_resolver_type)
        threads = _thread_count(num_threads)
        passes_off = tuple(sorted(disable_passes)) if disable_passes else ()
        model = self._open(model_path, model_content)
        self._delegates = _checked_delegates(experimental_delegates)
        self._arguments = {
            "model_path": model_path,
            "model_content": model_content,
            "num_threads": num_threads,
            "experimental_op_resolver_type": mode,
            "experimental_preserve_all_tensors": bool(experimental_preserve_all_tensors),
            "experimental_disable_delegate_clustering": bool(experimental_disable_delegate_clustering),
            "fuse": bool(fuse),
            "disable_passes": passes_off,
        }
        self._interpreter = InterpreterWrapper(
            model,
            resolver(find, collect(self._custom_op_registerers)),
            mode is OpResolverType.BUILTIN_REF,
            bool(experimental_preserve_all_tensors),
            threads,
            _default_delegate if mode in (OpResolverType.AUTO, OpResolverType.BUILTIN) else None,
            not experimental_disable_delegate_clustering,
            disabled=_disabled(fuse, passes_off),
        )
        self._apply_delegates()
        self._signature_defs = definitions(model)
        self._compress_zero_points = bool(experimental_compress_quantization_zero_points)

    @property
    def experimental_compress_quantization_zero_points(self):
        """What the constructor was given; without effect."""
        return self._compress_zero_points

    def _apply_delegates(self):
        """TensorFlow's operators and the user's delegates; the default one takes its nodes at the first allocation."""
        core, bind, own = self._interpreter, types.MethodType, self.__dict__
        for name, function in _extras_of(type(self)):  # of the instance; by __getattr__ they would slow down every call
            own[name] = bind(function, core)
        if self._interpreter.wants_flex():
            from tflm_cy.delegates.flex import FlexDelegate, installed, refuse

            if installed():
                self._interpreter.delegate(FlexDelegate())
            else:
                refuse(self._interpreter.subgraphs)
        if self._delegates:
            from tflm_cy.delegates.python import PythonDelegate

            for mine in self._delegates:
                self._interpreter.delegate(PythonDelegate(mine))

    def _open(self, path, content):
        """The verified model of a path or a buffer; exactly one of them must be given."""
        has_content = _is_given(content)
        if isinstance(path, np.ndarray):
            raise ValueError(
                f"model_path wants a path, not {type(path).__name__}; give a model's bytes as model_content="
            )
        if _is_given(path):
            if has_content:
                raise ValueError("Can't both provide `model_path` and `model_content`.")
            return Model.from_path(path)
        if not has_content:
            raise ValueError("`model_path` or `model_content` must be specified.")
        if isinstance(content, str):
            raise TypeError("model_content wants bytes; for a path use model_path")
        self._model_content = content
        return Model.from_buffer(content)

    def __repr__(self):
        return description(self)

    def __reduce__(self):
        if self._delegates:
            raise TypeError(
                "an interpreter with experimental_delegates cannot be pickled or copied: their kernels belong to this process; "
                "construct it anew where it is needed"
            )
        arguments = {name: value for name, value in self._arguments.items() if value is not None}
        if "model_content" in arguments:
            arguments["model_content"] = bytes(arguments["model_content"])
        if self._custom_op_registerers:
            arguments["custom_op_registerers"] = self._custom_op_registerers
        mine = self._interpreter
        users = {
            name: value
            for name, value in self.__dict__.items()
            if name not in _OWN and getattr(value, "__self__", None) is not mine
        }
        return _rebuild, (type(self), arguments), users or None

    def allocate_tensors(self):
        """Prepare all operators and plan the arena. Needed before the first `invoke` and after a resize; nothing when it is done already.

        Raises
        ------
        RuntimeError
            An operator refuses its types or shapes (names the node), or a view of a tensor is alive.
        """
        return self._interpreter.allocate()

    def _safe_to_run(self):
        return self._interpreter.is_safe()

    def _ensure_safe(self):
        """Raise RuntimeError while a view of a tensor is alive."""
        if not self._interpreter.is_safe():
            raise RuntimeError(
                "There is at least 1 reference to internal data in the interpreter "
                "in the form of a numpy array or slice."
            )

    def tensor(self, tensor_index):
        """A function that returns a numpy view of a tensor's memory, without copying.

        While the view lives, `invoke`, `allocate_tensors` and `resize_tensor_input` raise RuntimeError; hold the
        function instead. Views of constants are read-only.
        """
        return _view_function(self._interpreter, tensor_index)

    def resize_tensor_input(self, input_index, tensor_size, strict=False):
        """Change the shape of an input; `allocate_tensors` must follow.

        Parameters
        ----------
        input_index : int
        tensor_size : sequence of int
            The new shape; another rank is allowed.
        strict : bool
            Allow only dimensions that are -1 in the tensor's shape_signature to change.

        Raises
        ------
        RuntimeError
            A constant, a negative or too large shape, or what `strict` forbids.
        """
        shape = np.array(tensor_size, dtype=np.int32)
        if shape.ndim != 1:
            raise ValueError(f"Shape should be 1D instead of {shape.ndim}.")
        return self._interpreter.resize(input_index, shape.tolist(), bool(strict))

    def reset_all_variables(self):
        """Set all variable tensors (the state of recurrent models) to zero; int8 ones to their zero point."""
        return self._interpreter.reset_variables()

    def num_subgraphs(self):
        """Number of subgraphs of the model."""
        return self._interpreter.num_subgraphs()

    def get_input_details(self):
        """Details of the inputs, in the model's order.

        Returns
        -------
        list of dict
            name (str), index (int), shape and shape_signature (int32 arrays), dtype (numpy scalar type), quantization (scale, zero_point),
            quantization_parameters and sparsity_parameters (dict).
        """
        core = self._interpreter
        return [core.tensor_details(index) for index in core.inputs()]

    def get_output_details(self):
        """Details of the outputs, as `get_input_details`."""
        core = self._interpreter
        return [core.tensor_details(index) for index in core.outputs()]

    def get_tensor_details(self, subgraph_index=0):
        """Details of all tensors of the file, in the order of their indices."""
        core = self._interpreter
        index = operator.index(subgraph_index)
        if not 0 <= index < core.num_subgraphs():
            raise ValueError(
                f"subgraph_index is out of range: {index} for the model, which has {core.num_subgraphs()} subgraphs."
            )
        return [core.tensor_details(t, index) for t in range(core.tensor_count(index))]

    def _get_tensor_details(self, tensor_index, subgraph_index):
        return self._interpreter.tensor_details(int(tensor_index), int(subgraph_index))

    def _get_op_details(self, op_index):
        return self._interpreter.node_details(op_index)

    def _get_ops_details(self):
        return [self._interpreter.node_details(i) for i in range(self._interpreter.node_count())]

    def _run_node(self, node_index, subgraph_index=0):
        """Run one node on the values that its inputs hold; needs experimental_preserve_all_tensors and one `invoke` before."""
        return self._interpreter.run_node(node_index, subgraph_index)

    def get_signature_list(self):
        """`{signature key: {"inputs": [names], "outputs": [names]}}`, names in byte order."""
        return {
            key: {"inputs": list(inputs), "outputs": list(outputs)}
            for key, (_, inputs, outputs) in self._signature_defs.items()
        }

    def _get_full_signature_list(self):
        return {
            key: {"inputs": dict(inputs), "outputs": dict(outputs)}
            for key, (_, inputs, outputs) in self._signature_defs.items()
        }

    def get_signature_runner(self, signature_key=None):
        """A callable for one signature; the key may be left out when the model has exactly one.

        Raises
        ------
        ValueError
            No such signature, or several and no key.
        """
        if signature_key is None:
            if len(self._signature_defs) != 1:
                raise ValueError(
                    f"SignatureDef signature_key is None and model has {len(self._signature_defs)} Signatures. "
                    "None is only allowed when the model has 1 SignatureDef"
                )
            signature_key = next(iter(self._signature_defs))
        return SignatureRunner(interpreter=self, signature_key=signature_key)

    def _native_handle(self):
        raise NotImplementedError("there is no native tf.lite interpreter behind this object")


class InterpreterWithCustomOps(Interpreter):
    """An interpreter with custom operators of its own.

    Parameters
    ----------
    custom_op_registerers : list, optional
        Callables, or names such as "package.module:function" of them. Each is called with a resolver, on which it calls
        `resolver.register_custom_op(name, prepare, invoke)` as often as it likes; see `tflm_cy.register_custom_op`. C++
        registerers, which want the address of a C++ object, cannot be used.
    **kwargs
        Those of `Interpreter`.

    Examples
    --------
    >>> import numpy as np
    >>> from tflm_cy import InterpreterWithCustomOps
    >>> def negate(node):
    ...     np.negative(node.inputs[0], out=node.outputs[0])
    >>> def mine(resolver):
    ...     resolver.register_custom_op("Negate", None, negate)
    >>> InterpreterWithCustomOps(model_path="m.tflite", custom_op_registerers=[mine])  # doctest: +SKIP
    """

    def __init__(self, custom_op_registerers=None, **kwargs):
        self._registerers = custom_op_registerers
        super().__init__(**kwargs)
