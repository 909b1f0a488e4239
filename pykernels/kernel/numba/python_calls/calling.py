"""Leave calls of functions that numba does not compile, NumPy's, SciPy's and the user's helpers, to Python.

The type of such a call's result is found by running the function on samples. The machine code passes the addresses of
the arguments to the process, which makes the call (`pykernels.kernel.python_calls`).
"""

from __future__ import annotations

import ast
import contextlib
import contextvars
import functools
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import llvmlite.ir as ir
import numpy as np
from numba import types as nb
from numba.core import cgutils, errors
from numba.core.imputils import impl_ret_new_ref
from numba.core.typing.templates import AbstractTemplate, Signature
from numba.np import arrayobj
from numba.np.numpy_support import as_dtype, from_dtype

from pykernels.base.errors import PykernelsError
from pykernels.kernel import python_calls
from pykernels.kernel.expression import promotion
from pykernels.kernel.facts import PythonCall, name_of
from pykernels.kernel.numba import cures, implementing
from pykernels.kernel.numba.copying import parts
from pykernels.kernel.numba.hooks import Unspecialized
from pykernels.kernel.numba.numba_errors import is_vague, reason_of
from pykernels.kernel.numba.python_calls import called_functions
from pykernels.kernel.numba.python_calls.sampling import Refused, result_of
from pykernels.kernel.python_calls import Description
from pykernels.kernel.read.source import KernelFunction

#: The function of the runtime that calls Python, and the beginning of the names of one function for each call.
_CALL, _PREFIX = "pk_call_python", "pk_python_"
_I64, _I32 = ir.IntType(64), ir.IntType(32)
_CALL_TYPE = ir.FunctionType(_I32, [_I64.as_pointer(), _I64, _I64.as_pointer(), _I64])
# The calls that have been emitted in this process, in the order of the numbers in their functions' names.
_emitted: list[PythonCall] = []


@dataclass(frozen=True)
class _Allowed:
    """What may be left to Python: the calls in these files, also those of these helpers, which have paths."""

    files: frozenset[str] = frozenset()
    helpers: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    paths: Mapping[Any, str] = field(default_factory=dict)
    #: The calls of helpers that are left, by the function and the types. numba asks for them again and again.
    left: dict[Any, CallOfPython] = field(default_factory=dict)


_NOTHING = _Allowed()
_allowed: contextvars.ContextVar[_Allowed] = contextvars.ContextVar("_allowed", default=_NOTHING)


@contextlib.contextmanager
def allowed_in(kernel: KernelFunction) -> Iterator[None]:
    """Leave calls in the files of a kernel and of its helpers to Python."""
    files = {str(kernel.path), *(helper.__code__.co_filename for helper in kernel.helpers)}
    # A loop over numbers that do not fit may not end.
    are_sampled = not any(map(_has_while, kernel.helpers))
    helpers = python_calls.paths_of(kernel.helpers) if are_sampled else {}
    paths = {helper: path for path, helper in helpers.items()}
    token = _allowed.set(_Allowed(frozenset(files), helpers, paths))
    try:
        yield
    finally:
        _allowed.reset(token)


def _has_while(helper: Callable[..., Any]) -> bool:
    definition = promotion.definition_of(helper)
    return definition is None or any(isinstance(node, ast.While) for node in ast.walk(definition))


class CallOfPython(Signature):  # type: ignore[misc]
    """numba's signature of a call that is left to Python."""

    __slots__ = ("call",)

    def __init__(self, returned: nb.Type, types: Sequence[nb.Type], this: Any, names: Sequence[str], call: Any) -> None:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        positional = [f"argument_{at}" for at in range(len(types) - len(names))]
        parameters = [inspect.Parameter(name, kind) for name in (*positional, *names)]
        super().__init__(returned, tuple(types), this, inspect.Signature(parameters))
        self.call: PythonCall = call

    def emit_call_of_python(self, context: Any, builder: Any, arguments: Sequence[Any], loc: Any = None) -> Any:
        """Emit the call, which stands at the line `loc` if that is known."""
        call = replace(self.call, where=f"{loc.filename}:{loc.line}") if loc else self.call
        return _emit(context, builder, self, arguments, call)


