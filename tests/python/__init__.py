"""Tests of the Python package; the examples of README and docs."""
