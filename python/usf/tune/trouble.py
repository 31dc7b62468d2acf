# python/usf/tune/trouble.py - errors.  SPDX-License-Identifier: Apache-2.0


class TuneError(Exception):
    """A mistake of the caller, or a search that found nothing. `code` is the exit status of `usf tune`."""

    def __init__(self, text, code=125):
        super().__init__(text)
        self.code = code


class Interrupted(Exception):
    """A signal asked the search to end."""

    def __init__(self, signum):
        super().__init__("interrupted by signal %d" % signum)
        self.signum = signum
