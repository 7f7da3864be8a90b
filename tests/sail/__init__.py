"""Queries on Sail, a server of Spark Connect without Spark: `make test-versions VERSIONS=sail`."""
