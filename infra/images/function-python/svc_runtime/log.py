"""Writes one JSON line per entry to stdout, with the id of its request."""

import contextvars
import json
import logging
import os
import sys
import threading
import time

request_id = contextvars.ContextVar("svc_request_id", default=None)

_lock = threading.Lock()
# A copy, so that code that closes or replaces stdout does not affect the log.
_output = os.dup(1)


def log(level, msg, **fields):
    now = time.time()
    entry = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03}Z",
        "level": level,
        "msg": msg,
    }
    current = request_id.get()
    if current is not None:
        entry["requestId"] = current
    line = json.dumps({**entry, **fields}, ensure_ascii=False, default=str) + "\n"
    rest = memoryview(line.encode("utf-8", "replace"))
    with _lock:
        while rest:
            rest = rest[os.write(_output, rest) :]


def stack_of(error):
    """The traceback of an error as Python prints it, without the frames of the runtime before those of the code."""
    import traceback

    frames = error.__traceback__
    runtime_folder = os.path.dirname(__file__)
    while frames is not None and _is_runtime_file(frames.tb_frame.f_code.co_filename, runtime_folder):
        frames = frames.tb_next
    return "".join(traceback.format_exception(type(error), error, frames)).rstrip()


def _is_runtime_file(file, runtime_folder):
    return file.startswith((runtime_folder, "<frozen importlib"))


class _Writer:
    """Replaces stdout or stderr, and logs each line as an entry."""

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, level, descriptor):
        self._level = level
        self._descriptor = descriptor
        self._parts = threading.local()

    def write(self, text):
        pending = getattr(self._parts, "text", "") + text
        if pending.endswith("\n"):
            self._parts.text = ""
            log(self._level, pending[:-1])
        else:
            self._parts.text = pending
        return len(text)

    def writelines(self, lines):
        for line in lines:
            self.write(line)

    def flush(self):
        pass

    def isatty(self):
        return False

    def writable(self):
        return True

    def fileno(self):
        return self._descriptor


class _Entries(logging.Handler):
    """Logs each record of `logging` as an entry."""

    def emit(self, record):
        if record.levelno >= logging.ERROR:
            level = "error"
        elif record.levelno >= logging.WARNING:
            level = "warn"
        else:
            level = "info" if record.levelno >= logging.INFO else "debug"
        error = record.exc_info[1] if record.exc_info else None
        fields = {} if error is None else {"error": stack_of(error)}
        try:
            log(level, record.getMessage(), logger=record.name, **fields)
        except Exception:
            self.handleError(record)


def bind_output():
    """Logs everything that the code prints or logs, and failures of its threads, as entries."""
    sys.stdout = _Writer("info", 1)
    sys.stderr = _Writer("warn", 2)
    logging.basicConfig(level=logging.INFO, handlers=[_Entries()])

    def thread_failed(failure):
        if not issubclass(failure.exc_type, SystemExit):
            log("error", f"a thread failed: {failure.exc_value}", error=stack_of(failure.exc_value))

    threading.excepthook = thread_failed


def die(message, error=None):
    """Logs the error and exits immediately with 1, even while threads run."""
    log("fatal", message, **({} if error is None else {"error": stack_of(error)}))
    os._exit(1)


def summary_of(error):
    """An error in one line, in Python's own form."""
    message = str(error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
