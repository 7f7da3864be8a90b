"""The notebook runs from top to bottom, and the outputs that it is stored with are those of this run."""

from __future__ import annotations

import json

from .test_site import ROOT, tool

NOTEBOOK = ROOT / "docs" / "flights.ipynb"


def test_the_notebook_has_the_outputs_of_a_run() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    notebook = tool("notebook")
    again, (flights, days, counters, busy, picture, nothing) = notebook.run(json.loads(text))
    assert flights == 336_776
    assert days["flights"].is_monotonic_decreasing
    assert (counters["records"], counters["null_keys"]) == (336_776, 2_512)
    assert sorted(busy["origin"]) == ["EWR", "JFK", "LGA"]
    assert "<svg" in picture._repr_svg_()
    assert nothing is None
    assert notebook.text_of(again) == text
    assert "tailnum 'N328AA' at 2013-01-0" in text
