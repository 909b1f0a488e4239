"""Type stubs of ops: what editors and type checkers are told of the functions of their API files.

An API file says what its functions take, its definition of which types attributes are. A function's own annotations
stay; a parameter without one, or of type `Any`, that is called as an input or an attribute is of the type of that.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pykernels.base.abi import AttrType
from pykernels.base.errors import LoadError
from pykernels.define.declared import Argument
from pykernels.load.folders import PY_API
from pykernels.load.module import OpModule

__all__ = ["FILE", "StubOp", "describe_module", "stub_text", "write_stubs"]

#: What the stub of a folder of op folders is called.
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
    """An array or tensor of NumPy or of a framework, or a symbol of one."""

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
    AttrType.SHAPE: "Sequence[int]",
    AttrType.DTYPE: "DTypeLike",
    AttrType.LIST_INT32: "Sequence[int]",
    AttrType.LIST_INT64: "Sequence[int]",
    AttrType.LIST_FLOAT: "Sequence[float]",
    AttrType.LIST_DTYPE: "Sequence[DTypeLike]",
    AttrType.LIST_SHAPE: "Sequence[Sequence[int]]",
    AttrType.LIST_STRING: "Sequence[str]",
}
# How calls of the builder end, and what they give then.
_RESULTS = {
    "SoleOutputBlob": "{tensor}",
    "RemoteBlobList": "tuple[{tensor}, ...]",
    "RemoteBlobDict": "dict[str, list[{tensor}]]",
}
# Of an API file, but for checks and benchmarks.
_NOT_FOR_USERS = frozenset({"sample_inputs"})


@dataclass(frozen=True)
class StubOp:
    """What of an op goes into a stub.

    Attributes
    ----------
    name : str
    api : str
        The text of its API file.
    inputs : sequence of Argument
    attributes : mapping
        The type of each attribute.
    """

    name: str
    api: str
    inputs: Sequence[Argument]
    attributes: Mapping[str, AttrType]


def describe_module(module: OpModule) -> StubOp:
    """What of an op folder goes into a stub; its definition is built for that.

    Raises
    ------
    PykernelsError
        Whatever is wrong with the folder.
    """
    op = module.forward
    api = module.files[PY_API].read_text(encoding="utf-8")
    return StubOp(module.name, api, op.inputs, {each.name: each.type for each in op.attributes})


def write_stubs(file: Path, ops: Iterable[StubOp]) -> None:
    """Write the stub of ops.

    Raises
    ------
    LoadError
        The file cannot be written, or is there and was not written by this.
    """
    try:
        if file.exists() and not file.read_text(encoding="utf-8").startswith(_FIRST):
            raise LoadError(f"{file} is there, and not written by stubgen; name another file with -o")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(stub_text(ops), encoding="utf-8")
    except OSError as error:
        raise LoadError(f"{file} cannot be written: {error.strerror}") from error


def stub_text(ops: Iterable[StubOp]) -> str:
    """The text of a stub: a class for the API of each op, and `Ops`, what `load_ops` gives."""
    apis = [_Api(op) for op in sorted(ops, key=lambda op: op.name)]
    imports = sorted({line for api in apis for line in api.imports} - {"from typing import Any"})
    lines = [_HEADER.format(imports="".join(f"{line}\n" for line in imports))]
    for api in apis:
        lines += [f"class {_class_name(api.name)}(Protocol):", *(api.members or ["    ..."]), ""]
    lines += ["class Ops(Protocol):", '    """Ops by name, as `pykernels.load_ops` gives them."""', ""]
    for api in apis:
        lines += ["    @overload"] * (len(apis) > 1)
        lines += [
            f'    def __getitem__(self, name: Literal["{api.name}"], /) -> OpModule[{_class_name(api.name)}]: ...'
        ]
    return "\n".join(lines) + "\n" + _MAPPING


def _class_name(op: str) -> str:
    return f"{''.join(part.capitalize() for part in op.split('_'))}Api"


class _Api:
    """The members of the class of an API file, and the imports that they need."""

    def __init__(self, op: StubOp) -> None:
        self.name = op.name
        self.imports: set[str] = set()
        self._types = {name: _TYPES[type_] for name, type_ in op.attributes.items()}
        self._types.update((each.name, _input_type(each)) for each in op.inputs)
        tree = ast.parse(op.api)
        self._imported = dict(_imports(tree))
        self._described = {name for name, _ in _described_calls(tree)}
        self.members = [line for statement in tree.body for line in self._lines(statement)]

    def _lines(self, statement: ast.stmt) -> Iterator[str]:
        """What a statement at the top of the file puts into the class."""
        if isinstance(statement, ast.FunctionDef) and not statement.decorator_list:
            if not _is_private(statement.name):
                yield from self._function(statement)
            return
        names = [statement.name] if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) else []
        if isinstance(statement, ast.Assign):
            names = [target.id for target in statement.targets if isinstance(target, ast.Name)]
        described = dict(_described_calls(ast.Module([statement], [])))
        for name in names:
            if _is_private(name):
                continue
            if name in described:
                parameters = ", ".join(f"{each}: {_ONE_KIND}" for each in described[name])
                yield from ("    @staticmethod", f"    def {name}({parameters}, /) -> {_ONE_KIND}: ...")
            else:
                yield f"    {name}: Any"

    def _function(self, function: ast.FunctionDef) -> Iterator[str]:
        given = function.args
        result = self._result(function)
        parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs]
        defaults = dict(zip(reversed([*given.posonlyargs, *given.args]), reversed(given.defaults)))
        defaults.update((each, value) for each, value in zip(given.kwonlyargs, given.kw_defaults) if value is not None)
        types = {each: self._annotation(each, defaults.get(each)) for each in parameters}
        # One that is there only once says no more than what it stands for.
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
        said = self._kept(parameter.annotation)
        if said != "Any":
            return said
        found = self._types.get(parameter.arg, "Any")
        is_none = isinstance(default, ast.Constant) and default.value is None
        return f"{found} | None" if is_none and not found.endswith(("Any", "None")) else found

    def _result(self, function: ast.FunctionDef) -> str:
        said = self._kept(function.returns)
        if said != "Any":
            return said
        found = {self._result_of(value) for value in _returned(function.body)}
        return found.pop() if len(found) == 1 else "Any"

    def _result_of(self, value: ast.expr | None) -> str:
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
            return _RESULTS.get(value.func.attr, "Any")
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in self._described:
            return "{tensor}"
        return "Any"

    def _kept(self, annotation: ast.expr | None) -> str:
        """An annotation of the file's own, if a stub can have it; else ``Any``."""
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


def _input_type(argument: Argument) -> str:
    return f"{'Sequence[{tensor}]' if argument.repeated else '{tensor}'}{' | None' if argument.optional else ''}"


def _is_private(name: str) -> bool:
    return name.startswith("_") or name in _NOT_FOR_USERS


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Each name that is imported, with a statement that imports it alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.asname or alias.name.partition(".")[0], ast.unparse(ast.Import([alias]))
        elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
            for alias in node.names:
                yield alias.asname or alias.name, ast.unparse(ast.ImportFrom(node.module, [alias], node.level))


def _described_calls(tree: ast.Module) -> Iterator[tuple[str, list[str]]]:
    """Each name of what `UserOpBuilder.Function` has given, with the names of the inputs."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            called = node.value.func
            if isinstance(called, ast.Attribute) and called.attr == "Function":
                inputs = [str(each.value) for each in node.value.args if isinstance(each, ast.Constant)]
                yield from ((target.id, inputs) for target in node.targets if isinstance(target, ast.Name))


def _returned(body: Sequence[ast.stmt]) -> Iterator[ast.expr | None]:
    """What a function returns, without the functions in it."""
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
