"""Plot measurements: bytes per second over the size, with memory copies for comparison."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pykernels.base.errors import LoadError
from pykernels.tools.bench.measure import COPY, KERNEL, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check(path: Path) -> None:
    """Raise `LoadError` unless a plot can be written to `path`; leave an empty one there."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise LoadError("a plot needs matplotlib: python -m pip install 'pykernels[plot]'") from None
    _save(Figure(), path)


def plot(rows: Sequence[Row], path: Path) -> None:
    """Draw `rows` into a file whose ending determines the format, with one diagram per kernel."""
    from matplotlib.figure import Figure

    kernels = list(dict.fromkeys((row.op, row.function) for row in rows))
    # The same colours in every diagram, whatever it contains.
    colours = {name: f"C{i}" for i, name in enumerate(dict.fromkeys(name for row in rows for name in row.seconds))}
    n_columns = min(4, len(kernels))
    n_rows = -(-len(kernels) // n_columns)
    figure = Figure(figsize=(4.2 * n_columns, 3.2 * n_rows), layout="constrained")
    grid = figure.subplots(n_rows, n_columns, squeeze=False, sharex=True)
    for axes in grid.flat[len(kernels) :]:
        axes.set_visible(False)
    for (op, function), axes in zip(kernels, grid.flat):
        own = [row for row in rows if (row.op, row.function) == (op, function)]
        for name in dict.fromkeys(name for row in own for name in row.seconds):
            points = [(row.elements, row.nbytes / row.seconds[name] / 1e9) for row in own if name in row.seconds]
            style = {"color": "k", "linestyle": "--"} if name == COPY else {"color": colours[name], "marker": "o"}
            axes.plot(*zip(*points), **style, label=name, linewidth=2 if name == KERNEL else 1, markersize=4)
        axes.set(title=f"{op} {function}, {own[0].dtype}", xscale="log", yscale="log")
        axes.set(xlabel="elements", ylabel="GB/s")
        axes.grid(alpha=0.3)
        axes.legend(fontsize="small")
    _save(figure, path)


def _save(figure: Figure, path: Path) -> None:
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise LoadError(f"the plot {path} cannot be written: {error}") from error
