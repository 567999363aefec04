"""The arguments of a handler."""

import json
import re
import urllib.parse
import uuid

_request_id_pattern = re.compile(r"[A-Za-z0-9_.:-]{1,128}")


class RequestError(Exception):
    """An invalid request. The handler is not called."""

    def __init__(self, status, code, message):
        super().__init__(message)
        self.status = status
        self.code = code


class Context(dict):
    """The second argument of the handler; `context.path` and `context["path"]` are the same."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the context has no {name!r}; it has {', '.join(self)}") from None


def request_id_of(headers):
    """The caller's request id, or a new one."""
    request_id = headers.get("x-request-id", "")
    return request_id if _request_id_pattern.fullmatch(request_id) else str(uuid.uuid4())


def event_of(body, content_type):
    """
    The event of a request: its body, parsed for a JSON content type, a string for text and forms, bytes otherwise, and
    None without a body. Raises RequestError for a body that is not valid JSON despite its content type.
    """
    if not body:
        return None
    kind = content_type.split(";", 1)[0].strip().lower()
    if kind == "application/json" or kind.endswith("+json"):
        try:
            return json.loads(body.decode("utf-8", "replace"), parse_constant=_no_constant)
        except (ValueError, RecursionError):
            message = "the body is not valid JSON, but its content type is JSON"
            raise RequestError(400, "invalid_json", message) from None
    if kind.startswith("text/") or kind == "application/x-www-form-urlencoded":
        return body.decode("utf-8", "replace")
    return body


def _no_constant(name):
    raise ValueError(f"{name} is no JSON")


def context_of(request, request_id, cancelled):
    """
    The second argument of the handler. The path is not decoded; `cancelled` is a
    threading.Event that is set once the client disconnects.
    """
    path, _, search = request.target.partition("?")
    return Context(
        method=request.method,
        path=path,
        query=_query_of(search),
        headers=request.headers,
        request_id=request_id,
        cancelled=cancelled,
    )


def _query_of(search):
    """A repeated parameter becomes a list."""
    query = {}
    for name, value in urllib.parse.parse_qsl(search, keep_blank_values=True, errors="replace"):
        if name not in query:
            query[name] = value
        elif isinstance(query[name], list):
            query[name].append(value)
        else:
            query[name] = [query[name], value]
    return query
