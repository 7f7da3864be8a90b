"""Tests in this process: the package over Arrow data, and the driver of streams."""
