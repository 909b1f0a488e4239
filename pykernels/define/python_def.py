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
from pykernels.define.prop_derivatives import PropOp, Tensor
from pykernels.define.prop_inference import AS_THE_FIRST, PropOps
from pykernels.define.reader import read_definition

_WRONGLY_USED, _WRONG = 1, 2


def load_python_def(path: Path, name: str) -> Definition:
    """Read the Python definition at `path`, whose op types are ``<name>_forward``, ``<name>_backward`` and so on.

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
        flags = abi.OpFlag.INFERS_SHAPE | abi.OpFlag.INFERS_DTYPE
        if ops.split_for_each_axis:
            flags |= abi.OpFlag.HAS_SBP
        is_constant = bool(ops.arguments) and not ops.backward.outputs
        forward = flags | abi.OpFlag.INFERS_INPUTS | (abi.OpFlag.NO_GRADIENT if is_constant else 0)
        made = [self._op(op, forward if op is ops.forward else flags) for op in ops.ops]
        gradients = [abi.Gradient(op=f"{name}_{each}".encode()) for each in ops.gradients]
        for registered in (*made, *gradients):
            registered.file, registered.line = str(path).encode(), line
        for at in range(len(ops.inputs) - len(ops.states), len(ops.inputs)):
            made[0].inputs[at].is_mutable = 1
        self.definition = abi.Definition(
            abi=abi.DEFINITION_ABI,
            n_ops=len(made),
            n_gradients=len(gradients),
            ops=(abi.Op * len(made))(*made),
            gradients=(abi.Gradient * max(1, len(gradients)))(*gradients),
            infer=abi.InferFn(self._guarded(self._infer)),
            gradient=abi.GradientFn(self._guarded(self._gradient)),
            sbp=abi.SbpFn(self._guarded(self._sbp)),
        )

    def _op(self, op: PropOp, flags: abi.OpFlag) -> abi.Op:
        types = [Attribute(each, AttrType.LIST_INT64, ()) for each in self._ops.types_of(op)]
        attributes = [*self._ops.attributes, *types]
        return abi.Op(
            name=f"{self._name}_{op.name}".encode(),
            flags=flags,
            n_inputs=len(op.inputs),
            n_outputs=len(op.outputs),
            n_attributes=len(attributes),
            inputs=_arguments(op.inputs),
            outputs=_arguments(op.outputs),
            attributes=(abi.Attribute * max(1, len(attributes)))(*map(_attribute, attributes)),
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

    def _infer(self, index: int, pointer: Any) -> None:
        op, instance = self._ops.ops[index], pointer.contents
        inputs = instance.inputs[: instance.n_inputs]
        outputs = instance.outputs[: instance.n_outputs]
        if len(inputs) != len(op.inputs):
            raise CallError(f"the op takes {len(op.inputs)} inputs, but {len(inputs)} were given")
        given = [read_tensor(tensor) for tensor in inputs]
        if op is self._ops.forward:
            completed, inferred = self._ops.infer_forward(given, _attributes(instance))
            _write(inputs, completed)
        else:
            inferred = self._ops.infer_derivative(op, given, _attributes(instance))
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

    def _gradient(self, index: int, pointer: Any, to: Any) -> None:
        of, gradient = list(self._ops.gradients.items())[index]
        forward, sink = pointer.contents, to.contents
        name = b"%s_grad" % (forward.name or f"{self._name}_{of}".encode())
        sink.op(sink.user, name, f"{self._name}_{gradient.name}".encode())
        for each in gradient.inputs:
            sink.input(sink.user, each.name.encode(), f"{each.kind}/{each.argument}/0".encode())
        for each in gradient.outputs:
            sink.output(sink.user, each.name.encode(), 1)
        for i in range(forward.n_attrs):
            sink.attribute(sink.user, ctypes.byref(forward.attrs[i]))
        if gradient is self._ops.backward:
            for attribute, value in self._types(forward).items():
                sink.attribute(sink.user, ctypes.byref(abi.encode_attr(attribute, AttrType.LIST_INT64, value)))
        for each in gradient.outputs:
            sink.bind(sink.user, each.argument.encode(), 0, b"%s/%s_0" % (name, each.name.encode()))

    def _types(self, forward: abi.Instance) -> dict[str, tuple[int, ...]]:
        """Return the types of forward inputs that the gradient does not depend on, by their attributes."""
        inputs = {tensor.argument.decode(): tensor for tensor in forward.inputs[: forward.n_inputs]}
        outputs = {tensor.argument.decode(): tensor for tensor in forward.outputs[: forward.n_outputs]}
        first = self._ops.backward.inputs[:1]
        alike = [(inputs if each.kind == "I" else outputs)[each.argument].dtype for each in first if inputs]
        types = {}
        for attribute, name in self._ops.missing_types(_attributes(forward)).items():
            tensor = inputs.get(name)
            if tensor is None or tensor.ndim < 0 or not tensor.dtype:
                raise DefinitionError(f"the shape or dtype of '{name}' {NOT_KNOWN_YET}")
            # One gradient serves several dtypes if the dtype follows from its dependencies.
            dtype = AS_THE_FIRST if tensor.dtype in alike else tensor.dtype
            types[attribute] = (dtype, *tensor.dims[: tensor.ndim])
        return types


def _arguments(tensors: Sequence[Tensor]) -> ctypes.Array[abi.Argument]:
    arguments = [abi.Argument(name=each.name.encode(), count=1) for each in tensors]
    return (abi.Argument * max(1, len(arguments)))(*arguments)


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
