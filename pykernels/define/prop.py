"""`CustomOpProp`, the base class of Python definitions, which describe ops in MXNet's terms."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pykernels.base import dtypes
from pykernels.base.abi import AttrType
from pykernels.base.attributes import parse_value, type_name
from pykernels.base.errors import CallError, DefinitionError
from pykernels.define.declared import Attribute
from pykernels.define.prop_derivatives import names_of

Shape = Sequence[int]


class CustomOpProp:
    """Describes an op; each ``<op>_py_def.py`` contains one subclass.

    A subclass sets the variables below, or overrides the methods that read them, as in MXNet. Its other annotated
    variables are the attributes of the op: ``slope: float = 0.01``. If it has a constructor, the parameters of that are
    the attributes instead. An annotation gives the type of an attribute (``int``, ``float``, ``bool``, ``str``,
    ``tuple[int, ...]``, ``list[float]``, ``np.dtype``, or an ``AttrType`` of `base.abi`). Without an annotation, the
    default of a parameter gives it; a parameter with neither is a string, as in MXNet.

    Parameters
    ----------
    need_top_grad : bool
        Whether the gradient depends on the gradients of the outputs. The gradient of a loss at the end of a network
        does not: it is what the kernel computes, whatever gradients come from above.

    Attributes
    ----------
    arguments, outputs : sequence of str
        The names of the inputs and outputs.
    auxiliary_states : sequence of str
        The names of further inputs that ``forward`` changes in place, such as moving averages. They follow the others.
    backward : str or None
        What the gradient is computed from, and the gradients that it gives, as in a C++ definition: ``"y, dy -> dx"``.
        Auxiliary states are named, too; the gradient gets them as ``forward`` leaves them.
        None if the op has no gradient. By default, the gradient is computed from the gradients of the outputs, the
        inputs and the outputs, and all inputs have one.
    backward_backward, tangent, backward_tangent : str or None
        The same for the functions of these names: the gradient of ``backward``, as in ``"y, dy, gdx -> gy, gdy"``, and
        the forward-mode derivatives of ``forward`` and ``backward``, as in ``"y, tx -> ty"`` and
        ``"y, dy, ty, tdy -> tdx"``. None if there is no such function.
    dtypes : str or mapping of str
        The dtypes of all inputs and outputs, or of those named: "floating", "complex", "inexact", "integer", "number"
        or "any", each of which is one dtype in a call, or the name of a dtype. Without it, all have the dtype of the
        first input, which is not complex.
    split_for_each_axis : bool
        Set it to True in the class of an elementwise op, so that OneFlow may split all tensors along any axis to
        distribute them over several devices. Otherwise every device has the whole tensors.
    """

    arguments: Sequence[str] = ("data",)
    outputs: Sequence[str] = ("output",)
    auxiliary_states: Sequence[str] = ()
    backward: str | None = ""
    backward_backward: str | None = None
    tangent: str | None = None
    backward_tangent: str | None = None
    dtypes: str | Mapping[str, str] = "any"
    split_for_each_axis = False

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def list_arguments(self) -> Sequence[str]:
        """Return the names of the inputs."""
        return self.arguments

    def list_outputs(self) -> Sequence[str]:
        """Return the names of the outputs."""
        return self.outputs

    def list_auxiliary_states(self) -> Sequence[str]:
        """Return the names of `auxiliary_states`."""
        return self.auxiliary_states

    def infer_shape(self, in_shape: list[list[int]]) -> tuple[Sequence[Shape], ...]:
        """Return the shapes of inputs and outputs.

        Parameters
        ----------
        in_shape : list of list of int
            The shapes of the inputs. An empty list is an unknown shape or the shape of a scalar.

        Returns
        -------
        tuple of (input shapes, output shapes) or (input shapes, output shapes, state shapes)
            Unknown input shapes may be filled in. An op with auxiliary states must return their shapes.
        """
        return in_shape, [in_shape[0]] * len(self.list_outputs()), []

    def infer_type(self, in_type: list[Any]) -> tuple[Sequence[Any], ...]:
        """Return the dtypes of inputs and outputs in the form of `infer_shape`; None is an unknown dtype."""
        words = words_of(self)
        found: dict[str, Any] = {}
        for name, dtype in zip(self.list_arguments(), in_type):
            if dtype is not None and words[name] in _KINDS:
                if not _is(np.dtype(dtype), words[name]):
                    raise ValueError(f"'{name}' has dtype {np.dtype(dtype)}, but must be {words[name]}")
                found.setdefault(words[name], np.dtype(dtype))
        _share_precision(found, set(words.values()))
        types = {name: found.get(word) if word in _KINDS else dtypes.find(word) for name, word in words.items()}
        groups = self.list_arguments(), self.list_outputs(), self.list_auxiliary_states()
        return tuple([types[name] for name in names] for names in groups)

    def declare_backward_dependency(
        self, out_grad: list[int], in_data: list[int], out_data: list[int]
    ) -> Sequence[int]:
        """Return the numbers of the tensors that the gradient depends on, selected from the arguments.

        The backward kernel receives the tensors in the order in which they are returned, and then every auxiliary
        state. Inputs may be left out. Without this method, the variable `backward` says what the gradient depends on.
        """
        return [*(out_grad if self.need_top_grad_ else []), *in_data, *out_data]

    def list_gradients(self) -> Sequence[str]:
        """Return the names of the inputs that have a gradient; by default all of them.

        The backward kernel returns one gradient for each, in the order of `list_arguments`. Other inputs, such as
        labels or indices, have no gradient, and no array is allocated for it. If the list is empty, the op has no
        gradient and needs no backward kernel.
        """
        if not self.backward:
            return [] if self.backward is None else self.list_arguments()
        names = {f"d{name}": name for name in self.list_arguments()}
        given = names_of("backward", self.backward, 1, names)
        if given != [name for name in names if name in given]:
            raise DefinitionError(f"backward = {self.backward!r}: write the gradients in the order of the inputs")
        return [names[name] for name in given]


# The kinds of NumPy's dtypes for each word.
_KINDS = {"floating": "f", "complex": "c", "inexact": "fc", "integer": "iu", "number": "fiu", "any": "fiub"}


def _is(dtype: np.dtype, word: str) -> bool:
    return dtype.kind in _KINDS[word] or (word not in ("complex", "integer") and dtypes.is_bfloat16(dtype))


def _share_precision(found: dict[str, np.dtype], words: Collection[str]) -> None:
    """Give floating-point and complex numbers the precision of the first of them, as far as an op has both."""
    precision = next((dtypes.real(found[word]) for word in found if word in ("floating", "complex", "inexact")), None)
    if precision is None:
        return
    if "floating" in words:
        found["floating"] = precision
    if "complex" in words:
        found["complex"] = dtypes.complex_of(precision)
    if "inexact" in found:
        is_complex = found["inexact"].kind == "c"
        found["inexact"] = dtypes.complex_of(precision) if is_complex else precision


def names_complex(prop: CustomOpProp) -> bool:
    """Whether a definition names complex dtypes, and so takes complex numbers."""
    kinds = (_KINDS.get(word) or dtypes.find(word).kind for word in words_of(prop).values())
    return any("c" in kind for kind in kinds)


def words_of(prop: CustomOpProp) -> dict[str, str]:
    """Return the word for the dtype of each input, output and state of an op, from its variable `dtypes`.

    This raises `DefinitionError` if the variable names another tensor, or has another word.
    """
    names = [*prop.list_arguments(), *prop.list_outputs(), *prop.list_auxiliary_states()]
    given = dict.fromkeys(names, prop.dtypes) if isinstance(prop.dtypes, str) else prop.dtypes
    for name, word in given.items():
        if name not in names:
            raise DefinitionError(f"dtypes names {name!r}, which is none of {', '.join(names)}")
        try:
            if word not in _KINDS:
                dtypes.number_of(word)
        except (TypeError, CallError):
            kinds = ", ".join(_KINDS)
            raise DefinitionError(f"dtypes: {word!r}, of {name!r}, is neither a dtype of ops nor {kinds}") from None
    first = given.get(names[0], "any")
    return {name: given.get(name, first) for name in names}


_SCALARS: dict[Any, AttrType] = {
    bool: AttrType.BOOL,
    int: AttrType.INT64,
    float: AttrType.FLOAT,
    str: AttrType.STRING,
    np.dtype: AttrType.DTYPE,
    type: AttrType.DTYPE,
}
_LISTS = {
    AttrType.INT64: AttrType.LIST_INT64,
    AttrType.FLOAT: AttrType.LIST_FLOAT,
    AttrType.STRING: AttrType.LIST_STRING,
    AttrType.DTYPE: AttrType.LIST_DTYPE,
    AttrType.LIST_INT64: AttrType.LIST_SHAPE,
}


def attributes_of(prop: type[CustomOpProp]) -> tuple[Attribute, ...]:
    """Return the attributes that the variables of `prop` declare, or else its constructor.

    This raises `ValueError` if one is not allowed.
    """
    in_constructor = has_constructor(prop)
    try:
        if in_constructor:
            parameters = list(inspect.signature(prop.__init__, eval_str=True).parameters.values())[1:]
        else:
            parameters = list(_variables(prop))
    except Exception as error:
        # Evaluating the text of an annotation can raise any exception.
        what = "of its constructor" if in_constructor else "of its variables"
        raise ValueError(f"an annotation {what} cannot be read: {error}") from None
    return tuple(map(_attribute, parameters))


def has_constructor(prop: type[CustomOpProp]) -> bool:
    """Return whether the class has a constructor of its own."""
    return prop.__init__ is not CustomOpProp.__init__


def _variables(prop: type[CustomOpProp]) -> Iterator[inspect.Parameter]:
    """Yield the annotated variables of a class and its bases that `CustomOpProp` does not have."""
    found: dict[str, Any] = {}
    for each in reversed(prop.__mro__):
        if issubclass(each, CustomOpProp):
            found |= inspect.get_annotations(each, eval_str=True)
    for name, annotation in found.items():
        if not hasattr(CustomOpProp, name) and typing.get_origin(annotation) is not typing.ClassVar:
            default = getattr(prop, name, inspect.Parameter.empty)
            yield inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _attribute(parameter: inspect.Parameter) -> Attribute:
    name = parameter.name
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
        raise ValueError(f"parameter '{parameter}' of its constructor is not an attribute; give every attribute a name")
    has_default = parameter.default is not parameter.empty
    type_ = _type_of(parameter)
    if type_ is None:
        what = parameter.default if parameter.annotation is parameter.empty else parameter.annotation
        raise ValueError(
            f"the type of attribute '{name}' cannot be inferred from {what!r}; annotate it with int, float, bool, str, "
            "np.dtype, or a tuple or list of these"
        )
    if not has_default:
        return Attribute(name, type_)
    try:
        return Attribute(name, type_, parse_value(type_, parameter.default))
    except ValueError as error:
        raise ValueError(
            f"the default of attribute '{name}', {parameter.default!r}, is no {type_name(type_)}: {error}"
        ) from None


def _type_of(parameter: inspect.Parameter) -> AttrType | None:
    if parameter.annotation is not parameter.empty:
        return _annotated(parameter.annotation)
    if parameter.default is parameter.empty:
        return AttrType.STRING
    return _type_of_value(parameter.default)


def _annotated(annotation: Any) -> AttrType | None:
    if isinstance(annotation, AttrType):
        return annotation
    if typing.get_origin(annotation) in (tuple, list, Sequence):
        items = [item for item in typing.get_args(annotation) if item is not Ellipsis]
        inner = {_annotated(item) for item in items}
        return _LISTS.get(inner.pop() or AttrType.BOOL) if len(inner) == 1 else None
    return _SCALARS.get(typing.get_origin(annotation) or annotation)


def _type_of_value(value: Any) -> AttrType | None:
    if isinstance(value, tuple | list):
        inner = {_type_of_value(item) for item in value}
        return _LISTS.get(inner.pop() or AttrType.BOOL) if len(inner) == 1 else None
    for known in (bool, int, float, str, np.dtype, type):
        if isinstance(value, known):
            return _SCALARS[known]
    return None
