"""Register ops with PyTorch 2: in ``torch.ops``, with gradients, and for its compiler and exporter."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from pykernels.base import fork, locks
from pykernels.base.errors import BuildError, KernelError, LoadError, PykernelsError, PykernelsWarning
from pykernels.base.importing import after_import, is_imported
from pykernels.base.refusals import MissingName, RefusedCall
from pykernels.frameworks.registrar_libraries import build_library
from pykernels.frameworks.torch import fake, fusing, packages, python, refused_tensors, registrar, tracing, vmap
from pykernels.frameworks.torch.layout import Layout
from pykernels.frameworks.torch.namespace import Namespace
from pykernels.frameworks.training import mode_of_module
from pykernels.kernel import service
from pykernels.load import requests
from pykernels.load.module import OpModule

#: The library that has all ops, ``torch.ops.pykernels``.
LIBRARY = "pykernels"
_DISTRIBUTED = "torch.distributed.tensor"


class TorchOps:
    """The operators of PyTorch for op folders.

    Parameters
    ----------
    library : str
        ``torch.ops.<library>`` has the ops of all folders; those of a collection that names its library are there, too.
    make_backend : callable
        Called with a function that loads the op of a name, when an op is first wanted: gives what carries them out,
        `registrar.Registrar` or `python.Python`.
    """

    def __init__(self, library: str, make_backend: Callable[[Callable[[str], None]], Any]) -> None:
        self._library = library
        self._make_backend = functools.lru_cache(maxsize=1)(lambda: make_backend(self._load))
        self._modules: dict[str, OpModule] = {}
        self._layouts: dict[str, dict[str, Layout]] = {}
        # The op type that PyTorch has under a name, even if it is not loaded now.
        self._defined: dict[tuple[str, str], str] = {}
        self._namespaces: dict[str, Namespace] = {}
        # Handles that keep the registered rules alive.
        self._rules: list[Any] = []
        # Graphs keep using what is registered with PyTorch, even after the op is unloaded.
        self._kept: list[OpModule] = []
        self._lock = locks.Lock("entering ops into PyTorch")
        after_import(_DISTRIBUTED, self._distribute_all)
        packages.register_before_loading(self._register_all)

    def add(self, module: OpModule) -> None:
        """Add an op, or replace the one of its name; the first access builds and registers it."""
        with self._lock:
            self.remove(module)
            self._modules[module.name] = module
            for library in self._libraries(module):
                if library not in self._namespaces:
                    names, enter = functools.partial(self._names, library), functools.partial(self._enter, library)
                    self._namespaces[library] = Namespace(library, enter, names, self._describe)

    def remove(self, module: OpModule) -> None:
        """Remove an op; later calls through saved references raise an error."""
        with self._lock:
            known = self._modules.pop(module.name, None)
            if known is not None:
                self._forget(known)

    def _forget(self, module: OpModule) -> None:
        for op_type in self._layouts.pop(module.name, ()):
            self._backend().unload(op_type)
            for library in self._libraries(module):
                self._namespaces[library].forget(self._name(module, op_type))

    def operator(self, module: OpModule, op_type: str) -> Any:
        """Return the operator of ``torch.ops`` for an op type."""
        return getattr(self._namespaces[self._library], self._name(module, op_type)).default

    def find(self, operator: Any) -> tuple[OpModule, Layout] | None:
        """Return the folder of an operator of ``torch.ops`` and the layout of its calls; None if it is not ours."""
        library, _, name = operator.name().partition("::")
        op_type = self._defined.get((library, name))
        if op_type is None:
            return None
        with self._lock:
            module = requests.module_of(op_type, self._modules)
            return module, self.layout(module, op_type)

    def layout(self, module: OpModule, op_type: str) -> Layout:
        """Return the layout of an op type's calls."""
        with self._lock:
            if module.name not in self._layouts:
                self._enter_all(module)
            return self._layouts[module.name][op_type]

    @staticmethod
    def _name(module: OpModule, op_type: str) -> str:
        return module.name if op_type == f"{module.name}_forward" else op_type

    def _libraries(self, module: OpModule) -> list[str]:
        return list(dict.fromkeys((self._library, module.library or self._library)))

    def _names(self, library: str) -> list[str]:
        return [name for name, module in self._modules.items() if library in self._libraries(module)]

    def _describe(self, name: str) -> str | None:
        """Return the API file's docstring for an op of ours; an empty string for ops of gradients."""
        with contextlib.suppress(PykernelsError):
            module = requests.module_of(name, self._modules)
            return inspect.getdoc(getattr(module.api, name, None)) or "" if name == module.name else ""
        return None

    def _enter(self, library: str, name: str) -> None:
        """Register the op ``library::name`` with PyTorch."""
        with self._lock:
            try:
                module = requests.module_of(name, {each: self._modules[each] for each in self._names(library)})
            except LoadError as error:
                return self._leave_to_pytorch(library, name, str(error))
            if module.name not in self._layouts:
                self._enter_all(module)
            names = [self._name(module, op_type) for op_type in self._layouts[module.name]]
            if name not in names:
                self._leave_to_pytorch(library, name, f"there is no op {name!r}: {module.path} has {', '.join(names)}")

    def _leave_to_pytorch(self, library: str, name: str, why_not: str) -> None:
        """Raise an error unless the name belongs to another user of the library."""
        is_ours = (library, name) in self._defined
        if is_ours or not torch._C._jit_get_schemas_for_operator(f"{library}::{name}"):
            raise MissingName(f"torch.ops.{library}.{name}: {why_not}")

    def _load(self, op_type: str) -> None:
        """Give the backend every op of the folder that `op_type` belongs to."""
        with self._lock:
            self._enter_all(requests.module_of(op_type, self._modules))

    def _enter_all(self, module: OpModule) -> None:
        backend = self._backend()
        functions = module.source.functions
        layouts = {}
        for op in module.definition.ops.values():
            function = functions.get(op.name.removeprefix(f"{module.name}_"))
            takes_is_train = function is not None and "is_train" in function.keywords
            layouts[op.name] = Layout(op, takes_is_train=takes_is_train)
        kernel_ids = module.kernel_ids
        self._kept.append(module)
        # Do this first, because PyTorch looks an operator up when a rule is registered for it.
        self._layouts[module.name] = layouts
        try:
            for layout in layouts.values():
                backend.load(layout, kernel_ids[layout.op.name])
                for library in self._libraries(module):
                    self._define(library, self._name(module, layout.op.name), layout)
        except BaseException:
            self._forget(module)
            raise
        if "torch._subclasses.fake_tensor" in sys.modules:
            # PyTorch caches what ops of these names have inferred.
            torch._subclasses.fake_tensor.FakeTensorMode.cache_clear()

    def _define(self, library: str, name: str, layout: Layout) -> None:
        defined = self._defined.get((library, name))
        if defined is None:
            if torch._C._jit_get_schemas_for_operator(f"{library}::{name}"):
                raise LoadError(f"op {layout.op.name!r} cannot be torch.ops.{library}.{name}: PyTorch has one there")
        elif defined != layout.op.name:
            raise LoadError(f"torch.ops.{library}.{name} would be both op type {defined!r} and {layout.op.name!r}")
        self._backend().define(layout, library, name)
        self._defined[library, name] = layout.op.name
        self._namespaces[library].forget(name)
        if defined is None:
            self._add_rules(f"{library}::{name}", layout)
        if is_imported(_DISTRIBUTED):
            self._distribute(f"{library}::{name}", layout.op.name)

    def _current(self, op_type: str) -> Layout:
        """Return the layout of the op type that is loaded now."""
        with self._lock:
            return self.layout(requests.module_of(op_type, self._modules), op_type)

    def _register_all(self) -> None:
        """Register all ops that can be loaded."""
        for library, namespace in self._namespaces.items():
            for name in self._names(library):
                with contextlib.suppress(PykernelsError):
                    getattr(namespace, name)

    def _distribute_all(self) -> None:
        for (library, name), op_type in self._defined.items():
            with contextlib.suppress(MissingName):  # of an op that was removed
                self._distribute(f"{library}::{name}", op_type)

    def _distribute(self, qualified: str, op_type: str) -> None:
        """Register how an op is distributed over devices."""
        from pykernels.frameworks.torch import distribution  # not above: few programs import what it needs

        distribution.register(torch._library.utils.lookup_op(qualified), functools.partial(self._current, op_type))

    def _add_rules(self, qualified: str, layout: Layout) -> None:
        """Register the rules for compilers and vmap; they look up the op that the name stands for when they run."""
        op_type = layout.op.name
        current = functools.partial(self._current, op_type)

        def infer(*args: Any, **kwargs: Any) -> Any:
            now = current()
            try:
                call = now.read(dict(zip(now.names, args)) | kwargs)
                return now.pack(fake.fake_outputs(now, call), call.counts)
            except PykernelsError as error:
                raise RuntimeError(str(error)) from error

        def batched(info: Any, in_dims: Any, *args: Any, **kwargs: Any) -> Any:
            operator = torch._library.utils.lookup_op(qualified)
            kernel_id = requests.module_of(op_type, self._modules).kernel_id(op_type)
            return vmap.batched(operator, current(), kernel_id)(info, in_dims, *args, **kwargs)

        def traced(*args: Any, **kwargs: Any) -> Any:
            now = current()
            kernel = requests.module_of(op_type, self._modules).kernel(op_type)
            try:
                return tracing.tracer_of(kernel).run(now, args, kwargs)
            except PykernelsError as error:
                raise RuntimeError(str(error)) from error

        def fusible() -> tuple[OpModule, Layout]:
            return requests.module_of(op_type, self._modules), current()

        def refused(*args: Any, **kwargs: Any) -> Any:
            error = refused_tensors.error_of(current(), args, kwargs)
            raise RuntimeError(str(error)) from error

        def refused_by_class(_: Any, __: Any, ___: Any, args: Any = (), kwargs: Any = None) -> Any:
            refused(*args, **kwargs or {})

        namespace, _, name = qualified.partition("::")
        library = torch.library.Library(namespace, "FRAGMENT")
        self._rules += [library, self._backend().infer_with(qualified, infer)]
        torch.library.register_vmap(qualified, batched, lib=library)
        for device in tracing.DEVICES:
            library.impl(name, traced, device)
        for key in refused_tensors.KEYS:
            library.impl(name, refused, key)
        torch.library.register_torch_dispatch(qualified, refused_tensors.CLASS, refused_by_class, lib=library)
        torch.library.register_torch_dispatch(qualified, fusing.MODE, fusing.rule_of(fusible), lib=library)
        marking = fusing.marking_rule(lambda: list(self._modules.values()))
        torch.library.register_torch_dispatch(qualified, fusing.MARKING_MODE, marking, lib=library)

    def _backend(self) -> Any:
        return self._make_backend()