class Typing:
    """Types what numba cannot, as calls of Python; part of a typing context."""

    def __init__(self, context: Any) -> None:
        self._context = context
        # The functions whose calls are being typed: numba looks up other functions meanwhile.
        self._active: set[int] = set()

    def function_type(self, value: Any) -> Any:
        """Return numba's type of a function that may be left to Python; None for anything else."""
        path = path_of(value) if self._is_users() else ""
        return nb.Function(_template(path)) if path else None

    def method_type(self, array: nb.Type, name: str) -> Any:
        """Return numba's type of a method of an array that may be left to Python; None for anything else."""
        is_method = isinstance(array, nb.Array) and self._is_users() and path_of(getattr(np.ndarray, name, None))
        return nb.BoundFunction(_template(f"array.{name}"), array) if is_method else None

    def _is_users(self) -> bool:
        """Whether the function that numba is typing is the user's."""
        stack = self._context.callstack
        return bool(stack) and stack[0].func_id.filename in _allowed.get().files

    def resolve(
        self, func: Any, types: Sequence[nb.Type], keywords: Mapping[str, nb.Type], resolve: Callable[[], Any]
    ) -> Any:
        """Return numba's signature of a call, or if there is none, that of a call of Python."""
        path = _path(func) if self._is_users() else ""
        frame = id(self._context.callstack[0]) if path else 0
        if not path or frame in self._active:
            return resolve()
        allowed = _allowed.get()
        asked = (func, tuple(types), tuple(keywords.items()))
        if asked in allowed.left:
            return allowed.left[asked]
        function = python_calls.find(path, allowed.helpers)
        self._active.add(frame)
        try:
            found, problem = None, None
            if not _is_left(func) and not called_functions.is_other(path, function, _arguments(func, types, keywords)):
                try:
                    found = resolve()
                except (PykernelsError, Unspecialized, errors.ForceLiteralArg):
                    raise
                except Exception as error:  # numba fails with arbitrary errors on some code that it cannot type
                    problem = error
            if not found:
                found = self._left(path, function, func, types, dict(keywords), problem)
                if path in allowed.helpers:
                    allowed.left[asked] = found
            return found
        finally:
            self._active.discard(frame)

    def _left(
        self,
        path: str,
        function: Callable[..., Any],
        func: Any,
        types: Sequence[nb.Type],
        keywords: Any,
        problem: Exception | None,
    ) -> Any:
        is_helper = path in _allowed.get().helpers
        try:
            if is_helper and not any(map(implementing.is_array, _arguments(func, types, keywords))):
                raise Refused(", and is called with numbers alone, which takes less time in Python")
            given = tuple(map(_describe, _arguments(func, types, {})))
            named = tuple((name, _describe(type_)) for name, type_ in keywords.items())
            if implementing.may_specialize() and any(map(_has_number, (*given, *(each for _, each in named)))):
                raise Unspecialized
            is_fixed = not any(map(_may_change, _arguments(func, types, keywords)))
            result = result_of(function, given, named, may_share=is_fixed)
            returned = _type_of(result)
        except Refused as refusal:
            if problem and (is_helper or not _blames_else(problem, _arguments(func, types, keywords))):
                is_typing = isinstance(problem, (errors.TypingError, implementing.Unimplemented))
                raise (errors.TypingError(str(problem)) if is_typing else problem) from None
            cure = "correct the call" if refusal.is_certain else cures.for_call(path)
            raise errors.TypingError(f"{name_of(path)} is not compiled{refusal}; {cure}") from None
        this = func.this if isinstance(func, nb.BoundFunction) else None
        call = PythonCall(
            path, repr((given, named)), repr(result), "", called_functions.reason_for(path, function, keywords, problem)
        )
        return CallOfPython(returned, (*types, *keywords.values()), this, tuple(keywords), call)


def _blames_else(problem: Exception, arguments: Sequence[nb.Type]) -> bool:
    """Whether a problem with a call is not why NumPy refuses it: one of another implementation, or of other types."""
    reason = reason_of(problem)
    is_of_others = reason.endswith("known at run time only") and all(
        implementing.is_array(each) or not isinstance(implementing.known(each), nb.Type) for each in arguments
    )
    return is_of_others or is_vague(reason)


@functools.cache
def _template(called: Any) -> Any:
    return type("Left", (_Left,), {"key": called})


class _Left(AbstractTemplate):  # type: ignore[misc]
    """Declares a function that numba does not know."""

    def generic(self, args: Any, kws: Any) -> None:
        pass


