"""Find the types of an op's tensors: call its function with arrays of many shapes."""

from __future__ import annotations

import itertools
import math
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pykernels.adjoint.derivation import Call
from pykernels.base.abi import AttrType
from pykernels.base.errors import CallError
from pykernels.define.declared import Attribute
from pykernels.tools.new.axes import AXIS, Case, Tensor, axes_of, is_along_axis, names_in
from pykernels.tools.new.hypotheses import possible_inputs
from pykernels.tools.new.source import Source

# The leading axes to try, which "..." stands for; and lengths of named axes: odd ones, even ones, multiples of 4 and 8.
_LEADING = ((), (9,), (2, 9))
_LENGTHS = ((3, 5, 7, 11, 13, 17), (4, 6, 10, 14, 22, 26), (4, 8, 12, 20, 28, 44), (8, 16, 24, 40, 56, 88))
# The most elements of an input: a function may compute all products. And the most seconds to search.
_MOST_ELEMENTS = 8000
_LONGEST = 20.0


@dataclass(frozen=True)
class Types:
    """The tensors of an op, and what else calls show."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    #: Conditions on lengths, such as ``n % 2 == 0``.
    requires: tuple[str, ...]
    #: The axes along which the op may be split over devices.
    splits: tuple[str, ...]
    #: Arguments with every number of axes.
    calls: tuple[Call, ...]

    @property
    def takes_numbers(self) -> bool:
        """Whether a floating-point input may be without axes."""
        return any(array.ndim == 0 and array.dtype.kind == "f" for call in self.calls for array in call.arrays)


def find_types(source: Source, *, has_axes: bool = False) -> Types:
    """Find the types of the inputs and outputs of a function.

    Parameters
    ----------
    has_axes : bool
        Whether every floating-point input must have an axis.

    Raises
    ------
    CallError
        The function takes no arrays of the shapes that were tried; the message says what to write.
    """
    trial = _Trial(source)
    end = time.monotonic() + _LONGEST
    for inputs in possible_inputs(source, has_axis=trial.has_axis):
        types = trial.types(inputs)
        if types is not None and not (has_axes and types.takes_numbers):
            return types
        if time.monotonic() > end:
            break
    example = ", ".join(f'{name}: "[..., n]"' for name in source.inputs)
    raise CallError(
        f"{source.where}: no shapes of {', '.join(source.inputs)} were found that it takes ({trial.failure}). Write "
        f"their types: {example}"
    )


def example_value(attribute: Attribute) -> Any:
    """Return the default of an attribute, or a suitable value if it has none."""
    if not attribute.required:
        return attribute.default
    if attribute.name == AXIS:
        return -1
    return {AttrType.BOOL: True, AttrType.STRING: "text", AttrType.SHAPE: (2, 2)}.get(attribute.type, 2)


def _drawn(tensor: Tensor, shape: Sequence[int], seed: int) -> np.ndarray:
    """Return an array for an input: positive numbers, or integers that are positions on any axis."""
    rng = np.random.default_rng(seed)
    array: Any
    if tensor.dtype == "bool":
        array = rng.random(shape) < 0.5
    elif tensor.dtype.startswith(("int", "uint")):
        array = rng.integers(0, 2, shape).astype(np.int64 if tensor.dtype == "integer" else tensor.dtype)
    else:
        array = rng.uniform(0.5, 2, shape)
    drawn = np.asarray(array)
    drawn.flags.writeable = False  # as the inputs of kernels
    return drawn


class _Trial:
    """Calls of a function, whose results are remembered."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._attributes = {each.name: example_value(each) for each in source.attributes}
        self._known: dict[Any, list[tuple[int, ...]] | None] = {}
        self._drawn: dict[Any, np.ndarray] = {}
        #: The first error.
        self.failure = "it was not called"
        self.has_axis = isinstance(self._attributes.get(AXIS), int)

    def types(self, inputs: tuple[Tensor, ...]) -> Types | None:
        """Return all types if the function takes such inputs and the shapes of its results follow from theirs."""
        accepted = []
        for cases in (self._cases(inputs, lengths) for lengths in _LENGTHS):
            for case in cases:
                if self._shapes(inputs, case) is None:
                    break
                # Before the next case, which may have a large result.
                if self._axes(inputs, cases[: cases.index(case) + 1]) is None:
                    return None
            else:
                accepted.append(cases)
        if not accepted or any(not self._is_certain(inputs, case) for case in accepted[0]):
            return None
        cases = list(itertools.chain.from_iterable(accepted))
        cases += [case for case in self._varied(cases[0]) if self._shapes(inputs, case) is not None]
        outputs = self._outputs(inputs, cases)
        if outputs is None:
            return None
        splits = tuple(each for each in _splittable(inputs) if self._splits(inputs, outputs, each))
        is_batch = "..." in splits or not any(tensor.takes_any for tensor in outputs)
        if not is_batch and any(tensor.named for tensor in inputs if tensor.takes_any):
            return None
        calls = [Call(self._arrays(inputs, case), case.attributes) for case in accepted[0]]
        requires = tuple(self._requires(inputs, accepted[0][0]))
        return Types(self._with_masks(inputs, accepted[0]), outputs, requires, splits, tuple(calls))

    def _outputs(self, inputs: Sequence[Tensor], cases: Sequence[Case]) -> tuple[Tensor, ...] | None:
        narrow = [a.astype(np.float32) if a.dtype == float else a for a in self._arrays(inputs, cases[0])]
        results = self._call(narrow, cases[0].attributes) or []
        names, axes = self._source.outputs, self._axes(inputs, cases)
        if len(results) != len(names):
            raise CallError(
                f"{self._source.where} returns {len(results)} arrays, not one for each of {', '.join(names)}; name "
                "them with --outputs"
            )
        if axes is None:
            return None
        for name, result in zip(names, results):
            # Before NumPy 2, numbers of NumPy's with Python's are float64.
            if result.dtype == np.float64 and result.ndim and any(each.dtype == np.float32 for each in narrow):
                like = next(each.name for each in inputs if each.dtype == "floating")
                raise CallError(
                    f"{self._source.where}: {name} is float64 where the inputs are float32; convert it: "
                    f".astype({like}.dtype)"
                )
        return tuple(Tensor(n, _word(r.dtype, inputs), each) for n, r, each in zip(names, results, axes))

    def _axes(self, inputs: Sequence[Tensor], cases: Sequence[Case]) -> list[tuple[str, ...]] | None:
        """Return the axes of every output, or None if the shapes do not follow from those of the inputs."""
        shapes = [self._shapes(inputs, case) or [] for case in cases]
        if len({len(each) for each in shapes}) != 1:
            return None
        axes = [axes_of(list(zip(cases, each)), inputs) for each in zip(*shapes)]
        return None if None in axes else [each for each in axes if each is not None]

    def _is_certain(self, inputs: Sequence[Tensor], case: Case) -> bool:
        """Whether the shapes of the results are the same for other values."""
        others = [self._call(self._arrays(inputs, case, seed), case.attributes) for seed in (1, 2)]
        return all(each is not None and [a.shape for a in each] == self._shapes(inputs, case) for each in others)

    def _with_masks(self, inputs: Sequence[Tensor], cases: Sequence[Case]) -> tuple[Tensor, ...]:
        """Return the inputs, with truth values for integers where these give other results, as in ``~mask``."""
        for at, tensor in enumerate(inputs):
            if tensor.dtype == "integer" and tensor.name not in self._source.types:
                arrays = self._arrays(inputs, cases[-1])
                result = self._call(arrays, cases[-1].attributes)
                arrays[at] = arrays[at] == 1
                other = self._call(arrays, cases[-1].attributes)
                alike = other and result and [a.shape for a in other] == [a.shape for a in result]
                if alike and not all(map(np.array_equal, result or [], other or [])):
                    inputs = (*inputs[:at], Tensor(tensor.name, "bool", tensor.axes), *inputs[at + 1 :])
        return tuple(inputs)

    def _requires(self, inputs: Sequence[Tensor], case: Case) -> Iterator[str]:
        """Yield conditions on lengths and attributes: that they are positive, multiples, or at least as large."""

        def takes(**changed: int) -> bool:
            lengths = {name: changed.get(name, length) for name, length in case.lengths.items()}
            attributes = {name: changed.get(name, value) for name, value in case.attributes.items()}
            leading = tuple(changed.get("n", length) for length in case.leading) if along else case.leading
            arrays = self._arrays(inputs, Case(leading, lengths, attributes))
            return self._call(arrays, attributes) is not None

        along = is_along_axis(inputs)
        numbers = [name for name, value in case.attributes.items() if type(value) is int and name != AXIS]
        divisors = [name for name in numbers if case.attributes[name] > 1]
        divisors += [f"({a} * {b})" for a, b in itertools.combinations_with_replacement(divisors, 2)]
        for name in numbers:
            if not takes(**{name: -1}):
                yield f"{name} >= 0" if takes(**{name: 0}) else f"{name} > 0"

        def is_least(number: str, name: str) -> bool:
            """Whether an attribute, such as a window, is the least length that the function takes."""
            least = case.attributes[number]
            tried = [(least, least), (least - 1, least), (least, least + 1), (least + 1, least + 1)]
            return [takes(**{name: length, number: value}) for length, value in tried] == [True, False, False, True]

        for name in ["n"] if along else case.lengths:
            if not takes(**{name: 0}):
                least = next((number for number in numbers if is_least(number, name)), "")
                yield f"{name} >= {least}" if least else f"{name} > 0"
        for name, length in case.lengths.items():
            for divisor in () if takes(**{name: length + 1}) else (*divisors, "2", "3", "4", "8"):
                if takes(**{name: length + eval(divisor, {}, dict(case.attributes))}):
                    yield f"{name} % {divisor} == 0"
                    break

    def _cases(self, inputs: Sequence[Tensor], lengths: Sequence[int]) -> list[Case]:
        every = dict.fromkeys(name for tensor in inputs for axis in tensor.named for name in names_in(axis))
        names = [name for name in every if name not in self._attributes]
        lengths = lengths[: max(3, len(names))]
        if is_along_axis(inputs):
            return [
                Case(tuple(lengths[:ndim]), {}, {**self._attributes, AXIS: axis})
                for ndim in (1, 2, 3)
                for axis in (-1, *range(ndim))
            ]
        leading = _LEADING if any(tensor.takes_any for tensor in inputs) else _LEADING[:1]
        orders = [dict(zip(names, each)) for each in (lengths, lengths[::-1])]
        return [Case(each, named, self._attributes) for named in orders for each in leading]

    def _varied(self, case: Case) -> Iterator[Case]:
        """Yield the case with other values of integer attributes."""
        for name, value in case.attributes.items():
            if name == AXIS or isinstance(value, (bool, float, str)):
                continue
            others = [value + 1] if isinstance(value, int) else _one_more(value)
            yield from (Case(case.leading, case.lengths, {**case.attributes, name: other}) for other in others)

    def _shapes(self, inputs: Sequence[Tensor], case: Case) -> list[tuple[int, ...]] | None:
        """Return the shapes of the results, or None if the function raises or they depend on values."""
        shapes = [case.shape(tensor) for tensor in inputs]
        if max(map(math.prod, shapes)) > _MOST_ELEMENTS:
            return None
        key = (*zip(shapes, (tensor.dtype for tensor in inputs)), *case.attributes.values())
        if key not in self._known:
            results = self._call(self._arrays(inputs, case), case.attributes)
            self._known[key] = None if results is None else [each.shape for each in results]
        return self._known[key]

    def _arrays(self, inputs: Sequence[Tensor], case: Case, seed: int = 0) -> list[np.ndarray]:
        return [self._array(tensor, case.shape(tensor), seed + at) for at, tensor in enumerate(inputs)]

    def _array(self, tensor: Tensor, shape: tuple[int, ...], seed: int) -> np.ndarray:
        key = (tensor.dtype, shape, seed)
        if key not in self._drawn:
            self._drawn[key] = _drawn(tensor, shape, seed)
        return self._drawn[key]

    def _call(self, arrays: Sequence[np.ndarray], attributes: Mapping[str, Any]) -> list[np.ndarray] | None:
        """Return the results of the function, or None if it raises."""
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results = self._source.call(arrays, attributes)
                made = [np.asarray(each) for each in (results if isinstance(results, tuple) else (results,))]
            for each in made:
                if each.dtype.kind not in "biuf":
                    raise TypeError(f"it returns {each.dtype}, not real numbers")
        except Exception as error:
            shapes = ", ".join(f"{n} of shape {a.shape}" for n, a in zip(self._source.inputs, arrays))
            if self.failure == "it was not called":
                self.failure = f"with {shapes}: {type(error).__name__}: {error}"
            return None
        return made

    def _splits(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor], axis: str) -> bool:
        """Whether the results of two halves of the inputs along an axis are halves, or terms, of the results."""
        tensors = (*inputs, *outputs)
        in_formulas = {name for tensor in tensors for each in tensor.named if each != axis for name in names_in(each)}
        if axis in in_formulas or any(tensor.axes.count(axis) > 1 for tensor in inputs):
            return False
        # Other values of attributes, since a bias of 0 can be added twice.
        varied = {n: v + 0.25 if isinstance(v, float) else v for n, v in self._attributes.items()}
        for case in self._cases(inputs, [2 * each for each in _LENGTHS[2]]):
            leading = tuple(2 * each for each in case.leading)
            along = is_along_axis(inputs)
            if (axis == "..." and len(leading) < 1 + along) or (along and case.attributes[AXIS] != -1):
                continue
            for attributes in (varied, self._attributes):
                tried = Case(leading, case.lengths, {**case.attributes, **attributes})
                answer = self._is_split(inputs, outputs, axis, tried)
                if answer is not None:
                    break
            if not answer:
                return False
        return True

    def _is_split(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor], axis: str, case: Case) -> bool | None:
        """Whether the results of halves make up the results of all; None if the function raises."""
        arrays = self._arrays(inputs, case)
        whole = self._call(arrays, case.attributes)
        positions = [_position(tensor, axis) for tensor in inputs]
        pairs = [(a, a) if at is None else np.split(a, 2, at) for a, at in zip(arrays, positions)]
        first, second = (self._call(half, case.attributes) for half in zip(*pairs))
        if whole is None or first is None or second is None:
            return None
        return all(_is_composed(tensor, axis, *three) for tensor, *three in zip(outputs, whole, first, second))


