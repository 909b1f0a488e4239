"""Find the functions that compiled kernel files define, and write the table of them for a library."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pykernels.base.errors import BuildError
from pykernels.build import toolchain

#: The prefix of every symbol of a kernel file. On a device, kernel and shape functions are separate programs, whose
#: functions may have the same names.
_PREFIX = "torchneuron_kernel_"

_TYPES = {"at::Tensor": "Tensor", "c10::Scalar": "Scalar"}
_REFERENCES = {f"{name}{suffix}": kind for name, kind in _TYPES.items() for suffix in ("", "&", " const&")}
_NAMES = {**_REFERENCES, "long": "int64_t"}
# A symbol does not contain the return type of its function, so we look it up in the source: these types are not
# tensors.
_NUMBER = r"(?:void|bool|char|short|int|long|unsigned|signed|float|double|size_t|u?int\d+_t)"
_NO_TENSOR = re.compile(rf"(?:{_NUMBER}[\s&*]*)+|std::.*|(?:torch::|at::)?(?:Tensor\s*[&*]+|Scalar[\s&*]*)", re.S)
_COMMENTS_AND_TEXTS = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.S)


@dataclass(frozen=True)
class KernelFunction:
    """A function of a kernel file: its `symbol` and declaration; `result` is None if it may be a tensor."""

    symbol: str
    name: str
    parameters: str
    result: str | None


def defined_symbols(objects: Sequence[Path]) -> dict[str, str]:
    """Return the symbols that object files export, with the letter of ``nm`` for the kind of each.

    They include the names of groups, of kind n: the linker keeps one group of each name, regardless of its content.
    """
    lines = toolchain.run([_tool("nm"), "--defined-only", "--no-sort", *map(str, objects)], what="reading symbols")
    found = (line.split() for line in lines.splitlines())
    return {words[2]: words[1] for words in found if len(words) == 3 and (words[1].isupper() or words[1] in "nuvw")}


def kernel_functions(symbols: dict[str, str], sources: Sequence[Path]) -> list[KernelFunction]:
    """Return the functions among `symbols` that a kernel file defines, with the return types in their source."""
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
            continue  # a template or an operator
        name, types = found.groups()
        parameters = 'unknown, since it is extern "C"' if types is None else ", ".join(map(_type_name, _split(types)))
        yield KernelFunction(symbol, name, parameters, _wrong_result(name.rpartition("::")[2], text))


def _split(types: str) -> list[str]:
    """Split a list of types at the commas outside brackets."""
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
    """Copy object files to `folder` with a prefix on the symbols that they define."""
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
    """Return the C++ source of the table for register.h."""
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
