"""Functions of API files that do nothing but call an op: OneFlow's tensors reach the op without their Python code.

Describing a call in Python takes as long as the op on a few elements. What such a function describes is the same every
time but for its arguments, so it is read from the function's code once; the registrar does the rest.
"""

from __future__ import annotations

import copy
import dis
import inspect
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pykernels.call.builder import UserOpBuilder, user_op_builder
from pykernels.call.plan import find_plan

__all__ = ["Recipe", "read_recipe", "recipes"]


@dataclass(frozen=True)
class Recipe:
    """What a function calls.

    Attributes
    ----------
    op_type : str
    counts : tuple of str and int
        As `plan.Plan` takes them.
    tensors : tuple of int
        Which of the function's parameters the inputs are.
    given : mapping of str to int
        Which of them the attributes are.
    constants : mapping of str to object
        The other attributes.
    is_list : bool
        Whether the function returns a tuple of tensors, rather than the only one.
    """

    op_type: str
    counts: tuple[str | int, ...]
    tensors: tuple[int, ...]
    given: Mapping[str, int]
    constants: Mapping[str, Any]
    is_list: bool

    def find_call(self, values: tuple[Any, ...], kind: type) -> Any:
        """What calls the op with these values of the `given` attributes, of type `kind`; None if it is not known."""
        attributes = {**self.constants, **dict(zip(self.given, values))}
        plan = find_plan(self.op_type, self.counts, attributes or None)
        if not plan.is_whole or (plan.n_results != 1 and not self.is_list):
            return None
        return next((call for call in plan.calls.values() if isinstance(call, kind)), None)


def recipes(api: types.ModuleType) -> Iterator[tuple[types.FunctionType, Recipe]]:
    """The functions of an API file that do nothing but call an op."""
    for function in vars(api).values():
        if isinstance(function, types.FunctionType) and function.__globals__ is vars(api):
            recipe = read_recipe(function)
            if recipe is not None:
                yield function, recipe


def read_recipe(function: types.FunctionType) -> Recipe | None:
    """What a function does, if it only calls an op; None if there is more to it, or it is written otherwise."""
    code = function.__code__
    if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) or code.co_kwonlyargcount or code.co_cellvars:
        return None
    names = code.co_varnames[: code.co_argcount]
    result = _Reading(function.__globals__, {name: _Parameter(i) for i, name in enumerate(names)}).run(code)
    if not isinstance(result, _Call) or result.done not in _RESULTS:
        return None
    builder = result.builder
    attributes = builder._attributes or {}
    if not all(isinstance(tensor, _Parameter) for tensor in builder._tensors):
        return None
    if not all(isinstance(value, (_Parameter, bool, int, float, str, tuple)) for value in attributes.values()):
        return None
    return Recipe(
        builder._type,
        builder._counts,
        tuple(tensor.position for tensor in builder._tensors),
        {name: value.position for name, value in attributes.items() if isinstance(value, _Parameter)},
        {name: value for name, value in attributes.items() if not isinstance(value, _Parameter)},
        result.done == "RemoteBlobList",
    )


@dataclass(frozen=True)
class _Parameter:
    """Any value."""

    position: int


@dataclass(frozen=True)
class _Method:
    """An attribute that has been looked up."""

    owner: Any
    name: str


@dataclass(frozen=True)
class _Call:
    """A call that has been described, and the last of the steps after that."""

    builder: UserOpBuilder
    done: str


_DESCRIBING = frozenset({"Op", "OpName", "Input", "Output", "Attr"})
_RESULTS = frozenset({"SoleOutputBlob", "RemoteBlobList"})
# What can follow.
_STEPS = {"": frozenset({"Build"}), "Build": frozenset({"InferAndTryRun"}), "InferAndTryRun": _RESULTS}


class _UnknownError(Exception):
    """The code does something else."""


class _Reading:
    """Runs code on parameters that stand for any values, as far as it is made of calls of the builder."""

    def __init__(self, space: Mapping[str, Any], parameters: dict[str, Any]) -> None:
        self._space = space
        self._locals = parameters
        self._stack: list[Any] = []

    def run(self, code: types.CodeType) -> Any:
        """What it returns; None if it does something else."""
        try:
            for step in dis.get_instructions(code):
                if step.opname == "RETURN_VALUE":
                    return self._stack.pop()
                self._do(step.opname, step.argval)
        except Exception:  # whatever is wrong with the call is told when it is made
            return None
        return None

    def _do(self, opname: str, value: Any) -> None:
        stack = self._stack
        if opname == "LOAD_CONST":
            stack.append(value)
        elif opname == "LOAD_GLOBAL":
            called = self._space[value]
            # Numbers and the like may be others tomorrow.
            if not isinstance(called, (types.ModuleType, types.FunctionType)):
                raise _UnknownError
            stack.append(called)
        elif opname == "LOAD_FAST":
            stack.append(self._locals[value])
        elif opname == "STORE_FAST":
            self._locals[value] = stack.pop()
        elif opname in ("LOAD_ATTR", "LOAD_METHOD"):
            stack.append(_Method(stack.pop(), value))
        elif opname in ("BUILD_LIST", "BUILD_TUPLE"):
            stack.append(list(self._pop(value)))
        elif opname in ("CALL_FUNCTION", "CALL_METHOD"):
            arguments = self._pop(value)
            stack.append(self._call(stack.pop(), arguments, {}))
        elif opname == "CALL_FUNCTION_KW":
            keywords = stack.pop()
            arguments = self._pop(value)
            cut = len(arguments) - len(keywords)
            stack.append(self._call(stack.pop(), arguments[:cut], dict(zip(keywords, arguments[cut:]))))
        elif opname != "EXTENDED_ARG":
            raise _UnknownError

    def _pop(self, count: int) -> list[Any]:
        at = len(self._stack) - count
        values = self._stack[at:]
        del self._stack[at:]
        return values

    def _call(self, called: Any, arguments: list[Any], keywords: dict[str, Any]) -> Any:
        if isinstance(called, _Method):
            owner, name = called.owner, called.name
            if isinstance(owner, UserOpBuilder) and name in _DESCRIBING:
                return getattr(owner, name)(*arguments, **keywords)
            if isinstance(owner, UserOpBuilder):
                owner = _Call(owner, "")
            if isinstance(owner, _Call) and name in _STEPS[owner.done] and not arguments and not keywords:
                return _Call(owner.builder, name)
            called = getattr(owner, name) if isinstance(owner, types.ModuleType) else None
        if called is user_op_builder:
            return user_op_builder(*arguments, **keywords)
        described = getattr(called, "described", None)
        if not isinstance(described, UserOpBuilder) or len(arguments) != len(described._tensors) or keywords:
            raise _UnknownError
        builder = copy.copy(described)
        builder._tensors = tuple(arguments)
        return _Call(builder, "SoleOutputBlob")
