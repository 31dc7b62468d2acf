# python/usf/tune/toml.py - the part of TOML that profiles are written in.  SPDX-License-Identifier: Apache-2.0
"""Sections of bare keys with texts, numbers and booleans: what src/config/toml.c reads for `usf run --profile`.

Python has a reader from 3.11 on. Before that a small one here reads what the writer here has written.
"""
import json
import math
import re

LONGEST_TEXT, LONGEST_KEY = 2047, 63        # bytes that src/config/toml.c takes
_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def text(value):
    """A string in quotes."""
    if "\0" in value or len(value.encode()) > LONGEST_TEXT:
        raise ValueError("a text has NUL bytes, or more than %d bytes" % LONGEST_TEXT)
    return '"%s"' % "".join(_ESCAPES.get(c) or ("\\u%04X" % ord(c) if ord(c) < 0x20 or ord(c) == 0x7F else c) for c in value)


def _value(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        if not -(1 << 63) < value < 1 << 63:
            raise ValueError("%d has more than 64 bits" % value)
        return str(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError("%r is not a number" % value)
        word = repr(value)
        return word if "." in word or "e" not in word else word.replace("e", ".0e")
    return text(value)


def write(sections, comment=""):
    """sections: a dict of dicts."""
    lines = ["# " + line if line else "#" for line in comment.splitlines()]
    for name, table in sections.items():
        lines += ["", "[%s]" % name]
        for key, value in table.items():
            if not _KEY.match(key) or len(key) > LONGEST_KEY:
                raise ValueError("'%s' is not a bare key of TOML" % key)
            lines.append("%s = %s" % (key, _value(value)))
    return "\n".join(lines).lstrip("\n") + "\n"


def read(data):
    """A dict of dicts. ValueError: it is not such a file."""
    try:
        import tomllib
    except ImportError:
        return read_small(data)
    return tomllib.loads(data)


def read_small(data):
    sections = {}
    table = sections
    for number, line in enumerate(data.split("\n"), 1):
        line = line.strip()
        head = re.match(r"\[\s*([A-Za-z0-9_-]+)\s*\]\s*(?:#.*)?\Z", line)
        entry = re.match(r"([A-Za-z0-9_-]+)\s*=\s*(\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^#\s]+)\s*(?:#.*)?\Z", line)
        if not line or line.startswith("#"):
            continue
        if head:
            if head.group(1) in sections:
                raise ValueError("line %d: section [%s] comes twice" % (number, head.group(1)))
            table = sections[head.group(1)] = {}
        elif entry and entry.group(1) not in table:
            table[entry.group(1)] = _read_value(entry.group(2), number)
        else:
            raise ValueError("line %d: not a section, nor a new key with a value" % number)
    return sections


def _read_value(word, number):
    try:
        if word.startswith('"'):
            return json.loads(word)
        if word.startswith("'"):
            return word[1:-1]
        if word in ("true", "false"):
            return word == "true"
        if re.match(r"[+-]?(0|[1-9]\d*)\Z", word):
            return int(word)
        if re.match(r"[+-]?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?\Z", word):
            return float(word)
    except ValueError:
        pass
    raise ValueError("line %d: %s is not a value" % (number, word))
