"""The table of operations: complete, and the only list of their names."""

from __future__ import annotations

import ast
import ctypes
from pathlib import Path

import pytest

import pykernels.kernel
from pykernels.kernel.emit import complex_operations
from pykernels.kernel.emit.vector_operations import EMITTERS
from pykernels.kernel.expression.operations import OF_COMPLEX, OPERATIONS

FOLDER = Path(pykernels.kernel.__file__).parent
#: The table, and those of the renderers: what an operation or a function of C becomes.
TABLES = {"expression/operations.py", "expression/foldings.py", "expression/axes.py"}
TABLES |= {f"emit/{name}.py" for name in ("vector_operations", "complex_operations", "inline_math", "inline_tables")}
NAMES = {
    name
    for row in OPERATIONS.values()
    for name in (row.name, *row.aliases, row.c, *(function.__name__ for function in row.operators))
}


def test_every_operation_is_emitted() -> None:
    assert EMITTERS.keys() == OPERATIONS.keys()
    assert complex_operations.EMITTERS.keys() == OF_COMPLEX - {"power"}


def test_functions_of_c_exist() -> None:
    library = ctypes.CDLL("libm.so.6")
    assert [row.c for row in OPERATIONS.values() if row.c and not hasattr(library, row.c)] == []


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: path.stem)
def test_no_other_list_names_them(path: Path) -> None:
    if str(path.relative_to(FOLDER)) in TABLES:
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.Set, ast.Tuple, ast.List)):
            found = list(map(_name, node.elts))
        elif isinstance(node, ast.Dict):
            found = list(map(_name, [*node.keys, *node.values]))
        else:
            continue
        listed = {name for name in found if name in NAMES}
        assert len(listed) < 4, f"line {node.lineno} lists {sorted(listed)}"


def _name(node: ast.expr | None) -> object:
    return node.value if isinstance(node, ast.Constant) else node.attr if isinstance(node, ast.Attribute) else ""
