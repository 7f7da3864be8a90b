"""Tests on a local Spark."""
