"""Represent an op folder as a Python object; each of its three files is read when it is first needed."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from pykernels.base import locks
from pykernels.base.errors import DefinitionError, KernelError, LoadError, PykernelsError
from pykernels.base.helptext import InstanceHelp, shown_signature
from pykernels.base.python_files import compiled, execute
from pykernels.define.cpp_def import load_cpp_def
from pykernels.define.definition import Definition, OpDef
from pykernels.define.python_def import load_python_def
from pykernels.kernel import service
from pykernels.kernel.read.agreement import check_agreement
from pykernels.kernel.read.source import KernelFunction, KernelSource
from pykernels.load import loaded
from pykernels.load.folders import CPP_DEF, PY_API, PY_DEF, PY_KERNEL, read_library

_lock = locks.Lock("building a definition")

if TYPE_CHECKING:
    from typing_extensions import TypeVar as _TypeVarWithDefault  # type checkers know it without the package

    ApiT = _TypeVarWithDefault("ApiT", default=Any, covariant=True)
else:
    ApiT = TypeVar("ApiT")


class OpModule(Generic[ApiT]):
    """One op folder.

    Choose its parts with `py_api`, `cpp_def` and `py_kernel`, then `build_load` them. ``load_ops`` does so for whole
    collections, but builds each op at its first use.

    Attributes
    ----------
    name : str
        The folder's name, by which users call the op.
    path : Path
        The folder.
    fuse : bool
        Whether compilers of frameworks see through calls of the op.
    """

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.path = path
        self.fuse = False
        self._parts: list[str] = []

    def __repr__(self) -> str:
        return f"OpModule({self.name!r}, {str(self.path)!r})"

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the op for a notebook, with its schema only if it stands alone, since a schema needs compilation."""
        is_alone = len(printer.stack) == 1
        printer.text(f"{self!r}\n{self._schema()}" if is_alone else repr(self))

    def _schema(self) -> str:
        try:
            return self.forward.schema()
        except PykernelsError as error:
            return f"it cannot be used: {error}"

    def _help(self) -> str:
        """Return the `help` text of a loaded op: its schema, and the signature and docstring of its API function."""
        try:
            function = getattr(self.api, self.name, None) if PY_API in self._parts else None
        except PykernelsError:
            function = None
        text = inspect.getdoc(function) or "" if function is not None else ""
        call = f"{self.name}{shown_signature(function)}" if callable(function) else ""
        return "\n\n".join(filter(None, (self._schema(), call, text)))

    # ---- steps of loading

    def py_api(self) -> OpModule:
        """Use ``<op>_py_api.py``: its functions are the attributes of `api`."""
        return self._use(PY_API)

    def cpp_def(self) -> OpModule:
        """Use the definition: ``<op>_cpp_def.cpp``, or ``<op>_py_def.py`` instead."""
        return self._use(CPP_DEF)

    def py_kernel(self) -> OpModule:
        """Use ``<op>_py_kernel.py``."""
        return self._use(PY_KERNEL)

    def build_load(self, *, fuse: bool = False) -> OpModule:
        """Build the chosen parts and register the op in every framework that is in use.

        Parameters
        ----------
        fuse : bool
            As for `load_ops`.

        Raises
        ------
        LoadError, DefinitionError, KernelError, BuildError, CacheError
            Something is wrong with the folder; nothing is registered then.
        """
        self.check_files()
        if PY_API in self._parts:
            _ = self.api
        if PY_KERNEL in self._parts:
            _ = self.source
        if CPP_DEF in self._parts:
            _ = self.kernel_ids if PY_KERNEL in self._parts else self.definition
            self.fuse = fuse
            loaded.install(self)
        return self

    def _use(self, part: str) -> OpModule:
        if part not in self._parts:
            self._parts.append(part)
        return self

    # ---- parts

    @locks.once
    def library(self) -> str | None:
        """The library that the folder's collection names, or None."""
        return read_library(self.path.parent)

    @property
    def files(self) -> Mapping[str, Path]:
        """The file of each chosen part, by its ending."""
        paths = {part: self.path / f"{self.name}{part}" for part in self._parts}
        python_definition = self.path / f"{self.name}{PY_DEF}"
        if CPP_DEF in paths and python_definition.exists():
            if paths[CPP_DEF].exists():
                raise LoadError(
                    f"{self.path} has two definitions, {paths[CPP_DEF].name} and {python_definition.name}; keep one"
                )
            paths[CPP_DEF] = python_definition
        return paths

    def check_files(self) -> None:
        """Check that the chosen files exist and that the Python files parse, without running or building anything.

        Raises
        ------
        LoadError
            A file is missing or has a syntax error, the collection's own file is malformed, or the path is not UTF-8.
        """
        if not self.path.is_dir():
            raise LoadError(f"op folder {self.path} does not exist")
        try:
            str(self.path).encode()
        except UnicodeEncodeError:
            readable = os.fsencode(self.path).decode(errors="backslashreplace")
            raise LoadError(
                f"op folder {readable}: the path is not UTF-8, so messages cannot name it. Rename it"
            ) from None
        _ = self.library
        for part, path in self.files.items():
            if not path.is_file():
                instead = f" (or {self.name}{PY_DEF})" if part == CPP_DEF else ""
                raise LoadError(f"op folder {self.path}: the file {path.name}{instead} is missing")
            if path.suffix == ".py":
                try:
                    compiled(path.read_bytes(), path)
                except (SyntaxError, ValueError) as error:
                    line = getattr(error, "lineno", None) or 1
                    raise LoadError(f"{path}:{line}: syntax error: {getattr(error, 'msg', error)}") from error

    def stamp(self) -> tuple[object, ...]:
        """Return a value that changes whenever a file of the folder does."""
        files = sorted(p for p in self.path.iterdir() if p.suffix in {".py", ".cpp", ".h"})
        return tuple((p.name, p.stat().st_mtime_ns, p.stat().st_size) for p in files)

    @locks.once
    def api(self) -> ApiT:
        """The module ``<op>_py_api.py``, whose functions users call."""
        return cast(ApiT, execute(self._file(PY_API, "py_api")))

    @locks.once
    def source(self) -> KernelSource:
        """The functions of ``<op>_py_kernel.py``."""
        return KernelSource(self._file(PY_KERNEL, "py_kernel"))

    @locks.once
    def definition(self) -> Definition:
        """The op types that the folder defines, compiled on first use."""
        path = self._file(CPP_DEF, "cpp_def")
        with _lock:
            definition = load_python_def(path, self.name) if path.suffix == ".py" else load_cpp_def(path)
        self._check_names(definition)
        return definition

    @property
    def forward(self) -> OpDef:
        """The op that users call; its method ``schema`` describes it."""
        return self.definition.ops[f"{self.name}_forward"]

    @locks.once
    def kernel_ids(self) -> Mapping[str, int]:
        """The id of each op type's kernel, by which hosts resolve it."""
        kernels = {name: self.kernel(name) for name in self.definition.ops}
        for name, op in self.definition.ops.items():
            check_agreement(op, kernels[name])
        return {name: service.enter(op, kernels[name]) for name, op in self.definition.ops.items()}

    def kernel_id(self, op_type: str) -> int:
        """The id of the kernel of `op_type`, by which hosts resolve it."""
        return self.kernel_ids[op_type]

    def kernel(self, op_type: str) -> KernelFunction:
        """Return the function that computes `op_type`: ``<function>`` computes ``<op>_<function>``.

        This raises `KernelError` if the kernel file lacks the function.
        """
        function = op_type.removeprefix(f"{self.name}_")
        try:
            return self.source.functions[function]
        except KeyError:
            op = self.definition.ops[op_type]
            raise KernelError(
                f"{self.source.path}: the function {function}(args) is missing, which op {op_type!r} needs "
                f"({op.file}:{op.line})"
            ) from None

    def _file(self, part: str, step: str) -> Path:
        try:
            return self.files[part]
        except KeyError:
            raise LoadError(f"{self!r} was loaded without .{step}(), so it has no {self.name}{part}") from None

    def _check_names(self, definition: Definition) -> None:
        prefix = f"{self.name}_"
        for name, op in definition.ops.items():
            if not name.startswith(prefix):
                raise DefinitionError(
                    f"{op.file}:{op.line}: op {name!r} in the folder {self.name!r}: op types of a folder begin with "
                    f"its name, such as {prefix}forward"
                )
        if f"{prefix}forward" not in definition.ops:
            raise DefinitionError(
                f"{definition.path}: op type {prefix}forward is not registered; it has "
                f"{', '.join(definition.ops) or 'none'}"
            )
        if (
            PY_KERNEL in self._parts
            and "backward" in self.source.functions
            and f"{prefix}backward" not in definition.ops
        ):
            raise DefinitionError(
                f"{definition.path}: op type {prefix}backward is not registered, but {self.source.path.name} has "
                f"a function backward"
            )