def _is_left(func: Any) -> bool:
    templates = (func.template,) if isinstance(func, nb.BoundFunction) else func.templates
    return any(issubclass(each, _Left) for each in templates)


def _path(func: Any) -> str:
    """Return where the function, or the method of arrays, is found that a type of numba stands for."""
    key: Any = getattr(func, "typing_key", None)
    if isinstance(func, nb.BoundFunction):
        name = key.rpartition(".")[2] if isinstance(key, str) else key[-1]
        return path_of(getattr(np.ndarray, name, None)) if isinstance(func.this, nb.Array) else ""
    if not isinstance(func, nb.Function) or isinstance(key, np.ufunc):
        return ""  # numba computes its own universal functions element by element
    return key if _is_left(func) else path_of(key)


def _arguments(func: Any, types: Sequence[nb.Type], keywords: Mapping[str, nb.Type]) -> list[nb.Type]:
    this = [func.this] if isinstance(func, nb.BoundFunction) else []
    return [*this, *types, *keywords.values()]


@functools.cache
def _path_of(function: Any) -> str:
    return called_functions.find_path(function)


def path_of(function: Any) -> str:
    """Return where a function of NumPy or SciPy, or a helper, is found; empty for one that is not to be called."""
    try:
        is_function = callable(function) and not isinstance(function, type)
        return _allowed.get().paths.get(function) or _path_of(function) if is_function else ""
    except TypeError:  # it has no hash
        return ""


def _describe(type_: nb.Type) -> Description:
    value = implementing.known(type_)
    if isinstance(value, np.dtype):
        return ("dtype", value.name)
    if not isinstance(value, nb.Type):
        return ("value", _literal(value))
    if isinstance(value, nb.Array) and isinstance(value.dtype, (nb.Number, nb.Boolean)):
        return ("array", as_dtype(value.dtype).name, value.ndim)
    if isinstance(value, (nb.Number, nb.Boolean)):
        is_pythons = value in (nb.int64, nb.float64, nb.boolean, nb.complex128)
        return ("python" if is_pythons else "number", as_dtype(value).name)
    if isinstance(value, nb.BaseTuple):
        return ("tuple", tuple(map(_describe, value)))
    raise Refused(f", and takes {value} only in Python")


def _literal(value: Any) -> Any:
    """Return a value that a later process can read."""
    try:
        if ast.literal_eval(repr(value)) == value:
            return value
    except (SyntaxError, ValueError):
        pass
    raise Refused(f", and takes {value!r} only in Python")


def _may_change(type_: nb.Type) -> bool:
    """Whether an argument is an array that the kernel may change, or holds one."""
    if isinstance(type_, nb.BaseTuple):
        return any(map(_may_change, type_))
    return isinstance(type_, nb.Array) and type_.mutable


def _has_number(description: Description) -> bool:
    """Whether an argument has a whole number that is known at run time only."""
    kind, content, *_ = description
    if kind == "tuple":
        return any(map(_has_number, content))
    return kind in ("python", "number") and np.dtype(content).kind in "biu"


def _type_of(description: Description) -> nb.Type:
    kind, content, *rest = description
    if kind == "tuple":
        return nb.Tuple(tuple(map(_type_of, content)))
    try:
        dtype = from_dtype(np.dtype(content))
    except (TypeError, errors.NumbaError):
        dtype = None
    if kind == "other" or not isinstance(dtype, (nb.Number, nb.Boolean)):
        raise Refused(f", and returns {content}")
    return nb.Array(dtype, rest[0], "C") if kind == "array" else dtype


# ---- the machine code


