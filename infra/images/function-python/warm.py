"""
Waits for a function and then becomes its runtime: the platform sends code and variables once, with a token of which this
program knows the digest only. It prints nothing while it waits. What this program was started with is not left to the code.
"""

import hashlib
import hmac
import json
import os
import signal
import socket
import sys
import threading
import time

from svc_runtime.connection import Connection
from svc_runtime.event import RequestError

_own = {name: os.environ[name] for name in ("SVC_WARM_POD", "SVC_WARM_PORT", "SVC_WARM_FOLDER", "SVC_WARM_TOKEN_DIGEST")}
_lock = threading.Lock()
_started = False


def _is_authorized(request):
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    digest = hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
    return scheme == "Bearer" and hmac.compare_digest(digest, _own["SVC_WARM_TOKEN_DIGEST"])


def _variables():
    """The container's variables as the kernel shows them: Python has added LC_CTYPE to its own."""
    with open("/proc/self/environ", encoding="utf-8", errors="surrogateescape") as file:
        pairs = (item.partition("=") for item in file.read().split("\0") if item)
        return {name: value for name, _, value in pairs if name not in _own}


def _become(start):
    """Replaces this process with the runtime, as a container of the function would start it."""
    main = os.path.join(os.path.dirname(os.path.abspath(__file__)), "main.py")
    arguments = [os.path.basename(sys.executable), *sys.orig_argv[1:-1], main, str(start["drainSeconds"])]
    os.execve(sys.executable, arguments, {**_variables(), **start["env"]})


def _answer(connection, status, body=b""):
    """All but 200 are the last answer on their connection, and say so (RFC 9112, section 9.6)."""
    close = "" if status == 200 else "connection: close\r\n"
    head = f"HTTP/1.1 {status} \r\ncontent-length: {len(body)}\r\n{close}\r\n"
    connection.socket.sendall(head.encode() + body)


def _start(connection, request):
    """Answers, and returns what to start, if anything."""
    global _started
    # Before anything of the body is read, and once only.
    if not _is_authorized(request):
        return _answer(connection, 401)
    with _lock:
        was_started, _started = _started, True
    if was_started:
        return _answer(connection, 409)
    try:
        start = json.loads(connection.read_body(request))
        for name, text in start["files"].items():
            with open(os.path.join(_own["SVC_WARM_FOLDER"], name), "w", encoding="utf-8") as file:
                file.write(text)
                os.fchmod(file.fileno(), 0o444)
    except (KeyError, ValueError, RequestError):
        return _answer(connection, 400)
    _answer(connection, 202)
    return start


def _converse(client):
    connection = Connection(client)
    try:
        while True:
            request = connection.next_request()
            if request is None:
                return
            if (request.method, request.target) == ("POST", "/start"):
                start = _start(connection, request)
                if start:
                    _become(start)
                return
            if (request.method, request.target) != ("GET", "/pod"):
                return _answer(connection, 404)
            _answer(connection, 200, _own["SVC_WARM_POD"].encode())
    except (OSError, RequestError):
        pass
    finally:
        connection.close()


def main():
    if os.listdir(_own["SVC_WARM_FOLDER"]):
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        message = "the container restarted after the function was started in it; another pod replaces this one"
        print(json.dumps({"time": moment, "level": "fatal", "msg": message}), flush=True)
        sys.exit(1)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os._exit(0))
    address = ("::", int(_own["SVC_WARM_PORT"]))
    dual = socket.has_dualstack_ipv6()
    listener = socket.create_server(address if dual else ("", address[1]), family=socket.AF_INET6 if dual else socket.AF_INET, dualstack_ipv6=dual)
    while True:
        client, _ = listener.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=_converse, args=(client,), daemon=True).start()


main()
