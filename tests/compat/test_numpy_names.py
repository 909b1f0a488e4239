"""NumPy's removed names, in a module of their own."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from pykernels.base.errors import CallError
from pykernels.base.refusals import MissingName
from pykernels.compat import versions
from pykernels.compat.numpy_names import old_numpy, old_text

old = old_numpy()


def test_what_numpy_has_is_the_same() -> None:
    names = [name for name in vars(np) if name not in ("bool", "core", "__getattr__", "__dir__")]
    assert len(names) > 400
    assert [name for name in names if getattr(old, name) is not getattr(np, name)] == []
    # Found only when it is asked for.
    assert old.testing is np.testing
    assert isinstance(pickle.loads(pickle.dumps(np.ones(2))), old.ndarray)


def test_numbers_and_types() -> None:
    assert (old.PZERO, old.PINF, old.NINF, old.Inf) == (0.0, np.inf, -np.inf, np.inf)
    assert np.signbit(old.NZERO) and np.isnan(old.NaN) and np.isnan(old.NAN)
    assert old.bool is bool and old.int is int
    assert isinstance("text", old.compat.basestring)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_functions() -> None:
    x = np.array([[3, 1], [0, 2]])
    np.testing.assert_array_equal(old.msort(x), [[0, 1], [3, 2]])
    np.testing.assert_array_equal(old.in1d(x, [0, 3], invert=True), [False, True, False, True])
    np.testing.assert_array_equal(old.round_(np.array([1.26]), 1), [1.3])
    assert (old.trapz([0, 1, 2]), old.product(x), old.sometrue(x), old.alltrue(x)) == (2, 0, True, False)
    assert old.core.numeric.normalize_axis_tuple(-1, 3) == (2,)
    with pytest.raises((CallError, RuntimeError), match=r"(?s)pv\b.*1\.20"):
        old.pv(0.05, 10, 1)


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(MissingName, match=r"has no np\.no_such_name.*pip install numpy==1\.23\.5"):
        _ = old.no_such_name
    assert not hasattr(old, "no_such_name")
    assert not hasattr(old, "__no_such_name__")


def test_texts_are_those_of_numpy_1() -> None:
    assert old_text((np.int64(2), 3)) == "(2, 3)"
    assert old_text([np.float32(0.5), None]) == "[0.5, None]"
    assert old_text("np.int64(2)") == "np.int64(2)"
    assert old_text(np.float32(0.25)) == "0.25"
    assert repr(np.int64(2)) == ("np.int64(2)" if np.__version__ >= "2" else "2"), "nothing else has changed"


def test_versions_are_compared_by_their_numbers() -> None:
    version = versions.module().LooseVersion
    assert version("1.9") < version("1.10.0rc1") <= version("1.10.0")
    assert version("2.5.5") >= versions.module().StrictVersion("1.6.0")
    assert version("1.10") != version("1.1")
