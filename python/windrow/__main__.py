"""`python -m windrow` is the command `windrow`: see `windrow._command`."""

from __future__ import annotations

import sys

from windrow._command.main import main

if __name__ == "__main__":
    sys.exit(main())
