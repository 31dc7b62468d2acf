// node: workers with Atomics.wait, promises, children, a server and its client.
// SPDX-License-Identifier: Apache-2.0
import { Worker, isMainThread, workerData, parentPort } from 'node:worker_threads';
import { readFile, writeFile, mkdtemp, rm } from 'node:fs/promises';
import { execFile, spawn, fork, execSync } from 'node:child_process';
import { promisify } from 'node:util';
import { createHash, pbkdf2 } from 'node:crypto';
import { gzipSync, gunzipSync } from 'node:zlib';
import http from 'node:http';
import os from 'node:os';

if (!isMainThread) {
  const a = new Int32Array(workerData.shared);
  Atomics.wait(a, 0, 0, 20000);
  for (let i = 0; i < 1000; i++) Atomics.add(a, 1, 1);
  if (Atomics.add(a, 2, 1) === 3) Atomics.notify(a, 2);
  parentPort.postMessage(workerData.me);
} else {
  const shared = new SharedArrayBuffer(64);
  const a = new Int32Array(shared);
  const workers = [0, 1, 2, 3].map(me => new Worker(new URL(import.meta.url), { workerData: { shared, me } }));
  await Promise.all(workers.map(w => new Promise(r => w.once('online', r))));
  Atomics.store(a, 0, 1);
  const messages = workers.map(w => new Promise(r => w.once('message', r)));
  Atomics.notify(a, 0);
  console.log('workers', (await Promise.all(messages)).sort().join(), Atomics.load(a, 1));
  console.log('exits', (await Promise.all(workers.map(w => w.terminate()))).length);

  const dir = await mkdtemp(os.tmpdir() + '/node-');
  await Promise.all([...Array(40).keys()].map(i => writeFile(`${dir}/f${i}`, 'x'.repeat(i))));
  const texts = await Promise.all([...Array(40).keys()].map(i => readFile(`${dir}/f${i}`, 'utf8')));
  await rm(dir, { recursive: true });
  console.log('files', texts.reduce((n, t) => n + t.length, 0));

  const { stdout } = await promisify(execFile)('echo', ['child']);
  console.log(stdout.trim(), execSync('echo sync').toString().trim());
  console.log('code', await new Promise(r => spawn('sh', ['-c', 'exit 5']).on('exit', r)));
  console.log('signal', await new Promise(r => { const c = spawn('sleep', ['100']); c.on('exit', (_, s) => r(s)); setTimeout(() => c.kill(), 50); }));

  const server = http.createServer((q, s) => setTimeout(() => s.end('hello ' + q.url), 5));
  await new Promise(r => server.listen(0, '127.0.0.1', r));
  const base = `http://127.0.0.1:${server.address().port}/`;
  const answers = await Promise.all([...Array(20).keys()].map(i => fetch(base + i).then(r => r.text())));
  server.close();
  server.closeAllConnections();
  console.log('http', answers.length, answers[19]);

  const keys = await Promise.all([1, 2, 3, 4].map(i => promisify(pbkdf2)('p' + i, 's', 2000, 16, 'sha256')));
  console.log('crypto', createHash('md5').update(Buffer.concat(keys)).digest('hex'));
  console.log('zlib', gunzipSync(gzipSync(Buffer.alloc(100000))).length, 'cpus', os.availableParallelism());
  process.exitCode = 3;
}
