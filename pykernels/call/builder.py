"""Build a call of an op with the interface of OneFlow's ``user_op_builder``; it runs in the framework of its inputs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from pykernels.base.errors import CallError
from pykernels.base.refusals import WrongType
from pykernels.call.plan import KEYWORDS, Plan, find_plan, take_keywords
from pykernels.load import loaded


def user_op_builder(op_name: str) -> UserOpBuilder:
    """Begin a call of an op, as OneFlow's ``flow.user_op_builder``.

    Parameters
    ----------
    op_name : str
        A name for this use of the op in messages.

    Examples
    --------
    >>> y = (
    ...     pykernels.user_op_builder("act")
    ...     .Op("leaky_relu_forward")
    ...     .Input("x", [x])
    ...     .Output("y")
    ...     .Attr("alpha", 0.1)
    ...     .Build()
    ...     .InferAndTryRun()
    ...     .SoleOutputBlob()
    ... )
    """
    return UserOpBuilder(op_name)


class UserOpBuilder:
    """Collect the parts of a call of an op; every method except `Build` returns the builder."""

    # A small op takes no longer than this Python code, so the code is as short as possible.
    __slots__ = ("_attributes", "_counts", "_name", "_tensors", "_type")

    def __init__(self, op_name: str) -> None:
        self._name = op_name
        self._type = ""
        self._counts: tuple[str | int, ...] = ()  # as `Plan` takes them
        self._tensors: tuple[Any, ...] = ()
        self._attributes: dict[str, Any] | None = None

    def __repr__(self) -> str:
        counts = zip(self._counts[::2], self._counts[1::2])
        parts = [f"{name}[{abs(int(count))}]{'' if int(count) > 0 else ' out'}" for name, count in counts]
        parts += [f"{name}={value!r}" for name, value in (self._attributes or {}).items()]
        op = repr(self._type) if self._type else "no op yet"
        return f"UserOpBuilder({self._name!r}, {op}: {', '.join(parts) or 'nothing given'})"

    def Op(self, op_type_name: str) -> UserOpBuilder:
        """Choose the op type, such as ``relu_forward``."""
        self._type = op_type_name
        return self

    def OpName(self, op_name: str) -> UserOpBuilder:
        """Name this use of the op."""
        self._name = op_name
        return self

    def Input(self, input_name: str, input_blob_list: Sequence[Any]) -> UserOpBuilder:
        """Give the tensors of an input argument, as a list."""
        if not isinstance(input_blob_list, (list, tuple)):
            raise CallError(
                f"op {self._name!r}: Input({input_name!r}, ...) takes a list of tensors, not a "
                f"{type(input_blob_list).__name__}"
            )
        self._counts += (input_name, len(input_blob_list))
        self._tensors += (*input_blob_list,)
        return self

    def Output(self, output_name: str, num: int = 1) -> UserOpBuilder:
        """Ask for an output argument, of `num` tensors."""
        if not isinstance(num, int) or num < 1:
            raise CallError(f"op {self._name!r}: Output({output_name!r}, {num!r}): the number must be 1 or more")
        self._counts += (output_name, -num)
        return self

    def Attr(self, attr_name: str, attr_value: Any, attr_type_name: str | None = None) -> UserOpBuilder:
        """Set an attribute. Ignore `attr_type_name`, which OneFlow's method takes: the definition has the type."""
        if self._attributes is None:
            self._attributes = {}
        self._attributes[attr_name] = attr_value
        return self

    def Build(self) -> UserOp:
        """Check the call against the definition.

        Raises
        ------
        CallError
            The op, an input, an output or an attribute is unknown, missing or malformed.
        """
        # `find_plan` would do the same, with one more Python call.
        plan = loaded.plans.get((self._type, *self._counts)) if self._attributes is None else None
        return UserOp(plan or self._find_plan(), self._tensors)

    def Function(self, *input_names: str) -> Callable[..., Any]:
        """Prepare calls of the op as described so far, on one tensor for each named input.

        An API file prepares its calls once, before its functions, because describing a call takes half as long as
        a prepared call on a few elements. Each call looks the op up, as `Build` does.

        Returns
        -------
        callable
            Takes the tensors in the order of the names, and further attributes as keywords. On NumPy's arrays it also
            takes ``out`` and ``where``, as NumPy's ufuncs do, unless these are attributes of the op. It returns the
            output, a tuple of several, or None if the op has none. It raises the errors of `Build` and
            `InferAndTryRun`, and `TypeError` for a wrong number of tensors.

        Examples
        --------
        >>> leaky_relu = pykernels.user_op_builder("act").Op("leaky_relu_forward").Output("y").Function("x")
        >>> y = leaky_relu(x, alpha=0.1)
        """
        described = copy.copy(self)  # later changes of the builder do not affect it
        for name in input_names:
            described.Input(name, [None])
        op_type, counts, n_inputs = described._require_op(), described._counts, len(described._tensors)
        fixed = dict(self._attributes or {})
        # For calls without further attributes, while `plans` are those of the loaded ops.
        plan: Plan | None = None
        plans: Any = None
        calls: dict[Any, Callable[..., Sequence[Any]]] = {}  # the plan's, if it has one tensor and one result

        def function(*tensors: Any, **attributes: Any) -> Any:
            nonlocal plan, plans, calls
            into = attributes and not KEYWORDS.isdisjoint(attributes) and take_keywords(op_type, attributes)
            if not attributes and plans is loaded.plans:
                # The shortest code for most ops.
                if not into and len(tensors) == 1 and (call := calls.get(type(*tensors))) is not None:
                    return call(*tensors)[0]
                called = plan
            else:
                now = loaded.plans
                called = find_plan(op_type, counts, {**fixed, **attributes} if fixed else attributes)
                if not attributes:
                    calls = called.calls if n_inputs == called.n_results == 1 else {}
                    plan, plans = called, now  # last, because other threads rely on what `plans` says
            assert called is not None
            if len(tensors) != n_inputs:
                raise WrongType(f"op {called.op.name!r} is called with {len(tensors)} tensors, not {n_inputs}")
            kinds = type(tensors[0]) if n_inputs == 1 else tuple(map(type, tensors))
            if into:
                results = (called.calls_into.get(kinds) or called.bind_into(tensors))(*tensors, **into)
            else:
                results = (called.calls.get(kinds) or called.bind(tensors))(*tensors)
            if len(results) == 1:
                return results[0]
            blobs = UserOp(called, tensors, results).RemoteBlobList()
            return blobs[0] if len(blobs) == 1 else blobs or None

        function.__name__ = function.__qualname__ = op_type
        function.__doc__ = f"Call the op type {op_type} on {', '.join(input_names) or 'nothing'}."
        return function

    def _find_plan(self) -> Plan:
        return find_plan(self._require_op(), self._counts, self._attributes)

    def _require_op(self) -> str:
        if not self._type:
            raise CallError(f"op {self._name!r}: call .Op(op_type_name) before .Build()")
        return self._type


