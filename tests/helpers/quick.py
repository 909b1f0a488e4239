"""``pytest --quick``: a part of the tests that tries every part of the project.

Left out are the tests that are marked ``thorough`` and, of a test with many parameters, the combinations each of whose
values another one has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import pytest


def thorough(*values: Any) -> Iterator[Any]:
    """Values of a parameter that a quick run leaves out."""
    return (pytest.param(value, marks=pytest.mark.thorough) for value in values)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="run a part of the tests that tries every part of pykernels")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "thorough: takes long, and `pytest --quick` leaves it out")


# Last, when the order of the tests is made.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--quick"):
        return
    chosen = choose(items)
    left_out = [item for item in items if item not in chosen]
    items[:] = [item for item in items if item in chosen]
    config.hook.pytest_deselected(items=left_out)
    config.stash[_LEFT_OUT] = Counter(item.nodeid.partition("[")[0] for item in left_out)


def choose(items: Sequence[pytest.Item]) -> set[pytest.Item]:
    """The tests to run."""
    tests: dict[str, dict[pytest.Item, set[tuple[str, Any]]]] = {}
    # In an order of their own, so that the choice is the same in whatever order the tests are run.
    for item in sorted(items, key=lambda item: item.nodeid):
        if not item.get_closest_marker("thorough"):
            tests.setdefault(item.nodeid.partition("[")[0], {})[item] = set(_values(item))
    return set(chain.from_iterable(map(_covering, tests.values())))


def _covering(tests: dict[pytest.Item, set[tuple[str, Any]]]) -> Iterator[pytest.Item]:
    """Few of these tests that have all values of all."""
    used: Counter[tuple[str, Any]] = Counter()
    missing = set(chain.from_iterable(tests.values())) or {("", "")}
    while missing:
        # The one that has most of the missing values, and beside them those that were used least.
        best = min(tests, key=lambda item: (-len(missing & tests[item]), sum(used[value] for value in tests[item])))
        yield best
        used.update(tests[best])
        missing -= tests[best] or missing


def _values(item: pytest.Item) -> Iterator[tuple[str, Any]]:
    """The values of the parameters of a test, by their names."""
    callspec = getattr(item, "callspec", None)
    for name, value in callspec.params.items() if callspec else ():
        yield name, value if isinstance(value, (str, int, float, bool, type(None))) else id(value)


_LEFT_OUT = pytest.StashKey[Counter[str]]()


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    # Tests that run in several processes are chosen in each, and reported by the one that has started these.
    worker = getattr(session.config, "workeroutput", None)
    if worker is not None:
        worker["left out"] = dict(session.config.stash.get(_LEFT_OUT, {}))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[_LEFT_OUT] = Counter(getattr(node, "workeroutput", {}).get("left out", {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    left_out = config.stash.get(_LEFT_OUT, Counter())
    if left_out:
        terminalreporter.section(f"left out by --quick: {left_out.total()} tests; `make test-all` runs them")
        for name, count in sorted(left_out.items()):
            terminalreporter.line(f"{name}{f' ({count})' if count > 1 else ''}")
