# A threaded server with blocking clients; selectors; unix sockets; an HTTP server.  SPDX-License-Identifier: Apache-2.0
import http.server
import selectors
import socket
import socketserver
import threading
import urllib.request


class Echo(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(line[::-1])


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = allow_reuse_address = True


total, lock = 0, threading.Lock()


with Server(('127.0.0.1', 0), Echo) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()

    class Line(threading.Thread):
        def run(self):
            global total
            with socket.create_connection(server.server_address) as s:
                for i in range(30):
                    s.sendall(b'%d\n' % i)
                    got = b''
                    while len(got) < len(b'%d\n' % i):
                        got += s.recv(10)
                    with lock:
                        total += got == (b'%d\n' % i)[::-1]
    threads = [Line() for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    server.shutdown()
print('echo', total)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.path.encode())

    def log_message(self, *a):
        pass


with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Quiet) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    answers = []
    base = f'http://127.0.0.1:{server.server_address[1]}'
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    threads = [threading.Thread(target=lambda i=i: answers.append(opener.open(f'{base}/{i}').read())) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    server.shutdown()
print('http', sorted(answers))
a, b = socket.socketpair()
selector = selectors.DefaultSelector()
selector.register(a, selectors.EVENT_READ)
print('not ready', selector.select(0.05))
threading.Timer(0.05, b.send, (b'x',)).start()
print('ready', len(selector.select(20)), a.recv(1))
a.settimeout(0.05)
try:
    a.recv(1)
except TimeoutError:
    print('timeout')
