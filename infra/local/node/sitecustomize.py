"""
Python imports this module first in the programs of pods (docs/decisions/0009-pods-as-processes.md). It resolves Service
names from the node's hosts file. Libraries that resolve names in C bypass it; their variables contain addresses (names.ts).
"""

import _socket
import os
import socket
import sys
from importlib.machinery import PathFinder

_file = os.environ.get("SVC_HOSTS_FILE", "")
_namespace = os.environ.get("SVC_NAMESPACE", "")
_read_at = None
_hosts = {}


def _read_hosts():
    """The current hosts file: addresses by `<service>.<namespace>`."""
    global _read_at, _hosts
    try:
        changed = os.stat(_file).st_mtime_ns
        if changed != _read_at:
            with open(_file, encoding="utf-8") as lines:
                _hosts = {name: address for address, name in (line.split() for line in lines)}
            _read_at = changed
    except OSError:
        return {}
    return _hosts


def _without(name, end):
    return name[: -len(end)] if name.endswith(end) else name


def _address_of(host):
    """The address of a Service's name; any other host is returned unchanged."""
    name = host.decode("ascii", "replace") if isinstance(host, (bytes, bytearray)) else host
    if not isinstance(name, str):
        return host
    name = _without(name.lower(), ".")
    if name == "localhost" or name.endswith(".localhost"):
        return "127.0.0.1"
    name = _without(_without(name, ".cluster.local"), ".svc")
    labels = name.split(".")
    if len(labels) > 2 or labels[0] == "":
        return host
    return _read_hosts().get(name if len(labels) == 2 else f"{name}.{_namespace}", host)


def _resolve_first(call):
    def wrapper(host, *rest, **named):
        return call(_address_of(host), *rest, **named)

    return wrapper


def _connect_by_address(connect):
    def wrapper(self, address):
        if self.family in (_socket.AF_INET, _socket.AF_INET6) and isinstance(address, tuple) and address:
            address = (_address_of(address[0]), *address[1:])
        return connect(self, address)

    return wrapper


# `socket.getaddrinfo` calls `_socket.getaddrinfo`; the other functions are copies in `socket`.
_socket.getaddrinfo = _resolve_first(_socket.getaddrinfo)
for _name in ("gethostbyname", "gethostbyname_ex"):
    setattr(socket, _name, _resolve_first(getattr(_socket, _name)))
for _name in ("connect", "connect_ex"):
    setattr(socket.socket, _name, _connect_by_address(getattr(_socket.socket, _name)))

# This module hides the machine's own sitecustomize, so it runs that one, too.
_here = os.path.dirname(os.path.abspath(__file__))
_next = PathFinder.find_spec("sitecustomize", [path for path in sys.path if os.path.abspath(path) != _here])
if _next is not None and _next.loader is not None:
    _next.loader.exec_module(sys.modules[__name__])
