"""Serves requests with a thread per connection, until SIGTERM or SIGINT."""

import os
import select
import socket
import sys
import threading

from .answer import Response, answer, failure
from .connection import Connection
from .end import when_asked_to_end
from .event import RequestError, context_of, event_of, request_id_of
from .handler import call
from .log import log, request_id

# The program warm.py passes another limit. The default is shorter, together with the 4 s of the preStop hook, than the
# grace period of 30 s.
_DRAIN_MAX_SECONDS = int(sys.argv[1]) if len(sys.argv) > 1 else 24


class _Drain:
    """
    On SIGTERM or SIGINT, the server keeps serving requests, also new ones, and closes each connection after its response.
    When no request is in progress, the process exits. Requests that take longer than _DRAIN_MAX_SECONDS are aborted.
    """

    def __init__(self):
        self.draining = False
        self._open = 0
        self._lock = threading.Lock()
        self._idle = threading.Event()
        self._begun = threading.Event()

    def __enter__(self):
        with self._lock:
            self._open += 1
            self._idle.clear()

    def __exit__(self, *_):
        with self._lock:
            self._open -= 1
            if self.draining and self._open == 0:
                self._idle.set()

    def begin(self):
        self.draining = True
        self._begun.set()

    def wait(self):
        """Returns when the process should exit."""
        self._begun.wait()
        with self._lock:
            if self._open == 0:
                return
        if not self._idle.wait(_DRAIN_MAX_SECONDS):
            log("warn", "requests did not finish within the shutdown period and were closed", requests=self._open)


class _Departures:
    """Detects clients that disconnect during their request."""

    def __init__(self):
        self._poll = select.epoll() if hasattr(select, "epoll") else None
        self._waiting = {}
        if self._poll:
            threading.Thread(target=self._watch, name="departures", daemon=True).start()

    def _watch(self):
        while True:
            for descriptor, _ in self._poll.poll():
                waiting = self._waiting.get(descriptor)
                if waiting:
                    waiting.set()

    def expect(self, descriptor):
        event = threading.Event()
        if self._poll:
            self._waiting[descriptor] = event
            self._poll.register(descriptor, select.EPOLLRDHUP | select.EPOLLONESHOT)
        return event

    def forget(self, descriptor):
        if self._poll and self._waiting.pop(descriptor, None):
            self._poll.unregister(descriptor)


class _Server:
    def __init__(self, handler):
        self._handler = handler
        self._drain = _Drain()
        self._departures = _Departures()

    def run(self, listener):
        when_asked_to_end(self._drain.begin)
        threading.Thread(target=self._accept, args=(listener,), name="accept", daemon=True).start()
        port = listener.getsockname()[1]
        log("info", "function ready", port=port, runtime=f"python {sys.version.split()[0]}")
        self._drain.wait()

    def _accept(self, listener):
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                continue
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._converse, args=(client,), name="request", daemon=True).start()

    def _converse(self, client):
        connection = Connection(client)
        try:
            while True:
                try:
                    request = connection.next_request()
                except RequestError as error:
                    failure(Response(connection, None, "-", lambda: True), error, "-")
                    return
                if request is None:
                    return
                with self._drain:
                    if not self._serve(connection, request):
                        connection.close()
                        return
        except OSError:
            pass
        finally:
            connection.close()

    def _serve(self, connection, request):
        """Serves one request. Returns whether the connection can be reused."""
        identifier = request_id_of(request.headers)
        request_id.set(identifier)
        response = Response(connection, request, identifier, lambda: self._drain.draining)
        descriptor = connection.socket.fileno()
        cancelled = None
        try:
            try:
                event = event_of(connection.read_body(request), request.headers.get("content-type", ""))
                cancelled = self._departures.expect(descriptor)
                result = call(self._handler, event, context_of(request, identifier, cancelled))
                answer(response, result)
            except BaseException as error:
                if _is_departure(error, connection.socket, cancelled):
                    return False
                # The start of the next request is unknown.
                if isinstance(error, RequestError) and error.code == "invalid_request":
                    response.keep_alive = False
                failure(response, error, identifier)
        finally:
            self._departures.forget(descriptor)
        if not connection.body_is_read:
            if request.expects_continue:
                return False
            connection.discard_rest()
        return response.keep_alive


def _is_departure(error, client, cancelled):
    """Whether the client disconnected: a ConnectionError may also come from the handler's own connections."""
    if cancelled is None:
        return isinstance(error, ConnectionError)
    if cancelled.is_set():
        return True
    if not isinstance(error, ConnectionError):
        return False
    try:
        client.getpeername()
        return client.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) != 0
    except OSError:
        return True


def listen():
    """A socket that listens on `PORT`, at `LISTEN_ADDRESS` or at all addresses, including IPv6 where available."""
    port = int(os.environ.get("PORT") or 8080)
    address = os.environ.get("LISTEN_ADDRESS", "")
    if address == "" and socket.has_dualstack_ipv6():
        try:
            return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=511)
        except OSError:
            pass
    return socket.create_server((address, port), backlog=511)


def serve(handler):
    """Serves requests with the handler. Returns when the process should exit."""
    _Server(handler).run(listen())
