// One MCP server behind the hub, and many clients that each think they have it alone. The session, ids, tokens,
// cancels, subscriptions, and messages of the server to nobody in particular.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { scenario } from './hub.mjs';
import { fourAtOnce } from './parallel.mjs';
import { assertError, WAIT_MS } from './peer.mjs';

fourAtOnce();

const directory = mkdtempSync(join(tmpdir(), 'patchbay-mcp-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const program = fileURLToPath(new URL('mcp_server.py', import.meta.url));

function config(name, text) {
  const path = join(directory, name);
  writeFileSync(path, text);
  return ['--config', path];
}

const SECTION = `[child server]\ncommand = python3 -S -E ${program}\nprotocol = mcp\n`;
const SHARED = { shards: [1, 2], transports: ['tcp'], options: config('shared.ini', SECTION) };
const ASKS = 'ask-clients = yes\n';
const ASKING = { ...SHARED, options: config('asking.ini', SECTION + ASKS) };
const ON_DEMAND = { ...SHARED, options: config('demand.ini', `${SECTION}start = on-demand\n`) };
// Clients of two eras, some of them on the children's shard and some not.
const TWO = { ...SHARED, shards: [2] };
const BOTH = { ...TWO, options: config('both.ini', SECTION.replace('.py', '.py --both') + ASKS) };
const BRITTLE = { ...TWO, options: config('brittle.ini', SECTION.replace('.py', '.py --brittle')) };
const RAW = { ...TWO, options: config('raw.ini', `${SECTION.replace('.py', '.py --modern --raw')}restart-limit = 1\nrestart-delay = 1ms\n`) };
const POOL = { ...TWO, options: config('pool.ini', `${SECTION.replace('.py', '.py --both')}instances = 3\n`) };
const LATE = { ...TWO, options: config('late.ini', SECTION.replace('.py', `.py --modern --gate ${join(directory, 'gate')}`)) };
const MODERN = { ...SHARED, options: config('modern.ini', SECTION.replace('.py', '.py --modern')) };

const OPENING = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'client', version: '1' } };

// A client that is attached and has opened its session.
async function client(hub) {
  const peer = await hub.peer();
  assert.deepEqual((await peer.ask('hub/attach', { agent: 'server' })).result, { agent: 'server' });
  const { result } = await peer.ask('initialize', OPENING);
  assert.deepEqual(result.serverInfo, { name: 'tested', version: '1' });
  peer.notify('notifications/initialized');
  await peer.ask('ping');
  return peer;
}

const clients = (hub, count) => Promise.all(Array.from({ length: count }, () => client(hub)));
const seen = async (peer) => (await peer.ask('seen')).result.messages;
const methods = async (peer, ...wanted) => (await seen(peer)).filter(({ method }) => wanted.includes(method));

// Waits until the server has seen a message that matches.
async function until(peer, matches) {
  for (const end = Date.now() + WAIT_MS; Date.now() < end;) {
    const found = (await seen(peer)).find(matches);
    if (found) return found;
  }
  throw new Error(`the server has not seen ${matches}`);
}

scenario('the hub opens one session, and its answer is given to all', SHARED, async (hub) => {
  const [first] = await clients(hub, 8);
  const opened = await methods(first, 'initialize', 'notifications/initialized');
  assert.deepEqual(opened.map(({ method }) => method), ['initialize', 'notifications/initialized']);
  const { protocolVersion, capabilities, clientInfo } = opened[0].params;
  assert.equal(protocolVersion, '2025-11-25');
  assert.equal(clientInfo.name, 'patchbay');
  assert.deepEqual(capabilities, {});
});

scenario('a shared server is offered its clients only where its section says so, and their roots never', ASKING, async (hub) => {
  const peer = await client(hub);
  peer.serve(({ method }) => ({ method }));
  assert.deepEqual((await methods(peer, 'initialize'))[0].params.capabilities, { sampling: {}, elicitation: {} });
  for (const method of ['roots/list', 'sampling/createMessage']) {
    await peer.ask('say', { message: { jsonrpc: '2.0', id: method, method, params: {} } });
    const { result, error } = await until(peer, (one) => one.id === method && !one.method);
    if (method === 'roots/list') assert.equal(error.code, -32601);
    else assert.deepEqual(result, { method });
  }
});

scenario('a shared server whose section doesn\'t say so asks nobody', SHARED, async (hub) => {
  const peer = await client(hub), tap = await hub.peer(), told = [];
  await tap.ask('hub/tap', { errors: true });
  peer.serve(({ method }) => ({ method }));
  const asked = ['roots/list', 'sampling/createMessage', 'elicitation/create'];
  for (const method of asked) {
    await peer.ask('say', { message: { jsonrpc: '2.0', id: method, method, params: {} } });
    const { error } = await until(peer, (one) => one.id === method && !one.method);
    assert.deepEqual([error.code, error.data.method, typeof error.data.reason], [-32601, method, 'string']);
    while (told.length <= asked.indexOf(method)) told.push(...(await tap.find(({ json }) => json.method === 'hub/tapped', 'an entry')).json.params.entries);
  }
  assert.deepEqual(told.map((entry) => [entry.method, entry.source, entry.outcome, entry.code]), asked.map((method) => [method, 'server', 'refused', -32601]));
});

const VERSIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'];

// Returns the version that a client gets which asks for `protocolVersion`.
async function versionOf(hub, protocolVersion) {
  const peer = await hub.peer();
  await peer.ask('hub/attach', { agent: 'server' });
  return (await peer.ask('initialize', { ...OPENING, protocolVersion })).result.protocolVersion;
}

for (const [what, options] of [['a server', SHARED], ['a server that is yet to be started', ON_DEMAND]]) {
  scenario(`a client of ${what} gets the version that it speaks`, options, async (hub) => {
    const asked = [...VERSIONS, '2025-12-31', '1'];
    assert.deepEqual(await Promise.all(asked.map((version) => versionOf(hub, version))), [...VERSIONS, '2025-11-25', '2025-11-25']);
  });
}

scenario('who asks for a newer version than its server speaks gets the server\'s', { ...SHARED, options: config('old.ini', `${SECTION}set VERSION = 2025-03-26\n`) }, async (hub) => {
  assert.deepEqual(await Promise.all(VERSIONS.map((version) => versionOf(hub, version))), ['2024-11-05', '2025-03-26', '2025-03-26', '2025-03-26']);
});

scenario('an initialize waits for a server that is yet to be started', ON_DEMAND, async (hub) => {
  const [first] = await clients(hub, 4);
  assert.equal((await methods(first, 'initialize')).length, 1);
});

scenario('the initialize of a client of the hub is the hub\'s still', SHARED, async (hub) => {
  const peer = await client(hub);
  const { result } = await peer.ask('initialize', { processId: null, agentId: 'me', capabilities: {}, governanceLevel: 'manual' });
  assert.equal(result.serverInfo.name, 'patchbay');
});

scenario('ids and tokens that collide, and each hears of its own', SHARED, async (hub) => {
  const all = await clients(hub, 20);
  await Promise.all(all.map(async (peer, n) => {
    peer.send({ jsonrpc: '2.0', id: 0, method: 'tools/call', params: { n, _meta: { progressToken: 0 } } });
    const { result } = (await peer.find((one) => one.json.id === 0, 'the answer')).json;
    const progressToken = result.params._meta.progressToken;
    assert.notEqual(progressToken, 0);
    assert.equal(result.params.n, n);
  }));
});

scenario('a cancelled request ends at once, and is answered as its source\'s protocol has it', SHARED, async (hub) => {
  const [peer, other] = await clients(hub, 2);
  for (const [cancel, params] of [['notifications/cancelled', { requestId: 1, reason: 'enough' }], ['$/cancelRequest', { id: 1 }]]) {
    for (const one of [peer, other]) one.send({ jsonrpc: '2.0', id: 1, method: 'wait', params: { who: one === peer, cancel } });
    const asked = await until(peer, ({ method, params: { who, cancel: how } = {} }) => method === 'wait' && who && how === cancel);
    peer.notify(cancel, params);
    const told = await until(other, ({ method, params: told }) => method === 'notifications/cancelled' && told.requestId === asked.id);
    if (cancel === 'notifications/cancelled') assert.deepEqual(told.params, { requestId: asked.id, reason: 'enough' });
    // MCP answers nothing, everybody else an end.
    if (cancel === '$/cancelRequest') assertError((await peer.find((one) => one.json.id === 1, 'its end')).json, -32800);
    await other.ask('finish', { id: asked.id, result: 'too late' });
    await peer.silent('a cancelled request');
  }
  const { result } = await other.ask('hub/stats');
  assert.equal(result.dropped_responses_unknown_id, 2);
  assert.equal((await other.ask('hub/agents')).result.agents[0].pending, 2); // the other one's still wait
  other.socket.resetAndDestroy();
});

scenario('what the hub cancels it says as MCP does', SHARED, async (hub) => {
  const [peer, other] = await clients(hub, 2);
  peer.send({ jsonrpc: '2.0', id: 'x', method: 'wait', params: {} }, 'Custom-Timeout-Ms: 500');
  const { id } = await until(other, ({ method }) => method === 'wait');
  assertError((await peer.find((one) => one.json.id === 'x', 'its end')).json, -32051);
  await until(other, ({ method, params }) => method === 'notifications/cancelled' && params.requestId === id);
  peer.send({ jsonrpc: '2.0', id: 'y', method: 'wait', params: {} });
  const { id: second } = await until(other, ({ method, id: which }) => method === 'wait' && which !== id);
  peer.socket.resetAndDestroy();
  await until(other, ({ method, params }) => method === 'notifications/cancelled' && params.requestId === second);
  assert.equal((await methods(other, '$/cancelRequest')).length, 0);
});

