"""Serves requests, a thread for each connection, until it is asked to end."""

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

# Together with the time that a pod is kept after the scale-down (4 s), below the grace period of 30 s.
_DRAIN_MAX_SECONDS = 24


class _Drain:
    """
    On SIGTERM or SIGINT the server goes on serving what is under way and what still arrives, and asks clients to leave;
    once nothing is under way, it ends. What takes too long is cut off.
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
        """Returns once the process is to end."""
        self._begun.wait()
        with self._lock:
            if self._open == 0:
                return
        if not self._idle.wait(_DRAIN_MAX_SECONDS):
            log("warn", "requests were cut off, since the function has to end", requests=self._open)


class _Departures:
    """Tells when clients go away while their requests are worked on."""

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
        """One request; whether the connection can take another one."""
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
                # Where the next request would begin cannot be told.
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
    """Whether it is only that the client has gone; a ConnectionError may also be one that the handler made itself."""
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
    """A socket on `PORT`, on `LISTEN_ADDRESS` or all addresses, IPv6 among them where there is any."""
    port = int(os.environ.get("PORT") or 8080)
    address = os.environ.get("LISTEN_ADDRESS", "")
    if address == "" and socket.has_dualstack_ipv6():
        try:
            return socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=511)
        except OSError:
            pass
    return socket.create_server((address, port), backlog=511)


def serve(handler):
    """Serves requests with the handler; returns once the process is to end."""
    _Server(handler).run(listen())
