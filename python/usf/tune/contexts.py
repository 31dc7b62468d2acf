# python/usf/tune/contexts.py - CPUs of contexts by name, as USF_CONTEXTS has them.  SPDX-License-Identifier: Apache-2.0
"""NAME=CPUS; NAME=CPUS (src/config/contexts.h has the rules)."""
import re

from .trouble import TuneError

VARIABLE = "USF_CONTEXTS"
# src/context/user.c writes it, with USF_VERBOSE, for each context that a program makes.
_MADE = re.compile(r"^usf: context '(.*)': CPUs \S*, (?:given by|as the program)", re.M)


def key(name):
    """The variable of a context's share: profiles have bare keys."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)


def parse_names(text):
    """The names in NAME,NAME,..."""
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if not name or len(name) > 63 or re.search(r"[=;\n]", name) or not re.match(r"[A-Za-z_]", name):
            raise TuneError("--share: '%s' is not a name of a context: a letter first, then up to 62 characters without = and ;" % name)
    return names


def text(lists):
    """Of a dict of names and lists of CPUs."""
    return "; ".join("%s=%s" % item for item in lists.items())


def parse(value):
    """The dict of such a text."""
    found = {}
    for entry in value.split(";"):
        if not entry.strip():
            continue
        name, equals, cpus = (part.strip() for part in entry.partition("="))
        if not name or not cpus or name in found:
            raise TuneError("contexts: '%s' is not a context's name and its CPUs, or comes twice" % entry.strip())
        found[name] = cpus
    return found


def made(stderr):
    """The names of contexts that a program has made, by its output with USF_VERBOSE=1."""
    return _MADE.findall(stderr)
