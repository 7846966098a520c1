// How each server of a comparison is started and stopped: on loopback, on a port or socket of its own, with nothing
// written to disk, pinned to a core.
// It goes well: start() resolves when the server accepts connections. It fails: a server that ends or says nothing in
// time rejects, with what it wrote to standard error.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const START_MS = 10000;
const STOP_MS = 10000;
const RELAY_WRAP_BYTES = 24; // bench/load/relay.h

// However the suite ends, no server outlives it, and none of its files.
const running = new Map(); // to its directory
process.once('exit', () => running.forEach((directory, child) => {
  child.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
}));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));

// A TCP port that nobody listens on.
function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

function connects(at) {
  return new Promise((resolve) => {
    const socket = createConnection(at.path ? { path: at.path } : { host: '127.0.0.1', port: at.port });
    socket.once('connect', () => (socket.destroy(), resolve(true)));
    socket.once('error', () => resolve(false));
  });
}

// Each kind says how it is run: the program with its arguments, where it will listen, and what the load is told.
// `tells`: it prints `listening URI` itself.
const kinds = {
  hub: async ({ build, directory, unix, options = ['--shards', '1'] }) => ({
    command: [join(build, 'router/patchbayd'), '--listen', unix ? `unix://${directory}/hub` : 'tcp://127.0.0.1:0', ...options],
    tells: true,
    load: (uri) => ['--hub', uri, 'bench'],
  }),
  relay: async ({ build, directory, unix, body, options = [] }) => ({
    command: [join(build, 'bench/bench_relay'), unix ? `unix://${directory}/relay` : 'tcp://127.0.0.1:0',
      String(body + RELAY_WRAP_BYTES), ...options],
    tells: true,
    load: (uri) => ['bench', '--peer', `relay=${uri}`],
  }),
  nats: async ({ directory }) => {
    const port = await freePort();
    const file = join(directory, 'nats.conf');
    writeFileSync(file, `listen: 127.0.0.1:${port}\nmax_payload: 8MB\nmax_connections: 100000\n`);
    return {
      command: ['nats-server', '-c', file],
      at: { port },
      load: () => ['bench', '--plain-inbox', '--peer', `nats=127.0.0.1:${port}`],
    };
  },
  redis: async ({ directory, unix }) => {
    const at = unix ? { path: join(directory, 'redis') } : { port: await freePort() };
    return {
      command: ['redis-server', '--bind', '127.0.0.1', '--port', String(at.port ?? 0),
        ...(unix ? ['--unixsocket', at.path] : []),
        '--save', '', '--appendonly', 'no', '--dir', directory, '--maxclients', '60000'],
      at,
      load: () => ['bench', '--peer', `redis=${unix ? `unix://${at.path}` : `127.0.0.1:${at.port}`}`],
    };
  },
  mosquitto: async ({ directory }) => {
    const port = await freePort();
    const file = join(directory, 'mosquitto.conf');
    // As fast as it goes: no limit on what waits, no waiting for more, no persistence, no log.
    writeFileSync(file, `listener ${port} 127.0.0.1\nallow_anonymous true\npersistence false\nlog_dest none\n` +
      'max_queued_messages 0\nset_tcp_nodelay true\n');
    return { command: ['mosquitto', '-c', file], at: { port }, load: () => ['bench', '--peer', `mqtt=127.0.0.1:${port}`] };
  },
};

// Waits for a line `listening URI` on standard error.
function told(child, seen) {
  return new Promise((resolve) => {
    child.stderr.on('data', () => {
      const line = /^listening (\S+)$/m.exec(seen.text);
      if (line) resolve(line[1]);
    });
  });
}

async function accepts(child, at) {
  while (child.exitCode === null && !(await connects(at))) {
    await new Promise((resolve) => setTimeout(resolve, 10)); // nothing tells when it will
  }
}

function ended(child) {
  return new Promise((resolve) => child.once('exit', resolve));
}

// Starts a server: {pid, load, stop()}. `load` are the arguments of `patchbay` that point it there.
export async function start(kind, settings) {
  const directory = mkdtempSync(join(tmpdir(), 'patchbay-bench-'));
  const plan = await kinds[kind]({ ...settings, directory });
  const child = spawn('taskset', ['-c', settings.cpus, ...plan.command], { stdio: ['ignore', 'ignore', 'pipe'], cwd: directory });
  running.set(child, directory);
  child.once('exit', () => running.delete(child));
  const seen = { text: '' };
  child.stderr.on('data', (bytes) => (seen.text = (seen.text + bytes).slice(-4096)));
  const over = ended(child);
  const stop = async () => {
    child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
    await over;
    clearTimeout(timer);
    rmSync(directory, { recursive: true, force: true });
  };
  let timer;
  const late = new Promise((resolve) => (timer = setTimeout(resolve, START_MS, 'late')));
  const ready = plan.tells ? told(child, seen) : accepts(child, plan.at).then(() => 'ready');
  const uri = await Promise.race([ready, over.then(() => 'ended'), late]);
  clearTimeout(timer);
  if (uri === 'ended' || uri === 'late' || child.exitCode !== null) {
    await (child.exitCode === null ? stop() : over);
    throw new Error(`${kind} did not start: ${seen.text.trim() || plan.command.join(' ')}`);
  }
  return { pid: child.pid, load: plan.load(uri), stop };
}
