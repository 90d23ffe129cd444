"""`python -m agentkit`: the command line."""

import sys

from agentkit.cli import main

if __name__ == "__main__":
    sys.exit(main())
