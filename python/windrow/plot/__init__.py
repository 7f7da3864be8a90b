"""Pictures of events and their windows: `timeline`.

It takes the extra `plot` (`pip install "windrow[plot]"`), which is matplotlib; nothing here imports it before a picture
is made.

| file | what |
|---|---|
| `timeline` | `timeline`, and `Timeline`, the picture |
| `layout` | which window is drawn in which lane |
| `drawing` | the picture, by matplotlib |
"""

from __future__ import annotations

from windrow.plot._timeline import Timeline, timeline

__all__ = ["Timeline", "timeline"]
