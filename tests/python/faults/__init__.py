"""Faults: a streaming query in its own driver, what kills it, and what is left of it afterwards."""
