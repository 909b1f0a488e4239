"""The functions that compiled kernel files define, and the table by which a library finds them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pykernels.base.errors import BuildError
from pykernels.build import toolchain

__all__ = ["KernelFunction", "defined_symbols", "kernel_functions", "rename", "table"]

#: In front of every symbol of a kernel file. On a device kernel and shape functions are programs of their own, whose
#: functions may have the same names.
_PREFIX = "torchneuron_kernel_"

_TYPES = {"at::Tensor": "Tensor", "c10::Scalar": "Scalar"}
_REFERENCES = {f"{name}{suffix}": kind for name, kind in _TYPES.items() for suffix in ("", "&", " const&")}
_NAMES = {**_REFERENCES, "long": "int64_t"}
# What a function returns is not in its symbol, so it is looked up in its source: these are surely no tensors.
_NUMBER = r"(?:void|bool|char|short|int|long|unsigned|signed|float|double|size_t|u?int\d+_t)"
_NO_TENSOR = re.compile(rf"(?:{_NUMBER}[\s&*]*)+|std::.*|(?:torch::|at::)?(?:Tensor\s*[&*]+|Scalar[\s&*]*)", re.S)
_COMMENTS_AND_TEXTS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)


@dataclass(frozen=True)
class KernelFunction:
    """A function of a kernel file: its `symbol`, and how it is declared; `result` only where that is no tensor."""

    symbol: str
    name: str
    parameters: str
    result: str | None


def defined_symbols(objects: Sequence[Path]) -> dict[str, str]:
    """The symbols that object files define for others, and the letter of ``nm`` for the kind of each.

    Among them are the names of groups, kind n: the linker keeps one group of a name, whatever is in it.
    """
    lines = toolchain.run([_tool("nm"), "--defined-only", "--no-sort", *map(str, objects)], what="reading symbols")
    found = (line.split() for line in lines.splitlines())
    return {words[2]: words[1] for words in found if len(words) == 3 and (words[1].isupper() or words[1] in "nuvw")}


def kernel_functions(symbols: dict[str, str], sources: Sequence[Path]) -> list[KernelFunction]:
    """The functions among `symbols` that a kernel file has written out, with what their source says they return."""
    names = [symbol for symbol, kind in symbols.items() if kind == "T"]
    if not names:
        return []
    readable = toolchain.run([_tool("c++filt"), *names], what="reading symbols").splitlines()
    text = "\n".join(_COMMENTS_AND_TEXTS.sub(" ", source.read_text(errors="replace")) for source in sources)
    return list(_functions(names, readable, text))


def _functions(symbols: Sequence[str], readable: Sequence[str], text: str) -> Iterator[KernelFunction]:
    for symbol, declaration in zip(symbols, readable):
        found = re.fullmatch(r"([\w:]+)(?:\((.*)\))?", declaration)
        if found is None:
            continue  # a template, an operator
        name, types = found.groups()
        parameters = 'unknown, since it is extern "C"' if types is None else ", ".join(map(_type_name, _split(types)))
        yield KernelFunction(symbol, name, parameters, _wrong_result(name.rpartition("::")[2], text))


def _split(types: str) -> list[str]:
    """The types of a list, whose own commas stand in brackets."""
    parts, depth = [""], 0
    for letter in types:
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def _type_name(name: str) -> str:
    return _NAMES.get(name, name)


def _wrong_result(name: str, text: str) -> str | None:
    for found in re.finditer(rf"(?m)(?:^|[;{{}}])\s*([\w:][\w:<>,&*\s]*?[\s&*]){name}\s*\(", text):
        result = re.sub(r"\b(static|inline|extern|constexpr|const)\b", "", found[1]).strip()
        if _NO_TENSOR.fullmatch(result):
            return result
    return None


def rename(objects: Sequence[Path], symbols: Sequence[str], folder: Path) -> list[Path]:
    """Copies of object files in `folder`, in which the symbols that they define are called otherwise."""
    names = folder / "names"
    names.write_text("".join(f"{symbol} {_PREFIX}{symbol}\n" for symbol in symbols))
    renamed = []
    for number, made in enumerate(objects):
        renamed.append(folder / f"{number}-{made.name}")
        toolchain.run(
            [_tool("objcopy"), f"--redefine-syms={names}", str(made), str(renamed[-1])], what="renaming symbols"
        )
    return renamed


def table(functions: Sequence[KernelFunction]) -> str:
    """The C++ text of the table, for register.h."""
    rows = "".join(
        f"    {{{_literal(each.name)}, {_literal(each.parameters)}, {_literal(each.result)}, &kernel_{number}}},\n"
        for number, each in enumerate(functions)
    )
    declarations = "".join(
        f'extern "C" void kernel_{number}() __asm__("{_PREFIX}{each.symbol}");\n'
        for number, each in enumerate(functions)
    )
    return f"""{declarations}
namespace torchneuron {{

extern "C" const KernelFunction* torchneuron_kernel_functions() {{
  static const KernelFunction functions[] = {{
{rows}    {{nullptr, nullptr, nullptr, nullptr}},
  }};
  return functions;
}}

}}  // namespace torchneuron
"""


def _literal(text: str | None) -> str:
    return "nullptr" if text is None else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _tool(name: str) -> str:
    if shutil.which(name) is None:
        raise BuildError(f"{name} is not on the PATH: install binutils (Debian, Ubuntu: apt install binutils)")
    return name
