"""
Loads the handler, then listens, or runs it once. A port that accepts connections therefore means that the code has loaded.
If the code cannot be loaded, the process logs the error and exits.
"""

import os
import sys
import threading
import time

from .handler import load_handler
from .log import bind_output, die, summary_of

# How long the code's threads may run after the handler or the server has ended.
_END_SECONDS = 2


def main():
    bind_output()
    # Loaded before the code, which may change the module search path.
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
        die("the code could not be loaded: it exited")
    except BaseException as error:
        die(f"the code could not be loaded: {summary_of(error)}", error)
    run(handler)
    _end()


def _end():
    """Exits with 0. Runs the code's exit handlers, and waits only briefly for its threads."""

    def leave():
        time.sleep(_END_SECONDS)
        os._exit(0)

    threading.Thread(target=leave, daemon=True).start()
    sys.exit(0)
