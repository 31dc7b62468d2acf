"""packaging/gdb/usf-gdb.py - gdb shows the threads of a program under `usf run`.  SPDX-License-Identifier: Apache-2.0

A thread that waits has left its kernel thread, so that gdb's own commands do not show its stack (docs/threads.md).  These do, in a
running program and in a core file, with gdb 11 or later:

    usf threads                         every thread of the program
    usf bt [ID | all] [ARGUMENT...]     the stack of a thread, or of all
    usf thread ID                       select a thread, for `frame`, `up`, `info locals` and the like

Nothing of the program is changed, neither memory nor registers.  src/runtime/debug.c says what is read and how.  gdb executes all of its
scripts in one namespace: what this one defines there begins with `usf`.
"""
import contextlib
import re
import struct

import gdb
from gdb.unwinder import Unwinder, register_unwinder

USF_VERSION = 1
USF_RECORD = struct.Struct("=8I3Q")         # struct usf_debug
USF_SAVED = ("r15", "r14", "r13", "r12", "rbx", "rbp", "rip")       # at the usf_saved stack pointer
USF_TOP_DEPTH = 40                          # frames to look at for one of the program


def usf_memory(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def usf_word(address):
    return struct.unpack("=Q", usf_memory(address, 8))[0]


class UsfSaved(Unwinder):
    """While a waiting thread is shown, the caller of one kernel thread's frame 0 is the frame that the waiting thread has left from."""

    def __init__(self):
        super().__init__("usf")
        self.hide()

    def show(self, ptid, sp, tls):
        self.ptid, self.sp, self.tls = ptid, sp, tls
        self.enabled = True
        gdb.invalidate_cached_frames()

    def hide(self):
        self.enabled = False
        self.ptid = self.sp = self.tls = None

    def __call__(self, pending):
        thread = gdb.selected_thread()
        if not self.enabled or pending.level() or thread is None or thread.ptid != self.ptid:
            return None
        size = 8 * len(USF_SAVED)
        values = dict(zip(USF_SAVED, struct.unpack("=%dQ" % len(USF_SAVED), usf_memory(self.sp, size))), rsp=self.sp + size, fs_base=self.tls)

        def value(register):
            return gdb.Value(values[register]).cast(pending.read_register(register).type)

        sp = gdb.Value(self.sp).cast(pending.read_register("rsp").type)
        info = pending.create_unwind_info(UsfFrameId(sp, pending.read_register("rip")))
        for register in values:
            info.add_saved_register(register, value(register))
        return info


class UsfFrameId:
    def __init__(self, sp, pc):
        self.sp, self.pc = sp, pc


usf_saved = UsfSaved()


def usf_stop_showing(*_):
    """A new look at the program begins, or it goes on: what is selected is a kernel thread again."""
    if usf_saved.enabled:
        usf_saved.hide()
        gdb.invalidate_cached_frames()


class UsfRecord:
    """The process's struct usf_debug."""

    def __init__(self):
        try:
            place = gdb.execute("info address usf_debug", to_string=True)
        except gdb.error:
            raise gdb.GdbError("this is not a process under usf")
        self.address = int(re.search("0x[0-9a-f]+", place).group(), 16)
        try:
            (version, self.next, self.tid, self.home, self.carrier, self.context, self.carrier_tid, self.context_sp,
             self.threads, tls_self, self.takes_stack) = USF_RECORD.unpack(usf_memory(self.address, USF_RECORD.size))
            self.tls_self = usf_word(tls_self)
        except gdb.MemoryError:
            raise gdb.GdbError("there is no process, or libusf has not been loaded yet")
        if version != USF_VERSION:
            raise gdb.GdbError("this script does not know the program's release of usf: use the script of that release")
        if not self.tls_self:
            raise gdb.GdbError("threads do not float here: `thread apply all bt` shows them all")


class UsfKernelThread:
    """What gdb calls a thread.  It is the selected one."""

    def __init__(self, thread):
        if thread.is_running():
            raise gdb.GdbError("threads of the program run: stop all of them")
        thread.switch()
        frame = gdb.newest_frame()
        self.thread, self.id = thread, thread.ptid[1]
        self.tls, self.pc = int(frame.read_register("fs_base")), frame.pc()


class UsfProgramThread:
    """A thread of the program.  `executes`: the kernel thread that does; None: the thread waits, and `shows` is any kernel thread."""

    def __init__(self, tid, home, executes, shows=None, carrier=0, sp=0, tls=0):
        self.tid, self.executes, self.shows, self.carrier, self.sp, self.tls = tid, executes, shows, carrier, sp, tls
        self.number = home.num if home else "-"
        self.name = (home and home.name) or ""

    def __str__(self):
        return 'Thread %d "%s": %s\n' % (self.tid, self.name, self.state)

    @property
    def state(self):
        if not self.executes:
            return "waits, floating"
        if self.executes.id == self.tid:
            return "on its own kernel thread"
        return "executed by kernel thread %d" % self.executes.id

    def select(self):
        """Until usf_stop_showing, gdb's commands act upon this thread."""
        usf_stop_showing()
        if self.executes:
            self.executes.thread.switch()
            return
        self.shows.thread.switch()
        usf_saved.show(self.shows.thread.ptid, self.sp, self.tls)

    def backtrace(self, arguments):
        try:
            out = gdb.execute("backtrace " + arguments, to_string=True)
        except gdb.error as e:
            raise gdb.GdbError(str(e))
        if self.executes:
            return out
        first = re.search(r"^#1\b", out, re.M)      # frame 0 is the kernel thread's
        return out[first.start():] if first else "cannot be shown\n"

    def top(self, own):
        """The innermost function that is not usf's."""
        frame = gdb.newest_frame()
        if not self.executes:
            frame = frame.older()
        for _ in range(USF_TOP_DEPTH):
            if frame is None:
                break
            if frame.name() and gdb.solib_name(frame.pc()) != own:
                return "%s ()" % frame.name()
            frame = frame.older()
        return "?"


@contextlib.contextmanager
def usf_selection_kept():
    """What the user has selected is selected afterwards, whatever comes in between."""
    thread = gdb.selected_thread()
    if thread is None:
        raise gdb.GdbError("there is no process")
    level = gdb.selected_frame().level()
    shown = (usf_saved.ptid, usf_saved.sp, usf_saved.tls) if usf_saved.enabled else None
    usf_stop_showing()
    try:
        yield thread
    finally:
        usf_stop_showing()
        thread.switch()
        if shown and thread.ptid == shown[0]:
            usf_saved.show(*shown)
        frame = gdb.newest_frame()
        while frame and frame.level() < level:
            frame = frame.older()
        if frame:
            frame.select()


def usf_program_threads():
    """Every thread of the program, and the record.  Selects kernel threads."""
    record = UsfRecord()
    kernel_threads = [UsfKernelThread(t) for t in gdb.selected_inferior().threads()]
    by_id = {k.id: k for k in kernel_threads}
    left = {k.id: k for k in kernel_threads if k.pc != record.takes_stack}
    found, seen = [], set()
    at = usf_word(record.threads)
    while at and at not in seen:
        seen.add(at)
        tid = struct.unpack("=i", usf_memory(at + record.tid, 4))[0]
        home, carrier, context = (usf_word(at + offset) for offset in (record.home, record.carrier, record.context))
        carrier_tid = struct.unpack("=i", usf_memory(carrier + record.carrier_tid, 4))[0] if carrier else tid
        own = by_id.get(tid)
        executes = [k for k in left.values() if k.tls == at + record.tls_self]
        if executes:        # libc's handler for setuid executes with the TLS base of another thread for a moment
            executes = next((k for k in executes if k.id == carrier_tid), executes[0])
            del left[executes.id]
        elif not (home and context):
            executes = left.pop(tid, None)
        sp = 0 if executes or not context else usf_word(context + record.context_sp)
        if executes or sp:
            shows = by_id.get(carrier_tid, kernel_threads[0])
            found.append(UsfProgramThread(tid, own and own.thread, executes or None, shows, carrier_tid, sp, at + record.tls_self))
        at = usf_word(at + record.next)
    for k in left.values():
        if not usf_is_idle(record, k):
            found.append(UsfProgramThread(k.id, k.thread, k))
    return sorted(found, key=lambda t: t.tid), record


def usf_is_idle(record, k):
    """Does the kernel thread execute an idle loop?  Else it is a thread that usf has not met yet."""
    try:
        at = k.tls - record.tls_self
        return not usf_word(at + record.home) and usf_word(at + record.carrier) != 0
    except gdb.MemoryError:
        return False


def usf_find(threads, tid):
    for t in threads:
        if t.tid == tid:
            return t
    raise gdb.GdbError("the program has no thread %d: see `usf threads`" % tid)


class Usf(gdb.Command):
    """The threads of a program under usf, where they float between kernel threads."""

    def __init__(self):
        super().__init__("usf", gdb.COMMAND_STACK, prefix=True)


class UsfThreads(gdb.Command):
    """List every thread of the program: gdb's number of its own kernel thread, its id, its name, what executes it, and its innermost
function outside of usf.  A thread that waits is executed by no kernel thread."""

    def __init__(self):
        super().__init__("usf threads", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        with usf_selection_kept():
            threads, record = usf_program_threads()
            own = gdb.solib_name(record.address)
            rows = [("Num", "Id", "Name", "State", "Function")]
            for t in threads:
                t.select()
                rows.append((str(t.number), str(t.tid), t.name, t.state, t.top(own)))
        widths = [max(map(len, column)) for column in zip(*rows)]
        for row in rows:
            gdb.write("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() + "\n")


class UsfBt(gdb.Command):
    """Show the stack of a thread of the program: usf bt [ID | all] [ARGUMENT...]
ID is as in `usf threads`; without one it is the thread that the selected kernel thread executes, or is kept for.  The arguments are
those of `backtrace`.  The frames of a thread that waits begin with number 1."""

    def __init__(self):
        super().__init__("usf bt", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        which, _, arguments = argument.strip().partition(" ")
        with usf_selection_kept() as selected:
            threads, _ = usf_program_threads()
            if which == "all":
                shown = threads
            elif which.isdigit():
                shown = [usf_find(threads, int(which))]
            else:
                arguments, id = argument, selected.ptid[1]
                shown = [t for t in threads if t.executes and t.executes.id == id] or [t for t in threads if not t.executes and t.carrier == id]
                if not shown:
                    raise gdb.GdbError("this kernel thread is kept for no thread: see `usf threads`")
            for t in shown:
                t.select()
                gdb.write("\n%s%s" % (t, t.backtrace(arguments)))


class UsfThread(gdb.Command):
    """Select a thread of the program: usf thread ID
`frame`, `up`, `info locals` and other commands that only read act upon it, until the program goes on or another `usf thread`.
Of a thread that waits, frame 0 is not the thread's.  Do not call functions of the program there."""

    def __init__(self):
        super().__init__("usf thread", gdb.COMMAND_STACK)

    def invoke(self, argument, from_tty):
        if not argument.isdigit():
            raise gdb.GdbError("usage: usf thread ID")
        with usf_selection_kept():
            threads, _ = usf_program_threads()
            thread = usf_find(threads, int(argument))
        thread.select()
        gdb.write(str(thread))
        gdb.execute("frame 0" if thread.executes else "frame 1")


if not hasattr(gdb.PendingFrame, "level"):
    raise gdb.GdbError("usf-gdb.py needs gdb 11 or later")
register_unwinder(None, usf_saved, replace=True)
gdb.events.cont.connect(usf_stop_showing)
gdb.events.exited.connect(usf_stop_showing)
Usf()
UsfThreads()
UsfBt()
UsfThread()
