"""Check a kernel function against its definition when a folder is loaded, as far as its code shows."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from pykernels.base.bytecode import instructions
from pykernels.base.errors import KernelError
from pykernels.define.definition import OpDef
from pykernels.kernel.read.source import IS_TRAIN, KernelFunction


def check_agreement(op: OpDef, kernel: KernelFunction) -> None:
    """Compare the attributes that a kernel takes and the arguments that it unpacks with the definition.

    Raises
    ------
    KernelError
        The definition lacks an attribute, or ``args`` or ``outs`` is unpacked into the wrong number of names.
    """
    known = [attribute.name for attribute in op.attributes]
    for keyword in kernel.keywords:
        if keyword != IS_TRAIN and keyword not in known:
            has = f"its attributes are {', '.join(known)}" if known else "it has no attributes"
            raise KernelError(
                f"{kernel.where}: {kernel.name} takes the attribute {keyword!r}, which op {op.name!r} does not "
                f"define ({op.file}:{op.line}): {has}"
            )
    for name, arguments, line, count in _unpackings(kernel):
        declared = op.inputs if arguments == "args" else op.outputs
        if count != len(declared):
            kind = "inputs" if arguments == "args" else "outputs"
            raise KernelError(
                f"{kernel.path}:{line}: {name} takes {count} {kind} out of {arguments!r}, but op {op.name!r} has "
                f"{len(declared)} ({', '.join(a.name for a in declared)}; {op.file}:{op.line})"
            )


def _unpackings(kernel: KernelFunction) -> Iterator[tuple[str, str, int, int]]:
    """Yield each ``a, b = args`` and ``y, = outs``: the function's name, the tuple, the line, the number of names."""
    read = ""
    # Read the bytecode, not the source: finding a function's source takes ten times as long.
    for instruction, line in instructions(inspect.unwrap(kernel.function).__code__):
        if instruction.opname == "UNPACK_SEQUENCE" and read in ("args", "outs"):
            yield kernel.name, read, line, instruction.argval
        read = instruction.argval if instruction.opname in ("LOAD_FAST", "LOAD_DEREF") else ""
