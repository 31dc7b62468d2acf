# tests/survey/programs/memcached_load.py - threads of a client set and get.  SPDX-License-Identifier: Apache-2.0
import socket
import sys
import threading

right = []


def client(who):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    f = s.makefile("rb")
    n = 0
    for i in range(1500):
        value = b"%d-%d" % (who, i)
        s.sendall(b"set k%d-%d 0 0 %d\r\n%s\r\nget k%d-%d\r\n" % (who, i, len(value), value, who, i))
        n += [f.readline() for _ in range(4)][2].strip() == value
    right.append(n)


threads = [threading.Thread(target=client, args=(i,)) for i in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(right)
