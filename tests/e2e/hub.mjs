// Starts a real patchbayd (its path is in the environment, PATCHBAYD) and stops it again. Whatever a test does, its hub
// must end with exit status 0 after SIGTERM. A crash, a sanitizer's report or a leak so fails the very test that caused
// it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import tls from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { scenarioTests } from './parallel.mjs';
import { LINES, Peer, within } from './peer.mjs';
import { upgraded } from './websocket.mjs';

const program = process.env.PATCHBAYD;
if (!program) throw new Error('PATCHBAYD must name the patchbayd to test');

// Options for every hub, so that all tests can be run with them.
const always = (process.env.PATCHBAY_HUB_OPTIONS ?? '').split(' ').filter((word) => word);

// The transports of all scenarios that name none.
const everywhere = (process.env.PATCHBAY_TRANSPORTS ?? 'tcp unix').split(' ');

// The number of forms in which a scenario is played. `each`: all of its numbers of shards by all of its transports.
// `some`: each number with one transport at least, and the other way round. A run with several shards alone
// (PATCHBAY_SHARDS) keeps to those where a scenario has them.
export const thoroughly = (process.env.PATCHBAY_FORMS ?? 'each') === 'each';
const only = Number(process.env.PATCHBAY_SHARDS ?? 0);

// A test that fails may leave its hub; it must not outlive the tests.
const running = new Set();
after(() => running.forEach((one) => one.kill('SIGKILL')));

export class Hub {
  stderr = '';
  peers = [];

  // Starts one with these arguments, and waits for its `listening` lines or its end. `under` is a command that
  // becomes the hub: ['prlimit', '--nofile=40'].
  static async launch(args, environment = {}, under = []) {
    const hub = new Hub();
    const http = args.indexOf('--http') + 1;
    const wanted = (args.filter((arg) => arg === '--listen').length || 2) + (http && args[http] !== 'off' ? 1 : 0);
    const command = [...under, program, ...always, ...args];
    hub.process = spawn(command[0], command.slice(1), {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, ...environment },
    });
    running.add(hub.process);
    hub.exit = new Promise((resolve, reject) => {
      hub.process.on('error', reject);
      hub.process.on('close', (code, signal) => {
        running.delete(hub.process);
        resolve({ code, signal });
      });
    });
    const up = new Promise((resolve) => {
      hub.process.stderr.setEncoding('utf8').on('data', (text) => {
        hub.stderr += text;
        hub.uris = [...hub.stderr.matchAll(/^listening (\S+)\n/gm)].map((line) => line[1]);
        if (hub.uris.length >= wanted) resolve();
      });
    });
    await within(Promise.race([up, hub.exit]), `patchbayd ${args.join(' ')} to listen`).catch((error) => {
      hub.process.kill('SIGKILL');
      throw new Error(`${error.message}; it said: ${hub.stderr}`);
    });
    return hub;
  }

  // Starts a hub on a TCP port of the system's choice and on a Unix socket in a directory of its own. The scenario's
  // transport may add listeners: one of each kind for lines, a port for HTTP and WebSocket, a port for TLS (tls,
  // tls-lines, https).
  static async start(options = [], transport = 'tcp', under = []) {
    const directory = mkdtempSync(join(tmpdir(), 'patchbay-e2e-'));
    const uris = ['tcp://127.0.0.1:0', `unix://${directory}/hub.sock`];
    if (transport.endsWith('-lines')) uris.push('tcp-lines://127.0.0.1:0', `unix-lines://${directory}/lines.sock`);
    const secure = transport.startsWith('tls') || transport === 'https';
    const { serving } = secure ? await import('./certificates.mjs') : { serving: [] };
    if (transport.startsWith('tls')) uris.push(`${transport}://127.0.0.1:0`);
    const web = { http: ['--http', '127.0.0.1:0'], websocket: ['--http', '127.0.0.1:0'], https: ['--http', 'https://127.0.0.1:0'] }[transport] ?? [];
    const hub = await Hub.launch([...uris.flatMap((uri) => ['--listen', uri]), ...web, ...serving, ...options], {}, under);
    hub.directory = directory;
    hub.transport = transport;
    const more = options.filter((option) => option === '--listen').length;
    if (hub.uris?.length !== uris.length + more + (web.length > 0 || options.includes('--http') ? 1 : 0)) {
      hub.clean();
      assert.fail(`patchbayd ${options.join(' ')} did not start: ${hub.stderr}`);
    }
    return hub;
  }

  // Over WebSocket (`ws`) the hub has another port, and is asked for it by --http.
  uri(transport = this.transport) {
    if (transport === 'ws') return this.uri('http').replace('http:', 'ws:');
    return this.uris.find((uri) => uri.startsWith(`${transport}:`));
  }

  // A new connection over the scenario's transport; where that is HTTP, on which no peer stays, or the client's own
  // WebSocket, over TCP.
  async peer(transport = ['http', 'https', 'ws'].includes(this.transport) ? 'tcp' : this.transport) {
    const peer = transport === 'websocket' ? await upgraded(this.uri('http')) : await dial(this.uri(transport));
    this.peers.push(peer);
    return peer;
  }

  // A new connection that has registered one agent.
  async agent(agentId, capabilities = {}, more = {}) {
    return (await this.peer()).register(agentId, capabilities, more);
  }

  async ended() {
    const { code, signal } = await within(this.exit, 'patchbayd to end').catch((error) => {
      this.process.kill('SIGKILL');
      throw new Error(`${error.message}; it said: ${this.stderr}`);
    });
    assert.deepEqual({ code, signal }, { code: 0, signal: null }, `the hub's end; it said:\n${this.stderr}`);
    assert.doesNotMatch(this.stderr, /Sanitizer|runtime error|Assertion/, this.stderr);
  }

  // A frame that isn't in canonical form fails the test also where nobody waited for it.
  async stop() {
    for (const peer of this.peers) peer.drop();
    this.process.kill('SIGTERM');
    try {
      await this.ended();
      for (const { fault } of this.peers) assert.ifError(fault);
    } finally {
      this.clean();
    }
  }

  clean() {
    if (this.directory) rmSync(this.directory, { recursive: true, force: true });
  }
}

