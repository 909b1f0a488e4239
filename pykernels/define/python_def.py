"""Read Python definitions: a ``<op>_py_def.py`` with one `CustomOpProp`, which needs no compiler.

Frameworks read them through the same ``pk_definition`` as C++ definitions; here it consists of callbacks.
"""

from __future__ import annotations

import ctypes
import inspect
import linecache
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pykernels.base import abi, callbacks, dtypes
from pykernels.base.abi import AttrType
from pykernels.base.errors import CallError, DefinitionError
from pykernels.base.python_files import execute
from pykernels.define.declared import Attribute
from pykernels.define.definition import NOT_KNOWN_YET, Definition
from pykernels.define.instance import TensorSpec, read_tensor
from pykernels.define.prop import CustomOpProp
from pykernels.define.prop_inference import AS_THE_FIRST, PropOps
from pykernels.define.reader import read_definition

_FORWARD, _BACKWARD = 0, 1
_WRONGLY_USED, _WRONG = 1, 2


def load_python_def(path: Path, name: str) -> Definition:
    """Read the Python definition at `path`, whose op types are ``<name>_forward`` and ``<name>_backward``.

    This raises `LoadError` if the file is missing, does not parse, or raises, and `DefinitionError` if it does not
    define exactly one subclass of `CustomOpProp`, or the class is invalid.
    """
    path = Path(path).resolve()
    prop = _sole_prop(vars(execute(path)), path)
    line = _line_of_class(prop, path)
    try:
        built = _PythonDefinition(PropOps(prop), path, line, name)
    except (Exception, SystemExit) as error:
        raise DefinitionError(_explain(error, path, f"{path}:{line}")) from error
    return read_definition(path, ctypes.addressof(built.definition), built)


def _sole_prop(namespace: dict[str, Any], path: Path) -> type[CustomOpProp]:
    found = {
        value
        for value in namespace.values()
        if isinstance(value, type) and issubclass(value, CustomOpProp) and value.__module__ == namespace["__name__"]
    }
    leaves = [prop for prop in found if not any(other is not prop and issubclass(other, prop) for other in found)]
    if len(leaves) == 1:
        return leaves[0]
    names = ", ".join(sorted(prop.__name__ for prop in leaves)) or "none"
    raise DefinitionError(f"{path}: it must define one subclass of pykernels.CustomOpProp, but defines: {names}")


def _line_of_class(prop: type[CustomOpProp], path: Path) -> int:
    linecache.checkcache(str(path))
    try:
        return inspect.getsourcelines(prop)[1]
    except (OSError, TypeError):
        return 1  # created without a class statement


