"""The Python runtime of functions; the standard library is all that it needs."""

import sys

from svc_runtime.main import main

# What the code imports comes from the standard library and its dependencies, never from the runtime's own folder.
del sys.path[0]
main()
