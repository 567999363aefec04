"""The Python runtime of functions. It uses only the standard library."""

import sys

from svc_runtime.main import main

# The code can import the standard library and its dependencies, but not the runtime's modules.
del sys.path[0]
main()
