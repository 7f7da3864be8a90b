"""What an aggregate may give: a plain value, or one of these.

`Near` (a float within 1e-9 of the exact value) and the like, `OneOf` (the rules leave the choice open), `Unordered` (a
list whose order is open).
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .records import canonical

LARGEST = Fraction(sys.float_info.max)
SMALLEST = Fraction(math.ulp(0.0))


@dataclass(frozen=True)
class Near:
    """A float: within 1e-9 of `exact`, or next to it (rules 6.6); infinite where no float is as large."""

    exact: Fraction

    def accepts(self, got: Any) -> bool:
        if not isinstance(got, float) or not math.isfinite(got):
            return abs(self.exact) > LARGEST and got == (math.inf if self.exact > 0 else -math.inf)
        return abs(Fraction(got) - self.exact) <= max(abs(self.exact) / 10**9, SMALLEST)


@dataclass(frozen=True)
class Root:
    """A float: within 1e-9 of the square root of `square`; infinite only where no float is as large."""

    square: Fraction

    def accepts(self, got: Any) -> bool:
        if not isinstance(got, float) or not math.isfinite(got) or got < 0:
            return self.square > LARGEST**2 and got == math.inf
        coarsest = (2 * Fraction(got) + SMALLEST) * SMALLEST
        return abs(Fraction(got) ** 2 - self.square) <= max(self.square * 2 / 10**9, coarsest)


@dataclass(frozen=True)
class Quotient:
    """A float without a unit: `above` over the square root of `below` and less `less`, within 1e-9 (of 1 at least)."""

    above: Fraction
    below: Fraction
    less: int = 0

    def accepts(self, got: Any) -> bool:
        if not isinstance(got, float) or not math.isfinite(got):
            return False
        wanted = self._signed_square()
        # Both sides squared, with 1e-9 to each side: no root is taken of what a float does not hold.
        allowed = max(Fraction(1), abs(Fraction(got))) / 10**9
        low, high = Fraction(got) + self.less - allowed, Fraction(got) + self.less + allowed
        return low * abs(low) <= wanted <= high * abs(high)

    def _signed_square(self) -> Fraction:
        return self.above * abs(self.above) / self.below


@dataclass(frozen=True)
class Beside:
    """A float: near `exact`, or off by no more than 1e-9 of the square root of `scale`, of which it is a part."""

    exact: Fraction
    scale: Fraction

    def accepts(self, got: Any) -> bool:
        if Near(self.exact).accepts(got):
            return True
        finite = isinstance(got, float) and math.isfinite(got)
        return finite and (Fraction(got) - self.exact) ** 2 <= self.scale / 10**18


@dataclass(frozen=True)
class Each:
    """A list of floats, each near its own exact value, or of its own special value."""

    values: tuple[Any, ...]

    def accepts(self, got: Any) -> bool:
        return (
            isinstance(got, list)
            and len(got) == len(self.values)
            and all(accepts(value, one) for value, one in zip(self.values, got, strict=True))
        )


@dataclass(frozen=True)
class Cut:
    """A number of the same type, below `exact` in size by less than one part in 10,000."""

    exact: Any

    def accepts(self, got: Any) -> bool:
        if type(got) is not type(self.exact):
            return False
        if not math.isfinite(self.exact):
            return canonical(got) == canonical(self.exact)
        wanted, found = Fraction(self.exact), Fraction(got)
        return found * wanted >= 0 and abs(wanted) * (1 - Fraction(1, 10_000)) <= abs(found) <= abs(wanted)


@dataclass(frozen=True)
class Bins:
    """A histogram: each bin counts the next of the sorted values and has their mean, as their type holds it."""

    values: tuple[Any, ...]
    most: int

    def accepts(self, got: Any) -> bool:
        distinct = {canonical(value) for value in self.values}
        if not isinstance(got, list) or len(got) != min(self.most, len(distinct)):
            return False
        rest = self.values
        for each in got:
            own, rest = rest[: int(each["y"])], rest[int(each["y"]) :]
            if not own or not self._centred(each["x"], own):
                return False
        return not rest

    def _centred(self, centre: Any, own: tuple[Any, ...]) -> bool:
        if len({canonical(value) for value in own}) == 1:
            return bool(canonical(centre) == canonical(own[0]))
        if isinstance(centre, float) and not all(map(math.isfinite, own)):
            return canonical(centre) == canonical(sum(own))
        mean = sum(map(Fraction, own), Fraction()) / len(own)
        size = max(abs(Fraction(value)) for value in own)
        step = 0 if isinstance(centre, float) else 1 if isinstance(centre, int) else Fraction(self._unit(centre))
        return abs(Fraction(centre) - mean) <= size / 10**6 + step

    @staticmethod
    def _unit(centre: Any) -> Any:
        return type(centre)(1).scaleb(centre.as_tuple().exponent)


@dataclass(frozen=True)
class OneOf:
    """Any of these values."""

    allowed: tuple[Any, ...]

    def accepts(self, got: Any) -> bool:
        return canonical(got) in [canonical(value) for value in self.allowed]


@dataclass(frozen=True)
class Unordered:
    """A list of these values in any order."""

    values: tuple[Any, ...]

    def accepts(self, got: Any) -> bool:
        return isinstance(got, list) and Counter(map(canonical, got)) == Counter(map(canonical, self.values))


def accepts(expected: Any, got: Any) -> bool:
    """Whether a result is the expected answer."""
    if isinstance(expected, Near | Root | Quotient | Beside | Bins | Cut | Each | OneOf | Unordered):
        return expected.accepts(got)
    return type(expected) is type(got) and canonical(expected) == canonical(got)
