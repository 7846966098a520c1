// The library by which editors speak the Language Server Protocol, not written by us, talks through the hub to another
// of its kind: requests with colliding ids, notifications, errors, a peer that dies.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import net from 'node:net';
import { scenario } from '../e2e/hub.mjs';
import { within } from '../e2e/peer.mjs';

const rpc = await import('vscode-jsonrpc/node').then((module) => module.default, (error) => {
  throw new Error(`tools/setup test installs what is missing here: ${error.message}`);
});

const EVERYWHERE = { shards: [1, 2] };

// A connection of the library's over the scenario's transport.
async function client(hub) {
  const uri = hub.uri();
  const socket = uri.startsWith('unix://')
    ? net.connect(uri.slice('unix://'.length))
    : net.connect(Number(new URL(uri).port), '127.0.0.1');
  await within(new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject)), uri);
  const connection = rpc.createMessageConnection(new rpc.SocketMessageReader(socket), new rpc.SocketMessageWriter(socket));
  connection.onError(() => {});
  connection.listen();
  const drop = () => {
    connection.dispose();
    socket.destroy();
  };
  hub.peers.push({ drop });
  const ask = (...params) => within(connection.sendRequest(...params), `the answer to ${params[0]}`);
  return { connection, socket, drop, ask };
}

