// Starts a real patchbayd (its path is in the environment, PATCHBAYD) and stops it again. Whatever a test does, its hub
// must end with exit status 0 after SIGTERM: a crash, a sanitizer's report or a leak fails the very test that caused it.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { LINES, Peer, within } from './peer.mjs';

const program = process.env.PATCHBAYD;
if (!program) throw new Error('PATCHBAYD must name the patchbayd to test');

// Options for every hub, so that all tests can be run with them.
const always = (process.env.PATCHBAY_HUB_OPTIONS ?? '').split(' ').filter((word) => word);

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
    const wanted = args.filter((arg) => arg === '--listen').length || 2;
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

  // Starts one on a TCP port of the system's choice and on a Unix socket in a directory of its own; where the scenario's
  // transport speaks lines, also on two such that do.
  static async start(options = [], transport = 'tcp', under = []) {
    const directory = mkdtempSync(join(tmpdir(), 'patchbay-e2e-'));
    const uris = ['tcp://127.0.0.1:0', `unix://${directory}/hub.sock`];
    if (transport.endsWith('-lines')) uris.push('tcp-lines://127.0.0.1:0', `unix-lines://${directory}/lines.sock`);
    const hub = await Hub.launch([...uris.flatMap((uri) => ['--listen', uri]), ...options], {}, under);
    hub.directory = directory;
    hub.transport = transport;
    if (hub.uris?.length !== uris.length) {
      hub.clean();
      assert.fail(`patchbayd ${options.join(' ')} did not start: ${hub.stderr}`);
    }
    return hub;
  }

  uri(transport = this.transport) {
    return this.uris.find((uri) => uri.startsWith(`${transport}:`));
  }

  // A new connection over the scenario's transport.
  async peer(transport = this.transport) {
    const peer = await dial(this.uri(transport));
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

  // What the hub wrote in no canonical form fails the test also where nobody waited for it.
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

export async function dial(uri) {
  const where = uri.startsWith('unix')
    ? { path: uri.slice(uri.indexOf('://') + '://'.length) }
    : { host: new URL(uri).hostname.replace(/^\[|\]$/g, ''), port: Number(new URL(uri).port) };
  const socket = net.connect({ ...where, allowHalfOpen: true });
  await within(
    new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject)),
    `a connection to ${uri}`,
  );
  return new Peer(socket, uri.includes('-lines://') ? LINES : undefined);
}

// One test for each transport and number of shards. `run` gets a fresh hub, and the hub must end well afterwards.
export function scenario(name, how, run) {
  const { shards = [1], transports = ['tcp', 'unix'], options = [], under = [] } = how;
  for (const count of shards) {
    for (const transport of transports) {
      test(`${name} (${transport}, --shards ${count})`, async () => {
        const hub = await Hub.start([...options, '--shards', String(count)], transport, under);
        const failures = [];
        await Promise.resolve(run(hub)).catch((error) => failures.push(error));
        await hub.stop().catch((error) => failures.push(error));
        if (failures.length === 1) throw failures[0];
        if (failures.length > 1) throw new AggregateError(failures, failures.map((one) => one.stack).join('\n'));
      });
    }
  }
}
