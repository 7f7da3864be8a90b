"""Tests: Python in `python`, the crate in `rust`, what both read in `vectors`."""
