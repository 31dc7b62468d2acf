#!/usr/bin/python3
# tests/survey/up.py - wait until a server answers: a port of 127.0.0.1, or a socket's path.  SPDX-License-Identifier: Apache-2.0
import socket
import sys
import time

end = time.monotonic() + 20
while True:
    try:
        if sys.argv[1].isdigit():
            socket.create_connection(("127.0.0.1", int(sys.argv[1]))).close()
        else:
            with socket.socket(socket.AF_UNIX) as s:
                s.connect(sys.argv[1])
        break
    except OSError:
        if time.monotonic() > end:
            sys.exit(f"{sys.argv[1]} does not answer")
        time.sleep(0.005)
