"""Colours and fonts of pictures, independent of the session's, and how a picture is written.

The background is transparent. Every colour has contrast on white and on black.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from matplotlib.figure import Figure

INK = "#737a85"
LINE = "#8b949e"
EVENT = "#2f7fd6"
BAR = "#12847a"
ON_BAR = "#ffffff"
LATE = "#e0464b"
CLOSE = "#c27803"
SMALL = 10.5
DASHED = (0, (3, 2))
_STYLE = {
    "font.size": 11.5,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial", "Helvetica"],
    "text.parse_math": False,
    "text.color": INK,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "axes.edgecolor": LINE,
    "axes.labelcolor": INK,
    "axes.labelsize": SMALL,
    "axes.titlelocation": "left",
    "axes.titlesize": 12,
    "xtick.color": INK,
    "xtick.labelsize": SMALL,
    "legend.frameon": False,
    "legend.fontsize": SMALL,
    "lines.linewidth": 1.2,
    "lines.markeredgewidth": 1.5,
    "svg.fonttype": "none",
    "svg.hashsalt": "windrow",
}


@contextmanager
def styled() -> Iterator[None]:
    """The style of a picture, independent of the session's."""
    from matplotlib import style

    with style.context(["default", _STYLE]):
        yield


def render(figure: Figure, written: BinaryIO, kind: str, title: str) -> None:
    """Writes a picture as SVG, PNG or PDF, without a date."""
    dates = {"svg": {"Date": None, "Creator": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}
    with styled():
        figure.savefig(written, format=kind, dpi=150, metadata={"Title": title, **dates[kind]})