scenario('what names nobody is told to all users, and to no others', SHARED, async (hub) => {
  const [first, second, third] = await clients(hub, 3);
  const stranger = await hub.peer();
  const message = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };
  await first.ask('say', { message });
  for (const peer of [first, second, third]) {
    assert.deepEqual((await peer.find((one) => one.json.method === message.method, 'the notification')).json, message);
  }
  await stranger.silent('it');
  third.drop();
  await first.ask('say', { message });
  await second.find((one) => one.json.method === message.method, 'the next one');
});

scenario('a resource is given up with its last subscriber', SHARED, async (hub) => {
  const [first, second, third] = await clients(hub, 3);
  for (const peer of [first, second, third]) await peer.ask('resources/subscribe', { uri: 'test://a' });
  assert.deepEqual((await first.ask('resources/unsubscribe', { uri: 'test:\/\/a' })).result, {});
  second.socket.resetAndDestroy();
  await third.ask('ping');
  assert.equal((await methods(third, 'resources/unsubscribe')).length, 0);
  assert.equal((await third.ask('resources/unsubscribe', { uri: 'test://a' })).result.method, 'resources/unsubscribe');
  await third.ask('resources/subscribe', { uri: 'test://b' });
  third.socket.resetAndDestroy();
  await until(first, ({ method, params }) => method === 'resources/unsubscribe' && params.uri === 'test://b');
});

scenario("a server's ping is answered", SHARED, async (hub) => {
  const peer = await client(hub);
  await peer.ask('say', { message: { jsonrpc: '2.0', id: 'p', method: 'ping' } });
  assert.deepEqual((await until(peer, ({ id }) => id === 'p')).result, {});
});

scenario('what a server says in an array is taken one by one', BOTH, async (hub) => {
  for (const meta of [{}, { _meta: META }]) {
    const peer = meta._meta ? await attached(hub) : await client(hub);
    const ask = (method, params) => peer.ask(method, { ...params, ...meta });
    peer.send({ jsonrpc: '2.0', id: 'w', method: 'wait', params: { ...meta } });
    const { messages } = (await ask('seen', {})).result;
    const ids = messages.filter(({ method }) => method === 'wait').map(({ id }) => id);
    assert.equal(ids.length, 1);
    assert.deepEqual((await ask('together', { ids, messages: [{ jsonrpc: '2.0', id: 'p', method: 'ping' }] })).result, { together: true });
    assert.deepEqual((await peer.find(({ json }) => json.id === 'w', 'its answer')).json.result, { together: true });
    await ask('seen', {});
    // Nothing is in progress any more, so the server's own requests go to the next client that asks.
    const other = meta._meta ? await attached(hub) : await client(hub);
    other.serve(({ method }) => ({ method }));
    await other.ask('say', { message: { jsonrpc: '2.0', id: 'r', method: 'sampling/createMessage' }, ...meta });
    const answered = async () => (await ask('seen', {})).result.messages.flat();
    for (const end = Date.now() + WAIT_MS; ;) {
      const all = await answered();
      const [pong, asked] = ['p', 'r'].map((id) => all.find((one) => one.id === id && !one.method));
      if (pong && asked) {
        assert.deepEqual([pong.result, asked.result], [{}, { method: 'sampling/createMessage' }]);
        break;
      }
      assert.ok(Date.now() < end, 'the server is answered');
    }
  }
});

scenario('what the server asks goes to the one client that has something in progress', ASKING, async (hub) => {
  const [first, second] = await clients(hub, 2);
  const ask = (id) => ({ message: { jsonrpc: '2.0', id, method: 'sampling/createMessage', params: { n: id, _meta: { progressToken: 'p' } } } });
  first.send({ jsonrpc: '2.0', id: 'w', method: 'wait', params: {} });
  const { id: waits } = await until(first, ({ method }) => method === 'wait');
  first.ask('say', ask(1));
  const asked = (await first.find((one) => one.json.method === 'sampling/createMessage', 'the request')).json;
  assert.equal(asked.params.n, 1);
  first.notify('notifications/progress', { progressToken: asked.params._meta.progressToken, progress: 1 });
  first.reply(asked.id, { role: 'user' });
  assert.deepEqual((await until(first, ({ id, method }) => id === 1 && !method)).result, { role: 'user' });
  await until(first, ({ method, params }) => method === 'notifications/progress' && params.progressToken === 'p');
  await second.ask('say', ask(2)); // two have
  assert.equal((await until(second, ({ id, method }) => id === 2 && !method)).error.code, -32601);
  await second.ask('finish', { id: waits, result: {} });
  await first.find((one) => one.json.id === 'w', 'the answer');
  second.ask('say', ask(3)).catch(() => {}); // it alone
  assert.equal((await second.find((one) => one.json.method === 'sampling/createMessage', 'the request')).json.params.n, 3);
  second.socket.resetAndDestroy();
  assert.equal((await until(first, ({ id, method }) => id === 3 && !method)).error.code, -32050);
});

