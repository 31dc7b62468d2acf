# python/usf/tune/__main__.py - python3 -m usf.tune.  SPDX-License-Identifier: Apache-2.0
import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
