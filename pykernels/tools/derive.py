"""Write the derivatives of an op into its folder."""

from __future__ import annotations

import ast
import contextlib
import hashlib
import itertools
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pykernels.adjoint.derivation import Call, Derivative, derive_gradient, derive_tangent, with_unequal_lengths
from pykernels.adjoint.expressions import NO_COMPLEX
from pykernels.adjoint.nodes import is_complex
from pykernels.adjoint.writing import Written
from pykernels.base.errors import CallError, DefinitionError, KernelError
from pykernels.define.definition import OpDef
from pykernels.define.instance import new_outputs, specs_of
from pykernels.define.prop_derivatives import DERIVATIVES
from pykernels.kernel import reference
from pykernels.kernel.read.source import IS_TRAIN, KernelFunction
from pykernels.load.folders import CPP_DEF, PY_KERNEL
from pykernels.load.module import OpModule
from pykernels.load.samples import draw, samples

_MARK = '# Derived from {} by "python -m pykernels derive{}" ({}). If you edit it, remove this line.'
_MARKED = re.compile(
    re.escape(_MARK).replace(r"\{\}", "{}").format(r"\w+", "(?: --[a-z-]+)*", r"(?P<digest>\w+)") + "\n"
)
_TYPED = re.compile(r'\.Input\(\s*"\w+",\s*"')
# The functions of which each computes the gradient of the one before it, and how to have them.
_CHAIN = ("forward", "backward", "backward_backward")
_CURES = {"backward": "; derive it first", "backward_backward": "; derive --second it first"}
# A line of a Python definition that plans a derivative.
_VARIABLE = re.compile(r"""^(?P<indent> +)(?P<name>\w+) = (?:"[^"]*"|'[^']*'|None)(?=\s*(?:#|$))""", re.M)
# Those of derivatives of the gradient.
_OF_BACKWARD = re.compile(r"^ +backward_\w+ = .*\n", re.M)
_PLANS = {each: re.compile(rf'\.{each}\(\s*(?:"[^"]*"\s*)+\)') for each in ("Backward", "Tangent")}


@dataclass(frozen=True)
class Target:
    """A function of kernel files that is derived from another one."""

    name: str
    source: str
    #: The method of definitions that plans it.
    method: str
    #: Whether it is a derivative of the op's gradient.
    is_second: bool
    options: str = ""


#: By whether it is a derivative of the gradient, and whether it is a forward-mode derivative, which is the transpose of
#: a gradient.
TARGETS = {
    (False, False): Target("backward", "forward", "Backward", False),
    (True, False): Target("backward_backward", "backward", "Backward", True, " --second"),
    (False, True): Target("tangent", "backward", "Tangent", False, " --forward-mode"),
    (True, True): Target("backward_tangent", "backward_backward", "Tangent", True, " --second --forward-mode"),
}


@dataclass(frozen=True)
class Change:
    """The text of a file before and after a derivative was written."""

    path: Path
    before: str
    after: str


def derive_op(
    module: OpModule, *, second: bool = False, forward_mode: bool = False, replaces: bool = False
) -> list[Change]:
    """Derive the gradient of an op; return the changes of its kernel file and of its definition, without making them.

    Parameters
    ----------
    second : bool
        Whether to derive the gradient of the backward op, so that second derivatives exist.
    forward_mode : bool
        Whether to derive the function of tangents in the place of the gradient.
    replaces : bool
        Whether the derivative takes the place of one that is written by hand.

    Raises
    ------
    KernelError
        No derivative is derived of the function, or it is written by hand.
    DefinitionError
        The definition plans its gradient in functions, which are left as they are.
    """
    target = TARGETS[second, forward_mode]
    path, definition = module.files[PY_KERNEL], module.files[CPP_DEF]
    texts = {each: each.read_text(encoding="utf-8") for each in (path, definition)}
    derived = derivative_of(module, target)
    before, after = _around(texts[path], target.name, path, replaces=replaces)
    planned = _with_plan(texts[definition], depends_on(derived), definition, module.forward.name, target)
    return [
        Change(path, texts[path], with_derivative(before, derived.written, target, after)),
        Change(definition, texts[definition], planned),
    ]


