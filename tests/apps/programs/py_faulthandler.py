# faulthandler: tracebacks of all threads, by time, by signal, at a crash.  SPDX-License-Identifier: Apache-2.0
import faulthandler
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

stop = threading.Event()
threads = [threading.Thread(target=stop.wait, name=f't{i}') for i in range(3)]
for t in threads:
    t.start()
with tempfile.TemporaryFile('w+') as f:
    faulthandler.dump_traceback(f)
    faulthandler.dump_traceback_later(0.05, file=f)
    text, end = '', time.monotonic() + 20
    while text.count('most recent call first') < 8 and time.monotonic() < end:
        time.sleep(0.01)
        text = os.pread(f.fileno(), 1 << 20, 0).decode()        # it writes where the descriptor is
print('tracebacks', text.count('most recent call first'), text.count('Timeout'))
stop.set()
for t in threads:
    t.join()
for crash in ('_sigsegv', '_sigabrt', '_sigfpe', '_stack_overflow', '_fatal_error_c_thread'):
    p = subprocess.run([sys.executable, '-X', 'faulthandler', '-c', f'''
import faulthandler, threading, time, resource
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
threading.Thread(target=time.sleep, args=(100,), daemon=True).start()
faulthandler.{crash}()'''], capture_output=True, text=True)
    print(crash, p.returncode, re.findall('Fatal Python error: (.*)', p.stderr))
