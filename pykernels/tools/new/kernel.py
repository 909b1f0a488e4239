"""Write the kernel file of a new op."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

_INDENT = "    "


def kernel_text(path: Path, name: str, inputs: Sequence[str], attributes: Sequence[str], *, is_kernel: bool) -> str:
    """Return the text of a kernel file: a function of a file as ``forward``, and all that it needs.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        The name of the function.
    inputs, attributes : sequence of str
        The function's parameters.
    is_kernel : bool
        Whether it takes one tuple of arrays, as kernels do.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    tree = ast.parse("\n".join(lines))
    functions = {each.name: each for each in tree.body if isinstance(each, ast.FunctionDef)}
    needed = _needed(tree, [functions[each] for each in (name, "backward") if each in functions])
    blocks = []
    for statement in tree.body:
        if statement is functions[name]:
            blocks.append(_forward(lines, functions[name], inputs, attributes, is_kernel=is_kernel))
        elif statement in needed:
            blocks.append([*_comment(lines, statement), *lines[_first(statement) : statement.end_lineno]])
    return _spaced(blocks)


def _needed(tree: ast.Module, roots: Sequence[ast.FunctionDef]) -> set[ast.stmt]:
    """Return the statements of a file on which functions depend, and these."""
    defines: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        for name in _defined(statement):
            defines.setdefault(name, []).append(statement)
    needed: set[ast.stmt] = set()
    waiting: list[ast.stmt] = list(roots)
    while waiting:
        statement = waiting.pop()
        if statement not in needed:
            needed.add(statement)
            names = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
            waiting += [each for name in names for each in defines.get(name, [])]
    return needed


def _defined(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in statement.names)
    elif isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        yield statement.name
    else:
        yield from (n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def _forward(
    lines: Sequence[str],
    statement: ast.FunctionDef,
    inputs: Sequence[str],
    attributes: Sequence[str],
    *,
    is_kernel: bool,
) -> list[str]:
    body = statement.body[1:] if ast.get_docstring(statement) is not None else statement.body
    if not body or body[0].lineno == statement.lineno:
        text = [ast.unparse(each) for each in body]
    else:
        begin = body[0].lineno - 1
        while lines[begin - 1].strip().startswith("#"):
            begin -= 1
        text = textwrap.dedent("\n".join(lines[begin : statement.end_lineno])).splitlines()
    used = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
    keywords = ", ".join(each for each in attributes if each in used)
    head = [] if is_kernel else [f"{_target(inputs)} = args"]
    return [
        *_comment(lines, statement),
        f"def forward(args{f', *, {keywords}' if keywords else ''}):",
        *(f"{_INDENT}{line}".rstrip() for line in [*head, *text]),
    ]


def _comment(lines: Sequence[str], statement: ast.stmt) -> list[str]:
    """Return the lines of comment directly above a statement."""
    first = begin = _first(statement)
    while begin and re.match(r"#(?!!)", lines[begin - 1]):
        begin -= 1
    return list(lines[begin:first])


def _first(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(each.lineno for each in decorators)]) - 1


def _spaced(blocks: Sequence[Sequence[str]]) -> str:
    """Return blocks as the text of a file, with two empty lines around functions."""
    text, was_function = "", False
    for number, block in enumerate(blocks):
        is_function = any(line.startswith(("def ", "class ")) for line in block)
        gap = "" if not number else "\n\n" if is_function or was_function else _gap(blocks[number - 1], block)
        text += gap + "\n".join(block) + "\n"
        was_function = is_function
    return text


def _gap(before: Sequence[str], block: Sequence[str]) -> str:
    imports = [each[-1].startswith(("import ", "from ")) for each in (before, block)]
    return "\n" if imports == [True, False] else ""


def _target(names: Sequence[str]) -> str:
    """Return the target of an assignment that gives the items of a tuple names."""
    return f"({names[0]},)" if len(names) == 1 else ", ".join(names)
