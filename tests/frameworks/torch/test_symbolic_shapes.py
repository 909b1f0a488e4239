"""What is found out of definitions by trying them: equal and fixed dimensions, and formulas for those of outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from pykernels.frameworks.torch.symbolic_shapes import Shapes, explore


def found(infer: Callable[..., tuple[int, ...] | None], *example: int) -> Shapes:
    """What is found out, which must hold for the example itself."""
    shapes = explore(lambda numbers: infer(*numbers), example)
    assert tuple(formula(example) for formula in shapes.outputs) == infer(*example)
    return shapes


def values(shapes: Shapes, *numbers: int) -> list[int]:
    return [formula(numbers) for formula in shapes.outputs]


def test_the_same_shape() -> None:
    shapes = found(lambda a, b: (a, b), 3, 4)
    assert (shapes.equal, shapes.fixed, values(shapes, 30, 40)) == ((), (), [30, 40])


@pytest.mark.parametrize("example", [(3, 4, 3, 4), (4, 4, 4, 4)])
def test_what_must_be_equal(example: Sequence[int]) -> None:
    shapes = found(lambda a, b, c, d: (a, b) if (a, b) == (c, d) else None, *example)
    assert (shapes.equal, shapes.fixed) == (((0, 2), (1, 3)), ())
    assert values(shapes, 5, 6, 5, 6) == [5, 6]


def test_many_that_must_be_equal() -> None:
    shapes = found(lambda a, b, c, d: (a,) if a == b == c else None, 7, 7, 7, 7)
    assert (set(shapes.equal), shapes.fixed) == ({(0, 1), (1, 2)}, ())


def test_what_must_be_a_certain_number() -> None:
    shapes = found(lambda a, b: (a, b) if b == 4 else None, 3, 4)
    assert (shapes.equal, shapes.fixed, values(shapes, 30, 4)) == ((), (1,), [30, 4])
    shapes = found(lambda a, b: (a,) if a == b == 4 else None, 4, 4)
    assert shapes.fixed == (0, 1)


def test_sums_multiples_and_constants() -> None:
    shapes = found(lambda a, b: (a + b, 2 * a + 3, 5), 3, 4)
    assert (shapes.fixed, values(shapes, 10, 20)) == ((), [30, 23, 5])


def test_products() -> None:
    shapes = found(lambda a, b, c: (a * b * c, 2 * a * b, a * b + 1), 3, 4, 5)
    assert (shapes.fixed, values(shapes, 10, 20, 30)) == ((), [6000, 400, 201])


def test_what_must_be_divisible() -> None:
    shapes = found(lambda a, b: (a // 4, b * 4) if a % 4 == 0 else None, 8, 3)
    assert (shapes.fixed, values(shapes, 16, 5)) == ((), [4, 20])


@pytest.mark.parametrize("stride", [1, 2, 3, 7, 11, 64])
@pytest.mark.parametrize("kernel", [1, 2, 3, 5])
@pytest.mark.parametrize("example", [11, 12, 224])
def test_what_a_window_leaves(stride: int, kernel: int, example: int) -> None:
    def windows(size: int) -> int:
        return (size - kernel) // stride + 1

    shapes = found(lambda a, b: (windows(a), b, 3 * windows(a), -(-b // 2)) if a >= kernel else None, example, 8)
    assert shapes.fixed == ()
    for size in range(kernel, 150):
        assert values(shapes, size, 7) == [windows(size), 7, 3 * windows(size), 4]


def test_products_of_what_is_divided() -> None:
    shapes = found(lambda a, b, c: (c, ((a - 3) // 2 + 1) * (b // 2) * 5, (a + 1) * (b + 2)), 9, 12, 3)
    assert (shapes.fixed, values(shapes, 21, 31, 4)) == ((), [4, 10 * 15 * 5, 22 * 33])


def test_what_is_rounded_up_to_a_multiple() -> None:
    shapes = found(lambda a: ((a + 15) // 16 * 16,), 20)
    assert (shapes.fixed, [values(shapes, n) for n in (16, 17, 100)]) == ((), [[16], [32], [112]])


def test_what_no_formula_says_may_not_change() -> None:
    shapes = found(lambda a, b: (a * a, b), 9, 3)
    assert (shapes.fixed, values(shapes, 9, 5)) == ((0,), [81, 5])
    shapes = found(lambda a, b: (max(a, b), a), 5, 3)
    assert set(shapes.fixed) == {0, 1}
    shapes = found(lambda a: (a // 300,), 350)
    assert shapes.fixed == (0,)


def test_ranks_that_depend_on_sizes() -> None:
    shapes = found(lambda a, b: (b,) * a, 2, 7)
    assert (shapes.fixed, values(shapes, 2, 9)) == ((0,), [9, 9])


def test_nothing_to_find_out() -> None:
    assert explore(lambda numbers: (3,), ()).outputs[0](()) == 3
