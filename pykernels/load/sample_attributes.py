"""Plain values for the attributes that an op needs and nobody has given, for trying it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from pykernels.base import dtypes
from pykernels.base.abi import AttrType
from pykernels.base.attributes import sample_value
from pykernels.define.declared import Attribute
from pykernels.define.definition import OpDef
from pykernels.load.folders import CPP_DEF, PY_KERNEL
from pykernels.load.module import OpModule

__all__ = ["lacking", "plain_attributes", "words_of"]

# Python's and C++'s strings of one word.
_WORD = re.compile(r"""["'](\w{1,20})["']""")
_NO_WORD = "no such word"
# How many words, or combinations of words, are tried.
_TRIES = 60


def lacking(op: OpDef, given: Mapping[str, Any]) -> list[Attribute]:
    """The attributes that have no default and are not given."""
    return [attribute for attribute in op.attributes if attribute.required and attribute.name not in given]


def plain_attributes(module: OpModule, dtype: np.dtype, given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """`given` with a value for every attribute that it lacks; with others for strings, in turn.

    Data types become `dtype`, and strings the words in the kernel file, none, and the words in the definition: which of
    them the definition accepts is not known here.
    """
    lacks = lacking(module.forward, given)
    plain = {each.name: _plain(each.type, dtype) for each in lacks}
    texts = [each for each in lacks if each.type in (AttrType.STRING, AttrType.LIST_STRING)]
    words = dict.fromkeys([*_words(module, PY_KERNEL), "", *_words(module, CPP_DEF)]) if texts else {}
    for chosen in itertools.islice(itertools.product(words, repeat=len(texts)), _TRIES):
        strings = {each.name: w if each.type is AttrType.STRING else [w] for each, w in zip(texts, chosen)}
        yield {**given, **plain, **strings}


def words_of(module: OpModule, attributes: dict[str, Any], is_accepted: Callable[[dict[str, Any]], bool]) -> list[str]:
    """Strings that attributes may be: those in the kernel file, and in the definition if it does not accept any.

    Parameters
    ----------
    module : OpModule
    attributes : dict
        Every attribute.
    is_accepted : callable
        Whether the definition accepts these instead.
    """
    names = [attribute.name for attribute in module.forward.attributes if attribute.type is AttrType.STRING]
    if not names:
        return []
    words = _words(module, PY_KERNEL)
    if not any(is_accepted({**attributes, name: _NO_WORD}) for name in names):
        words += _words(module, CPP_DEF)
    return list(dict.fromkeys(words))


def _words(module: OpModule, part: str) -> list[str]:
    return _WORD.findall(module.files[part].read_text(encoding="utf-8"))


def _plain(type_: AttrType, dtype: np.dtype) -> Any:
    if type_ is AttrType.DTYPE:
        return dtypes.number_of(dtype)
    return [dtypes.number_of(dtype)] if type_ is AttrType.LIST_DTYPE else sample_value(type_)
