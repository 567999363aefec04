"""
Loads the handler, then listens, or runs it once. A port that accepts connections therefore means that the code has
loaded; code that does not load ends the process with its error in the log, and never answers.
"""

import os
import sys
import threading
import time

from .handler import load_handler
from .log import bind_output, die, summary_of

# How long threads of the code may go on when all is done.
_END_SECONDS = 2


def main():
    bind_output()
    # Loaded before the code, which may change where modules come from.
    if os.environ.get("SVC_MODE") == "batch":
        from .batch import run_once as run
    else:
        from .server import serve as run
    dependencies = os.environ.get("SVC_DEPENDENCIES")
    if dependencies:
        sys.path.insert(0, os.path.join(dependencies, "python"))
    try:
        handler = load_handler(os.environ.get("SVC_CODE_FILE") or "/var/run/svc/code/handler.py")
    except SystemExit:
        die("the code could not be loaded: it ended before it was ready")
    except BaseException as error:
        die(f"the code could not be loaded: {summary_of(error)}", error)
    run(handler)
    _end()


def _end():
    """Ends the process with 0: what the code registered for its end is run, threads are not waited for long."""

    def leave():
        time.sleep(_END_SECONDS)
        os._exit(0)

    threading.Thread(target=leave, daemon=True).start()
    sys.exit(0)
