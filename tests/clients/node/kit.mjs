// Shared by the tests of @patchbay/client: clients that are closed, hubs that come back on their port, and a played hub
// for messages that the real one rarely sends.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { after } from 'node:test';
import { connect } from '../../../tools/clients/node/index.js';
import { Hub } from '../../e2e/hub.mjs';
import { Peer, within } from '../../e2e/peer.mjs';

export * from '../../../tools/clients/node/index.js';
export { Hub } from '../../e2e/hub.mjs';
export { within } from '../../e2e/peer.mjs';

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Waits until `holds` resolves with something true, and returns that.
export async function until(what, holds, ms = 20_000) {
  for (const end = Date.now() + ms; ;) {
    const value = await holds();
    if (value) return value;
    assert.ok(Date.now() < end, `it never came that ${what}`);
    await pause(5);
  }
}

// The error that the promise rejects with.
export async function failure(promise, what = 'the call') {
  let result;
  try {
    result = await within(promise, `${what} to end`);
  } catch (error) {
    return error;
  }
  assert.fail(`${what} ended with ${JSON.stringify(result)}`);
}

export async function assertFails(promise, code, what) {
  const error = await failure(promise, what);
  assert.equal(error.code, code, error.stack);
  return error;
}

// A gate that handlers wait at.
export function gate() {
  let open;
  const passed = new Promise((resolve) => { open = resolve; });
  return { open, passed };
}

const clients = new Set();
after(() => Promise.all([...clients].map((one) => one.close())));

// A client that is closed at the end of the tests at the latest.
export async function client(uri, options = {}) {
  const one = await within(connect(uri, { onError: () => {}, ...options }), `a connection to ${uri}`);
  clients.add(one);
  return one;
}

export async function close(...all) {
  for (const one of all) clients.delete(one);
  await within(Promise.all(all.map((one) => one.close())), 'the clients to close');
}

// A client that is an agent.
export async function agent(uri, agentId, how = {}, options = {}) {
  const one = await client(uri, options);
  await one.register(agentId, how);
  return one;
}

// The states that a client tells, in order.
export function statesOf(one) {
  const states = [];
  one.onState((state) => states.push(state));
  return states;
}

// --- A real hub, which may be killed and comes back at the same port

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

export class LastingHub {
  static async start(options = []) {
    const hub = new LastingHub();
    hub.uri = `tcp://127.0.0.1:${await freePort()}`;
    hub.options = options;
    await hub.restart();
    return hub;
  }

  async restart() {
    this.hub = await Hub.launch(['--listen', this.uri, '--shards', '2', ...this.options]);
    assert.ok(this.hub.uris.length > 0, this.hub.stderr);
  }

  async kill() {
    this.hub.process.kill('SIGKILL');
    await this.hub.exit;
  }

  signal(name) {
    this.hub.process.kill(name);
  }

  // Ends it in good order.
  async stop() {
    this.hub.process.kill('SIGTERM');
    await this.hub.ended();
  }
}

// --- A hub of the test's own

// `answer(message, peer)` is called for each message of a client; what it returns, unless undefined, is the result.
export class PlayedHub {
  connections = [];
  messages = []; // of all connections, in order

  static async start(answer = () => ({})) {
    const hub = new PlayedHub();
    hub.answer = answer;
    hub.server = net.createServer((socket) => hub.#accept(socket)).listen(0, '127.0.0.1');
    await once(hub.server, 'listening');
    hub.port = hub.server.address().port;
    hub.uri = `tcp://127.0.0.1:${hub.port}`;
    return hub;
  }

  #accept(socket) {
    const peer = new Peer(socket);
    peer.came = performance.now();
    this.connections.push(peer);
    peer.find = () => { throw new Error('a played hub takes messages as they come'); };
    peer.frames.push = (frame) => {
      const message = frame.json;
      this.messages.push({ ...message, fields: frame.fields });
      const result = this.answer(message, peer);
      if (result !== undefined && message.id !== undefined && message.method !== undefined) peer.reply(message.id, result);
      return 0;
    };
  }

  get peer() {
    return this.connections.at(-1);
  }

  // The first message with this method that has come, or comes.
  heard(method) {
    return until(`the client says ${method}`, () => this.messages.find((one) => one.method === method));
  }

  async stop() {
    for (const { socket } of this.connections) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }
}

// Runs a test with what must be stopped, and stops that.
export async function having(thing, run) {
  const it = await thing;
  try {
    await run(it);
  } finally {
    await it.stop();
  }
}
