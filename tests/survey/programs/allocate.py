# tests/survey/programs/allocate.py - threads that allocate and free.  SPDX-License-Identifier: Apache-2.0
import threading
import zlib

sums = []


def work(k):
    kept, total = [], 0
    for i in range(4000):
        kept.append(bytes([k]) * (i * 37 % 5000))
        if len(kept) > 200:
            total = zlib.crc32(b"".join(kept[::2]), total)
            del kept[::2]
    sums.append(total)


threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(sorted(sums))
