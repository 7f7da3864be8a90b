"""Faults: a streaming query in a driver of its own, what kills it, and what is left of it afterwards."""
