"""
Imported by the Python programs of pods before anything else (decision 0009): names of Services are found in the node's own
file of hosts. Libraries that resolve names in C never come by here; they are told addresses (see names.ts).
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


def _known():
    """The file of hosts as it is now: addresses by `<service>.<namespace>`."""
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
    """The address of what may be a Service's name; anything else as it was given."""
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
    return _known().get(name if len(labels) == 2 else f"{name}.{_namespace}", host)


def _asked_with_address(ask):
    def asked(host, *rest, **named):
        return ask(_address_of(host), *rest, **named)

    return asked


def _connected_by_address(connect):
    def connected(self, address):
        if self.family in (_socket.AF_INET, _socket.AF_INET6) and isinstance(address, tuple) and address:
            address = (_address_of(address[0]), *address[1:])
        return connect(self, address)

    return connected


# The module `socket` hands on what it has of `_socket`, and calls its getaddrinfo.
_socket.getaddrinfo = _asked_with_address(_socket.getaddrinfo)
for _name in ("gethostbyname", "gethostbyname_ex"):
    setattr(socket, _name, _asked_with_address(getattr(_socket, _name)))
for _name in ("connect", "connect_ex"):
    setattr(socket.socket, _name, _connected_by_address(getattr(_socket.socket, _name)))

# The one that would have been imported if this one were not there.
_here = os.path.dirname(os.path.abspath(__file__))
_next = PathFinder.find_spec("sitecustomize", [path for path in sys.path if os.path.abspath(path) != _here])
if _next is not None and _next.loader is not None:
    _next.loader.exec_module(sys.modules[__name__])
