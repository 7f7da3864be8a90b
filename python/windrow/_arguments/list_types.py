"""Arrow's list types."""

from typing import Any

import pyarrow as pa

# pyarrow has views from 16 on.
_NAMES = ("ListType", "LargeListType", "FixedSizeListType", "ListViewType", "LargeListViewType")
LIST_TYPES: tuple[type[Any], ...] = tuple(getattr(pa, name) for name in _NAMES if hasattr(pa, name))
"""The types of lists, of those that the installed pyarrow has; a map is another type."""