def derivative_of(module: OpModule, target: Target) -> Derivative:
    """Derive a function of an op's kernel file: the gradient by the same inputs as one that is written by hand.

    This raises `KernelError` if no derivative is derived of the function.
    """
    kernel = module.source.functions.get(target.source)
    path = module.files[PY_KERNEL]
    if kernel is None:
        raise KernelError(f"{path}: the function {target.source}(args) is missing{_CURES.get(target.source, '')}")
    op = module.definition.ops[f"{module.name}_{target.source}"]
    calls = calls_of(module)
    for name in _CHAIN[: _CHAIN.index(target.source)]:
        calls = _calls_of_gradient(module, name, calls)
    inputs, outputs = ([argument.name for argument in arguments] for arguments in (op.inputs, op.outputs))
    if target.method == "Tangent":
        of = module.definition.ops[f"{module.name}_{_CHAIN[_CHAIN.index(target.source) - 1]}"]
        names = [f"{outputs[0][0]}{argument.name}" for argument in of.outputs]
        seeds = [each for each in inputs if each in names]
        return derive_tangent(kernel.function, inputs, outputs, calls, name=target.name, seeds=seeds)
    return derive_gradient(
        kernel.function,
        inputs,
        outputs,
        calls,
        name=target.name,
        prefix="g" if target.is_second else "d",
        by=_by_hand(module, target, path.read_text(encoding="utf-8")),
        states=[argument.name for argument in op.inputs if argument.mutable],
    )


def _by_hand(module: OpModule, target: Target, kernel: str) -> list[str] | None:
    """Return the inputs by which a gradient is written by hand; None if it is not."""
    lines = kernel.splitlines(keepends=True)
    written = [each for each in ast.parse(kernel).body if _defines(each, target.name)]
    op = module.definition.ops.get(f"{module.name}_{target.name}")
    if op is None or not written or _mark_of(lines, written[0]):
        return None
    return [each.name[1:] for each in op.outputs]


def calls_of(module: OpModule) -> list[Call]:
    """Return calls of the forward function, with every number of axes that the inputs may have."""
    op = module.forward
    names = [each.name for each in (*op.inputs, *op.outputs) if each.repeated or each.optional]
    if names:
        raise KernelError(
            f"{module.source.path}: no gradient is derived for repeated or optional tensors: {', '.join(names)}; "
            "write backward by hand"
        )
    with contextlib.suppress(CallError):
        given = samples(module, np.dtype(np.complex128), shapes={}, attributes={})
        if any(map(is_complex, itertools.chain(*given[0].inputs))):
            raise KernelError(f"{module.forward.file}: the op takes complex numbers, and {NO_COMPLEX}")
    found = samples(module, np.dtype(np.float64), shapes={}, attributes={})
    has_modes = IS_TRAIN in module.source.functions["forward"].keywords
    calls = [
        _call(op, [array for (array,) in each.inputs], {**each.attributes, **mode})
        for each in found
        for mode in ([{IS_TRAIN: True}, {IS_TRAIN: False}] if has_modes else [{}])
    ]
    calls += [other for call in calls for other in _of_other_ranks(op, call)]

    def completed(call: Call) -> Call:
        made = _call(op, call.arrays, call.attributes)
        _run(module.source.functions["forward"], op, made)
        return made

    return [with_unequal_lengths(call, completed) for call in calls]


def _call(op: OpDef, arrays: Sequence[np.ndarray], attributes: Mapping[str, Any]) -> Call:
    """Return a call. This raises `CallError` if the definition refuses the arrays."""
    outs = new_outputs(op, op.infer(specs_of([[array] for array in arrays]), attributes))
    return Call(arrays, attributes, [array for (array,) in outs])


