"""Sends a handler's result, or an error response."""

import http
import json
import re
import time

from .event import RequestError
from .handler import wait_for
from .log import log, stack_of

_answer_fields = {"statusCode", "headers", "body"}
_name = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_value = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
# Headers that only the connection may set.
_connection_headers = {"connection", "keep-alive", "transfer-encoding", "date"}
_reasons = {status.value: status.phrase for status in http.HTTPStatus}


class Response:
    """The response on a connection. `started` is True once the status has been sent."""

    def __init__(self, connection, request, request_id, is_last):
        self._socket = connection.socket
        self._request = request
        self._request_id = request_id
        self._is_last = is_last
        self.started = False
        # Whether the connection can be reused.
        self.keep_alive = request is not None and request.keep_alive

    def _head(self, status, headers, length):
        """`length` is the body's size in bytes, or None for a chunked body or one that ends with the connection."""
        if self._is_last():
            self.keep_alive = False
        lines = [f"HTTP/1.1 {status} {_reasons.get(status, 'Unknown')}"]
        names = {name.lower() for name, _ in headers}
        if "x-request-id" not in names:
            lines.append(f"x-request-id: {self._request_id}")
        lines += [f"{name}: {value}" for name, value in headers]
        if length is None:
            if self._request.is_old:
                self.keep_alive = False
            else:
                lines.append("transfer-encoding: chunked")
        elif "content-length" not in names and status not in (204, 304):
            lines.append(f"content-length: {length}")
        lines.append(f"date: {time.strftime('%a, %d %b %Y %H:%M:%S GMT', time.gmtime())}")
        lines.append(f"connection: {'keep-alive' if self.keep_alive else 'close'}")
        self.started = True
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def _has_body(self, status):
        return status not in (204, 304) and (self._request is None or self._request.method != "HEAD")

    def send(self, status, headers, body):
        if self._has_body(status):
            headers = [(name, value) for name, value in headers if name.lower() != "content-length"]
            self._socket.sendall(self._head(status, headers, len(body)) + body)
        else:
            self._socket.sendall(self._head(status, headers, len(body)))

    def send_stream(self, status, headers, chunks):
        """The status is sent with the first chunk, so that a stream that fails before it still becomes a 500."""
        length_header = next((value for name, value in headers if name.lower() == "content-length"), None)
        length = int(length_header) if length_header is not None and length_header.isdigit() else None
        chunked = length is None and not self._request.is_old
        has_body = self._has_body(status)
        sent = 0
        for chunk in chunks:
            if isinstance(chunk, str):
                chunk = chunk.encode()
            if not isinstance(chunk, (bytes, bytearray, memoryview)):
                raise TypeError("the handler returned a stream whose chunks are not strings or bytes")
            head = b"" if self.started else self._head(status, headers, length)
            if not has_body:
                self._socket.sendall(head)
                return
            if not chunk:
                continue
            sent += len(chunk)
            if length is not None and sent > length:
                raise ValueError(f"the stream has more than the {length} bytes of its content-length")
            self._socket.sendall(head + (b"%x\r\n" % len(chunk) + chunk + b"\r\n" if chunked else chunk))
        if not self.started:
            self._socket.sendall(self._head(status, headers, length))
        if length is not None and sent < length and has_body:
            raise ValueError(f"the stream has {sent} of the {length} bytes of its content-length")
        if chunked and has_body:
            self._socket.sendall(b"0\r\n\r\n")


def _is_answer(result):
    """Whether a value is a response: it has a status code, or only these fields. Other objects with a `body` are data."""
    return isinstance(result, dict) and ("statusCode" in result or (bool(result) and _answer_fields.issuperset(result)))


def _chunks_of(body):
    """The chunks of a stream; None for any other value."""
    if hasattr(body, "__anext__") or hasattr(body, "__aiter__"):
        return _waited(body)
    if hasattr(body, "read"):
        return iter(lambda: body.read(65536), b"" if "b" in getattr(body, "mode", "b") else "")
    return body if hasattr(body, "__next__") else None


def _waited(body):
    source = body.__aiter__()
    try:
        while True:
            try:
                chunk = wait_for(source.__anext__())
            except StopAsyncIteration:
                return
            yield chunk
    finally:
        if hasattr(source, "aclose"):
            wait_for(source.aclose())


def _header_lines(headers):
    lines = []
    for name, value in (headers or {}).items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is None:
                continue
            if not _name.fullmatch(str(name)) or not _value.fullmatch(str(one)):
                raise ValueError(f"the handler returned a header {name!r} that cannot be sent")
            if str(name).lower() not in _connection_headers:
                lines.append((str(name), str(one)))
    return lines


def answer(response, result):
    """
    Sends what a handler returned: `{statusCode, headers, body}`; or nothing (204), a string (200, text), bytes or a
    stream (200), or any other value (200, JSON). A body is a string, bytes, a stream (an iterator, also an asynchronous
    one, or a file), or a value that is sent as JSON.
    """
    if result is None:
        response.send(204, [], b"")
        return
    parts = result if _is_answer(result) else {"body": result}
    status, body = parts.get("statusCode", 200), parts.get("body")
    if type(status) is not int or not 200 <= status <= 599:
        raise TypeError(f"the handler returned the status code {status!r}, which is not in the range 200 to 599")
    headers = _header_lines(parts.get("headers"))
    chunks = None if isinstance(body, (str, bytes, bytearray, memoryview)) else _chunks_of(body)
    if chunks is not None:
        try:
            response.send_stream(status, headers, chunks)
        finally:
            for source in (chunks, body):
                if hasattr(source, "close"):
                    source.close()
        return
    data, kind = _bytes_of(body)
    if kind is not None and "content-type" not in {name.lower() for name, _ in headers}:
        headers.append(("content-type", kind))
    response.send(status, headers, data)


def _bytes_of(body):
    if body is None:
        return b"", None
    if isinstance(body, str):
        return body.encode(), "text/plain; charset=utf-8"
    if isinstance(body, (bytes, bytearray, memoryview)):
        return bytes(body), "application/octet-stream"
    data = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return data.encode(), "application/json"


def failure(response, error, request_id):
    """
    Responds to an invalid request or a failed handler. The traceback is only logged. If the status has been sent, it closes
    the connection instead, which shows that the body is incomplete.
    """
    refused = isinstance(error, RequestError)
    if not refused:
        log("error", "the handler failed", error=stack_of(error))
    if response.started:
        response.keep_alive = False
        return
    code = error.code if refused else "function_error"
    message = str(error) if refused else "The function failed. Find the reason in its log by this request id."
    body = json.dumps({"code": code, "message": message, "requestId": request_id}) + "\n"
    response.send(error.status if refused else 500, [("content-type", "application/json")], body.encode())
