// How each server of a comparison is started and stopped. It listens on loopback at a port or socket of its own, writes
// nothing to disk, and is pinned to a core. Success: start() resolves when the server accepts connections. Failure: a
// server that ends or says nothing in time rejects, with what it wrote to standard error.
import { execFile, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { peerProgram } from './peers.mjs';

const START_MS = 10000;
const STOP_MS = 10000;
const RELAY_WRAP_BYTES = 24; // bench/load/load_relay.h

// However the suite ends, no server outlives it, and none of its files.
const running = new Map(); // to its directory
process.once('exit', () => running.forEach((directory, child) => {
  child.kill('SIGKILL');
  if (directory) rmSync(directory, { recursive: true, force: true });
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

// nginx with one process, no log, and files of its own; the command.
function nginx(directory, modules, http) {
  writeFileSync(join(directory, 'nginx.conf'), `${modules}
  daemon off; master_process off; error_log stderr error; pid nginx.pid;
  events { worker_connections 20000; }
  http {
    access_log off;
    client_body_temp_path .; proxy_temp_path .; fastcgi_temp_path .; uwsgi_temp_path .; scgi_temp_path .;
    ${http}
  }`);
  return [peerProgram('nginx'), '-p', `${directory}/`, '-c', 'nginx.conf'];
}

// The server's channels keep all that can be on the way, in memory.
async function nchan({ directory }, peer) {
  const port = await freePort();
  return {
    command: nginx(directory, 'load_module /usr/lib/nginx/modules/ngx_nchan_module.so;', `nchan_shared_memory_size 256M;
      server {
        listen 127.0.0.1:${port};
        location = /pub { nchan_publisher websocket; nchan_channel_id $arg_id; nchan_message_buffer_length 300; nchan_message_timeout 60s; }
        location = /sub { nchan_subscriber websocket eventsource; nchan_channel_id $arg_id; nchan_subscriber_first_message newest; }
      }`),
    at: { port },
    load: () => ['bench', '--peer', `${peer}=127.0.0.1:${port}`],
  };
}

// A certificate for loopback, signed by itself: where it and its key are.
function certificate(directory) {
  const [pem, key] = [join(directory, 'server.pem'), join(directory, 'server.key')];
  const { status, stderr } = spawnSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', key,
    '-out', pem, '-subj', '/CN=bench', '-days', '2', '-addext', 'subjectAltName=IP:127.0.0.1'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`openssl made no certificate: ${stderr}`);
  return { pem, key, trusting: ['--tls-ca', pem] };
}

// A users file with rights of every kind and limits that nobody reaches, as an option of the hub; and the token of its
// user, as an option of the client.
function users(build, directory) {
  const [file, secret] = [join(directory, 'users.ini'), join(directory, 'token')];
  const { status, stdout, stderr } = spawnSync(join(build, 'tools/patchbay'), ['token', 'new'], { encoding: 'utf8' });
  if (status !== 0) throw new Error(`no token was made: ${stderr}`);
  const [token, digest] = stdout.trim().split('\n');
  writeFileSync(secret, token, { mode: 0o600 });
  writeFileSync(file, `[role agents]
register = *
offer = @*, tool:*, method:*
call = review-*, @testing, tool:lint, *
deny-call = production-*, tool:deploy, method:admin/*
publish = *
subscribe = *

[user bench]
${digest}
roles = agents
admin = yes
rate = 10000000/s
bytes = 100G/s
pending = 1000000
`, { mode: 0o600 });
  return { judging: ['--users', file], known: ['--token-file', secret] };
}

// Starts a program that a server needs beside it, on this core, and waits for what it says that matches: {child, found}.
async function besides(cpu, command, pattern) {
  const child = spawn('taskset', ['-c', String(cpu), ...command], { stdio: ['ignore', 'ignore', 'pipe'] });
  running.set(child, undefined);
  child.once('exit', () => running.delete(child));
  let text = '';
  const found = await new Promise((resolve) => {
    child.stderr.on('data', (bytes) => {
      text = (text + bytes).slice(-4096);
      const match = pattern.exec(text);
      if (match) resolve(match[1]);
    });
    child.once('error', () => resolve()).once('exit', () => resolve());
  });
  if (!found) throw new Error(`${command[0]} did not start: ${text}`);
  return { child, found };
}

// A proxy before a server that answers all requests itself, on the load's core as the hub's targets are: its time isn't
// the proxy's. `commandOf` is told where the proxy listens, and the server behind it.
async function proxy({ build, body, loadCpu }, commandOf) {
  const { child, found } = await besides(loadCpu, [join(build, 'bench/bench_backend'), 'tcp://127.0.0.1:0', String(body)], /^listening tcp:(\S+)$/m);
  const port = await freePort();
  return {
    command: commandOf(port, new URL(`http:${found}`).port),
    at: { port },
    behind: [child],
    load: () => ['bench', '--peer', `rpc=127.0.0.1:${port}`],
  };
}

// Resolves once the hub says that it has a link: asked by the client of that build, since an older hub may be built alone.
async function linked(build, uri) {
  for (const until = Date.now() + START_MS; Date.now() < until;) {
    const counters = await new Promise((resolve) => execFile(join(build, 'tools/patchbay'), ['--hub', uri, 'stats'], (error, out) => resolve(out)));
    if (/^cluster_link 1$/m.test(counters)) return;
    await new Promise((resolve) => setTimeout(resolve, 20)); // nothing tells when it will
  }
  throw new Error(`${uri} has no link to the other hub's server`);
}

// A server of NATS, on the load's core, and a second hub, on the core of the first, since both hubs are measured. The
// load's sources are at the other hub, its targets at this one.
async function cluster({ build, loadBuild = build, cpus, loadCpu, options = ['--shards', '1'] }) {
  const broker = await besides(loadCpu, [peerProgram('nats'), '-a', '127.0.0.1', '-p', '-1'], /Listening for client connections on (\S+)[^]*Server is ready/);
  const joining = ['--nats', `nats://${broker.found}`, '--cluster', 'bench'];
  const other = await besides(cpus, [join(build, 'router/patchbayd'), '--listen', 'tcp://127.0.0.1:0', '--http', 'off', ...options, ...joining],
    /^listening (tcp:\S+)$/m).catch((error) => {
    broker.child.kill('SIGKILL');
    throw error;
  });
  return {
    joining,
    sources: other.found,
    behind: [broker.child, other.child],
    beside: [other.child.pid],
    ready: ([own]) => Promise.all([own, other.found].map((uri) => linked(loadBuild, uri))),
  };
}

// A server of MCP behind the hub, as a section of the configuration; and behind a gateway that npm brings, which needs a
// newer Node than Debian's.
const mcpFile = (name) => fileURLToPath(new URL(`../mcp/${name}`, import.meta.url));
const MCP_SERVER = ['python3', '-S', '-E', mcpFile('server.py')];
function mcpSection(directory) {
  const file = join(directory, 'hub.conf');
  writeFileSync(file, `[child echo]\nprotocol = mcp\ncommand = ${MCP_SERVER.join(' ')}\n`);
  return file;
}
async function gateway(commandOf) {
  const port = await freePort();
  return {
    command: [mcpFile(`node_modules/node-linux-${process.arch}/bin/node`), ...commandOf(port)],
    at: { port },
    load: () => [`http://127.0.0.1:${port}/mcp`],
  };
}

// Each kind says how it is run: the program with its arguments, where it will listen, and what the load is told.
// `tells`: how many lines `listening URI` it prints itself. `behind`: processes that end with it; `beside`: those of them whose costs
// are the server's, too. `ready(uris)`: what else must be before the load.
const kinds = {
  hub: async (settings) => {
    const { build, directory, unix, framing = '', tls, web, sources, rights, mcp, options = ['--shards', '1'] } = settings;
    const { joining = [], sources: elsewhere, ...joined } = settings.joined ? await cluster(settings) : {};
    const { pem, key, trusting } = tls ? certificate(directory) : { trusting: [] };
    const sharing = mcp ? ['--config', mcpSection(directory)] : [];
    const { judging, known } = rights ? users(build, directory) : { judging: [], known: [] };
    return {
      command: [join(build, 'router/patchbayd'), '--listen',
        unix ? `unix${framing}://${directory}/hub` : `${tls ? 'tls' : 'tcp'}${framing}://127.0.0.1:0`, '--http', '127.0.0.1:0',
        ...(tls ? ['--tls-certificate', pem, '--tls-key', key] : []), ...judging, ...sharing, ...options, ...joining],
      ...joined,
      tells: 2,
      load: ([own, http]) => {
        if (mcp) return [mcp === 'frames' ? `${own.replace(/\/$/, '')}/echo` : `${http.replace(/\/$/, '')}/mcp/echo`];
        const at = (scheme) => (scheme === 'tcp' ? own : http.replace('http', scheme));
        return [...trusting, ...known, '--hub', at(web ?? 'tcp'), 'bench', ...(sources ? ['--sources', at(sources)] : []),
          ...(elsewhere ? ['--sources', elsewhere] : [])];
      },
    };
  },
  'mcp-proxy': () => gateway((port) => [mcpFile('node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs'), '--server', 'stream', '--host', '127.0.0.1', '--port', String(port), '--', ...MCP_SERVER]),
  supergateway: () => gateway((port) => [mcpFile('node_modules/supergateway/dist/index.js'), '--stdio', MCP_SERVER.join(' '), '--outputTransport', 'streamableHttp', '--stateful', '--port', String(port), '--logLevel', 'none']),
  relay: async ({ build, directory, unix, body, options = [] }) => ({
    command: [join(build, 'bench/bench_relay'), unix ? `unix://${directory}/relay` : 'tcp://127.0.0.1:0',
      String(body + RELAY_WRAP_BYTES), ...options],
    tells: 1,
    load: ([uri]) => ['bench', '--peer', `relay=${uri}`],
  }),
  nats: async ({ directory, tls }) => {
    const port = await freePort();
    const file = join(directory, 'nats.conf');
    const { pem, key, trusting } = tls ? certificate(directory) : { trusting: [] };
    writeFileSync(file, `listen: 127.0.0.1:${port}\nmax_payload: 8MB\nmax_connections: 100000\n`
      + (tls ? `tls { cert_file: "${pem}", key_file: "${key}", timeout: 10 }\n` : ''));
    return {
      command: [peerProgram('nats'), '-c', file],
      at: { port },
      load: () => [...trusting, 'bench', '--plain-inbox', '--peer', `nats=${tls ? 'tls://' : ''}127.0.0.1:${port}`],
    };
  },
  // NATS over WebSocket, as a browser would speak it.
  'nats-websocket': async ({ directory }) => {
    const [port, web] = [await freePort(), await freePort()];
    const file = join(directory, 'nats.conf');
    writeFileSync(file, `listen: 127.0.0.1:${port}\nmax_payload: 8MB\nmax_connections: 100000\n`
      + `websocket { listen: "127.0.0.1:${web}", no_tls: true }\n`);
    return {
      command: [peerProgram('nats'), '-c', file],
      at: { port: web },
      load: () => ['bench', '--plain-inbox', '--peer', `nats-websocket=127.0.0.1:${web}`],
    };
  },
  nchan: (settings) => nchan(settings, 'nchan'),
  'nchan-sse': (settings) => nchan(settings, 'nchan-sse'),
  nginx: (settings) => proxy(settings, (port, backend) => nginx(settings.directory, '', `upstream backend { server 127.0.0.1:${backend}; keepalive 64; }
    server { listen 127.0.0.1:${port}; keepalive_requests 1000000000; keepalive_timeout 1h;
      location / { proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection ""; } }`)),
  haproxy: (settings) => proxy(settings, (port, backend) => {
    const file = join(settings.directory, 'haproxy.cfg');
    writeFileSync(file, `global
  nbthread 1
  maxconn 1000
defaults
  mode http
  timeout connect 1m
  timeout client 1h
  timeout server 1h
  timeout http-request 1h
  timeout http-keep-alive 1h
  http-reuse always
frontend front
  bind 127.0.0.1:${port}
  default_backend back
backend back
  server one 127.0.0.1:${backend}
`);
    return [peerProgram('haproxy'), '-db', '-f', file];
  }),
  redis: async ({ directory, unix }) => {
    const at = unix ? { path: join(directory, 'redis') } : { port: await freePort() };
    return {
      command: [peerProgram('redis'), '--bind', '127.0.0.1', '--port', String(at.port ?? 0),
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
    return { command: [peerProgram('mosquitto'), '-c', file], at: { port }, load: () => ['bench', '--peer', `mqtt=127.0.0.1:${port}`] };
  },
};

// Waits for so many lines `listening URI` on standard error: the URIs.
function told(child, seen, count) {
  return new Promise((resolve) => {
    child.stderr.on('data', () => {
      const lines = [...seen.text.matchAll(/^listening (\S+)$/gm)];
      if (lines.length >= count) resolve(lines.map(([, uri]) => uri));
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

// Starts a server: {pids, load, stop()}. `load` are the arguments of `patchbay` that point it there.
export async function start(kind, settings) {
  const directory = mkdtempSync(join(tmpdir(), 'patchbay-bench-'));
  const plan = await kinds[kind]({ ...settings, directory });
  const child = spawn('taskset', ['-c', settings.cpus, ...plan.command], { stdio: ['ignore', 'ignore', 'pipe'], cwd: directory });
  running.set(child, directory);
  child.once('exit', () => plan.behind?.forEach((one) => one.kill('SIGKILL')));
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
  const ready = plan.tells ? told(child, seen, plan.tells) : accepts(child, plan.at).then(() => 'ready');
  const uri = await Promise.race([ready, over.then(() => 'ended'), late]);
  clearTimeout(timer);
  if (uri === 'ended' || uri === 'late' || child.exitCode !== null) {
    await (child.exitCode === null ? stop() : over);
    throw new Error(`${kind} did not start: ${seen.text.trim() || plan.command.join(' ')}`);
  }
  try {
    await plan.ready?.(uri);
  } catch (error) {
    await stop();
    throw error;
  }
  return { pids: [child.pid, ...(plan.beside ?? [])], load: plan.load(uri), stop };
}
