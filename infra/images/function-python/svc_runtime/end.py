"""Tells when the process is asked to end."""

import signal
import socket
import threading

_SIGNALS = {signal.SIGTERM, signal.SIGINT}


def when_asked_to_end(act):
    """
    Calls `act` once, in a thread of its own, after SIGTERM or SIGINT. Python runs handlers of signals in the main thread
    only, and one that has just begun to wait for a lock would run them once it has it: the wake-up descriptor tells at
    once (https://docs.python.org/3/library/signal.html#signal.set_wakeup_fd). Called by the main thread.
    """
    woken, wake = socket.socketpair()
    wake.setblocking(False)
    for number in _SIGNALS:
        # Without a handler of Python's the signal would end the process, or be an exception in the code.
        signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(woken, wake, act), name="end", daemon=True).start()


def _watch(woken, _wake, act):
    """`_wake` has to stay open. What is read are numbers of signals: the code may have handlers of its own for others."""
    while not _SIGNALS & set(woken.recv(64)):
        pass
    act()
