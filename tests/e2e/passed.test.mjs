// Sockets that a service manager passes (LISTEN_FDS): what is spoken there, that they outlast the hub, and that a restart refuses and
// resets nobody.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { frame, within } from './peer.mjs';

const MANAGER = join(dirname(fileURLToPath(import.meta.url)), 'passed.py');
const PING = '{"jsonrpc":"2.0","id":1,"method":"hub/stats"}';

// What a failed test has left running is ended.
const managers = new Set();
after(() => managers.forEach((manager) => manager.process.kill('SIGTERM')));

// A manager with its hub: `places` are the ports and paths that it has bound.
class Manager {
  stderr = '';
  stdout = '';

  constructor(addresses, names, options = [], environment = {}) {
    this.process = spawn('python3', [MANAGER, addresses.join(','), names.join(':'), process.env.PATCHBAYD, ...options], { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...environment } });
    this.process.stderr.setEncoding('utf8').on('data', (text) => { this.stderr += text; });
    this.process.stdout.setEncoding('utf8').on('data', (text) => { this.stdout += text; });
    this.exit = new Promise((resolve) => { this.process.on('close', (code) => resolve(code)); });
    managers.add(this);
    this.exit.then(() => managers.delete(this));
  }

  get places() {
    return this.stdout.trim().split('\n');
  }

  listening() {
    return [...this.stderr.matchAll(/^listening (\S+)$/gm)].map(([, uri]) => uri);
  }

  async until(condition, what) {
    await within((async () => {
      while (!condition()) await new Promise((resolve) => { setTimeout(resolve, 5); });
    })(), `${what}: ${this.stderr}`);
  }

  async stop() {
    this.process.kill('SIGTERM');
    assert.equal(await within(this.exit, 'the end'), 0, this.stderr);
  }
}

// Connects, asks, and resolves to the pid of the hub that answered, 0 if it was one that drains; rejects without an answer.
function ask(where, bytes = frame(PING)) {
  return within(new Promise((resolve, reject) => {
    const socket = net.connect(where);
    let text = '';
    socket.on('connect', () => socket.write(bytes));
    socket.setEncoding('utf8').on('data', (part) => {
      text += part;
      const pid = /"pid":(\d+)/.exec(text)?.[1];
      if (!pid && !text.includes('"error"')) return;
      socket.destroy();
      resolve(Number(pid ?? 0));
    });
    socket.on('error', reject);
    socket.on('close', () => reject(new Error(`closed without an answer: ${text}`)));
  }), 'an answer');
}

const at = (port) => ({ host: '127.0.0.1', port: Number(port) });