class UserOp:
    """One call of an op."""

    __slots__ = ("_plan", "_results", "_tensors")

    def __init__(self, plan: Plan, tensors: tuple[Any, ...], results: Sequence[Any] | None = None) -> None:
        self._plan = plan
        self._tensors = tensors
        self._results = results

    def __repr__(self) -> str:
        return f"UserOp({self._plan.op.schema()!r}, {'called' if self._results is not None else 'not called yet'})"

    def InferAndTryRun(self) -> UserOp:
        """Run the op in the framework of its inputs (for a symbol: add it to the graph).

        Raises
        ------
        CallError
            The inputs do not fit the op.
        KernelError
            The kernel failed (frameworks raise errors of their own types, some of them at the next synchronisation).
        """
        tensors, plan = self._tensors, self._plan
        kinds = type(tensors[0]) if len(tensors) == 1 else tuple(map(type, tensors))
        self._results = (plan.calls.get(kinds) or plan.bind(tensors))(*tensors)
        return self

    def RemoteBlobList(self) -> tuple[Any, ...]:
        """Return the requested outputs, in the order of the requests."""
        results = self._done()
        return tuple([tensor for _, positions in self._plan.outputs for tensor in results[positions]])

    def RemoteBlobDict(self) -> dict[str, list[Any]]:
        """Return the requested outputs by argument."""
        results = self._done()
        return {name: list(results[positions]) for name, positions in self._plan.outputs}

    def SoleOutputBlob(self) -> Any:
        """Return the only output.

        Raises
        ------
        CallError
            There are several.
        """
        results = self._results
        if results is not None and len(results) == 1:
            return results[0]
        blobs = self.RemoteBlobList()
        if len(blobs) != 1:
            raise CallError(
                f"op {self._plan.op.name!r} has {len(blobs)} outputs here; take them with .RemoteBlobList()"
            )
        return blobs[0]

    def _done(self) -> Sequence[Any]:
        if self._results is None:
            raise CallError(f"op {self._plan.op.name!r}: call .InferAndTryRun() before asking for outputs")
        return self._results
