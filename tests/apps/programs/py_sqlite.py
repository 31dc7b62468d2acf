# sqlite3 from threads and processes.  SPDX-License-Identifier: Apache-2.0
import os
import sqlite3
import subprocess
import sys
import threading

path = os.path.join(os.environ.get('TMPDIR', '.'), 'db')
with sqlite3.connect(path) as db:
    db.execute('pragma journal_mode=wal')
    db.execute('create table t(who, n)')


def write(who):
    db = sqlite3.connect(path, timeout=60)
    db.execute('pragma synchronous=off')
    for n in range(10):
        with db:
            db.execute('insert into t values(?, ?)', (who, n))
    db.close()


threads = [threading.Thread(target=write, args=(i,)) for i in range(4)]
for t in threads:
    t.start()
writer = '''import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=60)
for n in range(10):
    with db:
        db.execute('insert into t values(?, ?)', (int(sys.argv[2]), n))'''
children = [subprocess.Popen([sys.executable, '-c', writer, path, str(i)]) for i in (4, 5)]
for t in threads:
    t.join()
print([p.wait() for p in children])
print(sqlite3.connect(path).execute('select who, count(*), sum(n) from t group by who').fetchall())