def _of_other_ranks(op: OpDef, call: Call) -> Iterator[Call]:
    """Yield calls that the definition accepts, too, with one axis more or less before those of some inputs."""
    places = range(len(call.arrays))
    changes: Sequence[Callable[[np.ndarray], np.ndarray]] = (
        lambda a: np.stack((a, a[..., ::-1])),
        lambda a: np.array(a[0]),
    )
    for change in changes:
        for changed in itertools.chain.from_iterable(itertools.combinations(places, n) for n in places):
            with contextlib.suppress(CallError, IndexError):
                arrays = [change(a) if at in changed or len(places) == 1 else a for at, a in enumerate(call.arrays)]
                yield _call(op, arrays, call.attributes)


def _calls_of_gradient(module: OpModule, name: str, calls: Sequence[Call]) -> list[Call]:
    """Return calls of the function that computes the gradient of the function `name`, for calls of that."""
    at = _CHAIN.index(name)
    kernel = module.source.functions[name]
    of, op = (module.definition.ops[f"{module.name}_{each}"] for each in _CHAIN[at : at + 2])
    prefix = "g" if at else "d"
    made = []
    for call in calls:
        _run(kernel, of, call)
        specs, outputs = (specs_of([[array] for array in arrays]) for arrays in (call.arrays, call.outs))
        planned = of.plan_gradient(specs, call.attributes, outputs=outputs).ops
        given = next(each.attributes for each in planned if each.type == op.name)
        tensors = dict(zip((argument.name for argument in of.inputs), call.arrays))
        for argument, output in zip(of.outputs, call.outs):
            tensors |= {argument.name: output, f"{prefix}{argument.name}": draw(output.shape, output.dtype)}
        attributes = {**call.attributes, **op.parse_attributes(given)}
        made.append(_call(op, [tensors[argument.name] for argument in op.inputs], attributes))
    return made


def _run(kernel: KernelFunction, op: OpDef, call: Call) -> None:
    """Compute the outputs of a call. This raises `KernelError` if the function fails."""
    known = {IS_TRAIN: True, **call.attributes}
    attributes = {each: known[each] for each in kernel.keywords}
    names = [argument.name for argument in op.outputs]
    states = [at for at, argument in enumerate(op.inputs) if argument.mutable]
    reference.run(kernel, op.name, tuple(call.arrays), tuple(call.outs), names, attributes, states)


def outdated(kernel: str) -> list[Target]:
    """Return the derived functions of a kernel file whose source has changed since they were derived."""
    lines = kernel.splitlines(keepends=True)
    found = []
    for target in TARGETS.values():
        marked = next((_mark_of(lines, each) for each in ast.parse(kernel).body if _defines(each, target.name)), None)
        if marked and marked["digest"] != _digest(kernel, target):
            found.append(target)
    return found


def _mark_of(lines: Sequence[str], statement: ast.stmt) -> re.Match[str] | None:
    """Return the line above a derived function, or None."""
    first = statement.lineno - 1
    return _MARKED.fullmatch(lines[first - 1]) if first else None


def _digest(kernel: str, target: Target) -> str:
    """Return a digest of what a derived function depends on; comments and layout do not matter."""
    left_out = [each.name for each in TARGETS.values() if each.name != target.source]
    tree = ast.parse(kernel)
    tree.body = [each for each in tree.body if not any(_defines(each, name) for name in left_out)]
    return hashlib.sha256(_dump(tree).encode()).hexdigest()[:12]


def _dump(tree: ast.Module) -> str:
    """Return `ast.dump` as Python 3.10 writes it: with empty lists, and without the type parameters of functions."""
    options = {"show_empty": True} if sys.version_info >= (3, 13) else {}
    return ast.dump(tree, **options).replace(", type_params=[]", "")


def _defines(statement: ast.stmt, name: str) -> bool:
    return isinstance(statement, ast.FunctionDef) and statement.name == name


def depends_on(derived: Derivative) -> str:
    """Return what a derivative is computed from and of what it is, as ``Backward`` of definitions has it."""
    return f"{', '.join(derived.written.arguments)} -> {', '.join(derived.results)}"


