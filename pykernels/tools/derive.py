"""Write the derived gradient of an op into its folder."""

from __future__ import annotations

import ast
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pykernels.adjoint.derivation import Call, derive_gradient
from pykernels.adjoint.writing import Written
from pykernels.base.errors import DefinitionError, KernelError
from pykernels.load.folders import CPP_DEF, PY_KERNEL
from pykernels.load.module import OpModule
from pykernels.load.samples import samples

_MARK = '# Derived from forward by "python -m pykernels derive" ({}). Remove this line if you edit the function.'
_MARKED = re.compile(re.escape(_MARK).replace(r"\{\}", r"(?P<digest>\w+)") + "\n")
_TYPED = re.compile(r'\.Input\(\s*"\w+",\s*"')
_BACKWARD = re.compile(r'\.Backward\(\s*(?:"[^"]*"\s*)+\)')


@dataclass(frozen=True)
class Change:
    """The text of a file before and after a gradient was derived."""

    path: Path
    before: str
    after: str


def derive_op(module: OpModule, *, replaces: bool = False) -> list[Change]:
    """Derive the gradient of an op; return the changes of its kernel file and of its definition, without making them.

    Parameters
    ----------
    replaces : bool
        Whether the gradient takes the place of one that is written by hand.

    Raises
    ------
    KernelError
        No gradient is derived of the function ``forward``, or ``backward`` is written by hand.
    DefinitionError
        The definition plans its gradient in functions, which are left as they are.
    """
    kernel = module.source.functions.get("forward")
    path = module.files[PY_KERNEL]
    if kernel is None:
        raise KernelError(f"{path}: the function forward(args) is missing")
    if kernel.takes_outs:
        raise KernelError(
            f"{kernel.where}: forward writes into `outs`, of which no gradient is derived; return the results instead"
        )
    op = module.forward
    found = samples(module, np.dtype(np.float64), shapes={}, attributes={})
    repeated = [argument.name for argument in (*op.inputs, *op.outputs) if argument.repeated or argument.optional]
    if repeated:
        raise KernelError(
            f"{kernel.where}: no gradient is derived for repeated or optional tensors: {', '.join(repeated)}"
        )
    gradient = derive_gradient(
        kernel.function,
        [argument.name for argument in op.inputs],
        [argument.name for argument in op.outputs],
        [Call([array for (array,) in each.inputs], each.attributes) for each in found],
    )
    definition = module.files[CPP_DEF]
    depends = f"{', '.join(gradient.written.arguments)} -> {', '.join(f'd{name}' for name in gradient.inputs)}"
    texts = {each: each.read_text(encoding="utf-8") for each in (path, definition)}
    return [
        Change(path, texts[path], _with_function(texts[path], gradient.written, path, replaces=replaces)),
        Change(definition, texts[definition], _with_gradient(texts[definition], depends, definition, op.name)),
    ]


def is_outdated(kernel: str) -> bool:
    """Return whether a kernel file has a derived gradient whose function ``forward`` has changed since."""
    marked = _MARKED.search(kernel)
    return marked is not None and marked["digest"] != _digest(kernel)


def _digest(kernel: str) -> str:
    """Return a digest of all of a kernel file but ``backward``; comments and layout do not matter."""
    tree = ast.parse(kernel)
    tree.body = [each for each in tree.body if not _is_backward(each)]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()[:12]


def _is_backward(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.FunctionDef) and statement.name == "backward"


def _with_function(kernel: str, written: Written, path: Path, *, replaces: bool) -> str:
    """Return the text of a kernel file with the derived function instead of the one that it has."""
    lines = kernel.splitlines(keepends=True)
    for statement in filter(_is_backward, ast.parse(kernel).body):
        first, last = statement.lineno - 1, statement.end_lineno
        is_derived = first > 0 and _MARKED.fullmatch(lines[first - 1]) is not None
        if not is_derived and not replaces:
            raise KernelError(
                f"{path}:{statement.lineno}: backward is written by hand, and stays. Remove it to have it derived; "
                f"--diff shows what would be derived"
            )
        del lines[first - int(is_derived) : last]
    text = "".join(lines).rstrip() + "\n"
    for module, used in (("scipy.special", "scipy."), ("numpy as np", "np.")):
        if used in written.source and f"import {module}" not in text:
            text = f"import {module}\n\n{'' if text.startswith(('import', 'from')) else chr(10)}{text}"
    return f"{text}\n\n{_MARK.format(_digest(text))}\n{written.source}"


def _with_gradient(definition: str, depends: str, path: Path, op: str) -> str:
    """Return the text of a definition that plans the gradient of an op with tensor types."""
    registered = re.search(rf'REGISTER_USER_OP\(\s*"{op}"\s*\)(?P<chain>.*?);', definition, re.S)
    if path.suffix == ".py" or registered is None or not _TYPED.search(registered["chain"]):
        raise DefinitionError(
            f"{path}: only a definition with tensor types is written; let this one plan the gradient {depends}"
        )
    chain = _BACKWARD.sub("", registered["chain"].replace(".NoGrad()", "")).rstrip()
    chain = "\n".join(line for line in chain.splitlines() if line.strip() or not chain)
    begin, end = registered.span("chain")
    return f'{definition[:begin]}\n{chain}\n    .Backward("{depends}"){definition[end:]}'
