"""One run of the handler, as a batch Job asks for."""

import os
import re
import threading
import time
import uuid

from .end import when_asked_to_end
from .event import Context
from .handler import call
from .log import die, log, request_id, summary_of

# Below the grace period of 30 s.
_END_MAX_SECONDS = 24


def _due_time(trigger, run):
    """When a run was due: a CronJob's runs end their name in the minutes since 1970. Any other run is for now."""
    minutes = re.search(r"-(\d+)$", run) if trigger == "cron" else None
    now = time.time()
    moment, milliseconds = (int(minutes[1]) * 60, 0) if minutes else (int(now), int(now * 1000) % 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment)) + f".{milliseconds:03}Z"


def run_once(handler):
    """
    Calls the handler once with `{schedule, time}`; returns once it has ended well, otherwise the process ends with 1 and
    the error in the log. On SIGTERM `context.cancelled` is set, and the handler has a moment left.
    """
    trigger = os.environ.get("SVC_TRIGGER")
    run = os.environ.get("SVC_RUN") or str(uuid.uuid4())
    cancelled = threading.Event()

    def end():
        cancelled.set()
        time.sleep(_END_MAX_SECONDS)
        die("the run was cut off, since it has to end")

    when_asked_to_end(end)
    request_id.set(run)
    began = time.monotonic()
    event = {"schedule": os.environ.get("SVC_SCHEDULE"), "time": _due_time(trigger, run)}
    context = Context(trigger=trigger, run=run, request_id=run, cancelled=cancelled)
    try:
        call(handler, event, context)
    except BaseException as error:
        die(f"the handler failed: {summary_of(error)}", error)
    log("info", "run succeeded", trigger=trigger, ms=round((time.monotonic() - began) * 1000))
