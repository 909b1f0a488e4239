"""One call for every framework: OneFlow's ``user_op_builder``, which runs where its inputs live."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pykernels import discovery, frameworks
from pykernels.definition import OpDef
from pykernels.errors import CallError
from pykernels.module import OpModule

__all__ = ["UserOp", "UserOpBuilder", "user_op_builder"]


def user_op_builder(op_name: str) -> UserOpBuilder:
    """Begin a call of an op, as OneFlow's ``flow.user_op_builder``.

    Parameters
    ----------
    op_name : str
        A name for this use of the op, for messages.

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
    """Collects what a call of an op needs; every method but `Build` returns the builder."""

    def __init__(self, op_name: str) -> None:
        self._name = op_name
        self._type = ""
        self._inputs: dict[str, list[Any]] = {}
        self._outputs: dict[str, int] = {}
        self._attributes: dict[str, Any] = {}

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
        self._inputs[input_name] = list(input_blob_list)
        return self

    def Output(self, output_name: str, num: int = 1) -> UserOpBuilder:
        """Ask for an output argument, of `num` tensors."""
        if not isinstance(num, int) or num < 1:
            raise CallError(f"op {self._name!r}: Output({output_name!r}, {num!r}): the number must be 1 or more")
        self._outputs[output_name] = num
        return self

    def Attr(self, attr_name: str, attr_value: Any, attr_type_name: str | None = None) -> UserOpBuilder:
        """Set an attribute. `attr_type_name` is accepted as in OneFlow and ignored: the definition has the type."""
        self._attributes[attr_name] = attr_value
        return self

    def Build(self) -> UserOp:
        """Check the call against the definition.

        Raises
        ------
        CallError
            The op, an input, an output or an attribute is unknown, missing or malformed.
        """
        if not self._type:
            raise CallError(f"op {self._name!r}: call .Op(op_type_name) before .Build()")
        module = discovery.find_op(self._type)
        op_type = self._type if self._type != module.name else f"{module.name}_forward"
        op = module.definition.ops[op_type]
        _check_names(op, "input", self._inputs, [a.name for a in op.inputs])
        _check_names(op, "output", self._outputs, [a.name for a in op.outputs])
        attributes = op.parse_attributes(self._attributes)
        inputs = [self._inputs.get(a.name, []) for a in op.inputs]
        return UserOp(self._name, module, op, inputs, self._outputs, attributes)


def _check_names(op: OpDef, kind: str, given: dict[str, Any], known: Sequence[str]) -> None:
    for name in given:
        if name not in known:
            raise CallError(f"op {op.name!r} has no {kind} {name!r}; its {kind}s are {', '.join(known) or 'none'}")


class UserOp:
    """One call of an op."""

    def __init__(
        self,
        name: str,
        module: OpModule,
        op: OpDef,
        inputs: Sequence[Sequence[Any]],
        outputs: dict[str, int],
        attributes: dict[str, Any],
    ) -> None:
        self.name = name
        self._module = module
        self._op = op
        self._inputs = inputs
        self._outputs = outputs
        self._attributes = attributes
        self._results: dict[str, list[Any]] | None = None

    def InferAndTryRun(self) -> UserOp:
        """Run the op in the framework of its inputs (for a symbol: add it to the graph).

        Raises
        ------
        CallError
            The inputs do not fit the op.
        KernelError
            The kernel failed (frameworks raise errors of their own kind, some at the next synchronisation).
        """
        op = self._op
        framework = frameworks.of_values([value for group in self._inputs for value in group], op.name)
        # An optional output that nobody has asked for is left out.
        counts = [self._outputs.get(a.name, 0 if a.optional else a.count) for a in op.outputs]
        flat = framework.call(self._module, op.name, self._inputs, self._attributes, counts)
        self._results, at = {}, 0
        for argument, count in zip(op.outputs, counts):
            self._results[argument.name] = flat[at : at + count]
            at += count
        return self

    def RemoteBlobList(self) -> tuple[Any, ...]:
        """The outputs that were asked for, in that order."""
        results = self._done()
        return tuple([tensor for name in self._outputs or results for tensor in results[name]])

    def RemoteBlobDict(self) -> dict[str, list[Any]]:
        """The outputs that were asked for, by argument."""
        results = self._done()
        return {name: results[name] for name in self._outputs or results}

    def SoleOutputBlob(self) -> Any:
        """The one output.

        Raises
        ------
        CallError
            There are several.
        """
        blobs = self.RemoteBlobList()
        if len(blobs) != 1:
            raise CallError(f"op {self._op.name!r} has {len(blobs)} outputs here; take them with .RemoteBlobList()")
        return blobs[0]

    def _done(self) -> dict[str, list[Any]]:
        if self._results is None:
            raise CallError(f"op {self._op.name!r}: call .InferAndTryRun() before asking for outputs")
        return self._results
