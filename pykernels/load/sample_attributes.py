"""Choose values for missing required attributes, to try an op with."""

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

# String literals of one word in Python and C++.
_WORD = re.compile(r"""["'](\w{1,20})["']""")
_NO_WORD = "no such word"
# How many words, or combinations of words, to try.
_TRIES = 60


def missing_attributes(op: OpDef, given: Mapping[str, Any]) -> list[Attribute]:
    """Return the attributes that have no default and are not given."""
    return [attribute for attribute in op.attributes if attribute.required and attribute.name not in given]


def plain_attributes(module: OpModule, dtype: np.dtype, given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield `given` completed with values for its missing attributes, with a different choice of strings each time.

    Data types become `dtype`. Strings become the words in the kernel file, the empty string and the words in the
    definition in turn, since this function does not know which of them the definition accepts.
    """
    missing = missing_attributes(module.forward, given)
    plain = {each.name: _plain(each.type, dtype) for each in missing}
    texts = [each for each in missing if each.type in (AttrType.STRING, AttrType.LIST_STRING)]
    words = dict.fromkeys([*_words(module, PY_KERNEL), "", *_words(module, CPP_DEF)]) if texts else {}
    for chosen in itertools.islice(itertools.product(words, repeat=len(texts)), _TRIES):
        strings = {each.name: w if each.type is AttrType.STRING else [w] for each, w in zip(texts, chosen)}
        yield {**given, **plain, **strings}


def likely_words(
    module: OpModule, attributes: dict[str, Any], is_accepted: Callable[[dict[str, Any]], bool]
) -> list[str]:
    """Return strings to try for attributes: words of the kernel file, and of the definition if it does not accept any.

    `is_accepted` returns whether the definition accepts other values of all attributes.
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
