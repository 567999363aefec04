"""Loads the code and calls its handler."""

import importlib.util
import sys
import threading

_loop = None
_loop_lock = threading.Lock()


def load_handler(code_file):
    """Returns the function `handler` of the code. Raises what the code raises."""
    spec = importlib.util.spec_from_file_location("handler", code_file)
    module = importlib.util.module_from_spec(spec)
    sys.modules["handler"] = module
    spec.loader.exec_module(module)
    handler = getattr(module, "handler", None)
    if not callable(handler):
        raise TypeError('the code does not define a function named "handler"')
    return handler


def call(handler, event, context):
    """Calls the handler, and awaits the result of an `async` one."""
    result = handler(event, context)
    return wait_for(result) if hasattr(result, "__await__") else result


def wait_for(awaitable):
    """Awaits a value in the event loop that all requests share, so that they can share clients, too."""
    import asyncio

    global _loop
    with _loop_lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="event loop", daemon=True).start()

    async def run():
        return await awaitable

    return asyncio.run_coroutine_threadsafe(run(), _loop).result()
