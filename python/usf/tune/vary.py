# python/usf/tune/vary.py - `--vary NAME=VALUES`.  SPDX-License-Identifier: Apache-2.0
"""VALUES are separated by commas, or by semicolons where values have commas themselves (cpus=0;0-1;0,2). A range of whole
numbers is FIRST:LAST, FIRST:LAST:STEP or FIRST:LAST:*FACTOR."""
import re

from .space import MOST, Parameter
from .trouble import TuneError

_RANGE = re.compile(r"(-?\d+):(-?\d+)(?::(\*?)(\d+))?\Z")


def _typed(word):
    """A number where it is written as one, and text otherwise: 08 stays text."""
    if re.match(r"-?(0|[1-9]\d*)\Z", word):
        return int(word)
    if re.match(r"-?(0|[1-9]\d*)\.\d+\Z", word):
        return float(word)
    return word


def _range(name, match):
    first, last, times, step = int(match.group(1)), int(match.group(2)), match.group(3), int(match.group(4) or 1)
    if last < first or step < 1 or times and (step < 2 or first < 1):
        raise TuneError("--vary %s: the range %s is empty, or has no end" % (name, match.group()))
    if times:
        values = []
        while first <= last:
            values.append(first)
            first *= step
        return values
    if (last - first) // step >= MOST:
        raise TuneError("--vary %s: the range %s has more than %d values" % (name, match.group(), MOST))
    return list(range(first, last + 1, step))


def parse(text):
    """A Parameter."""
    name, equals, values = text.partition("=")
    if not equals or not values:
        raise TuneError("--vary '%s': it is NAME=VALUE,... or NAME=FIRST:LAST" % text)
    words = values.split(";" if ";" in values else ",")
    found = []
    for word in words:
        word = word.strip()
        if not word:
            raise TuneError("--vary %s: a value is missing in '%s'" % (name, values))
        match = _RANGE.match(word)
        found += _range(name, match) if match else [_typed(word)]
    return Parameter(name, found)
