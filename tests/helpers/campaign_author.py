"""Kernels written by chance, for the campaign."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

__all__ = ["Author"]

# Kernels compute as NumPy 2 does, where a Python number never widens a NumPy one.
_IS_NUMPY_2 = np.lib.NumpyVersion(np.__version__) >= "2.0.0"
_NARROW = ("float32", "int8", "uint8", "int16", "int32", "uint32", "uint64") if _IS_NUMPY_2 else ()
_NARROW_INDICES = ("int32", "uint8", "int8", "uint64") if _IS_NUMPY_2 else ()
#: Of every function of NumPy that numba knows, calls that are right for some inputs and wrong for others.
CALLS = """np.sort(x) | x[np.argsort(x)] | np.unique(x) | np.sort(np.partition(x, k)[:k]) | np.argpartition(x, k) * 0 |
np.median(x) | np.cumsum(x) | np.cumprod(x) | np.diff(x) | np.diff(a) | np.ediff1d(x) | np.flip(x) | np.flipud(a) |
np.roll(x, k) | np.rot90(a, k) | np.repeat(x, abs(k)) | np.tile(x, 2) | np.delete(x, k) | np.take(x, z) |
np.take(x, k) | np.take_along_axis(x, z, 0) | np.searchsorted(np.sort(x), w) | np.digitize(x, np.sort(w)) |
np.bincount(z) | np.bincount(z, x) | np.interp(x, np.sort(w), w) | np.histogram(x, 5)[0] | np.nonzero(x)[0] |
np.flatnonzero(x) | np.argwhere(x) | np.where(x > w, x, w) | np.where(x > 0)[0] | np.extract(x > 0, x) |
np.select([x > 1, x > 0], [x, w], 0) | np.choose(z % 2, (x, w)) | np.compress(x > 0, x) | np.concatenate((x, w)) |
np.stack((x, w)) | np.hstack((x, w)) | np.vstack((x, w)) | np.dstack((a, a)) | np.column_stack((x, w)) |
np.append(x, w) | np.array_split(x, 3)[k % 3] | np.split(x, 2)[0] | np.outer(x, w) | np.kron(x, w) | np.trace(a) |
np.diag(x) | np.diagflat(x) | np.tril(a, k % 9) | np.triu(a, -(k % 9)) | np.eye(3, 4, k) | np.convolve(x, w) |
np.correlate(x, w) | np.argmax(x) | np.argmin(a, 0) | np.argmax(a, k) | np.max(a) | np.sum(a, 0) | np.sum(a, k) |
np.sum(x) | np.mean(x) | np.ptp(x) | np.prod(x) | np.var(x) | np.std(x) | np.any(x) | np.all(x) | np.nansum(x) |
np.nanmax(x) | np.nancumsum(x) | np.count_nonzero(x) | np.isin(x, w) | np.intersect1d(x, w) | np.union1d(x, w) |
np.setdiff1d(x, w) | np.in1d(x, w) | np.trim_zeros(x) | np.fill_diagonal(b, 1) | np.broadcast_to(x, (2, len(x))) |
np.broadcast_to(x, (2, k)) | np.expand_dims(x, 0) | np.squeeze(a[:1]) | np.atleast_2d(x) | np.ravel(a) |
np.reshape(x, (-1, 2)) | a.reshape(k, -1) | a.T | a.T[1:] | np.transpose(a) | np.swapaxes(a, 0, 1) |
np.moveaxis(a, 0, 1) | np.ascontiguousarray(a.T) | np.asfortranarray(a) | np.linspace(0, 1, abs(k)) |
np.arange(k) | np.arange(len(x), k, -1) | np.full(abs(k), 2) | np.empty_like(x) * 0 | np.zeros(k) |
np.ones((2, abs(k))) | np.zeros_like(a) | np.indices((2, 3))[0] | np.tri(3, 4, k) | np.vander(x, 3) |
np.percentile(x, 30) | np.quantile(x, 0.5) | np.nanmedian(x) | np.cov(a) | np.corrcoef(a) |
np.cross(a[:, :3], a[:, :3]) | np.dot(x, w) | np.dot(a, a.T) | a @ a.T | a @ x | np.vdot(x, w) |
np.linalg.norm(x) | np.trapz(x.astype(np.int8)) | np.round(x, 1) | np.clip(x, 1, 3) | np.sign(x) | np.maximum(x, w) |
np.fmod(x, w) | np.remainder(x, w) | np.floor_divide(x, w) | np.left_shift(z, k) | np.right_shift(z, k) |
np.gcd(z, k) | np.power(x, 2) | np.abs(x) | np.nan_to_num(x) | np.array_equal(x, w) | np.allclose(x, w) |
np.shape(a)[k] | np.hamming(abs(k)) | np.sinc(x) | x[x.argsort()] | x.copy() | x.astype(np.int8) |
x.view(np.int8) | x.view(np.int64) | x.flat[k] | x.item() | x.take(z) | x[z] | x[z % len(x)] | a[z] | a[:, z] |
a[k] | a[:, k] | a[k, z] | a[..., k] | x[x > 0] | a[a > 0] | x[::-1][k:] | x[k:] | x[:k] | x[k::2] | x[::k] |
x[::-1] | a[k:, ::-1] | a[::-1, k] | x[-k:k] | a[1:, 1:] | x[None, :] |
np.lib.stride_tricks.sliding_window_view(x, 3) | np.cumsum(x) | np.logspace(0, 1, 4) |
np.geomspace(1, 2, 3)""".replace(" |\n", " | ").split(" | ")
#: Statements that change arrays in place.
IN_PLACE = """v = x.copy(); v {op}= w | v = x.copy(); v[k:] {op}= w | v = x.copy(); v[1:] {op}= v[:-1] |
v = x.copy(); v[::2] {op}= w | b {op}= x | b[:, k] {op}= x | b[k] {op}= x | b[1:] {op}= b[:-1] | b {op}= a[:k] |
b[:, ::2] {op}= a[:, :2] | b.T {op}= x | v = x.copy(); v[z] = w | v = x.copy(); v[z] = 1 |
v = x.copy(); v[k] {op}= 2 | v = x.copy(); v[k:] = w | v = x.copy(); v[:] = w | v = x.copy(); np.add(x, w, v) |
v = x.copy(); np.multiply(x, w, v[k:]) | np.subtract(a, x, b) | np.add(x, x, b) | b[:] = x |
v = x.copy(); v.flat[k] = 1 | v = x.copy(); v[x > 0] = 1 | v = x.copy(); v.sort() | v = x.copy(); v.fill(2) |
b[k, :] = b[:, k] | v = x.copy(); np.put(v, z, w) | v = x.copy(); v[k:], v[:k] = v[:-k], 1 | b[z, 0] = 1 |
np.copyto(b, x) | v = x[::-1].copy(); v -= v[::-1]""".replace(" |\n", " | ").split(" | ")
_OPERATORS = ("+", "-", "*", "/", "//", "%")


class Author:
    """Writes a kernel of inputs ``x, w`` (one axis), ``a`` (two axes) and ``z`` (whole numbers), and output ``y``.

    A last input says which shape and dtype the output has.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.dtype = np.dtype(self.random.choice(("float64", "int64", *_NARROW)))
        self.index_dtype = np.dtype(self.random.choice(("int64", "int64", *_NARROW_INDICES)))
        self._counters: list[str] = []
        self._numbers: list[str] = []  # what has been assigned above, perhaps where a kernel does not pass
        self._arrays: list[str] = []

    def write(self) -> str:
        """The text of the kernel."""
        lines = ["(x, w, a, z, _), (y,) = args, outs", "y[:] = 0", "k = int(z[0])", "b = a.copy()", "t = x[0]"]
        if self.random.random() < 0.1:
            lines += ["def twice(e):", "    return e + e", "t = twice(x[0])"]
        if self.random.random() < 0.1:
            lines += ["parts = [x[e] for e in range(min(k, len(x)))]", "t = parts[0]"]
        lines += self._loops() if self.random.random() < 0.6 else self._whole_arrays()
        for name in (*self._numbers, *(f"{each}[0]" for each in self._arrays)):
            if self.random.random() < 0.3:
                lines.append(f"y[-1] += {name}")
        text = "import numpy as np\n\n\ndef forward(args, outs):\n"
        return text + "".join(f"    {line}\n" for line in lines)

    def _whole_arrays(self) -> list[str]:
        lines = []
        for _ in range(self.random.choice((1, 1, 2))):
            if self.random.random() < 0.4:
                text = self._pick(IN_PLACE).format(op=self._pick(_OPERATORS))
                lines += [*text.split("; "), f"r = {'v' if text.startswith('v') else 'b'}.ravel()"]
            else:
                lines.append(f"r = np.asarray({self._pick(CALLS)}).ravel()")
            lines += ["n = min(r.size, y.size)", "y[:n] += r[:n].astype(y.dtype)"]
        return lines

    def _loops(self) -> list[str]:
        return [line for _ in range(self.random.choice((1, 1, 2))) for line in self._loop(0)]

    def _pick(self, choices: Any) -> Any:
        return self.random.choice(choices)

    def _loop(self, depth: int) -> list[str]:
        name = self._pick("ij" if depth == 0 else "ijk")
        limit = [
            "len(x)",
            "len(y)",
            "len(x) - 1",
            "len(x) + 1",
            "a.shape[0]",
            "a.shape[1]",
            "2 * len(x)",
            "min(k, 9)",
            "3",
        ]
        head = self._pick(
            (
                *(f"for {name} in range({self._pick(limit)}):" for _ in range(5)),
                *(
                    f"for {name} in range({self._pick(('1', '2', '-3', 'k % 5'))}, {self._pick(limit)}):"
                    for _ in range(3)
                ),
                f"for {name} in range({self._pick(limit)}, {self._pick(('-1', '0', '-4'))}, -1):",
                f"for {name} in range(0, {self._pick(limit)}, {self._pick('23')}):",
                f"for {name}, t in enumerate(x):",
                f"for {name} in z[:9]:",
                "for t, s in zip(x, w):",
            )
        )
        self._counters.append(name)
        if "zip" in head:
            self._counters[-1] = "0"
        body = [line for _ in range(self._pick((1, 2, 3))) for line in self._statement(depth + 1)]
        if self._counters.pop() != "0":
            self._numbers.append(name)
        return [head, *(f"    {line}" for line in body)]

    def _statement(self, depth: int) -> list[str]:
        counter = self._counters[-1]
        assigned = "k" if counter == "0" else self._pick((counter, "k"))
        kinds = ["store"] * 6 + ["add"] * 3 + ["value"] * 2 + ["assign"] * 2
        kinds += ["if", "loop", "row", "skip", "view", "new", "new array"] if depth < 3 else []
        kind = self._pick(kinds)
        if kind == "store":
            return [f"{self._target()} = {self._value()}"]
        if kind == "add":
            return [f"{self._target()} {self._pick(_OPERATORS[:3])}= {self._value()}"]
        if kind == "value":
            return [f"t = {self._value()}"]
        if kind.startswith("new"):
            is_array = kind == "new array"
            name = self._pick(("v", "u") if is_array else "pq")
            value = self._pick(("x[k:]", "w[::-1]", "x * 2")) if is_array else self._value()
            (self._arrays if is_array else self._numbers).append(name)
            line = f"{name} = {value}"
            return [line] if self.random.random() < 0.3 else [f"if {self._condition()}:", f"    {line}"]
        if kind == "view":
            return [self._pick(("y = y[1:]", "x = x[::-1]", "w = w[:-1]", "a = a[1:]", "z = z[::-1]"))]
        if kind == "row":
            return [self._pick((f"b[{self._index()}] += w", f"b[:, {self._index()}] = 1", "y[z[0]:] = 2"))]
        if kind == "skip":
            return [f"if {self._condition()}:", f"    {self._pick(('break', 'continue'))}"]
        if kind == "if":
            lines = [f"if {self._condition()}:", *(f"    {line}" for line in self._statement(depth + 1))]
            if self.random.random() < 0.5:
                lines += ["else:", *(f"    {line}" for line in self._statement(depth + 1))]
            return lines
        if kind == "loop":
            return self._loop(depth)
        return [
            self._pick(
                (
                    f"{assigned} = {self._index()}",
                    f"{assigned} += {self._pick(('1', '2', '-1', 'z[0]'))}",
                    f"{assigned}, t = {self._index()}, x[0]",
                    f"t = x[({assigned} := {self._index()})]",
                    f"for {assigned} in range({self._pick(('3', '40', 'len(x)'))}): pass",
                )
            )
        ]

    def _target(self) -> str:
        if self.random.random() < 0.3:
            return f"b[{self._index()}, {self._index()}]"
        return f"y[{self._index()}]"

    def _index(self) -> str:
        name = self._pick(self._counters)
        texts = (
            *([name] * 8),
            *(
                f"{name} + {self._pick('123')}",
                f"{name} - {self._pick('123')}",
                f"2 * {name}",
                f"3 * {name} + 1",
                f"-1 - {name}",
            ),
            *(
                f"{name} + k",
                f"{name} * k",
                f"z[{name}]",
                f"{name} // 2",
                f"{name} % len(y)",
                "k",
                f"len(x) - 1 - {name}",
            ),
            *(
                f"k - {name}",
                f"{name} * 2048 * 2048",
                f"{name} * 4611686018427387904",
                f"-{name}",
                f"int(z[{name}]) + {name}",
            ),
        )
        return str(self._pick(texts))

    def _value(self) -> str:
        element = self._pick(
            (
                *([f"x[{self._index()}]"] * 3),
                *(f"w[{self._index()}]", f"a[{self._index()}, {self._index()}]", "t", f"y[{self._index()}]", "x[0]"),
                *(name for name in self._numbers if name in "pq"),
                *(f"{name}[{self._index()}]" for name in self._arrays),
            )
        )
        other = self._pick((f"w[{self._index()}]", "t", "x[-1]", f"x[{self._index()}]"))
        operators = ("+", "-", "*", "//", "%", *(("<<", ">>", "&", "|", "^") if self.dtype.kind in "iu" else ()))
        return str(
            self._pick(
                (
                    *(element, element, f"{element} {self._pick(operators)} {other}", f"max({element}, {other})"),
                    *(
                        f"abs({element})",
                        f"{element} if {self._condition()} else {other}",
                        f"np.sign({element})",
                        f"-{element}",
                    ),
                    f"np.{self._pick(('fmod', 'remainder', 'floor_divide', 'maximum', 'minimum'))}({element}, {other})",
                )
            )
        )

    def _condition(self) -> str:
        name = self._pick(self._counters)
        return str(
            self._pick(
                (f"x[{name}] > 1", f"{name} < len(y)", "k > 2", f"{name} % 2 == 0", "t > w[0]", f"{name} < len(x)")
            )
        )

    def inputs(self) -> list[np.ndarray]:
        """Inputs, the last of which is like the output."""
        pick, dtype = self._pick, self.dtype
        rows, columns = pick((1, 2, 3, 5)), pick((1, 2, 3, 7))
        n = pick((1, 2, 3, 7, 16, 33))
        generator = np.random.default_rng(self.random.randrange(1 << 32))

        def values(dtype: np.dtype, *shape: int) -> np.ndarray:
            if dtype.kind == "f":
                special = generator.choice([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 1e30], shape)
                return np.where(generator.random(shape) < 0.15, special, generator.normal(0, 4, shape)).astype(dtype)
            limits = np.iinfo(dtype)
            ends = np.array([limits.min, limits.max, limits.max - 1, 0, 1, *([-1] if limits.min else [])], dtype)
            small = generator.integers(max(limits.min, -9), 10, shape).astype(dtype)
            return np.where(generator.random(shape) < 0.2, generator.choice(ends, shape), small)

        z = generator.integers(0, n, n).astype(self.index_dtype)
        how = pick(("fits", "fits", "some", "wild"))
        if how != "fits":
            odd = values(self.index_dtype, n)
            z = np.where(generator.random(n) < (0.2 if how == "some" else 0.9), odd, z)
        if pick((True, False)):
            z[0] = pick((0, 1, 2, 3))
        m = pick((n, n, columns, 1, n + 1))
        like = np.zeros(pick((n, n, n + 3, 1)), dtype)
        return [values(dtype, n), values(dtype, m), values(dtype, rows, columns), z, like]
