"""Infer shapes and dtypes of the ops that a `CustomOpProp` describes: forward, backward and other derivatives."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pykernels.base import dtypes
from pykernels.base.abi import MAX_NDIM, AttrType
from pykernels.base.attributes import sample_value
from pykernels.base.errors import CallError, DefinitionError
from pykernels.define.declared import Attribute
from pykernels.define.instance import UNKNOWN, TensorSpec
from pykernels.define.prop import CustomOpProp, attributes_of, has_constructor, names_complex, words_of
from pykernels.define.prop_derivatives import DERIVATIVES, PropOp, Tensor, derivative, names_of

#: In place of a dtype number: the dtype of the first tensor that the gradient depends on.
AS_THE_FIRST = 0

# Inputs for testing whether types can be recovered: a scalar, and arrays whose axes all have different lengths.
_PROBES = [TensorSpec((2, 3, 5, 7)[:ndim], np.dtype(np.float32)) for ndim in range(5)]


class PropOps:
    """The ops that a `CustomOpProp` class describes.

    Raises
    ------
    DefinitionError
        The class does not describe an op. The message gives the reason; the caller adds the place.
    """

    def __init__(self, prop: type[CustomOpProp]) -> None:
        self._prop = prop
        try:
            self.attributes = attributes_of(prop)
        except ValueError as error:
            raise DefinitionError(str(error)) from None
        described = self._describe()
        self.arguments = arguments = _names(described.list_arguments(), "list_arguments")
        self.states = _names(described.list_auxiliary_states(), "list_auxiliary_states")
        self.inputs = arguments + self.states
        self.outputs = _names(described.list_outputs(), "list_outputs")
        if not self.outputs and not self.states:
            raise DefinitionError("list_outputs names no output, nor list_auxiliary_states an input to write into")
        words_of(described)
        self.forward = PropOp(
            "forward", *([Tensor(name, name) for name in group] for group in (self.inputs, self.outputs))
        )
        differentiable = self._differentiable(described)
        self.backward = PropOp(
            "backward",
            self._dependencies(described, arguments),
            [Tensor(f"d{name}", name, "D", name) for name in differentiable],
        )
        #: The ops that compute gradients, by the names of the ops whose gradients these are.
        self.gradients: dict[str, PropOp] = {}
        self.tangents: list[PropOp] = []
        # Gradients come from those of outputs.
        if differentiable and self.outputs:
            self.gradients["forward"] = self.backward
        self._add_derivatives(described)
        # Gradients receive the types of inputs that the backward op does not depend on as attributes.
        given = {each.argument for each in self.backward.inputs if each.kind == "I"}
        self.types = {f"type_of_{name}": name for name in arguments if name not in given}
        self.split_for_each_axis = bool(prop.split_for_each_axis)
        self._check_names()

    @property
    def ops(self) -> list[PropOp]:
        """All ops."""
        return [self.forward, *self.gradients.values(), *self.tangents]

    def _describe(self) -> CustomOpProp:
        """Return an instance that lists names, which cannot depend on the values of attributes."""
        values = {a.name: sample_value(a.type) if a.required else a.default for a in self.attributes}
        try:
            return self._instance(values)
        except Exception:
            if not any(attribute.required for attribute in self.attributes):
                raise
        bare = self._prop.__new__(self._prop)
        CustomOpProp.__init__(bare)
        return bare

    def _instance(self, values: Mapping[str, Any]) -> CustomOpProp:
        given = {a.name: _for_constructor(a, values[a.name]) for a in self.attributes}
        if has_constructor(self._prop):
            return self._prop(**given)
        made = self._prop()
        vars(made).update(given)
        return made

    def _dependencies(self, described: CustomOpProp, arguments: Sequence[str]) -> list[Tensor]:
        blobs = [Tensor(f"d{name}", name, "D", name) for name in self.outputs]
        blobs += [Tensor(name, name, "I", name) for name in arguments]
        blobs += [Tensor(name, name, "O", name) for name in self.outputs]
        states = [Tensor(name, name, "I", name) for name in self.states]
        has_method = type(described).declare_backward_dependency is not CustomOpProp.declare_backward_dependency
        if described.backward and not has_method:
            known = {blob.name: blob for blob in (*blobs, *states)}
            return [known[name] for name in names_of("backward", described.backward, 0, known)]
        numbers = list(range(len(blobs)))
        n_out, n_in = len(self.outputs), len(arguments)
        chosen = described.declare_backward_dependency(
            numbers[:n_out], numbers[n_out : n_out + n_in], numbers[n_out + n_in :]
        )
        try:
            # As in MXNet, the gradient receives every state.
            return [*(blobs[numbers.index(number)] for number in dict.fromkeys(chosen)), *states]
        except (ValueError, TypeError):
            raise DefinitionError(
                f"declare_backward_dependency returned {chosen!r}, not a selection of the numbers that it was given"
            ) from None

    def _differentiable(self, described: CustomOpProp) -> list[str]:
        chosen = _names(described.list_gradients(), "list_gradients")
        unknown = [name for name in chosen if name not in self.arguments]
        if unknown:
            raise DefinitionError(
                f"list_gradients returned {chosen!r}, but '{unknown[0]}' is not an input; the inputs are "
                f"{', '.join(self.arguments)}"
            )
        return [name for name in self.arguments if name in chosen]

    def _add_derivatives(self, described: CustomOpProp) -> None:
        """Add the ops of second derivatives and of tangents, as the variables of their names plan them."""
        for name in DERIVATIVES:
            planned = getattr(described, name)
            if name == "backward" or planned is None:
                continue
            if not self.gradients:
                raise DefinitionError(f"{name} = {planned!r}: the op has no gradient")
            of = self.backward if name.startswith("backward") else self.forward
            made = derivative(of, name, planned)
            if name.endswith("tangent"):
                self.tangents.append(made)
            else:
                self.gradients[of.name] = made

    def _check_names(self) -> None:
        attributes = [attribute.name for attribute in self.attributes]
        for op in self.ops:
            what = {"forward": "the op", "backward": "its gradient"}.get(op.name, op.name)
            names = [*(each.name for each in (*op.inputs, *op.outputs)), *self.types_of(op), *attributes]
            repeated = sorted({name for name in names if names.count(name) > 1})
            if repeated:
                raise DefinitionError(
                    f"'{repeated[0]}' names two things in {what}: inputs, outputs and attributes share one set of "
                    "names (the gradient of a tensor x is named dx)"
                )

    # ---- inference

    def infer_forward(
        self, inputs: Sequence[TensorSpec], attributes: Mapping[str, Any]
    ) -> tuple[list[TensorSpec], list[TensorSpec]]:
        """Return the completed inputs and the outputs.

        Raises the exceptions of the class, `CallError` or `DefinitionError`.
        """
        prop = self._instance(attributes)
        in_shapes, out_shapes = self._infer_shapes(prop, [spec.shape for spec in inputs])
        in_types, out_types = self._infer_types(prop, [spec.dtype for spec in inputs])
        return list(map(TensorSpec, in_shapes, in_types)), list(map(TensorSpec, out_shapes, out_types))

    def types_of(self, op: PropOp) -> dict[str, str]:
        """Return the attributes by which an op receives types of forward inputs, with the names of the inputs."""
        return self.types if op.name.startswith("backward") else {}

    def infer_derivative(
        self, op: PropOp, given: Sequence[TensorSpec], attributes: Mapping[str, Any]
    ) -> list[TensorSpec]:
        """Infer the outputs of an op that computes a derivative from its inputs."""
        known = self._known(op, given)
        for attribute, name in self.types_of(op).items():
            if (type_ := attributes[attribute]) and name not in known:
                first = known.get(self.backward.inputs[0].like, given[0])
                dtype = first.dtype if type_[0] == AS_THE_FIRST else dtypes.from_number(type_[0])
                known[name] = TensorSpec(tuple(type_[1:]), dtype)
        inputs = [known.get(name, UNKNOWN) for name in self.inputs]
        if UNKNOWN in inputs:
            if not self._can_recover(op, attributes):
                raise DefinitionError(self._not_inferred(op, self.inputs[inputs.index(UNKNOWN)]))
            inputs = self._recover(known, attributes)
        outputs = self.infer_forward(inputs, attributes)[1]
        inferred = dict(zip((*self.inputs, *self.outputs), (*inputs, *outputs), strict=True))
        for each, spec in zip(op.inputs, given, strict=True):
            shape = inferred[each.like].shape
            if spec.shape is not None and shape is not None and spec.shape != shape:
                what = "output" if each.like in self.outputs else "input"
                raise CallError(f"'{each.name}' has shape {spec.shape}, but the {what} '{each.like}' has shape {shape}")
        return [inferred[each.like] for each in op.outputs]

    def _not_inferred(self, op: PropOp, name: str) -> str:
        is_backward = op is self.backward
        what = f"the gradient of '{name}'" if is_backward else f"'{name}'"
        of = "the gradient" if is_backward else op.name
        cure = "return the input, too, from declare_backward_dependency" if is_backward else f"add {name} before '->'"
        names = ", ".join(each.name for each in op.inputs)
        return f"the shape of {what} cannot be inferred from what {of} depends on ({names}); {cure}"

    @staticmethod
    def _known(op: PropOp, given: Sequence[TensorSpec]) -> dict[str, TensorSpec]:
        """Return the types of inputs and outputs of the forward op that the inputs of an op show."""
        known: dict[str, TensorSpec] = {}
        for each, spec in zip(op.inputs, given, strict=True):
            if known.get(each.like, UNKNOWN) == UNKNOWN:
                known[each.like] = spec
        return known

    def missing_types(self, attributes: Mapping[str, Any]) -> dict[str, str]:
        """Return the attributes that pass types of inputs to the backward op, with the names of the inputs."""
        return {} if not self.types or self._can_recover(self.backward, attributes) else self.types

    def _can_recover(self, op: PropOp, attributes: Mapping[str, Any]) -> bool:
        """Return whether the inputs of an op determine all types of inputs, for each probe that the class takes."""
        recovered = [self._recovers(op, probe, attributes) for probe in _PROBES]
        return True in recovered and False not in recovered

    def _recovers(self, op: PropOp, first: TensorSpec, attributes: Mapping[str, Any]) -> bool | None:
        """Return the same for a given first input; None if the class rejects it or needs the other inputs."""
        try:
            inputs, outputs = self.infer_forward([first] + [UNKNOWN] * (len(self.inputs) - 1), attributes)
        except Exception:  # whatever the class raises
            return None
        of = dict(zip((*self.inputs, *self.outputs), (*inputs, *outputs), strict=True))
        try:
            return self._recover({each.like: of[each.like] for each in op.inputs}, attributes) == inputs
        except Exception:
            return False

    def _recover(self, known: Mapping[str, TensorSpec], attributes: Mapping[str, Any]) -> list[TensorSpec]:
        """Return the types of all forward inputs, including those that are not known.

        Either infer_shape fills them in from the others, or there is only one, which is like an output.
        """
        inputs = [known.get(name, UNKNOWN) for name in self.inputs]
        if inputs == [UNKNOWN]:
            return [next(iter(known.values()))]
        return self.infer_forward(inputs, attributes)[0]

    def _infer_shapes(
        self, prop: CustomOpProp, shapes: Sequence[tuple[int, ...] | None]
    ) -> tuple[list[tuple[int, ...] | None], list[tuple[int, ...] | None]]:
        arguments = shapes[: len(self.arguments)]
        if arguments and all(shape is None for shape in arguments):
            return list(shapes), [None] * len(self.outputs)
        result = prop.infer_shape([list(shape or ()) for shape in arguments])
        ins, outs = self._two_lists(result, "infer_shape", _shape)
        # An empty list is either an unknown shape or the shape of a scalar.
        completed = [None if given is None and not new else new for given, new in zip(shapes, ins, strict=True)]
        _compare(self.inputs, shapes, completed, "shape", "infer_shape")
        return completed, [None if not out and None in completed else out for out in outs]

    def _infer_types(
        self, prop: CustomOpProp, types: Sequence[np.dtype[Any] | None]
    ) -> tuple[list[np.dtype[Any] | None], list[np.dtype[Any] | None]]:
        arguments = types[: len(self.arguments)]
        if arguments and all(dtype is None for dtype in arguments):
            return list(types), [None] * len(self.outputs)
        for name, dtype in zip(self.arguments, arguments):
            if dtype is not None and dtype.kind == "c" and not names_complex(prop):
                raise CallError(
                    f"'{name}' has dtype {dtype}, and the definition does not name complex dtypes. If the op and its "
                    f'gradient are right for complex numbers, set dtypes = "complex" or "inexact" in its class'
                )
        result = prop.infer_type([None if dtype is None else dtype.type for dtype in arguments])
        ins, outs = self._two_lists(result, "infer_type", _dtype)
        _compare(self.inputs, types, ins, "dtype", "infer_type")
        return ins, outs

    def _two_lists(self, result: Any, method: str, read: Callable[[Any], Any]) -> tuple[list[Any], list[Any]]:
        wanted = (len(self.arguments), len(self.outputs), len(self.states))
        counts = f"{wanted[0]} for inputs and {wanted[1]} for outputs"
        if self.states:
            counts += f" and {wanted[2]} for auxiliary states"
        try:
            ins, outs, states = list(result[0]), list(result[1]), list(result[2]) if len(result) == 3 else []
            fits = len(result) in (2, 3) and (len(ins), len(outs), len(states)) == wanted
        except (TypeError, IndexError, KeyError):
            fits = False
        if not fits:
            number = "three" if self.states else "two"
            raise DefinitionError(f"{method} returned {result!r}, not {number} lists ({counts})")
        ins += states
        try:
            return [read(item) for item in ins], [read(item) for item in outs]
        except (TypeError, ValueError) as error:
            raise DefinitionError(f"{method} returned {result!r}: {error}") from None


def _names(names: Any, method: str) -> list[str]:
    if isinstance(names, str) or not all(isinstance(name, str) and name for name in names):
        raise DefinitionError(f"{method} returned {names!r}, not a list of names")
    return list(names)


def _for_constructor(attribute: Attribute, value: Any) -> Any:
    """Convert a value to the form that the constructor takes: dtypes become NumPy's."""
    if attribute.type is AttrType.DTYPE:
        return dtypes.from_number(value)
    if attribute.type is AttrType.LIST_DTYPE:
        return tuple(map(dtypes.from_number, value))
    return value


def _shape(value: Any) -> tuple[int, ...]:
    shape = tuple(operator.index(dim) for dim in value or ())
    if any(dim < 0 for dim in shape):
        raise ValueError(f"{shape} has a negative length")
    if len(shape) > MAX_NDIM:
        raise ValueError(f"{len(shape)} axes are more than {MAX_NDIM}")
    return shape


def _dtype(value: Any) -> np.dtype[Any] | None:
    return None if value is None else np.dtype(value)


def _compare(names: Sequence[str], given: Sequence[Any], wanted: Sequence[Any], what: str, method: str) -> None:
    for name, one, other in zip(names, given, wanted, strict=True):
        if one is not None and one != other:
            raise CallError(f"input '{name}' has {what} {one}, but {method} wants {other}")
