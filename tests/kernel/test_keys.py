"""The cache keys of kernels."""

from __future__ import annotations

import re

from pykernels.base.paths import CPP_DEFS
from pykernels.build import linking
from pykernels.kernel import keys


def test_keys_have_every_file_that_the_runtime_includes_and_none_of_definitions() -> None:
    known = {file for file in keys._GENERATOR if file.suffix != ".py"}
    found = {parts[0] for parts in linking.RUNTIME.values()}
    waiting = list(found)
    while waiting:
        file = waiting.pop()
        for own, public in re.findall(r'^#include (?:"(.+)"|<(pykernels/.+)>)', file.read_text(), re.MULTILINE):
            beside = file.parent / own
            included = beside if own and beside.exists() else CPP_DEFS / "include" / (own or public)
            if included not in found:
                found.add(included)
                waiting.append(included)
    assert len(found) > 20
    assert found <= known
    assert not any("definition" in file.parent.name for file in known)
