"""Read C++ definitions that only declare. They need no compiler: their declarations become data of a library.

A definition only declares if it consists of ``REGISTER_USER_OP`` and calls with literals, each in one line. All others
are compiled, and so is whatever this reader does not understand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pykernels.base.abi import AttrType
from pykernels.build import cache

# What stands in the library where the text of the declarations goes, and how many bytes there are.
_MARK, _SIZE = b"pykernels: the declarations follow\n", 1 << 15
_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?\*/|\#include[ ]"oneflow/core/framework/framework\.h"(?=\s))
    |(?P<text>"[^"\\\n\t]*")
    |(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
    |(?P<name>[A-Za-z_]\w*(?:::\w+)*)
    |(?P<sign>[().<>,;])""",
    re.VERBOSE | re.DOTALL,
)
_TYPES = {
    "int": AttrType.INT32,
    "int32_t": AttrType.INT32,
    "int64_t": AttrType.INT64,
    "bool": AttrType.BOOL,
    "float": AttrType.FLOAT,
    "double": AttrType.DOUBLE,
    "std::string": AttrType.STRING,
}
_BITS = {AttrType.INT32: 31, AttrType.INT64: 63}
_LARGEST_FLOAT = 3.4028234e38
# The least and the largest number of texts that a method takes.
_TEXTS = {"Require": (1, 1), "Split": (1, 2), "Backward": (1, 1), "Tangent": (1, 1)}
_TEXTS |= {"NoGrad": (0, 0), "SupportCpuOnly": (0, 0)}
_ARGUMENT = re.compile(r"(Optional)?(Input|Output)(WithMinimum)?")


class _Unknown(Exception):
    """The definition has something else than declarations."""


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


def read_declarations(text: str) -> list[list[str]] | None:
    """Return the calls of a definition, each as name, line and arguments; None if it does not only declare."""
    try:
        return _Parser(text).calls()
    except _Unknown:
        return None


def write_declarations(calls: Sequence[Sequence[str]], path: Path, template: Path) -> Path | None:
    """Return a library that has the declarations of the file at `path`, from the cache; None if they are too long.

    `template` is the compiled ``declared.cpp``.
    """
    text = "".join("\t".join(fields) + "\n" for fields in [[path.name], *calls]).encode()
    if len(text) >= _SIZE:
        return None

    def write(output: Path) -> dict[str, str]:
        library = template.read_bytes()
        at = library.index(_MARK)
        output.write_bytes(library[:at] + text.ljust(_SIZE, b"\0") + library[at + _SIZE :])
        return {}

    key = cache.digest([template.parent.name, text])
    return cache.build("definitions", f"{path.stem}-{key}", f"{path.stem}.so", write).path


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens: list[_Token] = []
        at, line = 0, 1
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise _Unknown
            if found.lastgroup != "space":
                self._tokens.append(_Token(str(found.lastgroup), found[0], line))
            at, line = found.end(), line + found[0].count("\n")
        self._tokens.reverse()

    def calls(self) -> list[list[str]]:
        """Return the calls of all statements."""
        calls = []
        while self._tokens:
            begin = self._take("name", "REGISTER_USER_OP")
            (name,) = self._texts(self._arguments(begin), 1, 1)
            calls.append([begin.text, str(begin.line), name])
            while self._take("sign", ".;").text == ".":
                calls.append(self._call(self._take("name")))
        return calls

    def _take(self, kind: str, text: str = "") -> _Token:
        """Return the next token, which must be of this kind and, if it is given, part of the text."""
        token = self._tokens.pop() if self._tokens else _Token("", "", 0)
        if token.kind != kind or (text and token.text not in text):
            raise _Unknown
        return token

    def _call(self, method: _Token) -> list[str]:
        call = [method.text, str(method.line)]
        if method.text == "Attr":
            self._take("sign", "<")
            type_ = self._take("name").text
            self._take("sign", ">")
            return [*call, *_attribute(type_, self._arguments(method))]
        arguments = self._arguments(method)
        found = _ARGUMENT.fullmatch(method.text)
        if found is not None:
            return [found[2], call[1], *_tensor(arguments, is_variadic=bool(found[3]), is_optional=bool(found[1]))]
        if method.text not in _TEXTS:
            raise _Unknown
        return [*call, *self._texts(arguments, *_TEXTS[method.text])]

    def _arguments(self, begin: _Token) -> list[_Token]:
        """Return the literals in parentheses, on the line of what they are passed to."""
        self._take("sign", "(")
        arguments: list[_Token] = []
        while self._tokens and self._tokens[-1].text != ")":
            if arguments:
                self._take("sign", ",")
            token = self._tokens.pop() if self._tokens else begin
            if token.kind not in ("text", "number", "name"):
                raise _Unknown
            arguments.append(token)
        end = self._take("sign", ")")
        if end.line != begin.line:
            raise _Unknown
        return arguments

    @staticmethod
    def _texts(arguments: Sequence[_Token], least: int, most: int) -> list[str]:
        if not least <= len(arguments) <= most:
            raise _Unknown
        return [_text(each) for each in arguments]


def _text(token: _Token) -> str:
    if token.kind != "text":
        raise _Unknown
    return token.text[1:-1]


def _number(token: _Token) -> str:
    digits = token.text.lstrip("+-")
    if token.kind != "number" or (digits.isdecimal() and digits.startswith("0") and digits != "0"):
        raise _Unknown  # an octal number
    return token.text


def _integer(token: _Token, bits: int = 31) -> str:
    text = _number(token)
    if not text.lstrip("+-").isdecimal() or not -(1 << bits) <= int(text) < 1 << bits:
        raise _Unknown
    return str(int(text))


def _tensor(arguments: Sequence[_Token], *, is_variadic: bool, is_optional: bool) -> list[str]:
    """Return the name, type and number of tensors of an input or output, and what else its method says."""
    if not arguments:
        raise _Unknown
    name, *rest = arguments
    type_ = _text(rest.pop(0)) if rest and rest[0].kind == "text" else ""
    if len(rest) > 1 or (is_variadic and not rest):
        raise _Unknown
    count = _integer(rest[0]) if rest else "1"
    return [_text(name), type_, count, str(int(is_variadic)), str(int(is_optional))]


def _attribute(type_: str, arguments: Sequence[_Token]) -> list[str]:
    """Return the name, type and default of an attribute."""
    if type_ not in _TYPES or not 1 <= len(arguments) <= 2:
        raise _Unknown
    kind = _TYPES[type_]
    declared = [_text(arguments[0]), str(int(kind))]
    return [*declared, "1", _default(kind, arguments[1])] if len(arguments) > 1 else [*declared, "0"]


def _default(kind: AttrType, token: _Token) -> str:
    if kind == AttrType.STRING:
        return _text(token)
    if kind == AttrType.BOOL and token.kind == "name" and token.text in ("false", "true"):
        return str(int(token.text == "true"))
    if kind in _BITS:
        return _integer(token, _BITS[kind])
    if kind == AttrType.BOOL or (kind == AttrType.FLOAT and abs(float(_number(token))) > _LARGEST_FLOAT):
        raise _Unknown
    return _number(token)