def _emit(context: Any, builder: Any, signature: CallOfPython, arguments: Sequence[Any], call: PythonCall) -> Any:
    types = (signature.recvr, *signature.args) if signature.recvr else signature.args
    number = len(_emitted)
    _emitted.append(call)
    words = [word for type_, value in zip(types, arguments) for word in _words(context, builder, type_, value)]
    given = cgutils.alloca_once(builder, ir.ArrayType(_I64, max(1, len(words))))
    for at, word in enumerate(words):
        builder.store(word, cgutils.gep_inbounds(builder, given, 0, at))
    leaves = list(_leaves(signature.return_type))
    sizes = [2 + max(ndim, 0) for _, ndim in leaves]
    made = cgutils.alloca_once(builder, ir.ArrayType(_I64, max(1, sum(sizes))))
    for at, (type_, ndim) in zip(itertools.accumulate(sizes, initial=0), leaves):
        item = context.get_abi_sizeof(context.data_model_manager[type_].get_data_type())
        for place, value in ((at, item), (at + 1, ndim)):
            builder.store(_I64(value), cgutils.gep_inbounds(builder, made, 0, place))
    pointer = _I64.as_pointer()
    function = cgutils.get_or_insert_function(builder.module, _CALL_TYPE, f"{_PREFIX}{number}")
    passed = [builder.bitcast(given, pointer), _I64(len(words)), builder.bitcast(made, pointer), _I64(len(leaves))]
    is_done = builder.call(function, passed)
    with cgutils.if_unlikely(builder, builder.icmp_signed("==", is_done, _I32(0))):
        context.call_conv.return_user_exc(builder, RuntimeError, ("a call of Python failed",))
    places = (cgutils.gep_inbounds(builder, made, 0, at) for at in range(sum(sizes)))
    return _returned(context, builder, signature.return_type, places)


def _words(context: Any, builder: Any, type_: nb.Type, value: Any) -> Iterator[Any]:
    """Yield what the call gets of an argument."""
    known = implementing.known(type_)
    if not isinstance(known, nb.Type):
        return
    if isinstance(known, nb.BaseTuple):
        for at, member in enumerate(known):
            yield from _words(context, builder, member, builder.extract_value(value, at))
    elif isinstance(known, nb.Array):
        data, lengths, strides = parts(context, builder, known, value)
        yield from (builder.ptrtoint(data, _I64), *lengths, *strides)
    else:
        stored = context.data_model_manager[known].as_data(builder, value)
        place = cgutils.alloca_once(builder, stored.type)
        builder.store(stored, place)
        yield builder.ptrtoint(place, _I64)


def _leaves(type_: nb.Type) -> Iterator[tuple[nb.Type, int]]:
    """Yield the dtype of each array and number of a result, and its number of axes; -1 of a number."""
    if isinstance(type_, nb.BaseTuple):
        for member in type_:
            yield from _leaves(member)
    else:
        yield (type_.dtype, type_.ndim) if isinstance(type_, nb.Array) else (type_, -1)


def _returned(context: Any, builder: Any, type_: nb.Type, places: Iterator[Any]) -> Any:
    if isinstance(type_, nb.BaseTuple):
        return context.make_tuple(builder, type_, [_returned(context, builder, each, places) for each in type_])
    if not isinstance(type_, nb.Array):
        place, _ = next(places), next(places)
        model = context.data_model_manager[type_]
        return model.from_data(builder, builder.load(builder.bitcast(place, model.get_data_type().as_pointer())))
    block, data, *lengths = (builder.load(next(places)) for _ in range(2 + type_.ndim))
    array = context.make_array(type_)(context, builder)
    item = _I64(context.get_abi_sizeof(context.get_data_type(type_.dtype)))
    strides = [item]
    for length in lengths[:0:-1]:
        strides.append(builder.mul(strides[-1], length))
    arrayobj.populate_array(
        array,
        data=builder.inttoptr(data, array.data.type),
        shape=lengths,
        strides=strides[: type_.ndim][::-1],
        itemsize=item,
        meminfo=builder.inttoptr(block, array.meminfo.type),
    )
    return impl_ret_new_ref(context, builder, type_, array._getvalue())


def number(module: Any, folder: Path) -> tuple[PythonCall, ...]:
    """Number the calls of Python that a linked module makes, and return them with their places within `folder`."""
    names = sorted(f.name for f in module.functions if f.is_declaration and f.name.startswith(_PREFIX))
    lines = [f"declare i32 @{_CALL}(i64, ptr, i64, ptr, i64)"] if names else []
    for at, name in enumerate(names):
        lines.append(f"define hidden i32 @{name}(ptr %a, i64 %m, ptr %r, i64 %n) {{")
        lines.append(f"  %done = call i32 @{_CALL}(i64 {at}, ptr %a, i64 %m, ptr %r, i64 %n)\n  ret i32 %done\n}}")
    module.link_in(llvm.parse_assembly("\n".join(lines)))
    found = (_emitted[int(name.removeprefix(_PREFIX))] for name in names)
    return tuple(replace(call, where=call.where.removeprefix(f"{folder}/")) for call in found)