def with_derivative(before: str, written: Written, target: Target, after: str = "") -> str:
    """Return the text of a kernel file with a derived function between two parts of it."""
    for module, used in (("scipy.special", "scipy."), ("numpy as np", "np.")):
        if used in written.source and f"import {module}" not in before:
            before = f"import {module}\n\n{'' if before.startswith(('import', 'from')) else chr(10)}{before}"
    rest = f"\n\n{after}" if after else ""
    mark = _MARK.format(target.source, target.options, _digest(f"{before}{rest}", target))
    return f"{before}\n\n{mark}\n{written.source}{rest}"


def _around(kernel: str, name: str, path: Path, *, replaces: bool) -> tuple[str, str]:
    """Return what stands before and after a function that was derived, or is replaced; at the end if there is none."""
    lines = kernel.splitlines(keepends=True)
    for statement in [each for each in ast.parse(kernel).body if _defines(each, name)]:
        is_derived = _mark_of(lines, statement) is not None
        if not is_derived and not replaces:
            raise KernelError(
                f"{path}:{statement.lineno}: {name} is written by hand, and stays. Remove it to have it derived; "
                f"--diff shows what would be derived"
            )
        before, after = lines[: statement.lineno - 1 - int(is_derived)], lines[statement.end_lineno :]
        return "".join(before).rstrip() + "\n", "".join(after).lstrip("\n")
    return kernel.rstrip() + "\n", ""


def _with_plan(definition: str, depends: str, path: Path, op: str, target: Target) -> str:
    """Return the text of a definition that plans a derivative of an op with tensor types, or in a variable."""
    if path.suffix == ".py":
        return _with_python_plan(definition, depends, path, target)
    registered = re.search(rf'REGISTER_USER_OP\(\s*"{op}"\s*\)(?P<chain>.*?);', definition, re.S)
    chain = registered["chain"] if registered else ""
    plans = {method: pattern.findall(chain) for method, pattern in _PLANS.items()}
    is_planned = bool(plans["Backward"]) or target.source == "forward"
    if registered is None or not _TYPED.search(chain) or not is_planned:
        raise DefinitionError(
            f"{path}: only a definition with tensor types is written; let this one plan the {_kind(target)} {depends}"
        )
    if target.is_second and not plans[target.method]:
        raise DefinitionError(f"{path}: the first Tangent is that of the op itself: run derive --forward-mode before")
    at = int(target.is_second)
    before = plans[target.method][at : at + 1]
    plans[target.method][at : at + 1] = [f'.{target.method}("{depends}")']
    if not all(_still_fit(each, depends, target) for each in before):
        plans = {method: lines[:1] for method, lines in plans.items()}
    for pattern in _PLANS.values():
        chain = pattern.sub("", chain)
    chain = chain.replace(".NoGrad()", "").rstrip()
    chain = "\n".join(line for line in chain.splitlines() if line.strip() or not chain)
    begin, end = registered.span("chain")
    lines = itertools.chain([chain], *plans.values())
    return definition[:begin] + "\n" + "\n    ".join(lines) + definition[end:]


def _with_python_plan(definition: str, depends: str, path: Path, target: Target) -> str:
    planned = {each["name"]: each for each in _VARIABLE.finditer(definition) if each["name"] in DERIVATIVES}
    if not planned:
        raise DefinitionError(
            f'{path}: write {target.name} = "{depends}" in its class, which is what the {_kind(target)} takes'
        )
    last = [*planned.values()][-1]
    line = f'{last["indent"]}{target.name} = "{depends}"'
    before = planned.get(target.name)
    if before is None:
        at = definition.find("\n", last.end())
        return f"{definition[:at]}\n{line}{definition[at:]}"
    changed = definition[: before.start()] + line + definition[before.end() :]
    return changed if _still_fit(before[0], depends, target) else _OF_BACKWARD.sub("", changed)


def _still_fit(before: str, depends: str, target: Target) -> bool:
    """Whether plans of derivatives of the gradient fit a new plan of the gradient: whether it takes what it took."""
    words = re.findall(r"\w+", before.partition("->")[0])[1:]
    return target.name != "backward" or set(words) <= set(re.findall(r"\w+", depends))


def _kind(target: Target) -> str:
    return "tangent" if target.method == "Tangent" else "gradient"
