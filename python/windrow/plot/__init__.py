"""Pictures of events and their windows: `timeline`.

It needs matplotlib (`pip install matplotlib`), and imports it only when it draws a picture.

| file | what |
|---|---|
| `_timeline` | `timeline`, and `Timeline`, the picture |
| `_layout` | which window is drawn in which lane, and which records it refused |
| `_drawing` | the picture, by matplotlib |
| `_axis` | the axis of times, and texts that fit |
| `_style` | colours and fonts, and how a picture is written |
"""

from __future__ import annotations

from windrow.plot._timeline import Timeline, timeline

__all__ = ["Timeline", "timeline"]
