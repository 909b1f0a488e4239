"""Write type stubs of ops, by which editors and type checkers know the functions of API files.

An API file has the parameters of its functions, and the op's definition has the types of attributes. A function's own
annotations stay. A parameter without one, or of type `Any`, gets the type of the input or attribute with its name.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pykernels.base.abi import AttrType
from pykernels.base.attributes import ITEMS
from pykernels.base.errors import LoadError
from pykernels.define.declared import Argument, Attribute
from pykernels.load.folders import PY_API
from pykernels.load.module import OpModule

#: The file name of the stub for a folder of op folders.
FILE = "stubs.pyi"

_FIRST = '"""Types of ops. Written by `python -m pykernels stubgen`, which writes it again when they have changed."""'
_HEADER = f'''\
{_FIRST}
# pyright: reportUnusedImport=false

from collections.abc import ItemsView, Iterator, KeysView, Sequence, ValuesView
from typing import Any, Literal, Protocol, TypeVar, overload

from numpy.typing import DTypeLike
from pykernels import OpModule
{{imports}}
class _Tensor(Protocol):
    """An array of NumPy, a tensor of a framework, or a symbolic tensor."""

    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...

_T = TypeVar("_T", bound=_Tensor)
'''
_MAPPING = """\
    def __contains__(self, name: object, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def get(self, name: str, /) -> OpModule | None: ...
    def keys(self) -> KeysView[str]: ...
    def values(self) -> ValuesView[OpModule]: ...
    def items(self) -> ItemsView[str, OpModule]: ...
"""
_TENSOR, _ONE_KIND = "_Tensor", "_T"
_TYPES = {
    AttrType.INT32: "int",
    AttrType.INT64: "int",
    AttrType.BOOL: "bool",
    AttrType.FLOAT: "float",
    AttrType.DOUBLE: "float",
    AttrType.STRING: "str",
    AttrType.DTYPE: "DTypeLike",
}
# The last methods of builder calls, and the types of their results.
_RESULTS = {
    "SoleOutputBlob": "{tensor}",
    "RemoteBlobList": "tuple[{tensor}, ...]",
    "RemoteBlobDict": "dict[str, list[{tensor}]]",
}
# Functions of an API file that only checks and benchmarks call.
_NOT_FOR_USERS = frozenset({"sample_inputs"})


@dataclass(frozen=True)
class StubOp:
    """What a stub needs of an op."""

    name: str
    #: The text of its API file.
    api: str
    inputs: Sequence[Argument]
    attributes: Sequence[Attribute]


def describe_module(module: OpModule) -> StubOp:
    """Return what a stub needs of an op folder; this builds its definition."""
    api = module.files[PY_API].read_text(encoding="utf-8")
    return StubOp(module.name, api, module.forward.inputs, module.forward.attributes)


def write_stubs(file: Path, ops: Iterable[StubOp]) -> None:
    """Write a stub of ops; raise `LoadError` if the file cannot be written, or exists and is not such a stub."""
    try:
        if file.exists() and not file.read_text(encoding="utf-8").startswith(_FIRST):
            raise LoadError(f"{file} exists and was not written by stubgen; choose another file with -o")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(stub_text(ops), encoding="utf-8")
    except OSError as error:
        raise LoadError(f"{file} cannot be written: {error.strerror}") from error


def stub_text(ops: Iterable[StubOp]) -> str:
    """Return the text of a stub: a class for the API of each op, and `Ops`, the type that `load_ops` returns."""
    apis = [_Api(op) for op in sorted(ops, key=lambda op: op.name)]
    imports = sorted({line for api in apis for line in api.imports} - {"from typing import Any"})
    lines = [_HEADER.format(imports="".join(f"{line}\n" for line in imports))]
    for api in apis:
        lines += [f"class {_class_name(api.name)}(Protocol):", *(api.members or ["    ..."]), ""]
    lines += ["class Ops(Protocol):", '    """Ops by name, as `pykernels.load_ops` returns them."""', ""]
    for api in apis:
        lines += ["    @overload"] * (len(apis) > 1)
        lines += [
            f'    def __getitem__(self, name: Literal["{api.name}"], /) -> OpModule[{_class_name(api.name)}]: ...'
        ]
    return "\n".join(lines) + "\n" + _MAPPING


def _class_name(op: str) -> str:
    return f"{''.join(part.capitalize() for part in op.split('_'))}Api"


class _Api:
    """The members of an API file's class, and the imports that they need."""

    def __init__(self, op: StubOp) -> None:
        self.name = op.name
        self.imports: set[str] = set()
        self._types = {each.name: _attribute_type(each.type) for each in op.attributes}
        self._types.update((each.name, _input_type(each)) for each in op.inputs)
        tree = ast.parse(op.api)
        self._imported = dict(_imports(tree))
        self._prepared = dict(_prepared_calls(tree.body))
        self.members = [line for statement in tree.body for line in self._lines(statement)]

    def _lines(self, statement: ast.stmt) -> Iterator[str]:
        """Yield the members of the class for a top-level statement of the file."""
        if isinstance(statement, ast.FunctionDef) and not statement.decorator_list:
            if not _is_private(statement.name):
                yield from self._function(statement)
            return
        names = [statement.name] if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) else []
        if isinstance(statement, ast.Assign):
            names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
        for name in names:
            if _is_private(name):
                continue
            if name in self._prepared:
                inputs, result = self._prepared[name]
                parameters = ", ".join(f"{each}: {_ONE_KIND}" for each in inputs)
                result = result.format(tensor=_ONE_KIND)
                yield from ("    @staticmethod", f"    def {name}({parameters}, /, **attributes: Any) -> {result}: ...")
            else:
                yield f"    {name}: Any"

    def _function(self, function: ast.FunctionDef) -> Iterator[str]:
        given = function.args
        result = self._result(function)
        parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs]
        defaults = dict(zip(reversed([*given.posonlyargs, *given.args]), reversed(given.defaults)))
        defaults.update((each, value) for each, value in zip(given.kwonlyargs, given.kw_defaults) if value is not None)
        types = {each: self._annotation(each, defaults.get(each)) for each in parameters}
        # A type variable that occurs only once says no more than its bound.
        kind = _ONE_KIND if "{tensor}" in result and any("{tensor}" in each for each in types.values()) else _TENSOR
        for each, type_ in types.items():
            each.annotation = ast.parse(type_.format(tensor=kind), mode="eval").body
        for extra in filter(None, (given.vararg, given.kwarg)):
            extra.annotation = ast.parse(self._annotation(extra, None).format(tensor=kind), mode="eval").body
        given.defaults = [_shown(value) for value in given.defaults]
        given.kw_defaults = [None if value is None else _shown(value) for value in given.kw_defaults]
        yield "    @staticmethod"
        docstring = ast.get_docstring(function)
        result = "Any" if kind == _TENSOR and "{tensor}" in result else result.format(tensor=kind)
        head = f"    def {function.name}({ast.unparse(given)}) -> {result}:"
        if docstring is None:
            yield f"{head} ..."
            return
        yield head
        first, *rest = docstring.replace("\\", "\\\\").replace('"""', r"\"\"\"").splitlines()
        yield f'        """{first}'
        yield from (f"        {line}".rstrip() for line in rest)
        yield '        """'

    def _annotation(self, parameter: ast.arg, default: ast.expr | None) -> str:
        kept = self._kept(parameter.annotation)
        if kept != "Any":
            return kept
        found = self._types.get(parameter.arg, "Any")
        is_none = isinstance(default, ast.Constant) and default.value is None
        return f"{found} | None" if is_none and not found.endswith(("Any", "None")) else found

    def _result(self, function: ast.FunctionDef) -> str:
        kept = self._kept(function.returns)
        if kept != "Any":
            return kept
        found = {self._result_of(value) for value in _returned(function.body)}
        return found.pop() if len(found) == 1 else "Any"

    def _result_of(self, value: ast.expr | None) -> str:
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            return _RESULTS.get(value.func.attr, "Any")
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in self._prepared:
            return self._prepared[value.func.id][1]
        return "Any"

    def _kept(self, annotation: ast.expr | None) -> str:
        """Return the file's own annotation if a stub can use it, else ``Any``."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            annotation = ast.parse(annotation.value, mode="eval").body
        if annotation is None:
            return "Any"
        names = {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)}
        own = {name for name in names if name not in self._imported and not hasattr(builtins, name)}
        if own:
            return "Any"
        self.imports.update(self._imported[name] for name in names if name in self._imported)
        return ast.unparse(annotation).replace("{", "{{").replace("}", "}}")


def _attribute_type(type_: AttrType) -> str:
    return f"Sequence[{_attribute_type(ITEMS[type_])}]" if type_ in ITEMS else _TYPES[type_]


def _input_type(argument: Argument) -> str:
    return f"{'Sequence[{tensor}]' if argument.repeated else '{tensor}'}{' | None' if argument.optional else ''}"


def _is_private(name: str) -> bool:
    return name.startswith("_") or name in _NOT_FOR_USERS


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each imported name with a statement that imports only it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0], ast.unparse(ast.Import([alias]))
        elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
            for alias in node.names:
                yield alias.asname or alias.name, ast.unparse(ast.ImportFrom(node.module, [alias], node.level))


def _prepared_calls(body: Sequence[ast.stmt]) -> Iterator[tuple[str, tuple[list[str], str]]]:
    """Yield each name to which a call prepared by `UserOpBuilder.Function` is assigned, with its inputs and result."""
    for node in body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            called = node.value.func
            if isinstance(called, ast.Attribute) and called.attr == "Function":
                inputs = [str(each.value) for each in node.value.args if isinstance(each, ast.Constant)]
                n_outputs = sum(isinstance(each, ast.Attribute) and each.attr == "Output" for each in ast.walk(called))
                call = inputs, _RESULTS["RemoteBlobList" if n_outputs > 1 else "SoleOutputBlob"]
                yield from ((target.id, call) for target in node.targets if isinstance(target, ast.Name))


def _returned(body: Sequence[ast.stmt]) -> Iterator[ast.expr | None]:
    """Yield the values that a function returns, without those of nested functions."""
    for statement in body:
        if isinstance(statement, ast.Return):
            yield statement.value
        elif not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from _returned([each for each in ast.iter_child_nodes(statement) if isinstance(each, ast.stmt)])


def _shown(default: ast.expr) -> ast.expr:
    try:
        ast.literal_eval(default)
    except ValueError:
        return ast.Constant(...)
    return default
