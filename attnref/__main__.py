"""The derivations at the command line: `python -m attnref`."""

import sys

from attnref.derivations._command_line import main

if __name__ == "__main__":
    sys.exit(main())