def _explain(error: BaseException, path: Path, otherwise: str) -> str:
    """Return a message with the error and the line of the definition where it occurred."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
    if isinstance(error, CallError | DefinitionError) and not frames:
        return f"{otherwise}: {error}"
    at = f"{path}:{frames[-1].lineno}" if frames else otherwise
    return f"{at}: {type(error).__name__}: {error}"


class _PythonDefinition:
    """A ``pk_definition`` whose functions call a `PropOps`; keeps alive everything that it points to."""

    def __init__(self, ops: PropOps, path: Path, line: int, name: str) -> None:
        self._ops = ops
        self._path = path
        self._at = f"{path}:{line}"
        self._name = name
        file = str(path).encode()
        flags = abi.OpFlag.INFERS_SHAPE | abi.OpFlag.INFERS_DTYPE
        if ops.split_for_each_axis:
            flags |= abi.OpFlag.HAS_SBP
        is_constant = bool(ops.arguments) and not ops.differentiable
        forward_flags = flags | abi.OpFlag.INFERS_INPUTS | (abi.OpFlag.NO_GRADIENT if is_constant else 0)
        forward = self._op("forward", ops.inputs, ops.outputs, forward_flags)
        for at in range(len(ops.inputs) - len(ops.states), len(ops.inputs)):
            forward.inputs[at].is_mutable = 1
        types = [Attribute(name, AttrType.LIST_INT64, ()) for name in ops.types]
        backward = self._op("backward", [d.name for d in ops.dependencies], ops.gradients, flags, types)
        for op in (forward, backward):
            op.file, op.line = file, line
        has_gradient = bool(ops.gradients)
        gradient = abi.Gradient(op=forward.name, file=file, line=line)
        self.definition = abi.Definition(
            abi=abi.DEFINITION_ABI,
            n_ops=2 if has_gradient else 1,
            n_gradients=int(has_gradient),
            ops=(abi.Op * 2)(forward, backward),
            gradients=(abi.Gradient * 1)(gradient),
            infer=abi.InferFn(self._guarded(self._infer)),
            gradient=abi.GradientFn(self._guarded(self._gradient)),
            sbp=abi.SbpFn(self._guarded(self._sbp)),
        )

    def _op(
        self,
        kind: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        flags: abi.OpFlag,
        more_attributes: Sequence[Attribute] = (),
    ) -> abi.Op:
        attributes = [_attribute(attribute) for attribute in (*self._ops.attributes, *more_attributes)]
        return abi.Op(
            name=f"{self._name}_{kind}".encode(),
            flags=flags,
            n_inputs=len(inputs),
            n_outputs=len(outputs),
            n_attributes=len(attributes),
            inputs=_arguments(inputs),
            outputs=_arguments(outputs),
            attributes=(abi.Attribute * max(1, len(attributes)))(*attributes),
        )

    # ---- The functions of pk_definition, whose last arguments are a buffer for the text of an error, and its size

    def _guarded(self, function: Callable[..., None]) -> Callable[..., int]:
        def call(*arguments: Any) -> int:
            *given, error, size = arguments
            try:
                function(*given)
            except (Exception, SystemExit) as problem:
                callbacks.write_text(error, size, _explain(problem, self._path, self._at))
                return _WRONGLY_USED if isinstance(problem, ValueError | AssertionError) else _WRONG
            return 0

        return call

    def _infer(self, op: int, pointer: Any) -> None:
        instance = pointer.contents
        inputs = instance.inputs[: instance.n_inputs]
        outputs = instance.outputs[: instance.n_outputs]
        wanted = self._ops.inputs if op == _FORWARD else self._ops.dependencies
        if len(inputs) != len(wanted):
            raise CallError(f"the op takes {len(wanted)} inputs, but {len(inputs)} were given")
        given = [read_tensor(tensor) for tensor in inputs]
        if op == _FORWARD:
            completed, inferred = self._ops.infer_forward(given, _attributes(instance))
            _write(inputs, completed)
        else:
            inferred = self._ops.infer_backward(given, _attributes(instance))
        _write(outputs, inferred)

    def _sbp(self, _: int, pointer: Any, sink: Any, user: Any) -> None:
        """Send one signature for each axis, which splits all tensors along it, if the definition allows it."""
        if not self._ops.split_for_each_axis:
            return
        instance = pointer.contents
        inputs = instance.inputs[: instance.n_inputs]
        ranks = {tensor.ndim for tensor in inputs}
        if len(ranks) != 1:
            raise CallError(
                f"split_for_each_axis needs inputs with the same number of axes, but they have {sorted(ranks)}"
            )
        tensors = [*inputs, *instance.outputs[: instance.n_outputs]]
        for axis in range(ranks.pop()):
            for tensor in tensors:
                sink(user, axis, tensor.argument, tensor.index, ord("S"), axis)

    def _gradient(self, _: int, pointer: Any, to: Any) -> None:
        forward, sink = pointer.contents, to.contents
        name = b"%s_grad" % (forward.name or f"{self._name}_forward".encode())
        sink.op(sink.user, name, f"{self._name}_backward".encode())
        for dependency in self._ops.dependencies:
            blob = f"{dependency.kind}/{dependency.argument}/0"
            sink.input(sink.user, dependency.name.encode(), blob.encode())
        for gradient in self._ops.gradients:
            sink.output(sink.user, gradient.encode(), 1)
        for i in range(forward.n_attrs):
            sink.attribute(sink.user, ctypes.byref(forward.attrs[i]))
        for attribute, value in self._types(forward).items():
            sink.attribute(sink.user, ctypes.byref(abi.encode_attr(attribute, AttrType.LIST_INT64, value)))
        for argument, gradient in zip(self._ops.differentiable, self._ops.gradients, strict=True):
            sink.bind(sink.user, argument.encode(), 0, b"%s/%s_0" % (name, gradient.encode()))

    def _types(self, forward: abi.Instance) -> dict[str, tuple[int, ...]]:
        """Return the types of forward inputs that the gradient does not depend on, by their attributes."""
        inputs = {tensor.argument.decode(): tensor for tensor in forward.inputs[: forward.n_inputs]}
        outputs = {tensor.argument.decode(): tensor for tensor in forward.outputs[: forward.n_outputs]}
        alike = [(inputs if d.kind == "I" else outputs)[d.argument].dtype for d in self._ops.dependencies[:1] if inputs]
        types = {}
        for attribute, name in self._ops.missing_types(_attributes(forward)).items():
            tensor = inputs.get(name)
            if tensor is None or tensor.ndim < 0 or not tensor.dtype:
                raise DefinitionError(f"the shape or dtype of '{name}' {NOT_KNOWN_YET}")
            # One gradient serves several dtypes if the dtype follows from its dependencies.
            dtype = AS_THE_FIRST if tensor.dtype in alike else tensor.dtype
            types[attribute] = (dtype, *tensor.dims[: tensor.ndim])
        return types


def _arguments(names: Sequence[str]) -> ctypes.Array[abi.Argument]:
    return (abi.Argument * max(1, len(names)))(*(abi.Argument(name=name.encode(), count=1) for name in names))


def _attribute(attribute: Attribute) -> abi.Attribute:
    if attribute.required:
        return abi.Attribute(initial=abi.Attr(name=attribute.name.encode(), type=attribute.type, count=1))
    return abi.Attribute(initial=abi.encode_attr(attribute.name, attribute.type, attribute.default), has_default=1)


def _attributes(instance: abi.Instance) -> dict[str, Any]:
    return {attr.name.decode(): abi.decode_attr(attr) for attr in instance.attrs[: instance.n_attrs]}


def _write(tensors: Sequence[abi.Tensor], specs: Sequence[TensorSpec]) -> None:
    for tensor, (shape, dtype) in zip(tensors, specs, strict=True):
        tensor.ndim = -1 if shape is None else len(shape)
        tensor.dims[: len(shape or ())] = shape or ()
        tensor.dtype = 0 if dtype is None else dtypes.number_of(dtype)