scenario('what a server asks for a request that was given up reaches nobody', ASKING, async (hub) => {
  const [first, second, third] = await clients(hub, 3);
  const asks = async (id) => {
    await third.ask('say', { message: { jsonrpc: '2.0', id, method: 'sampling/createMessage', params: {} } });
    return until(third, (one) => one.id === id && !one.method);
  };
  const known = new Set();
  const waiting = async () => {
    const { id } = await until(third, ({ method, id: which }) => method === 'wait' && !known.has(which));
    known.add(id);
    return id;
  };
  for (const gives of [(peer) => peer.notify('notifications/cancelled', { requestId: 'w' }), (peer) => peer.socket.resetAndDestroy()]) {
    first.send({ jsonrpc: '2.0', id: 'w', method: 'wait', params: {} });
    const id = await waiting();
    gives(first);
    await until(third, ({ method, params }) => method === 'notifications/cancelled' && params.requestId === id);
    second.send({ jsonrpc: '2.0', id: `s${id}`, method: 'wait', params: {} });
    const other = await waiting();
    assert.equal((await asks(`q${id}`)).error.code, -32601);
    await third.ask('finish', { id: other, result: 1 });
    await second.find(({ json }) => json.id === `s${id}`, 'its answer');
    await second.silent('what another one has given up');
    await third.ask('finish', { id, result: 'too late' });
  }
  second.send({ jsonrpc: '2.0', id: 'last', method: 'say', params: { message: { jsonrpc: '2.0', id: 'ok', method: 'sampling/createMessage', params: {} } } });
  second.reply((await second.find(({ json }) => json.method === 'sampling/createMessage', 'what is asked of it alone')).json.id, { n: 1 });
  assert.deepEqual((await until(third, (one) => one.id === 'ok' && !one.method)).result, { n: 1 });
});

scenario('after a restart the session is open again, and what was subscribed to is', SHARED, async (hub) => {
  const [first, second] = await clients(hub, 2);
  await first.ask('resources/subscribe', { uri: 'test://a' });
  second.send({ jsonrpc: '2.0', id: 'd', method: 'die' });
  assertError((await second.find((one) => one.json.id === 'd', 'its end')).json, -32050);
  const messages = await seen(first);
  assert.deepEqual(messages.map(({ method }) => method).slice(0, 2), ['initialize', 'notifications/initialized']);
  await until(first, ({ method, params }) => method === 'resources/subscribe' && params.uri === 'test://a');
  assert.equal((await second.ask('tools/call', { n: 1 })).result.params.n, 1);
});

scenario('what waits for a restart comes behind the session, and what clients have told it', SHARED, async (hub) => {
  const [first, second] = await clients(hub, 2);
  for (const uri of ['test://a', 'test://b']) await first.ask('resources/subscribe', { uri });
  await first.ask('logging/setLevel', { level: 'error' });
  assertError(await second.ask('die'), -32050);
  const priority = 'critical';
  const waiting = [1, 2, 3].map((n) => second.ask('tools/call', { n, ...(n > 1 && { priority }) }));
  await Promise.all(waiting);
  const messages = await seen(first);
  const of = (one) => (one.method === 'tools/call' ? 'call' : one.params?.uri ?? one.params?.level ?? one.method);
  assert.deepEqual(messages.map(of), ['initialize', 'notifications/initialized', 'error', 'test://a', 'test://b', 'call', 'call', 'call']);
  // Each question has an id of its own, which is answered once.
  const own = messages.filter(({ method }) => /^(initialize|logging|resources)/.test(method)).map(({ id }) => id);
  assert.equal(new Set(own).size, 4);
  const dropped = async () => (await first.ask('hub/stats')).result.dropped_responses_unknown_id;
  const before = await dropped();
  for (const id of own) await first.ask('say', { message: { jsonrpc: '2.0', id, result: {} } });
  assert.equal(await dropped(), before + own.length);
});

scenario('a server that refuses sessions is spoken to without', MODERN, async (hub) => {
  const peer = await hub.peer();
  await peer.ask('hub/attach', { agent: 'server' });
  assert.equal((await peer.ask('server/discover', {})).result.method, 'server/discover');
  assert.deepEqual((await peer.ask('initialize', OPENING)).error, { code: -32602, message: 'no sessions here' });
  assert.equal((await methods(peer, 'initialize')).length, 1);
});

// --- Eras

const META = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';
const LOG = { ...META, 'io.modelcontextprotocol/logLevel': 'info' };
const modern = (peer, method, params = {}) => peer.ask(method, { ...params, _meta: META });
const where = async (peer, params) => (await peer.ask('where', params)).result;
const children = async (peer) => (await peer.ask('hub/children', {})).result.children;

async function attached(hub) {
  const peer = await hub.peer();
  await peer.ask('hub/attach', { agent: 'server' });
  return peer;
}

