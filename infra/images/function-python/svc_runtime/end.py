"""Waits for SIGTERM or SIGINT."""

import signal
import socket
import threading

_SIGNALS = {signal.SIGTERM, signal.SIGINT}


def when_asked_to_end(act):
    """
    Calls `act` once, in a new thread, after SIGTERM or SIGINT. Call it in the main thread. Python runs signal handlers
    only in the main thread, and delays them while that waits for a lock; a wake-up descriptor works immediately
    (https://docs.python.org/3/library/signal.html#signal.set_wakeup_fd).
    """
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    for number in _SIGNALS:
        # Without a handler, SIGTERM would end the process, and SIGINT would raise KeyboardInterrupt in the code.
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reader, writer, act), name="end", daemon=True).start()


def _watch(reader, _writer, act):
    """Reads signal numbers, also of other signals that the code handles. The argument keeps `_writer` open."""
    while not _SIGNALS & set(reader.recv(64)):
        pass
    act()
