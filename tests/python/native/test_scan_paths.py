"""Paths of a scan that have a file twice. Spark reads it twice, and lists it once."""

from __future__ import annotations

import pytest

from windrow._spark.parquet_scan import _check_once

TWICE = {
    "a folder twice": (["/a/x", "/a/x/"], "file:///a/x/1.parquet"),
    "with and without a scheme": (["file:/a/x", "file:///a/x"], "file:///a/x/1.parquet"),
    "a folder and its file": (["/a/x", "/a/x/1.parquet"], "file:///a/x/1.parquet"),
    "a folder and one of its partitions": (["/a/x", "/a/x/day=1"], "file:///a/x/day=1/hour=2/1.parquet"),
    "two globs": (["/a/{x,y}", "/a/[!y]"], "file:///a/x/1.parquet"),
    "a glob and a file": (["/a/x/?.parquet", "/a/x/1.parquet"], "file:///a/x/1.parquet"),
    "a name with a space": (["/a/b c", "/a/b*"], "file:///a/b%20c/1.parquet"),
    "a store": (["s3a://b/x", "s3a://b/x/1.parquet"], "s3a://b/x/1.parquet"),
}
ONCE = {
    "one path": (["/a/x"], ["file:///a/x/1.parquet"]),
    "two folders": (["/a/x", "/a/xx"], ["file:///a/x/1.parquet", "file:///a/xx/1.parquet"]),
    "a folder in a folder that Spark does not open": (
        ["/a", "/a/old"],
        ["file:///a/1.parquet", "file:///a/old/1.parquet"],
    ),
    "two globs": (["/a/2024*", "/a/2025*"], ["file:///a/2024-1/1.parquet", "file:///a/2025/1.parquet"]),
    "a star ends at a slash": (["/a/*", "/a/x/y"], ["file:///a/1.parquet", "file:///a/x/y/1.parquet"]),
    "two stores": (["s3a://b/x", "s3a://c/x"], ["s3a://b/x/1.parquet", "s3a://c/x/1.parquet"]),
}


@pytest.mark.parametrize("case", TWICE)
def test_a_file_in_several_paths_is_refused_by_name(case: str) -> None:
    paths, uri = TWICE[case]
    with pytest.raises(
        ValueError, match="paths: got .*; allowed: each file once; several of these paths have "
    ) as raised:
        _check_once(paths, [uri])
    assert str(raised.value).endswith(uri)


@pytest.mark.parametrize("case", ONCE)
def test_paths_with_different_files_are_allowed(case: str) -> None:
    _check_once(*ONCE[case])