async function untilListed(peer, holds) {
  for (const end = Date.now() + WAIT_MS; ;) {
    const all = await children(peer);
    if (holds(all)) return all;
    assert.ok(Date.now() < end, `the children stay ${JSON.stringify(all)}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

// The client's subscriptions/listen with this id of its own; the id that the server knows.
async function listen(peer, id, watch = peer) {
  const before = (await modernSeen(watch)).filter(({ method }) => method === 'subscriptions/listen').length;
  peer.send({ jsonrpc: '2.0', id, method: 'subscriptions/listen', params: { _meta: META, notifications: { toolsListChanged: true } } });
  for (const end = Date.now() + WAIT_MS; Date.now() < end;) {
    const all = (await modernSeen(watch)).filter(({ method }) => method === 'subscriptions/listen');
    if (all.length > before) return all.at(-1).id;
  }
  throw new Error('nobody listens');
}
const modernSeen = async (peer) => (await modern(peer, 'seen')).result.messages;

scenario('two eras are two processes, and each hears of its own alone', BOTH, async (hub) => {
  const [old, recent, other] = [await client(hub), await attached(hub), await attached(hub)];
  assert.equal((await recent.ask('server/discover', {})).result.method, 'server/discover');
  const processes = [await where(old), await where(recent, { _meta: META }), await where(other, { _meta: META })];
  assert.deepEqual(processes.map(({ era }) => era), ['legacy', 'modern', 'modern']);
  assert.equal(processes[1].process, processes[2].process);
  assert.notEqual(processes[0].process, processes[1].process);
  assert.equal((await seen(old)).filter(({ method }) => method === 'server/discover').length, 0);
  assert.equal((await modernSeen(recent)).filter(({ method }) => method === 'initialize').length, 0);
  assert.deepEqual((await children(old)).map(({ name, era, state, pid }) => [name, era, state, pid]),
    [['server', 'legacy', 'running', processes[0].process], ['server#modern', 'modern', 'running', processes[1].process]]);
  const { child } = (await old.ask('hub/agents', {})).result.agents[0];
  assert.deepEqual([child.pid, child.modern.pid, child.modern.state], [processes[0].process, processes[1].process, 'running']);
  assertError(await old.ask('where', { targetAgent: 'server#modern' }), -32010);
});

scenario('who lives on when the other era ends', BOTH, async (hub) => {
  const [old, recent] = [await client(hub), await attached(hub)];
  await modern(recent, 'server/discover');
  recent.send({ jsonrpc: '2.0', id: 'm', method: 'wait', params: { _meta: META } });
  const { id } = (await modernSeen(recent)).find(({ method }) => method === 'wait');
  old.send({ jsonrpc: '2.0', id: 'd', method: 'die' });
  assertError((await old.find((one) => one.json.id === 'd', 'its end')).json, -32050);
  await modern(recent, 'finish', { id, result: 'lasted' });
  assert.equal((await recent.find((one) => one.json.id === 'm', 'what lasted')).json.result, 'lasted');
  const { process: kept } = await where(old);
  recent.send({ jsonrpc: '2.0', id: 'w', method: 'wait', params: { _meta: META } });
  assertError(await modern(recent, 'die'), -32050);
  const ended = (await recent.find((one) => one.json.id === 'w', 'its end, too')).json;
  assertError(ended, -32050);
  assert.deepEqual(ended.error.data, { agent: 'server' });
  assert.equal((await where(recent, { _meta: META })).era, 'modern'); // another one, on demand
  assert.equal((await where(old)).process, kept);
  assert.deepEqual((await children(old)).map(({ name, failures }) => [name, failures]), [['server', 1], ['server#modern', 1]]);
});

for (const [how, options] of [['refuses', SHARED], ['ends', BRITTLE]]) {
  scenario(`a program that ${how} at server/discover has no such era, and that is no failure`, options, async (hub) => {
    const [peer, other] = await clients(hub, 2);
    assertError(await peer.ask('server/discover', {}), -32601);
    await untilListed(peer, (all) => all.length === 1);
    assertError(await other.ask('server/discover', {}), -32601);
    assertError(await modern(other, 'tools/list'), -32601);
    assert.equal((await methods(peer, 'server/discover')).length, 0);
    assert.equal((await peer.ask('tools/call', { n: 1 })).result.params.n, 1);
    const [{ name, state, failures, lastFault }] = await children(peer);
    assert.deepEqual([name, state, failures, lastFault], ['server', 'running', 0, null]);
    assert.equal((await peer.ask('hub/stats')).result.children_failed, 0);
    // Told to start anew it may have become another program.
    await peer.ask('hub/childRestart', { name: 'server' });
    assertError(await peer.ask('server/discover', {}), -32601);
  });
}

scenario('both processes are stopped and started by hand', BOTH, async (hub) => {
  const [old, recent] = [await client(hub), await attached(hub)];
  await modern(recent, 'server/discover');
  const before = [(await where(old)).process, (await where(recent, { _meta: META })).process];
  await old.ask('hub/childRestart', { name: 'server' }); // which begins once the children's shard has heard of it
  const after = [await untilAnswered(old, {}, before), await untilAnswered(recent, { _meta: META }, before)];
  assert.deepEqual(after.map(({ era }) => era), ['legacy', 'modern']);
  await old.ask('hub/childStop', { name: 'server' });
  await untilListed(old, (all) => all.every(({ state }) => state === 'stopped'));
  assertError(await where(old).then(() => old.ask('where'), () => old.ask('where')), -32010);
  assertError(await modern(recent, 'where'), -32010);
  await old.ask('hub/childRestart', { name: 'server' });
  assert.equal((await untilAnswered(recent)).era, 'modern');
});

// By a process that isn't one of those before.
async function untilAnswered(peer, params = { _meta: META }, before = []) {
  for (const end = Date.now() + WAIT_MS; Date.now() < end;) {
    const result = await where(peer, params);
    if (result && !before.includes(result.process)) return result;
  }
  throw new Error('it does not answer');
}

scenario('who refuses a session after all is one process', LATE, async (hub) => {
  rmSync(join(directory, 'gate'), { force: true });
  const [peer] = [await attached(hub)];
  await modern(peer, 'server/discover');
  const { process: before } = await where(peer, { _meta: META });
  peer.send({ jsonrpc: '2.0', id: 'w', method: 'wait', params: { _meta: META } });
  await listen(peer, 'l');
  writeFileSync(join(directory, 'gate'), '');
  await untilListed(peer, (all) => all.length === 2 && all.every(({ state, era }) => state === 'running' && era === 'modern'));
  const { process: after } = await where(peer, { _meta: META });
  assert.notEqual(after, before);
  assert.equal((await where(peer)).process, after);
  await peer.silent('what is in progress goes on');
  assert.equal((await children(peer)).length, 2);
  peer.notify('notifications/cancelled', { requestId: 'w' });
  assertError((await peer.find(({ json }) => json.id === 'l', 'its end')).json, -32050);
  await untilListed(peer, (all) => all.length === 1 && all[0].pid === after);
  assert.equal((await where(peer, { _meta: META })).process, after);
});

scenario('what is heard of a subscription bears the id that its client chose', BOTH, async (hub) => {
  const [first, second] = [await attached(hub), await attached(hub)];
  await modern(first, 'server/discover');
  const [one, two, named] = [await listen(first, 1), await listen(second, 1), await listen(first, 'mine')];
  assert.equal(new Set([one, two, named]).size, 3);
  const method = 'notifications/tools/list_changed';
  const hear = (id, more = {}) => modern(second, 'hear', { id, method, ...more });
  const heard = async (peer) => (await peer.find((frame) => frame.json.method === method, 'what it listens for')).json.params;
  await hear(one);
  assert.deepEqual(await heard(first), { _meta: { [SUBSCRIPTION]: 1 }, x: 1 });
  await hear(two, { form: 'string' });
  assert.deepEqual(await heard(second), { _meta: { [SUBSCRIPTION]: '1' }, x: 1 });
  for (const form of ['number', 'string']) {
    await hear(named, { form });
    assert.deepEqual(await heard(first), { _meta: { [SUBSCRIPTION]: 'mine' }, x: 1 });
  }
  await hear(4711); // nobody's
  await first.silent('what nobody listens for');
  // The server ends one with an answer, another one with a notification.
  await modern(second, 'hear', { id: one, method: 'end' });
  assert.deepEqual((await first.find((frame) => frame.json.id === 1, 'the end')).json.result, { _meta: { [SUBSCRIPTION]: 1 }, x: 1 });
  await modern(second, 'hear', { id: named, method: 'notifications/cancelled' });
  assert.deepEqual((await first.find((frame) => frame.json.method === 'notifications/cancelled', 'the end')).json.params, { requestId: 'mine' });
  second.notify('notifications/cancelled', { requestId: 1 });
  await untilSeen(first, ({ method: which, params }) => which === 'notifications/cancelled' && params.requestId === two);
  await hear(two);
  await second.silent('what it has given up');
  assert.equal((await first.ask('hub/agents', {})).result.agents[0].pending, 0);
});

async function untilSeen(peer, matches) {
  for (const end = Date.now() + WAIT_MS; Date.now() < end;) if ((await modernSeen(peer)).some(matches)) return;
  throw new Error(`the server has not seen ${matches}`);
}

scenario('what a modern server logs is for the one who has asked for it', BOTH, async (hub) => {
  const [first, second] = [await attached(hub), await attached(hub)];
  await modern(first, 'server/discover');
  const message = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } };
  const before = (await first.ask('hub/stats')).result.dropped_notifications_without_route;
  await modern(second, 'say', { message }); // nobody has
  await first.silent('what nobody asked for');
  assert.equal((await first.ask('hub/stats')).result.dropped_notifications_without_route, before + 1);
  first.send({ jsonrpc: '2.0', id: 'l', method: 'wait', params: { _meta: LOG } });
  await untilSeen(second, ({ method }) => method === 'wait');
  await modern(second, 'say', { message });
  assert.deepEqual((await first.find((frame) => frame.json.method === message.method, 'the line')).json, message);
  second.send({ jsonrpc: '2.0', id: 'k', method: 'say', params: { message, _meta: LOG } }); // two have
  assert.deepEqual((await second.find((frame) => frame.json.id === 'k', 'its answer')).json.result, {});
  await second.silent('what two asked for');
  await first.silent('what two asked for');
  first.socket.resetAndDestroy();
});

scenario('a cancel reaches the process that was asked, with its id', BOTH, async (hub) => {
  const [old, recent] = [await client(hub), await attached(hub)];
  await modern(recent, 'server/discover');
  for (const [peer, params] of [[old, {}], [recent, { _meta: META }]]) peer.send({ jsonrpc: '2.0', id: 7, method: 'wait', params: { ...params, progress: { _meta: 1 } } });
  const { id } = (await modernSeen(recent)).find(({ method }) => method === 'wait');
  recent.notify('notifications/cancelled', { requestId: 7 });
  await untilSeen(recent, ({ method, params }) => method === 'notifications/cancelled' && params.requestId === id);
  assert.equal((await methods(old, 'notifications/cancelled')).length, 0);
  const token = { _meta: { ...META, progressToken: 'mine' } };
  recent.send({ jsonrpc: '2.0', id: 8, method: 'wait', params: token });
  const asked = (await modernSeen(recent)).findLast(({ method }) => method === 'wait');
  await modern(recent, 'say', { message: { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: asked.params._meta.progressToken, progress: 1 } } });
  assert.deepEqual((await recent.find((frame) => frame.json.method === 'notifications/progress', 'progress')).json.params, { progressToken: 'mine', progress: 1 });
  recent.socket.resetAndDestroy();
  const last = await attached(hub);
  await untilSeen(last, ({ method, params }) => method === 'notifications/cancelled' && params.requestId === asked.id);
  old.socket.resetAndDestroy();
});

scenario('of a pool each client has one process, and keeps it', POOL, async (hub) => {
  const [watch] = [await hub.peer()];
  await untilListed(watch, (all) => all.length === 3 && all.every(({ state, era }) => state === 'running' && era === 'legacy'));
  const all = await clients(hub, 6);
  const asked = (params) => Promise.all(all.map(async (peer) => (await where(peer, params)).process));
  const processes = await asked();
  assert.equal(new Set(processes).size, 3);
  for (let count = 0; count < 3; count++) assert.deepEqual(await asked(), processes);
  const modernOnes = await asked({ _meta: META });
  assert.equal(new Set(modernOnes).size, 3);
  assert.deepEqual(await asked({ _meta: META }), modernOnes);
  for (const [n, one] of processes.entries()) assert.equal(processes.indexOf(one), modernOnes.indexOf(modernOnes[n]));
  // The clients of an instance that has died wait for the next one, and others aren't touched.
  assertError(await all[0].ask('die'), -32050);
  const after = await asked();
  assert.ok(!processes.includes(after[0]));
  assert.deepEqual(after.map((one) => one === after[0]), processes.map((one) => one === processes[0]));
  assert.deepEqual(after.filter((one) => one !== after[0]), processes.filter((one) => one !== processes[0]));
  assert.deepEqual(await asked({ _meta: META }), modernOnes);
});

scenario('a section that changes or goes takes both processes along', { ...TWO, options: config('changes.ini', SECTION) }, async (hub) => {
  const text = SECTION.replace('.py', '.py --both');
  const load = async (now) => {
    const before = hub.stderr.length;
    writeFileSync(join(directory, 'changes.ini'), now);
    hub.process.kill('SIGHUP');
    for (const end = Date.now() + WAIT_MS; !/was read again/.test(hub.stderr.slice(before));) {
      assert.ok(Date.now() < end, 'it is read again');
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  await load(text); // the file is as the run before has left it
  const [old, recent] = [await client(hub), await attached(hub)];
  const begin = async () => {
    assert.equal((await untilAnswered(recent)).era, 'modern');
    recent.send({ jsonrpc: '2.0', id: 'w', method: 'wait', params: { _meta: META } });
    await untilSeen(recent, ({ method }) => method === 'wait');
  };
  const ended = async () => assertError((await recent.find((one) => one.json.id === 'w', 'its end')).json, -32050);
  for (const more of ['set CHANGED = 1\n', 'instances = 2\n', '', 'framing = content-length\n']) {
    await begin();
    await load(text + more);
    // Each change of the section restarts the present instances, also a change of `instances` alone.
    await ended();
    if (more.startsWith('framing')) break; // which the program doesn't speak
  }
  await load(text);
  await begin();
  await load(text.replace('protocol = mcp', 'protocol = plain\nframing = lines'));
  await ended();
  await untilListed(old, (all) => all.length === 1 && all[0].state === 'running' && all[0].protocol === 'plain');
  assert.equal((await children(old))[0].era, undefined);
  await load(text);
  await untilListed(old, ([one]) => one.state === 'running' && one.protocol === 'mcp');
  await begin();
  await load('');
  await ended();
  await untilListed(old, (all) => all.length === 0);
});

scenario('who uses a server hears that another program has taken its place', { ...TWO, options: config('replaced.ini', SECTION) }, async (hub) => {
  const [first, second] = await clients(hub, 2);
  const [stranger] = [await attached(hub)];
  const load = (text) => {
    writeFileSync(join(directory, 'replaced.ini'), text);
    hub.process.kill('SIGHUP');
  };
  const lists = ['tools', 'prompts', 'resources'];
  const told = (peer) => Promise.all(lists.map((list) => peer.find(({ json }) => json.method === `notifications/${list}/list_changed`, `that ${list} are others`)));
  for (const run of [1, 2]) {
    load(`${SECTION}set RUN = ${run}\n`);
    for (const peer of [first, second]) assert.deepEqual((await told(peer)).map(({ json }) => json.params), [undefined, undefined, undefined]);
  }
  // The section goes, and comes back: by then nobody else knows who has used it.
  load('');
  await untilListed(stranger, (all) => all.length === 0);
  load(`${SECTION}set RUN = 2\n`);
  for (const peer of [first, second]) assert.deepEqual((await told(peer)).map(({ json }) => json.params), [undefined, undefined, undefined]);
  await first.ask('ping');
  load(`${SECTION}set RUN = 2\n`); // nothing changes
  await first.ask('die').catch(() => {}); // and it is the same program that is started again
  await first.ask('ping');
  for (const peer of [first, second, stranger]) await peer.silent('that anything is another one');
});

scenario('a thousand requests end once each with the process that had them', BOTH, async (hub) => {
  const recent = await attached(hub);
  await modern(recent, 'server/discover');
  const { process: pid } = await where(recent, { _meta: META });
  const all = Array.from({ length: 1000 }, () => recent.ask('wait', { _meta: META }));
  await recent.ask('hub/ping');
  await modern(recent, 'seen');
  process.kill(pid, 'SIGKILL');
  for (const one of all) assertError(await one, -32050);
  assert.notEqual((await where(recent, { _meta: META })).process, pid);
  await recent.silent('an end');
  assert.equal((await recent.ask('hub/agents', {})).result.agents[0].pending, 0);
});

scenario('who ends at an initialize is down for those who want sessions, and serves all others', RAW, async (hub) => {
  const peer = await attached(hub);
  await untilListed(peer, ([one]) => one.state === 'down');
  assertError(await peer.ask('tools/list'), -32010);
  assertError(await peer.ask('initialize', OPENING), -32010);
  assert.equal((await peer.ask('server/discover', {})).result.method, 'server/discover');
  assert.equal((await where(peer, { _meta: META })).era, 'modern');
  assertError(await peer.ask('tools/list'), -32010);
  await peer.ask('hub/childStop', { name: 'server' });
  await untilListed(peer, (all) => all.every(({ state }) => state === 'stopped'));
  assertError(await peer.ask('server/discover', {}), -32010);
});

scenario('who has told something of a subscription has the era, though it ends without an answer', BOTH, async (hub) => {
  const peer = await attached(hub);
  peer.send({ jsonrpc: '2.0', id: 'l', method: 'subscriptions/listen', params: { _meta: META, ack: 'die' } });
  await peer.find(({ json }) => json.method === 'notifications/subscriptions/acknowledged', 'that it listens');
  assertError((await peer.find(({ json }) => json.id === 'l', 'its end')).json, -32050);
  assert.equal((await where(peer, { _meta: META })).era, 'modern');
});

scenario("one process can't answer what the other one was asked", BOTH, async (hub) => {
  const [old, recent] = [await client(hub), await attached(hub)];
  await modern(recent, 'server/discover');
  const progressToken = 'mine';
  for (const [asks, forges, meta, others] of [[recent, old, META, {}], [old, recent, {}, META]]) {
    asks.send({ jsonrpc: '2.0', id: 'w', method: 'wait', params: { _meta: { ...meta, progressToken } } });
    const { messages } = (await asks.ask('seen', { _meta: meta })).result;
    const { id, params } = messages.findLast(({ method }) => method === 'wait');
    const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: params._meta.progressToken, progress: 1 } };
    for (const message of [{ jsonrpc: '2.0', id, result: 'forged' }, progress]) await forges.ask('say', { message, _meta: others });
    await asks.silent('what is forged');
    await asks.ask('finish', { id, result: 'right', _meta: meta });
    assert.equal((await asks.find(({ json }) => json.id === 'w', 'the answer')).json.result, 'right');
  }
});

scenario('from which level on a server logs it is told again after a restart', SHARED, async (hub) => {
  const [peer] = await clients(hub, 1);
  for (const level of ['error', 'debug']) await peer.ask('logging/setLevel', { level });
  assertError(await peer.ask('die'), -32050);
  assert.deepEqual((await until(peer, ({ method }) => method === 'logging/setLevel')).params, { level: 'debug' });
});

scenario('who listens does so without a timeout, and at its end nothing waits for that', MODERN, async (hub) => {
  const [peer, other] = [await hub.peer(), await hub.peer()];
  for (const one of [peer, other]) await one.ask('hub/attach', { agent: 'server' });
  peer.send({ jsonrpc: '2.0', id: 'l', method: 'subscriptions/listen', params: {} }, 'Custom-Timeout-Ms: 1');
  assertError(await peer.ask('wait', {}, 'Custom-Timeout-Ms: 50'), -32051); // which is later
  await peer.silent('listening');
  const { id } = await until(other, ({ method }) => method === 'subscriptions/listen');
  await peer.finish();
  await peer.gone();
  await until(other, ({ method, params }) => method === 'notifications/cancelled' && params.requestId === id);
});
