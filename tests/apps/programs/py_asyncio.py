# asyncio: children, a server and clients, executors, locks, timeouts, signals.  SPDX-License-Identifier: Apache-2.0
import asyncio
import concurrent.futures
import os
import signal
import sys
import time


async def child(n):
    p = await asyncio.create_subprocess_exec('sh', '-c', f'cat; exit {n}', stdin=asyncio.subprocess.PIPE,
                                             stdout=asyncio.subprocess.PIPE)
    out, _ = await p.communicate(b'x' * n)
    return len(out), p.returncode


async def serve(reader, writer):
    while line := await reader.readline():
        writer.write(line.upper())
        await writer.drain()
    writer.close()


async def client(port, n):
    reader, writer = await asyncio.open_connection('127.0.0.1', port)
    answers = 0
    for i in range(20):
        writer.write(b'line %d %d\n' % (n, i))
        answers += (await reader.readline()) == b'LINE %d %d\n' % (n, i)
    writer.close()
    await writer.wait_closed()
    return answers


async def main():
    print('children', await asyncio.gather(*(child(n) for n in range(6))))
    server = await asyncio.start_server(serve, '127.0.0.1', 0)
    port = server.sockets[0].getsockname()[1]
    print('server', sum(await asyncio.gather(*(client(port, n) for n in range(10)))))
    server.close()
    await server.wait_closed()
    loop = asyncio.get_running_loop()
    await asyncio.gather(*(asyncio.to_thread(time.sleep, 0.02) for _ in range(10)))
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        print('executor', await loop.run_in_executor(pool, pow, 2, 10))
    lock, order = asyncio.Lock(), []

    async def locked(n):
        async with lock:
            await asyncio.sleep(0.001)
            order.append(n)
    await asyncio.gather(*(locked(n) for n in range(5)))
    print('lock', order)
    try:
        await asyncio.wait_for(asyncio.sleep(100), 0.05)
    except asyncio.TimeoutError:
        print('timeout')
    got = asyncio.Event()
    loop.add_signal_handler(signal.SIGUSR1, got.set)
    os.kill(os.getpid(), signal.SIGUSR1)
    await asyncio.wait_for(got.wait(), 20)
    print('signal')
    p = await asyncio.create_subprocess_exec('sleep', '100')
    p.kill()
    print('killed', await p.wait())
    future = asyncio.run_coroutine_threadsafe(asyncio.sleep(0, 'x'), loop)
    print('threadsafe', await asyncio.wrap_future(future))


asyncio.run(main())
sys.exit(7)
