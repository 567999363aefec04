"""Runs the handler once, for a batch Job."""

import os
import re
import threading
import time
import uuid

from .end import when_asked_to_end
from .event import Context
from .handler import call
from .log import die, log, request_id, summary_of

# Shorter than the pod's grace period of 30 s.
_END_MAX_SECONDS = 24


def _due_time(trigger, run):
    """The scheduled time of a run: the name of a CronJob's run ends in minutes since 1970. For other runs, now."""
    minutes = re.search(r"-(\d+)$", run) if trigger == "cron" else None
    now = time.time()
    moment, milliseconds = (int(minutes[1]) * 60, 0) if minutes else (int(now), int(now * 1000) % 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(moment)) + f".{milliseconds:03}Z"


def run_once(handler):
    """
    Calls the handler once with `{schedule, time}`. Returns if it succeeds; otherwise the process exits with 1 and the
    error in the log. On SIGTERM it sets `context.cancelled` and gives the handler _END_MAX_SECONDS to finish.
    """
    trigger = os.environ.get("SVC_TRIGGER")
    run = os.environ.get("SVC_RUN") or str(uuid.uuid4())
    cancelled = threading.Event()

    def end():
        cancelled.set()
        time.sleep(_END_MAX_SECONDS)
        die("the run did not finish within the shutdown period and was stopped")

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
