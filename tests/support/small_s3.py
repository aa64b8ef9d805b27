"""A store of files that speaks as much of S3 as it takes to look into a bucket and to read from it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

_WHEN = "Mon, 01 Jan 2024 00:00:00 GMT"


def _handler(files: Mapping[str, bytes]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: Any) -> None:
            """Nothing is logged."""

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, *, body: bool) -> None:
            asked = urlsplit(self.path)
            bucket, _, key = unquote(asked.path).lstrip("/").partition("/")
            if not key and bucket == "bucket":
                prefix = parse_qs(asked.query).get("prefix", [""])[0]
                below = parse_qs(asked.query).get("delimiter") is None
                return self._send(200, _listed(files, prefix, below=below).encode(), body=body)
            if bucket != "bucket" or key not in files:
                return self._send(404, b"<Error><Code>NoSuchKey</Code></Error>", body=body)
            wanted = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
            if wanted is None:
                return self._send(200, files[key], body=body)
            first, last = int(wanted[1]), min(int(wanted[2]), len(files[key]) - 1)
            where = {"Content-Range": f"bytes {first}-{last}/{len(files[key])}"}
            return self._send(206, files[key][first : last + 1], where, body=body)

        def _send(self, code: int, data: bytes, more: Mapping[str, str] | None = None, *, body: bool) -> None:
            self.send_response(code)
            for name, value in {"Content-Length": str(len(data)), "Last-Modified": _WHEN, **(more or {})}.items():
                self.send_header(name, value)
            self.end_headers()
            if body:
                self.wfile.write(data)

    return Handler


def _listed(files: Mapping[str, bytes], prefix: str, *, below: bool) -> str:
    """The files whose names begin so; unless all that is `below` is asked for, folders instead of what is in them."""
    found = sorted(name for name in files if name.startswith(prefix))
    folders = {prefix + name[len(prefix) :].partition("/")[0] + "/" for name in found if "/" in name[len(prefix) :]}
    shown = found if below else [name for name in found if "/" not in name[len(prefix) :]]
    entries = [
        f"<Contents><Key>{escape(name)}</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified>"
        f"<Size>{len(files[name])}</Size></Contents>"
        for name in shown
    ]
    if not below:
        entries += [f"<CommonPrefixes><Prefix>{escape(f)}</Prefix></CommonPrefixes>" for f in sorted(folders)]
    return (
        '<?xml version="1.0"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>bucket</Name>'
        f"<IsTruncated>false</IsTruncated><KeyCount>{len(entries)}</KeyCount>{''.join(entries)}</ListBucketResult>"
    )


@contextmanager
def small_s3(files: Mapping[str, bytes]) -> Iterator[str]:
    """A bucket with these files; gives what stands behind the path in an address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(files))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"?scheme=http&region=us-east-1&endpoint_override=127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
