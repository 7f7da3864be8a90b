"""A store of objects on loopback that speaks as much of S3 as Arrow needs to read, and ends with its block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import unquote, urlsplit

KEY = "AKIAOFTHETESTS"
NOTHING = (
    b'<?xml version="1.0"?><ListBucketResult><KeyCount>0</KeyCount><IsTruncated>false</IsTruncated></ListBucketResult>'
)


class Store(ThreadingHTTPServer):
    """Objects by path, such as /bucket/a.parquet, with their bytes and seconds since 1970."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Request)
        self.objects: dict[str, tuple[bytes, int]] = {}

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Store

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if f"Credential={KEY}/" not in self.headers.get("Authorization", ""):
            return self.answer(403)
        if "list-type" in parts.query:
            return self.answer(200, NOTHING)
        found = self.server.objects.get(unquote(parts.path))
        if found is None:
            is_bucket = parts.path.count("/") == 1
            return self.answer(200 if is_bucket else 404)
        content, modified = found
        headers = {"Last-Modified": formatdate(modified, usegmt=True), "ETag": '"1"'}
        wanted = self.headers.get("Range")
        if wanted is None:
            return self.answer(200, content, headers)
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        part = content[int(first) : int(last) + 1]
        return self.answer(206, part, headers | {"Content-Range": f"bytes {wanted[6:]}/{len(content)}"})

    do_HEAD = do_GET  # noqa: N815

    def answer(self, status: int, content: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in ({"x-amz-bucket-region": "us-east-1"} | (headers or {})).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *arguments: object) -> None:
        pass


@contextmanager
def object_store() -> Iterator[Store]:
    """Starts a store and ends it."""
    with Store() as store:
        Thread(target=store.serve_forever, daemon=True).start()
        try:
            yield store
        finally:
            store.shutdown()