def _one_more(values: Sequence[int]) -> Iterator[tuple[int, ...]]:
    for at in range(len(values)):
        yield tuple(each + (number == at) for number, each in enumerate(values))


def _word(dtype: np.dtype, inputs: Sequence[Tensor]) -> str:
    words = {tensor.dtype for tensor in inputs}
    if dtype.kind == "f" and "floating" in words:
        return "floating"
    return "integer" if dtype == np.int64 and words == {"integer"} else dtype.name


def _splittable(inputs: Sequence[Tensor]) -> dict[str, None]:
    leads = dict.fromkeys("..." for tensor in inputs if tensor.takes_any)
    return {**leads, **dict.fromkeys(each for tensor in inputs for each in tensor.named if each.isidentifier())}


def _position(tensor: Tensor, axis: str) -> int | None:
    """Return the position of an axis in arrays of this type, or None if they do not have it."""
    if axis == "...":
        return 0 if tensor.takes_any else None
    return tensor.axes.index(axis) - len(tensor.axes) if axis in tensor.axes else None


def _is_composed(tensor: Tensor, axis: str, whole: np.ndarray, first: np.ndarray, second: np.ndarray) -> bool:
    at = _position(tensor, axis)
    if at is None and tensor.dtype != "floating":
        return False
    composed = first + second if at is None else np.concatenate((first, second), axis=at)
    return composed.shape == whole.shape and np.allclose(composed, whole, rtol=1e-9, atol=1e-9, equal_nan=True)