// The same over the standard streams of `patchbay connect`, started as an editor starts a language server.
function started(hub, args = []) {
  const server = spawn(process.env.PATCHBAY, ['--hub', hub.uri(), 'connect', ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  const connection = rpc.createMessageConnection(new rpc.StreamMessageReader(server.stdout), new rpc.StreamMessageWriter(server.stdin));
  const exit = new Promise((resolve) => server.on('close', resolve));
  connection.onError(() => {});
  connection.listen();
  hub.peers.push({ drop: () => server.kill('SIGKILL') });
  const ask = (...params) => within(connection.sendRequest(...params), `the answer to ${params[0]}`);
  return { connection, server, exit, ask };
}

async function agent(hub, agentId, capabilities = {}) {
  const peer = await client(hub);
  assert.deepEqual(await peer.ask('agent/register', { agentId, capabilities }), { agentId, registered: true });
  return peer;
}

// The ResponseError of the library that `promise` is rejected with.
async function rejected(promise) {
  const error = await promise.then(() => assert.fail('it was answered'), (reason) => reason);
  assert.ok(error instanceof rpc.ResponseError, String(error));
  return error;
}

scenario('1,000 concurrent requests with colliding ids, both ways', EVERYWHERE, async (hub) => {
  const peers = [];
  for (const name of ['a', 'b', 'c', 'd']) peers.push(await agent(hub, name));
  for (const [at, { connection }] of peers.entries()) {
    connection.onRequest('multiply', async ({ x, y }) => {
      if (x % 7 === 0) await new Promise(setImmediate); // so that answers overtake each other
      return { at, product: x * y };
    });
  }
  await Promise.all(peers.map(async (peer, from) => {
    const asked = Array.from({ length: 250 }, async (_, x) => {
      const to = (from + 1 + (x % 3)) % 4;
      const answer = await peer.ask('multiply', { targetAgent: 'abcd'[to], x, y: from + 1, pad: 'é'.repeat(x) });
      assert.deepEqual(answer, { at: to, product: x * (from + 1) });
    });
    await Promise.all(asked);
  }));
});

scenario('requests are found by method, as in an editor', EVERYWHERE, async (hub) => {
  const editor = await agent(hub, 'editor', { methods: ['editor/getMessage'] });
  const text = 'MSH|^~\\&|"quoted"|\u0001\u2028😀';
  editor.connection.onRequest('editor/getMessage', ({ format }) => ({ message: text, format }));
  const extension = await client(hub);
  assert.deepEqual(await extension.ask('editor/getMessage', { format: 'hl7' }), { message: text, format: 'hl7' });
});

scenario('notifications arrive in order', EVERYWHERE, async (hub) => {
  const target = await agent(hub, 'target');
  const source = await client(hub);
  const seen = [];
  const all = new Promise((resolve) => {
    target.connection.onNotification('tick', ({ n }) => seen.push(n) === 500 && resolve());
  });
  for (let n = 0; n < 500; n++) source.connection.sendNotification('tick', { targetAgent: 'target', n });
  await within(all, '500 notifications');
  assert.deepEqual(seen, Array.from({ length: 500 }, (_, n) => n));
});

scenario("errors pass through with the target's code, message and data", EVERYWHERE, async (hub) => {
  const target = await agent(hub, 'target');
  target.connection.onRequest('fail', ({ code }) => {
    throw new rpc.ResponseError(code, `no ${code}`, { code, list: [1, null, 'ü'] });
  });
  const source = await client(hub);
  for (const code of [-32602, -32050, 1, 42, -1]) {
    const error = await rejected(source.ask('fail', { targetAgent: 'target', code }));
    assert.equal(error.code, code);
    assert.equal(error.message, `no ${code}`);
    assert.deepEqual(error.data, { code, list: [1, null, 'ü'] });
  }
  const unhandled = await rejected(source.ask('not/handled', { targetAgent: 'target' }));
  assert.equal(unhandled.code, rpc.ErrorCodes.MethodNotFound);
});

scenario("the hub's own errors arrive as the library's", EVERYWHERE, async (hub) => {
  await agent(hub, 'taken');
  const source = await client(hub);
  assert.equal((await rejected(source.ask('no/such', {}))).code, rpc.ErrorCodes.MethodNotFound);
  assert.equal((await rejected(source.ask('m', { targetAgent: 'nobody' }))).code, -32010);
  assert.equal((await rejected(source.ask('agent/register', { agentId: 'taken', capabilities: {} }))).code, -32053);
  assert.equal((await rejected(source.ask('agent/register', { agentId: '' }))).code, rpc.ErrorCodes.InvalidParams);
});

scenario('a peer that dies ends what it owes with -32050', EVERYWHERE, async (hub) => {
  const target = await agent(hub, 'mortal');
  const source = await client(hub);
  let come = 0;
  const all = new Promise((resolve) => {
    target.connection.onRequest('wait', () => {
      if (++come === 50) resolve();
      return new Promise(() => {});
    });
  });
  const asked = Array.from({ length: 50 }, (_, n) => rejected(source.ask('wait', { targetAgent: 'mortal', n })));
  await within(all, '50 requests');
  if (hub.transport === 'tcp') target.socket.resetAndDestroy();
  else target.socket.destroy();
  for (const error of await Promise.all(asked)) {
    assert.equal(error.code, -32050);
    assert.equal(typeof error.data, 'object');
  }
  assert.equal((await rejected(source.ask('wait', { targetAgent: 'mortal' }))).code, -32010);
});

scenario('a session as an LSP client opens and ends it', EVERYWHERE, async (hub) => {
  const peer = await client(hub);
  const opened = await peer.ask('initialize', { processId: null, rootUri: null, capabilities: {} });
  assert.equal(opened.serverInfo.name, 'patchbay');
  await peer.connection.sendNotification('initialized', {});
  assert.equal(await peer.ask('hub/ping', { n: 1 }).then((result) => result.n), 1);
  assert.equal(await peer.ask('shutdown'), null);
  const closed = new Promise((resolve) => peer.connection.onClose(resolve));
  await peer.connection.sendNotification('exit');
  await within(closed, 'the close after exit');
});

scenario('bodies of some megabytes', { shards: [2] }, async (hub) => {
  const target = await agent(hub, 'target');
  target.connection.onRequest('reverse', ({ text }) => [...text].reverse().join(''));
  const source = await client(hub);
  const text = 'añ😀b'.repeat(200_000);
  const back = await source.ask('reverse', { targetAgent: 'target', text });
  assert.equal(back, [...text].reverse().join(''));
});

scenario("the library's CancellationToken works through the hub, though all sources use the same ids", EVERYWHERE, async (hub) => {
  const target = await agent(hub, 'target');
  const running = new Map();
  target.connection.onRequest('wait', ({ source }, token) => new Promise((resolve, reject) => {
    running.set(source, resolve);
    token.onCancellationRequested(() => reject(new rpc.ResponseError(rpc.LSPErrorCodes?.RequestCancelled ?? -32800, `stopped ${source}`)));
  }));
  const sources = await Promise.all(Array.from({ length: 50 }, () => client(hub)));
  const asked = sources.map(({ connection }, source) => {
    const cancel = new rpc.CancellationTokenSource();
    const answer = connection.sendRequest('wait', { targetAgent: 'target', source }, cancel.token);
    return { cancel, ended: within(answer.catch((error) => error), `the end of ${source}`) };
  });
  for (const { ask } of sources) await ask('hub/ping', {});
  for (let source = 0; source < 50; source += 2) asked[source].cancel.cancel();
  for (let source = 0; source < 50; source += 2) {
    const error = await asked[source].ended;
    assert.equal(error.code, -32800);
    assert.ok([`stopped ${source}`, 'cancelled'].includes(error.message), error.message);
  }
  for (let source = 1; source < 50; source += 2) running.get(source)(`answer ${source}`);
  for (let source = 1; source < 50; source += 2) assert.equal(await asked[source].ended, `answer ${source}`);
});

scenario("the library's progress works through the hub, though all sources use the same ids and tokens", EVERYWHERE, async (hub) => {
  const type = new rpc.ProgressType();
  const target = await agent(hub, 'target');
  target.connection.onRequest('work', async ({ source, workDoneToken, partialResultToken }) => {
    for (let step = 0; step < 3; step++) {
      await target.connection.sendProgress(type, workDoneToken, { source, step });
      await target.connection.sendProgress(type, partialResultToken, [source, step]);
    }
    return source;
  });
  const sources = await Promise.all(Array.from({ length: 50 }, () => client(hub)));
  await Promise.all(sources.map(async ({ connection }, source) => {
    const work = [];
    const parts = [];
    connection.onProgress(type, 'token', (value) => work.push(value));
    connection.onProgress(type, 7, (value) => parts.push(value));
    const params = { targetAgent: 'target', source, workDoneToken: 'token', partialResultToken: 7 };
    assert.equal(await within(connection.sendRequest('work', params), `the answer to ${source}`), source);
    assert.deepEqual(work, [0, 1, 2].map((step) => ({ source, step })));
    assert.deepEqual(parts, [0, 1, 2].map((step) => [source, step]));
  }));
});

scenario('patchbay connect is the server command: a whole session, and its end', EVERYWHERE, async (hub) => {
  const editor = started(hub);
  const opened = await editor.ask('initialize', { processId: process.pid, rootUri: null, capabilities: {} });
  assert.equal(opened.serverInfo.name, 'patchbay');
  await editor.connection.sendNotification('initialized', {});
  const target = await agent(hub, 'target', { methods: ['work'] });
  target.connection.onRequest('work', ({ n }) => n * 2);
  assert.equal(await editor.ask('work', { n: 21 }), 42);
  assert.equal(await editor.ask('shutdown'), null);
  await editor.connection.sendNotification('exit');
  assert.equal(await within(editor.exit, 'patchbay connect to end'), 0);
});

scenario('20 servers of one agent, whose clients use the same ids and tokens, cancel and hear of progress', EVERYWHERE, async (hub) => {
  const type = new rpc.ProgressType();
  const target = await agent(hub, 'target');
  target.connection.onRequest('work', async ({ source, workDoneToken, wait }, token) => {
    await target.connection.sendProgress(type, workDoneToken, source);
    if (!wait) return source;
    return new Promise((_, reject) => {
      token.onCancellationRequested(() => reject(new rpc.ResponseError(-32800, `stopped ${source}`)));
    });
  });
  await Promise.all(Array.from({ length: 20 }, async (_, source) => {
    const editor = started(hub, ['--agent', 'target']);
    const cancel = new rpc.CancellationTokenSource();
    const heard = new Promise((resolve) => editor.connection.onProgress(type, 'token', resolve));
    const waits = editor.ask('work', { source, workDoneToken: 'token', wait: true }, cancel.token).catch((error) => error);
    assert.equal(await within(heard, `progress of ${source}`), source);
    cancel.cancel();
    assert.equal((await waits).message, `stopped ${source}`);
    assert.equal(await editor.ask('work', { source, workDoneToken: 'other' }), source);
    editor.server.stdin.end();
    assert.equal(await within(editor.exit, `the end of ${source}`), 0);
  }));
});
