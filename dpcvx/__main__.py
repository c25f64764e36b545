"""Run the command line with ``python -m dpcvx``."""

import sys

from dpcvx.cli import main

if __name__ == "__main__":
    sys.exit(main())