// `from`: the address of this end, where it isn't the usual one.
export async function dial(uri, from) {
  const where = uri.startsWith('unix')
    ? { path: uri.slice(uri.indexOf('://') + '://'.length) }
    : { host: new URL(uri).hostname.replace(/^\[|\]$/g, ''), port: Number(new URL(uri).port), localAddress: from };
  const secure = uri.startsWith('tls');
  const socket = secure
    ? tls.connect({ ...where, ca: (await import('./certificates.mjs')).trusted, allowHalfOpen: true })
    : net.connect({ ...where, allowHalfOpen: true });
  await within(
    new Promise((resolve, reject) => socket.once(secure ? 'secureConnect' : 'connect', resolve).once('error', reject)),
    `a connection to ${uri}`,
  );
  return new Peer(socket, uri.includes('-lines://') ? LINES : undefined);
}

// [number of shards, transport], of those that a scenario lists.
function forms(shards, transports) {
  const counts = shards.includes(only) ? [only] : shards;
  if (thoroughly) return counts.flatMap((count) => transports.map((transport) => [count, transport]));
  const several = Array.from({ length: Math.max(counts.length, transports.length) });
  return several.map((_, at) => [counts[at % counts.length], transports[at % transports.length]]);
}

// Defines a test for each form of the scenario. `run` gets a fresh hub, and the hub must end well afterwards.
export function scenario(name, how, run) {
  const { shards = [1], transports = everywhere, options = [], under = [] } = how;
  scenarioTests(name, forms(shards, transports).map(([count, transport]) => [`${name} (${transport}, --shards ${count})`, async () => {
    const hub = await Hub.start([...options, '--shards', String(count)], transport, under);
    const failures = [];
    await Promise.resolve(run(hub)).catch((error) => failures.push(error));
    await hub.stop().catch((error) => failures.push(error));
    if (failures.length === 1) throw failures[0];
    if (failures.length > 1) throw new AggregateError(failures, failures.map((one) => one.stack).join('\n'));
  }]));
}
