"""A registrar with the ops of ``native/definition.c``, in which there is no Python."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import mxnet as mx

from pykernels.base import abi, callbacks, paths
from pykernels.frameworks.mxnet import registrar

__all__ = ["Native"]

DEFINITION = Path(__file__).parent / "native" / "definition.c"


class Native:
    """A registrar of its own with the ops of ``native/definition.c``.

    Attributes
    ----------
    prefix : str
        MXNet knows the op ``scale_forward`` as ``<prefix>_scale``.
    resolved : list of (str, tuple, dict)
        What kernels were asked for: op type, dtypes and ranks of the tensors, attributes.
    loaded : list of str
        The names that were loaded, in order.
    """

    def __init__(self, folder: Path, prefix: str) -> None:
        self.prefix = prefix
        library = folder / "definition.so"
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O1", f"-I{paths.CPP_DEFS / 'include'}", DEFINITION, "-o", library], check=True
        )
        self._library = ctypes.CDLL(str(library))
        self._library.pykernels_definition.restype = ctypes.POINTER(abi.Definition)
        self._library.native_kernel.restype = ctypes.c_void_p
        self.definition = self._library.pykernels_definition(None, 0)
        self.resolved: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.loaded: list[str] = []
        services = abi.Services(abi.ResolveFn(self._resolve), abi.ExplainFn(self._explain))
        # A copy is a library of its own, with its own table of ops, beside the one that pykernels has loaded.
        copy = shutil.copy(registrar.compile_library(), folder / "registrar.so")
        self.registrar = registrar.Registrar(Path(copy), services, self._load)
        for name in self._types():
            self.registrar.register(self._public(name))

    def _types(self) -> list[str]:
        content = self.definition.contents
        return [content.ops[i].name.decode() for i in range(content.n_ops)]

    def _public(self, op_type: str) -> str:
        return f"{self.prefix}_{op_type.removesuffix('_forward')}"

    def nd(self, op: str, *inputs: Any, **attributes: Any) -> Any:
        """Call an op on arrays."""
        return mx.nd.Custom(*inputs, op_type=self._public(op), **attributes)

    def sym(self, op: str, *inputs: Any, **attributes: Any) -> Any:
        """Add an op to a graph."""
        return mx.sym.Custom(*inputs, op_type=self._public(op), **attributes)

    def forget(self, op: str) -> None:
        """Have an op loaded again, with no kernel resolved."""
        self.registrar.remove(self._public(op))
        self.resolved.clear()
        self.loaded.clear()

    def _load(self, name: str) -> None:
        self.loaded.append(name)
        content = self.definition.contents
        gradients = {content.gradients[i].op.decode(): i for i in range(content.n_gradients)}
        for index, op_type in enumerate(self._types()):
            if name in (op_type, self._public(op_type)):
                self.registrar.add(name, ctypes.addressof(content), index, gradients.get(op_type), 1000 + index)

    def _resolve(self, number: int, instance: Any, error: int, size: int) -> int | None:
        op_type = self._types()[number - 1000]
        use = instance.contents
        tensors = [*use.inputs[: use.n_inputs], *use.outputs[: use.n_outputs]]
        attributes = {use.attrs[i].name.decode(): abi.decode_attr(use.attrs[i]) for i in range(use.n_attrs)}
        self.resolved.append((op_type, tuple((t.dtype, t.ndim) for t in tensors), attributes))
        found: int | None = self._library.native_kernel(op_type.encode(), instance)
        if found is None:
            callbacks.write_text(error, size, f"there is no kernel for {op_type}")
        return found

    def _explain(self, kernel: Any, instance: Any, status: int, *rest: Any) -> None:
        text, size = rest[-2:]
        callbacks.write_text(text, size, f"{instance.contents.name.decode()} failed with status {status}")
