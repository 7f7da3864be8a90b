"""Tables of other libraries that give no Arrow stream themselves: the call that makes one fit, for errors."""

from __future__ import annotations

CALLS = {
    ("pyiceberg", "Table"): "data.scan().to_arrow_batch_reader()",
    ("pyiceberg", "DataScan"): "data.to_arrow_batch_reader()",
}


def foreign_call(data: object) -> str | None:
    return None