def _native_or_python(load: Callable[[str], None]) -> Any:
    """The native registrar, or the slower backend in Python where it cannot be built."""
    try:
        return registrar.Registrar(build_library("torch").path, service.services(), load)
    except (BuildError, LoadError) as error:
        warnings.warn(
            f"ops of PyTorch are called through Python, which takes about ten times as long for small tensors: {error}",
            PykernelsWarning,
            stacklevel=2,
        )
        return python.Python(load)


_ops = TorchOps(LIBRARY, _native_or_python)
add, remove, find = _ops.add, _ops.remove, _ops.find


def owns(value: Any) -> bool:
    """Whether `value` is a tensor, with data or a compiler's without."""
    return isinstance(value, torch.Tensor)


def bind(
    module: OpModule,
    op_type: str,
    inputs: Sequence[Sequence[Any]],
    attributes: Mapping[str, Any],
    counts: Sequence[int],
) -> Callable[..., Sequence[Any]]:
    """Return a function that calls an op on tensors.

    Returns
    -------
    callable
        Takes and returns tensors. It raises `RuntimeError` if the definition refuses the inputs, there is no kernel for
        them, or the kernel fails, and `KernelError` if a kernel calls it.
    """
    layout = _ops.layout(module, op_type)
    operator = _ops.operator(module, op_type)
    sizes = [len(group) for group in inputs]

    def call(*tensors: Any) -> Sequence[Any]:
        # Compilers trace this code.
        if not torch.compiler.is_compiling() and fork.is_forbidden():
            raise KernelError(f"op {op_type!r} is called in a kernel; combine ops in the API file")
        given = iter(tensors)
        groups = [list(itertools.islice(given, size)) for size in sizes]
        is_train = layout.takes_is_train and _is_training(tensors)
        return layout.unpack(operator(**layout.write(groups, attributes, counts, is_train)))

    return call


def _is_training(tensors: Sequence[Any]) -> bool:
    """Whether a call on `tensors` is part of a training pass.

    In the ``forward`` of a module, the mode of the module decides (``module.train()``, ``module.eval()``), as with
    PyTorch's own layers. Elsewhere a call is part of a training pass if it is recorded for gradients.

    Raises
    ------
    RefusedCall
        The call is being compiled, and a compiler cannot see frames.
    """
    if torch.compiler.is_dynamo_compiling():
        raise RefusedCall(
            "what is compiled cannot see whether it is part of training: call the operator of torch.ops with is_train="
        )
    mode = mode_of_module(sys._getframe(1), torch.nn.Module)
    if mode is not None:
        return mode
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
