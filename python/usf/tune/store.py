# python/usf/tune/store.py - the journal: every run that was measured.  SPDX-License-Identifier: Apache-2.0
"""A file of JSON lines. The first one says what is searched, each further one is a run.

A line is on the disk before the next run begins, so that a tuner that is killed loses the run under way and nothing
else. A search goes on by starting again: the strategy is a function of its seed and of what was measured, and asks for
the same runs again, which the journal answers.
"""
import errno
import fcntl
import json
import os

from .trouble import TuneError

VERSION = 1


class Run:
    """One measurement. status: "ok"; "hopeless": ended since it took too long to be the best; "failed", "timeout"."""

    __slots__ = ("value", "seconds", "status", "detail")

    def __init__(self, value, seconds, status="ok", detail=""):
        self.value = value
        self.seconds = seconds
        self.status = status
        self.detail = detail

    @property
    def ok(self):
        return self.status == "ok"

    @property
    def excluded(self):
        return self.status in ("failed", "timeout")


class Memory:
    """The journal of a search that keeps none."""

    path = None

    def take(self, candidate):
        return None

    def add(self, candidate, run):
        pass

    def close(self):
        pass


def _key(candidate):
    return json.dumps(candidate, sort_keys=True)


def _lines(data):
    """The complete lines, and how many bytes these are: a line that a killed tuner has begun does not count."""
    end = data.rfind(b"\n") + 1
    return data[:end].splitlines(), end


def read(path):
    """The first line of a journal, and its runs. None where it has no complete line."""
    try:
        with open(path, "rb") as f:
            return _parse(path, f.read())[:2]
    except OSError as e:
        raise TuneError("journal %s: %s" % (path, e.strerror)) from None


def _parse(path, data):
    lines, end = _lines(data)
    if not lines:
        return None, [], 0
    try:
        head = json.loads(lines[0])
        if head.get("usf-tune") != VERSION:
            raise TuneError("journal %s: it is of another version of usf tune (%s)" % (path, head.get("usf-tune")))
        runs = []
        for number, line in enumerate(lines[1:], 2):
            record = json.loads(line)
            runs.append((_key(record["candidate"]), Run(record["value"], record["seconds"], record["status"], record["detail"])))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise TuneError("journal %s: line %d is not one of usf tune's" % (path, locals().get("number", 1))) from None
    return head, runs, end


class Journal:
    """A journal that is open. One tuner at a time has it, as long as it lives: the lock is the kernel's."""

    def __init__(self, path, head, resume):
        self.path = path
        self._replay = {}
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        except OSError as e:
            raise TuneError("journal %s: %s" % (path, e.strerror)) from None
        try:
            self._begin(head, resume)
        except BaseException:
            os.close(self._fd)
            raise

    def _begin(self, head, resume):
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as e:
            if e.errno != errno.EWOULDBLOCK:
                raise TuneError("journal %s: it cannot be locked: %s" % (self.path, e.strerror)) from None
            raise TuneError("journal %s: another tuner is using it" % self.path) from None
        with open(self._fd, "rb", closefd=False) as f:
            f.seek(0)
            old, runs, end = _parse(self.path, f.read())
        if old is not None and not resume:
            raise TuneError("journal %s: it is there already: go on with --resume, or remove it" % self.path)
        os.ftruncate(self._fd, end)
        if old is None:
            self._write({"usf-tune": VERSION, **head})
            self._sync_folder()
            return
        self._compare(old.get("what", {}), head.get("what", {}))
        for key, run in runs:
            self._replay.setdefault(key, []).append(run)

    def _compare(self, old, new):
        for name in sorted(set(old) | set(new)):
            if old.get(name) != new.get(name):
                raise TuneError("journal %s: it is of another search, whose %s was %s" % (self.path, name, json.dumps(old.get(name))))

    def _sync_folder(self):
        """Of a new file the name, too, has to be on the disk."""
        fd = os.open(os.path.dirname(os.path.abspath(self.path)), os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        except OSError:
            pass                # some file systems cannot
        finally:
            os.close(fd)

    def _write(self, record):
        data = (json.dumps(record) + "\n").encode()
        try:
            while data:
                data = data[os.write(self._fd, data):]
            os.fsync(self._fd)
        except OSError as e:
            raise TuneError("journal %s: %s" % (self.path, e.strerror), 1) from None

    def take(self, candidate):
        """The next recorded run of the candidate, or None."""
        runs = self._replay.get(_key(candidate))
        return runs.pop(0) if runs else None

    def add(self, candidate, run):
        self._write({"candidate": candidate, "value": run.value, "seconds": run.seconds, "status": run.status, "detail": run.detail})

    def close(self):
        os.close(self._fd)