function inFolder(run) {
  return async () => {
    const folder = mkdtempSync(join(tmpdir(), 'patchbay-passed-'));
    try {
      await run(folder);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
}

test('they stand for the defaults, and speak what their names say, else frames', inFolder(async (folder) => {
  const manager = new Manager(['127.0.0.1:0', '127.0.0.1:0', '127.0.0.1:0', `${folder}/hub.sock`], ['tcp-lines', 'http', 'hub.socket', 'tcp']);
  await manager.until(() => manager.listening().length === 4, 'the hub to listen');
  const [lines, http, other] = manager.places;
  assert.deepEqual(manager.listening().sort(), [`http://127.0.0.1:${http}`, `tcp-lines://127.0.0.1:${lines}`, `tcp://127.0.0.1:${other}`, `unix://${folder}/hub.sock`].sort());
  assert.ok(await ask(at(lines), `${PING}\n`) > 0);
  assert.ok(await ask(at(other)) > 0);
  assert.ok(await ask({ path: `${folder}/hub.sock` }) > 0);
  assert.equal((await fetch(`http://127.0.0.1:${http}/readyz`)).status, 200);
  await manager.stop();
  assert.ok(existsSync(`${folder}/hub.sock`), 'the file is the manager\'s');
}));

test('what is configured for an address counts, and others that are named are opened too', async () => {
  const spare = net.createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => { spare.on('listening', resolve); });
  const { port } = spare.address();
  await new Promise((resolve) => { spare.close(resolve); });
  const manager = new Manager([`127.0.0.1:${port}`, '127.0.0.1:0'], ['http', 'x'], ['--listen', `tcp-lines://127.0.0.1:${port}`, '--listen', 'tcp://127.0.0.1:0']);
  await manager.until(() => manager.listening().length === 3, 'the hub to listen');
  assert.equal(manager.listening()[0], `tcp-lines://127.0.0.1:${port}`);
  assert.ok(await ask(at(port), `${PING}\n`) > 0);
  assert.ok(manager.listening().includes(`tcp://127.0.0.1:${manager.places[1]}`));
  await manager.stop();
});

for (const io of ['uring', 'epoll']) {
  test(`a restart refuses and resets nobody (--io ${io})`, inFolder(async (folder) => {
    const manager = new Manager(['127.0.0.1:0', `${folder}/hub.sock`, '127.0.0.1:0'], ['tcp', 'tcp', 'http'], ['--io', io, '--shards', '2', '--drain-timeout', '10s']);
    await manager.until(() => manager.listening().length === 3, 'the hub to listen');
    const [port, path, http] = manager.places;
    const pids = new Map();
    let going = true;
    const lane = async (one) => {
      while (going) {
        const pid = await one();
        pids.set(pid, (pids.get(pid) ?? 0) + 1);
      }
    };
    const stats = async () => {
      const answer = await fetch(`http://127.0.0.1:${http}/rpc`, { method: 'POST', headers: { 'Content-Type': 'application/json', Connection: 'close' }, body: PING });
      return (await answer.json()).result?.pid ?? 0;
    };
    const storm = Promise.all([...Array(6).fill(() => ask(at(port))), ...Array(3).fill(() => ask({ path })), ...Array(2).fill(stats)].map(lane))
      .catch((error) => ({ error }));
    const answered = () => [...pids.keys()].filter((pid) => pid > 0).length;
    let failed = null;
    storm.then((result) => { failed = result.error; });
    for (let round = 1; round <= 5; round++) {
      await manager.until(() => failed || answered() >= round, `hub ${round} to answer`);
      manager.process.kill('SIGUSR1');
      await manager.until(() => manager.listening().length === 3 * (round + 1), `hub ${round + 1} to listen`);
    }
    going = false;
    const result = await storm;
    assert.ok(!result.error, String(result.error?.stack));
    assert.ok(answered() >= 5, 'each hub answered');
    await manager.stop();
  }));
}

test('no child has them, and the environment tells it nothing', inFolder(async (folder) => {
  writeFileSync(join(folder, 'hub.ini'), `[child a]\ncommand = sh -c 'env >${folder}/env; ls -l /proc/self/fd >${folder}/fds; exec cat'\npass = PATH LISTEN_PID LISTEN_FDS LISTEN_FDNAMES\n`);
  const manager = new Manager(['127.0.0.1:0'], ['tcp'], ['--config', join(folder, 'hub.ini')]);
  await manager.until(() => existsSync(join(folder, 'fds')) && readFileSync(join(folder, 'fds'), 'utf8').includes('2 ->'), 'the child to start');
  assert.doesNotMatch(readFileSync(join(folder, 'env'), 'utf8'), /LISTEN_/);
  const hub = readdirSync('/proc').find((pid) => /^\d+$/.test(pid) && existsSync(`/proc/${pid}/fd/3`) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(join(folder, 'hub.ini')));
  const socket = readlinkSync(`/proc/${hub}/fd/3`);
  assert.match(socket, /^socket:/);
  assert.ok(!readFileSync(join(folder, 'fds'), 'utf8').includes(socket));
  await manager.stop();
}));

test('a Unix socket speaks what its name says: HTTP, lines, and of two abstract ones each its own', inFolder(async (folder) => {
  const [web, lines, one, other] = [join(folder, 'web'), join(folder, 'lines'), `@patchbay-${process.pid}-a`, `@patchbay-${process.pid}-b`];
  const manager = new Manager([web, lines, one, other], ['http', 'unix-lines', 'unix-lines', 'unix']);
  await manager.until(() => manager.listening().length === 4, 'to listen');
  assert.deepEqual(manager.listening().sort(), [`http://${web}`, `unix-lines://${lines}`, `unix-lines://${one}`, `unix://${other}`].sort());
  const post = `POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${PING.length}\r\n\r\n${PING}`;
  assert.ok(await ask(web, post) > 0);
  assert.ok(await ask(lines, `${PING}\n`) > 0);
  const say = 'import socket,sys; s=socket.socket(socket.AF_UNIX); s.connect(chr(0)+sys.argv[1][1:]); s.sendall(sys.argv[2].encode()); print(s.recv(4096).decode())';
  for (const [name, bytes] of [[one, `${PING}\n`], [other, frame(PING)]]) assert.match(spawnSync('python3', ['-c', say, name, bytes], { encoding: 'utf8' }).stdout, /"result":/);
  await manager.stop();
}));

for (const [what, addresses, environment, said] of [
  ['a socket that doesn\'t listen', ['datagram'], {}, /LISTEN_FDS: descriptor \d: expected a stream socket that listens/],
  ['a count that is no number', ['127.0.0.1:0'], { LISTEN_FDS: 'two' }, /expected a number/],
  ['a descriptor that isn\'t there', ['127.0.0.1:0'], { LISTEN_FDS: '3' }, /LISTEN_FDS: descriptor \d: expected a stream socket that listens/],
  ['more than there may be', ['127.0.0.1:0'], { LISTEN_FDS: '999999' }, /expected a number from 0 to 16, as/],
]) {
  test(`${what} ends the hub with status 2`, async () => {
    const manager = new Manager(addresses, ['tcp'], [], environment);
    assert.equal(await within(manager.exit, 'the end'), 2, manager.stderr);
    assert.match(manager.stderr, said);
  });
}
