"""Faults planted in the Python package, each with the test that must see it."""
