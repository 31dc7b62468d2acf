# bench/workloads/served.py - a server that others wrote, and its client.  SPDX-License-Identifier: Apache-2.0
"""Starts the server on the loopback interface with its data in a temporary folder, runs the client that comes with it, and
ends both.  Prints the two lines of workload.h."""
import argparse
import contextlib
import glob
import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

parser = argparse.ArgumentParser()
parser.add_argument("--kind", choices=["redis", "redis-io", "memcached", "postgres", "http", "pipeline"], required=True)
parser.add_argument("--clients", type=int, default=16)
parser.add_argument("--threads", type=int, default=4, help="of redis-io: io-threads of the server, threads of its client")
parser.add_argument("--seconds", type=float, default=2)
parser.add_argument("--requests", type=int, default=0, help="or: until so many are answered (lines, for the pipeline)")
args = parser.parse_args()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def output(*command, **kw):
    p = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kw)
    if p.returncode:
        sys.exit(f"{command[0]} ended with {p.returncode}: {p.stdout[-500:]}")
    return p.stdout


def wait_for(port):
    for _ in range(400):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.025)
    sys.exit("the server does not answer")


@contextlib.contextmanager
def server(*command, **kw):
    p = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **kw)
    try:
        yield p
    finally:
        p.terminate()
        p.wait()


def until_enough(step):
    """step() -> amount, again and again; amount per second."""
    start, amount = time.monotonic(), 0
    while amount < args.requests if args.requests else time.monotonic() < start + args.seconds:
        amount += step()
    return amount / (time.monotonic() - start)


def redis(folder, requests=20000, of_server=(), of_client=()):
    port = free_port()
    with server("redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder, *of_server):
        wait_for(port)

        def step():
            out = output("redis-benchmark", "-p", str(port), "-c", str(args.clients), "-n", str(requests), "-t", "get,set", "-q", *of_client)
            rates = re.findall(r"([\d.]+) requests per second", out)
            if len(rates) != 2:
                sys.exit(f"redis-benchmark said: {out[-500:]}")
            return 2 * requests
        return until_enough(step), "request"


def redis_io(folder):
    """Its threads for input and output, which wait for the main thread, and it for them, by spinning."""
    n = str(args.threads)
    return redis(folder, 10000, ("--io-threads", n, "--io-threads-do-reads", "yes"), ("--threads", n))


def memcached(folder):
    """Its text protocol, by threads of this process."""
    port = free_port()
    with server("memcached", "-l", "127.0.0.1", "-p", str(port), "-t", "4", *(["-u", "nobody"] if os.geteuid() == 0 else [])):
        wait_for(port)
        stop, done = threading.Event(), [0] * args.clients

        def client(i):
            with socket.create_connection(("127.0.0.1", port)) as s:
                s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while not stop.is_set():
                    s.sendall(f"set k{i} 0 0 5\r\nvalue\r\nget k{i}\r\n".encode())
                    got = b""
                    while not got.endswith(b"END\r\n"):
                        got += s.recv(4096)
                    if b"value" not in got:
                        sys.exit(f"memcached said: {got!r}")
                    done[i] += 2
        return threads(client, stop, done), "request"


def threads(client, stop, done):
    ts = [threading.Thread(target=client, args=(i,)) for i in range(args.clients)]
    start = time.monotonic()
    for t in ts:
        t.start()
    if args.requests:
        while sum(done) < args.requests:
            time.sleep(0.005)
    else:
        time.sleep(args.seconds)
    stop.set()
    for t in ts:
        t.join()
    return sum(done) / (time.monotonic() - start)


def http_server(folder):
    """Python's threading web server and clients of another process: this one."""
    port = free_port()
    with open(os.path.join(folder, "page"), "w") as f:
        f.write("x" * 2000)
    with server(sys.executable, "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", folder):
        wait_for(port)
        stop, done = threading.Event(), [0] * args.clients

        def client(i):
            while not stop.is_set():
                c = http.client.HTTPConnection("127.0.0.1", port)
                c.request("GET", "/page")
                if len(c.getresponse().read()) != 2000:
                    sys.exit("a page was cut")
                c.close()
                done[i] += 1
        return threads(client, stop, done), "request"


def postgres(folder):
    """Run as root it needs another user to be, which a cluster refuses to do without: `postgres`."""
    bins = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
    who = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] if os.geteuid() == 0 else []
    if who:
        shutil.chown(folder, "postgres")
    data, port = os.path.join(folder, "data"), str(free_port())
    env = {**os.environ, "PGHOST": folder, "PGPORT": port, "PGUSER": "bench"}
    output(*who, f"{bins}/initdb", "-D", data, "-U", "bench", "-A", "trust", cwd=folder)
    with server(*who, f"{bins}/postgres", "-D", data, "-p", port, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off", cwd=folder) as p:
        for _ in range(400):
            if p.poll() is not None:
                sys.exit("postgres ended at once")
            if not subprocess.run([f"{bins}/pg_isready", "-q"], env=env).returncode:
                break
            time.sleep(0.025)
        output(f"{bins}/pgbench", "-i", "-q", "postgres", env=env)
        length = ["-t", str(-(-args.requests // args.clients))] if args.requests else ["-T", str(max(1, round(args.seconds)))]
        out = output(f"{bins}/pgbench", "-S", "-c", str(args.clients), "-j", "2", *length, "postgres", env=env)
        return float(re.search(r"tps = ([\d.]+)", out).group(1)), "transaction"


def pipeline(folder):
    def step():
        out = output("bash", "-c", "set -o pipefail; seq 200000 | sed 's/1/x/' | tr x y | sort | gzip -1 | gunzip | wc -l")
        if out.strip() != "200000":
            sys.exit(f"the pipeline said: {out}")
        return 200000
    return until_enough(step), "line"


LEAST = {"redis": 40000, "redis-io": 20000, "pipeline": 200000}     # what a run does at least

with tempfile.TemporaryDirectory() as folder:
    os.chmod(folder, 0o711)
    print(f"begin bench={args.kind} work={LEAST.get(args.kind, 1)} unit=op", flush=True)
    start = time.monotonic()
    rate, unit = {"redis": redis, "redis-io": redis_io, "memcached": memcached, "http": http_server, "postgres": postgres, "pipeline": pipeline}[args.kind](folder)
    print(f"result bench={args.kind} rate={rate:.6g} unit={unit}/s seconds={time.monotonic() - start:.6f} ok=1 clients={args.clients}", flush=True)
