"""Delta Lake and Iceberg, which are for an older Spark than that of the tests, and the environment that has it."""
