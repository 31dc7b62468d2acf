# tests/survey/programs/sqlite_threads.py - threads write one database.  SPDX-License-Identifier: Apache-2.0
import sqlite3
import threading

with sqlite3.connect("a.db") as db:
    db.execute("create table t (who integer, n integer)")


def work(who):
    c = sqlite3.connect("a.db", timeout=60, isolation_level=None)
    for i in range(20):
        c.execute("begin immediate")
        c.executemany("insert into t values (?, ?)", ((who, i * 50 + k) for k in range(50)))
        c.execute("commit")
    c.close()


threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(sqlite3.connect("a.db").execute("select who, count(*), sum(n) from t group by who order by who").fetchall())