OpModule.__doc__ = InstanceHelp(OpModule.__doc__, OpModule._help)  # type: ignore[assignment]


def open_folder(folder: Path) -> OpModule:
    """Return the op of a folder, with all of its files."""
    return OpModule(folder.name, folder).py_api().cpp_def().py_kernel()


def custom_op_module(op_type_name: str, module_path: str | Path = "") -> OpModule:
    """Return the loader for one op folder, like OneFlow's ``flow.experimental.custom_op_module``.

    Parameters
    ----------
    op_type_name : str
        The name of the folder, and the beginning of its file names.
    module_path : str or Path
        The folder that contains it, or the folder itself; by default the current directory.

    Returns
    -------
    OpModule
        Reads and builds nothing before ``.build_load()``, and never writes beside the files.

    Raises
    ------
    LoadError
        The name is not a Python identifier.

    Examples
    --------
    >>> relu = pykernels.custom_op_module("relu", "ops").py_api().cpp_def().py_kernel()
    >>> y = relu.build_load().api.relu(x)
    """
    if not op_type_name.isidentifier():
        raise LoadError(f"{op_type_name!r} cannot be the name of an op: it is not a Python identifier")
    path = Path(module_path).absolute()
    inner = path / op_type_name
    return OpModule(op_type_name, path if path.name == op_type_name and not inner.is_dir() else inner)
