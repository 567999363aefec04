"""Reads HTTP/1.1 requests (RFC 9112) from one connection."""

import re
import time

from .event import RequestError

# Larger bodies are refused with 413.
BODY_MAX_BYTES = 32 * 1024 * 1024
_HEAD_MAX_BYTES = 64 * 1024
# How long the body of a refused request is read before the connection is closed.
_DISCARD_MAX_SECONDS = 10
# Longer than the interceptor keeps idle connections, so that this side never closes one that a request is using.
_IDLE_MAX_SECONDS = 120

_token = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_chunk_size = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;.*)?")
# Only the first of several counts, because joining the values would change their meaning.
_single = {"authorization", "content-length", "content-type", "from", "host", "referer", "user-agent"}


class Request:
    """The head of a request. The names in `headers` are lower-case; values of a repeated header are joined."""

    def __init__(self, method, target, version, headers, length):
        self.method = method
        self.target = target
        self.headers = headers
        # In bytes; None for a chunked body.
        self.length = length
        self.is_old = version == "HTTP/1.0"
        options = headers.get("connection", "").lower()
        self.keep_alive = "close" not in options and (not self.is_old or "keep-alive" in options)
        self.expects_continue = headers.get("expect", "").lower() == "100-continue"


class Connection:
    def __init__(self, socket):
        self.socket = socket
        self._reader = socket.makefile("rb", 65536)
        # The unread bytes of the current body; None while a chunked body is read.
        self._left = 0
        # An iterator over the rest of the body, shared by read_body and discard_rest.
        self._body = iter(())

    def close(self):
        self._reader.close()
        self.socket.close()

    def next_request(self):
        """The head of the next request; None at the end of the connection. Raises RequestError for invalid HTTP."""
        self.socket.settimeout(_IDLE_MAX_SECONDS)
        try:
            lines = self._head()
        except TimeoutError:
            return None
        self.socket.settimeout(None)
        if lines is None:
            return None
        parts = lines[0].split(" ")
        if len(parts) != 3 or not _token.fullmatch(parts[0]) or parts[2] not in ("HTTP/1.1", "HTTP/1.0"):
            raise _malformed("the request line is invalid")
        headers = _headers_of(lines[1:])
        length = _length_of(headers)
        self._left = length
        self._body = self._chunks()
        return Request(parts[0], parts[1], parts[2], headers, length)

    def _head(self):
        lines = []
        size = 0
        while True:
            line = self._reader.readline(_HEAD_MAX_BYTES + 1)
            if not line:
                return None
            size += len(line)
            if size > _HEAD_MAX_BYTES:
                raise RequestError(431, "headers_too_large", f"the headers are larger than the limit of {_HEAD_MAX_BYTES} bytes")
            if line in (b"\r\n", b"\n"):
                if lines:
                    return lines
                continue
            lines.append(line.decode("latin-1").rstrip("\r\n"))

    def read_body(self, request):
        """The whole body. Raises RequestError (413) for one above the limit."""
        if request.length is not None and request.length > BODY_MAX_BYTES:
            raise _too_large()
        if request.expects_continue and request.length != 0:
            self.socket.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.expects_continue = False
        chunks = []
        size = 0
        for chunk in self._body:
            size += len(chunk)
            if size > BODY_MAX_BYTES:
                raise _too_large()
            chunks.append(chunk)
        return b"".join(chunks)

    def discard_rest(self):
        """Reads and discards the rest, so that a client that sends everything before it reads gets its response."""
        deadline = time.monotonic() + _DISCARD_MAX_SECONDS
        self.socket.settimeout(_DISCARD_MAX_SECONDS)
        for _ in self._body:
            if time.monotonic() > deadline:
                raise TimeoutError

    def _chunks(self):
        if self._left is not None:
            while self._left > 0:
                data = self._reader.read1(min(self._left, 65536))
                if not data:
                    raise ConnectionError("the client has disconnected")
                self._left -= len(data)
                yield data
            return
        while True:
            match = _chunk_size.fullmatch(self._line())
            if not match:
                raise _malformed("the size of a chunk is invalid")
            size = int(match[1], 16)
            if size == 0:
                break
            while size > 0:
                data = self._reader.read1(min(size, 65536))
                if not data:
                    raise ConnectionError("the client has disconnected")
                size -= len(data)
                yield data
            if self._line():
                raise _malformed("a chunk is longer or shorter than its size")
        while self._line():
            pass
        self._left = 0

    def _line(self):
        line = self._reader.readline(_HEAD_MAX_BYTES)
        if not line.endswith(b"\n"):
            raise ConnectionError("the client has disconnected")
        return line.rstrip(b"\r\n")

    @property
    def body_is_read(self):
        return self._left == 0


def _headers_of(lines):
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not _token.fullmatch(name):
            raise _malformed("a header is invalid")
        name = name.lower()
        value = value.strip(" \t")
        if name not in headers:
            headers[name] = value
        elif name == "content-length" and headers[name] != value:
            raise _malformed("the request has two content-length headers")
        elif name not in _single:
            headers[name] += ("; " if name == "cookie" else ", ") + value
    return headers


def _length_of(headers):
    coding = headers.get("transfer-encoding")
    length = headers.get("content-length")
    if coding is not None:
        if coding.lower() != "chunked" or length is not None:
            raise _malformed("transfer-encoding must be chunked, without content-length")
        return None
    if length is None:
        return 0
    if not length.isascii() or not length.isdigit() or len(length) > 15:
        raise _malformed("content-length is not a number")
    return int(length)


def _too_large():
    return RequestError(413, "body_too_large", f"the body is larger than the limit of {BODY_MAX_BYTES} bytes")


def _malformed(message):
    return RequestError(400, "invalid_request", message)
