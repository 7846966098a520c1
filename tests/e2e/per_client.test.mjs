// Programs of which each user has an instance of its own. Whose an instance is, what it says to nobody in particular,
// how it ends, and how many there may be.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Duplex } from 'node:stream';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import { scenario } from './hub.mjs';
import { fourAtOnce } from './parallel.mjs';
import { assertError, LINES, Peer, WAIT_MS } from './peer.mjs';

fourAtOnce();

const directory = mkdtempSync(join(tmpdir(), 'patchbay-each-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const program = (name) => fileURLToPath(new URL(name, import.meta.url));
const PYTHON = execFileSync('python3', ['-c', 'import sys; print(sys.executable)']).toString().trim();

function config(name, text) {
  const path = join(directory, name);
  writeFileSync(path, text);
  return ['--config', path];
}

const own = (more = '') => `[child own]\ncommand = ${PYTHON} -S -E ${program('child.py')} serve\ninstances = each\nmethods = polite\n${more}`;
const both = (options) => ({ shards: [1, 2], transports: ['tcp'], options });
const OWN = both(config('own.ini', own()));
const FEW = both(config('few.ini', own('max-instances = 3\n')));
const BRITTLE = both(config('brittle.ini', own('restart-limit = 1\nrestart-delay = 1ms\n')));
const SHARED = both(config('shared.ini', `[child server]\ncommand = ${PYTHON} -S -E ${program('mcp_server.py')}\nprotocol = mcp\n`));
const MISSING = both(config('missing.ini', '[child own]\ncommand = /nonexistent\ninstances = each\n'));
const EXTENSION = both([...config('extension.ini', own(`protocol = hermes\ndata = ${join(directory, 'data')}\n`).replace('methods = polite\n', ''))]);
const SERVER = both(config('server.ini', `[child server]\ncommand = ${PYTHON} -S -E ${program('mcp_server.py')}\nprotocol = mcp\ninstances = each\n`));

async function own_process(peer) {
  const { error, result } = await peer.ask('process', { targetAgent: 'own' });
  assert.ok(result, JSON.stringify(error));
  return result.process;
}
const peers = (hub, count) => Promise.all(Array.from({ length: count }, () => hub.peer()));

function alive(process) {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${process}/status`, 'utf8'));
  } catch {
    return false;
  }
}

async function until(what, holds) {
  for (const end = Date.now() + WAIT_MS; !(await holds());) {
    assert.ok(Date.now() < end, `it never came that ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const kill = (pid) => process.kill(pid, 'SIGKILL');
const gone = (process) => until(`${process} has ended`, () => !alive(process));
const listed = async (peer, name = 'own') => (await peer.ask('hub/children', {})).result.children.find((one) => one.name === name);

async function attached(hub, agent) {
  const peer = await hub.peer();
  assert.deepEqual((await peer.ask('hub/attach', { agent })).result, { agent });
  return peer;
}

scenario('each peer has a process of its own, and keeps it', OWN, async (hub) => {
  const all = await peers(hub, 6);
  const processes = await Promise.all(all.map(own_process));
  assert.equal(new Set(processes).size, all.length);
  assert.deepEqual(await Promise.all(all.map(own_process)), processes);
  assert.deepEqual(await Promise.all(all.map(async (peer) => (await peer.ask('polite', {})).result.method)), all.map(() => 'polite'));
  const one = await listed(all[0]);
  assert.equal(one.instances, all.length);
  assert.equal(one.pid, null);
  assert.equal(processes.includes((await listed(all[0], 'own#1')).pid), true);
  const { agents } = (await all[0].ask('hub/agents', {})).result;
  assert.deepEqual(agents.map(({ agentId, pending, child }) => [agentId, pending, child.instances]), [['own', 0, all.length]]);
  assertError(await all[0].ask('work', { targetAgent: 'own#1' }), -32010);
});

scenario('nothing is started before it is used', OWN, async (hub) => {
  const peer = await attached(hub, 'own');
  assert.equal((await listed(peer)).instances, 0);
  assert.equal(await listed(peer, 'own#1'), undefined);
});

scenario('a process ends with its peer, and its place is another\'s then', FEW, async (hub) => {
  const [first, ...others] = await peers(hub, 3);
  const process = await own_process(first);
  const kept = await Promise.all(others.map(own_process));
  const late = await hub.peer();
  const full = await late.ask('process', { targetAgent: 'own' });
  assertError(full, -32052);
  assert.deepEqual(full.error.data, { agent: 'own', limit: 3 });
  await late.notify('work', { targetAgent: 'own' });
  first.drop();
  await gone(process);
  let answer;
  await until('there is room', async () => !(answer = await late.ask('process', { targetAgent: 'own' })).error);
  assert.ok(![process, ...kept].includes(answer.result.process));
  assert.deepEqual(await Promise.all(others.map(own_process)), kept);
});

scenario('whose stream ends with its leaving ends with the program that it has told to exit', OWN, async (hub) => {
  const [watch, peer] = [await hub.peer(), await hub.peer()];
  assert.deepEqual((await peer.ask('hub/attach', { agent: 'own', halfClose: 'leave' })).result, { agent: 'own' });
  const process = await own_process(peer);
  await peer.notify('exit', { ends: true });
  await peer.gone();
  await gone(process);
  await until('none is there', async () => (await listed(watch)).instances === 0);
  const late = await hub.peer(); // whose program has ended before
  await late.ask('hub/attach', { agent: 'own', halfClose: 'leave' });
  const second = await own_process(late);
  kill(second);
  await until('it has ended', async () => (await listed(watch, 'own#1')).state !== 'running');
  await late.notify('exit', { ends: true });
  await late.gone();
});

scenario('there are 64 at most unless the section says otherwise', OWN, async (hub) => {
  const all = await peers(hub, 64);
  for (const peer of all) peer.notify('work', { targetAgent: 'own' });
  const [watch] = await peers(hub, 1);
  await until('there are 64', async () => (await listed(watch)).instances === 64);
  const answer = await watch.ask('work', { targetAgent: 'own' });
  assertError(answer, -32052);
  assert.equal(answer.error.data.limit, 64);
});

scenario('what opens and ends a session passes to it', OWN, async (hub) => {
  const peer = await attached(hub, 'own');
  assert.equal((await peer.ask('initialize', { capabilities: {} })).result.name, 'serve');
  await peer.notify('initialized', {});
  assert.equal((await peer.ask('shutdown', {})).result, null);
  await peer.notify('exit', {});
  assert.equal((await peer.ask('hello', { a: 1 })).result.method, 'hello');
  assert.ok((await peer.ask('hub/ping', { n: 1 })).result);
  const log = async () => (await peer.ask('hub/childLog', { name: 'own#1' })).result.lines.join('\n');
  for (const one of ['initialize {', '"method": "initialized"', 'shutdown {', '"method": "exit"']) await until(`it says ${one}`, async () => (await log()).includes(one));
  // Under the name they all have there are the lines of each, behind its own.
  const of = async (name) => (await peer.ask('hub/childLog', { name })).result.lines;
  assert.deepEqual(await of('own'), (await of('own#1')).map((line) => `own#1: ${line}`));
  // To the hub itself it says the same where it isn't attached.
  const other = await hub.peer();
  assert.equal((await other.ask('initialize', { targetAgent: 'own', processId: null, agentId: 'me', capabilities: {}, governanceLevel: 'manual' })).result.serverInfo.name, 'patchbay');
});

// Hands each request on to an instance of its own, which is its user's like any other's.
const spiral = join(directory, 'spiral.py');
writeFileSync(spiral, `import json, sys
waiting = {}
for line in sys.stdin:
    message = json.loads(line)
    if "method" in message:
        waiting[len(waiting)] = message["id"]
        print(json.dumps({"jsonrpc": "2.0", "id": len(waiting) - 1, "method": "on", "params": {"targetAgent": "spiral"}}), flush=True)
    else:
        answer = {key: message[key] for key in ("result", "error") if key in message}
        print(json.dumps({"jsonrpc": "2.0", "id": waiting[message["id"]], **answer}), flush=True)
`);
const SPIRAL = both(config('spiral.ini', `[child spiral]\ncommand = ${PYTHON} -S -E ${spiral}\nframing = lines\ninstances = each\n`));

scenario('instances that use instances of their own are a chain of four at most', SPIRAL, async (hub) => {
  const peer = await hub.peer();
  const { error } = await peer.ask('on', { targetAgent: 'spiral' });
  assert.equal(error.code, -32052);
  assert.equal((await listed(peer, 'spiral')).instances, 4);
});

scenario('what it says to nobody in particular reaches its peer alone', OWN, async (hub) => {
  const [one, other] = [await attached(hub, 'own'), await attached(hub, 'own')];
  const offers = await hub.agent('editor', { methods: ['editor/show'] });
  await Promise.all([one, other].map(own_process));
  for (const method of ['window/log', 'event', '$/progress']) {
    const params = { event: 'told', token: 'of-its-own', n: method };
    assert.equal((await one.ask('tell', { method, params })).result.method, 'tell');
    assert.deepEqual((await one.find(({ json }) => json.method === method, 'what it tells')).json.params, params);
  }
  one.serve(({ params }) => ({ shown: params }));
  other.serve(() => assert.fail('it is not its own'));
  offers.serve(() => assert.fail('it is not for an agent'));
  assert.deepEqual((await one.ask('ask', { method: 'editor/show', params: { a: 1 } })).result.result, { shown: { a: 1 } });
  // A message that names a target goes there.
  offers.serve(() => 'offered');
  assert.equal((await one.ask('ask', { method: 'editor/show', params: { targetAgent: 'editor' } })).result.result, 'offered');
  assert.deepEqual((await one.ask('ask', { method: 'hub/ping', params: { a: 2 } })).result.result, { a: 2 });
  await other.silent('what another one\'s says');
  await offers.silent('what has no target');
});

scenario('one that is killed owes nothing, and is started again by a request', OWN, async (hub) => {
  const [one, other] = await peers(hub, 2);
  const [first, kept] = [await own_process(one), await own_process(other)];
  one.send({ jsonrpc: '2.0', id: 'hangs', method: 'hang', params: { targetAgent: 'own' } });
  await one.ask('work', { targetAgent: 'own' });
  process.kill(first, 'SIGKILL');
  const { json } = await one.find((frame) => frame.json.id === 'hangs', 'the end of what it owed');
  assertError(json, -32050);
  assert.deepEqual(json.error.data, { agent: 'own' });
  await until('it rests', async () => (await listed(one, 'own#1')).state === 'idle' || (await listed(one, 'own#2')).state === 'idle');
  await one.notify('work', { targetAgent: 'own' }); // which is nobody's any more
  assert.equal((await one.ask('hub/ping')).result, null);
  const next = await own_process(one);
  assert.notEqual(next, first);
  assert.equal(await own_process(other), kept);
});

scenario('one that fails again and again stays down, and the others run', BRITTLE, async (hub) => {
  const [one, other] = await peers(hub, 2);
  const kept = await own_process(other);
  await own_process(one);
  for (let count = 0; count < 2; count++) assertError(await one.ask('die', { targetAgent: 'own' }), -32050);
  await until('it is down', async () => (await one.ask('work', { targetAgent: 'own' })).error?.code === -32010);
  assert.equal(await own_process(other), kept);
  await one.ask('hub/childRestart', { name: 'own' });
  await gone(kept);
  await until('both run again', async () => (await one.ask('work', { targetAgent: 'own' })).result && (await other.ask('work', { targetAgent: 'own' })).result);
});

scenario('a cancel and the time of a request are told to the one that was asked', { ...OWN, options: [...OWN.options, '--drain-timeout', '100ms'] }, async (hub) => {
  const [one, other] = await peers(hub, 2);
  await Promise.all([one, other].map(own_process));
  one.send({ jsonrpc: '2.0', id: 7, method: 'hang', params: { targetAgent: 'own' } });
  await own_process(one); // it has it
  await one.notify('$/cancelRequest', { id: 7 });
  one.send({ jsonrpc: '2.0', id: 8, method: 'hang', params: { targetAgent: 'own' } }, 'Custom-Timeout-Ms: 500');
  assertError((await one.find(({ json }) => json.id === 8, 'its end')).json, -32051);
  const told = async (name) => (await one.ask('hub/childLog', { name })).result.lines.filter((line) => line.includes('$/cancelRequest')).length;
  await until('both are told', async () => (await Promise.all(['own#1', 'own#2'].map(told))).includes(2));
  assert.deepEqual((await Promise.all(['own#1', 'own#2'].map(told))).sort(), [0, 2]);
});

scenario('what a peer that has gone had asked is owed no more', OWN, async (hub) => {
  const [one, other] = await peers(hub, 2);
  await Promise.all([one, other].map(own_process));
  one.send({ jsonrpc: '2.0', id: 'mine', method: 'hang', params: { targetAgent: 'own' } });
  await one.ask('work', { targetAgent: 'own' });
  const pending = async () => (await other.ask('hub/agents', {})).result.agents[0].pending;
  assert.equal(await pending(), 1);
  one.socket.resetAndDestroy();
  await until('nothing is owed', async () => (await pending()) === 0);
  await until('its own has ended', async () => (await listed(other)).instances === 1);
});

scenario('a subscription at a server of its own has the id that its client chose', SERVER, async (hub) => {
  const [one, other] = [await attached(hub, 'server'), await attached(hub, 'server')];
  const subscription = 'io.modelcontextprotocol/subscriptionId', method = 'notifications/tools/list_changed';
  const ids = [];
  for (const id of [1, 'mine']) {
    one.send({ jsonrpc: '2.0', id, method: 'subscriptions/listen', params: {} }, 'Custom-Timeout-Ms: 1');
    ids.push((await one.ask('seen')).result.messages.findLast((message) => message.method === 'subscriptions/listen').id);
  }
  for (const [n, id] of [1, 'mine'].entries()) {
    await one.ask('hear', { id: ids[n], method });
    assert.deepEqual((await one.find(({ json }) => json.method === method, 'what it listens for')).json.params, { _meta: { [subscription]: id }, x: 1 });
  }
  await other.ask('hear', { id: ids[0], method }); // which is another one's
  await one.ask('hear', { id: ids[0], method: 'end' });
  assert.deepEqual((await one.find(({ json }) => json.id === 1, 'its end')).json.result, { _meta: { [subscription]: 1 }, x: 1 });
  await one.ask('hear', { id: ids[1], method: 'notifications/cancelled' });
  assert.deepEqual((await one.find(({ json }) => json.method === 'notifications/cancelled', 'its end')).json.params, { requestId: 'mine' });
  for (const peer of [one, other]) await peer.silent('more of it');
  assert.equal((await one.ask('hub/agents', {})).result.agents[0].pending, 0);
});

scenario('what one says in an array is taken one by one', SERVER, async (hub) => {
  const [one, other] = [await attached(hub, 'server'), await attached(hub, 'server')];
  one.serve(({ method }) => ({ method }));
  one.send({ jsonrpc: '2.0', id: 'w', method: 'wait', params: {} });
  const wait = (await one.ask('seen')).result.messages.find(({ method }) => method === 'wait');
  const messages = [{ jsonrpc: '2.0', id: 'p', method: 'ping' }, { jsonrpc: '2.0', id: 'r', method: 'roots/list' }, { jsonrpc: '2.0', method: 'notifications/tools/list_changed' }];
  assert.deepEqual((await one.ask('together', { ids: [wait.id], messages })).result, { together: true });
  assert.deepEqual((await one.find(({ json }) => json.id === 'w', 'the answer')).json.result, { together: true });
  await one.find(({ json }) => json.method === 'notifications/tools/list_changed', 'what it tells');
  await until('it is answered by an array', async () => (await one.ask('seen')).result.messages.some((all) => Array.isArray(all) &&
    all.length === 2 && all.find(({ id }) => id === 'r').result.method === 'roots/list'));
  await other.silent('what another one\'s says');
});

scenario('one can\'t answer what another one was asked, or report its progress', SERVER, async (hub) => {
  const [one, other] = [await attached(hub, 'server'), await attached(hub, 'server')];
  one.send({ jsonrpc: '2.0', id: 'mine', method: 'wait', params: { _meta: { progressToken: 'token' } } });
  const { id, params } = (await one.ask('seen')).result.messages.find(({ method }) => method === 'wait');
  const progress = { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: params._meta.progressToken, progress: 1 } };
  await other.ask('say', { message: { jsonrpc: '2.0', id, result: 'forged' } });
  await other.ask('say', { message: progress });
  await one.silent('what another one forges');
  await one.ask('say', { message: progress });
  assert.equal((await one.next('progress')).json.params.progressToken, 'token');
  await one.ask('finish', { id, result: 'right' });
  assert.equal((await one.find(({ json }) => json.id === 'mine', 'the answer')).json.result, 'right');
});

scenario('what it asks ends with its peer, and with itself', SERVER, async (hub) => {
  const [one, other, watch] = [await attached(hub, 'server'), await attached(hub, 'server'), await hub.peer()];
  const question = { jsonrpc: '2.0', id: 1, method: 'roots/list' };
  for (const peer of [one, other]) {
    await peer.ask('say', { message: question });
    await peer.find(({ json }) => json.method === 'roots/list', 'what it asks');
  }
  one.socket.resetAndDestroy();
  await until('one is left', async () => (await listed(watch, 'server')).instances === 1);
  assertError(await other.ask('die', {}), -32050);
  assert.equal((await other.find(({ json }) => json.method === 'notifications/cancelled', 'that it is given up')).json.params.reason, 'given up');
  assert.deepEqual((await other.ask('seen')).result.messages, []);
});

scenario('one that can\'t be started answers those who wait', MISSING, async (hub) => {
  const peer = await hub.peer();
  await peer.notify('work', { targetAgent: 'own' });
  const answer = await peer.ask('work', { targetAgent: 'own' });
  assertError(answer, -32050);
  assert.deepEqual(answer.error.data, { agent: 'own' });
});

scenario('what changes in its section ends them all, and without a section nobody has the name', { shards: [1, 2], transports: ['tcp'], options: config('changes.ini', own()) }, async (hub) => {
  const path = config('changes.ini', own())[1];
  const load = async (text) => {
    const before = hub.stderr.length;
    writeFileSync(path, text);
    hub.process.kill('SIGHUP');
    await until('it was read again', () => /was read again/.test(hub.stderr.slice(before)));
  };
  const [one, other] = await peers(hub, 2);
  await load(own()); // the file is as the run before has left it
  await until('it is there', async () => !(await one.ask('work', { targetAgent: 'own' })).error);
  const processes = [await own_process(one), await own_process(other)];
  await load(own());
  assert.deepEqual([await own_process(one), await own_process(other)], processes);
  for (const changed of [own('set CHANGED = 1\n'), own('framing = lines\n').replace(' serve', ' serve lines')]) {
    const before = [await own_process(one), await own_process(other)];
    await load(changed);
    await Promise.all(before.map(gone));
    await until('it answers', async () => !(await one.ask('work', { targetAgent: 'own' })).error && !(await other.ask('work', { targetAgent: 'own' })).error);
  }
  const last = [await own_process(one), await own_process(other)];
  await load('');
  await Promise.all(last.map(gone));
  await until('nobody has the name', async () => (await one.ask('work', { targetAgent: 'own' })).error?.code === -32010);
});

scenario('a Hermes extension is each one\'s alone, and all that run are told what it names', EXTENSION, async (hub) => {
  const [one, other, third] = await peers(hub, 3);
  const lines = async (name) => (await one.ask('hub/childLog', { name })).result?.lines ?? []; // it may not have begun
  const says = (name, text) => until(`${name} says ${text}`, async () => (await lines(name)).some((line) => line.includes(text)));
  assertError(await third.ask('command/execute', { command: 'greet' }), -32601); // nobody has said that there is one
  const processes = [await own_process(one), await own_process(other)];
  for (const name of ['own#1', 'own#2']) await says(name, 'initialize ');
  const greetings = await Promise.all(['own#1', 'own#2'].map(async (name) => JSON.parse((await lines(name)).find((line) => line.startsWith('initialize ')).slice(11))));
  assert.deepEqual(greetings.map((params) => params.dataDirectory), [1, 2].map(() => join(directory, 'data')));
  const [agent] = (await one.ask('hub/agents', {})).result.agents;
  assert.deepEqual([agent.capabilities.commands, agent.initialize.name], [['greet'], 'serve']);
  // A command goes to its source's own, and starts it.
  assert.equal((await other.ask('command/execute', { command: 'greet' })).result, null);
  await says('own#2', '"command": "greet"');
  assert.ok(!(await lines('own#1')).some((line) => line.includes('command/execute')));
  assert.equal((await third.ask('command/execute', { command: 'press' })).result, null);
  await says('own#3', '"command": "press"');
  await third.notify('window/closed', { window: 7 });
  assert.deepEqual((await third.ask('event', { event: 'build-done' })).result, { delivered: 1 });
  for (const name of ['own#1', 'own#2', 'own#3']) {
    await says(name, 'window/closed');
    await says(name, 'build-done');
  }
  other.drop();
  await gone(processes[1]);
  await until('it has ended in good order', () => /^own: shutdown \{"reason": "closing"\}$/m.test(hub.stderr));
  assert.equal(await own_process(one), processes[0]);
  process.kill(processes[0], 'SIGKILL');
  await until('it rests', async () => (await listed(one, 'own#1')).state === 'idle');
  assert.equal((await one.ask('command/execute', { command: 'greet' })).result, null);
  await says('own#1', '"command": "greet"');
});

scenario('a server of MCP is each client\'s alone', SERVER, async (hub) => {
  const opening = { protocolVersion: '2025-06-18', capabilities: { roots: {} }, clientInfo: { name: 'client', version: '1' } };
  const all = await Promise.all([1, 2, 3].map(() => attached(hub, 'server')));
  await Promise.all(all.map(async (peer, n) => {
    peer.serve(({ method }) => ({ n, method }));
    assert.equal((await peer.ask('initialize', opening)).result.serverInfo.name, 'tested');
    await peer.notify('notifications/initialized');
    await peer.notify('notes', { n });
    peer.send({ jsonrpc: '2.0', id: 'waits', method: 'wait', params: { _meta: { progressToken: 'mine' } } });
    await peer.ask('say', { message: { jsonrpc: '2.0', id: 1, method: 'roots/list' } });
    await peer.ask('say', { message: { jsonrpc: '2.0', id: 2, method: 'ping' } });
    await peer.ask('say', { message: { jsonrpc: '2.0', method: 'notifications/tools/list_changed' } });
    await peer.find(({ json }) => json.method === 'notifications/tools/list_changed', 'what it tells');
    const { messages } = (await peer.ask('seen')).result;
    assert.deepEqual(messages.filter(({ method }) => method === 'initialize').map(({ params }) => params), [opening]);
    assert.equal(messages.filter(({ method }) => method === 'notifications/initialized').length, 1);
    assert.deepEqual(messages.filter(({ method }) => method === 'notes').map(({ params }) => params), [{ n }]);
    assert.deepEqual(messages.find(({ id, result }) => id === 1 && result)?.result, { n, method: 'roots/list' });
    assert.deepEqual(messages.find(({ id, result }) => id === 2 && result)?.result, {});
    const { progressToken } = messages.find(({ method }) => method === 'wait').params._meta;
    await peer.ask('say', { message: { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: n } } });
    assert.deepEqual((await peer.find(({ json }) => json.method === 'notifications/progress', 'its progress')).json.params, { progressToken: 'mine', progress: n });
    await peer.notify('notifications/cancelled', { requestId: 'waits' });
    assert.ok((await peer.ask('seen')).result.messages.some(({ method }) => method === 'notifications/cancelled'));
  }));
  for (const peer of all) await peer.silent('what others say');
});

for (const [kind, how, ask] of [['own', OWN, { method: 'tell', params: { method: 'told', params: {} } }], ['server', SERVER, { method: 'say', params: { message: { jsonrpc: '2.0', method: 'told' } } }], ['shared', SHARED, { method: 'say', params: { message: { jsonrpc: '2.0', method: 'told' } } }]]) {
  scenario(`who asks over HTTP is answered, and told nothing (${kind})`, { ...how, transports: ['http'] }, async (hub) => {
    const targetAgent = kind === 'own' ? 'own' : 'server';
    const body = JSON.stringify([1, 2].map((id) => ({ jsonrpc: '2.0', id, method: ask.method, params: { ...ask.params, targetAgent } })));
    for (let count = 0; count < 3; count++) {
      const answer = await fetch(`${hub.uri('http')}/rpc`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
      assert.deepEqual((await answer.json()).map(({ id, error }) => [id, error]).sort(), [[1, undefined], [2, undefined]]);
    }
  });
}

scenario('patchbay connect --agent has one of its own', OWN, async (hub) => {
  const start = () => {
    const client = spawn(process.env.PATCHBAY, ['--hub', hub.uri(), 'connect', '--agent', 'own', '--framing', 'lines'], { stdio: ['pipe', 'pipe', 'inherit'] });
    const peer = new Peer(Duplex.from({ writable: client.stdin, readable: client.stdout }), LINES);
    hub.peers.push(peer);
    return peer;
  };
  const [one, other] = [start(), start()];
  assert.equal((await one.ask('initialize', { processId: null })).result.name, 'serve');
  const processes = [(await one.ask('process', {})).result.process, (await other.ask('process', {})).result.process];
  assert.notEqual(...processes);
  await one.finish();
  await gone(processes[0]);
  assert.equal((await other.ask('process', {})).result.process, processes[1]);
});

const deaf = (name, more) => `[child ${name}]\ncommand = ${PYTHON} -S -E ${program('child.py')} deaf\nstart-timeout = 5m\nstop-timeout = 20ms\nend-timeout = 20ms\n${more}`;
const DEAF = deaf('shared', 'protocol = hermes\ndata = /tmp\n') + deaf('own', 'protocol = hermes\ndata = /tmp\ninstances = each\n') + deaf('server', 'protocol = mcp\n') + own().replace('[child own]', '[child plain]').replace('instances = each\n', '')
  + '[child gone]\ncommand = /nonexistent\nrestart-delay = 10m\nrestart-delay-max = 10m\n';

scenario('what waits for one whose section goes has found nobody', both(config('removed.ini', DEAF)), async (hub) => {
  const load = async (text) => {
    const before = hub.stderr.length;
    writeFileSync(join(directory, 'removed.ini'), text);
    hub.process.kill('SIGHUP');
    await until('it was read again', () => /was read again/.test(hub.stderr.slice(before)));
  };
  await load(DEAF); // the file is as the run before has left it
  const [peer, client] = [await hub.peer(), await attached(hub, 'server')];
  await until('one has failed', async () => (await listed(peer, 'gone')).failures > 0);
  const asks = ['shared', 'own', 'server', 'gone'].map((targetAgent) => peer.ask('work', { targetAgent }));
  const opens = client.ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } });
  const has = peer.ask('hang', { targetAgent: 'plain' });
  peer.notify('behind', { targetAgent: 'plain' });
  await until('who has it has got what comes behind it', async () => (await peer.ask('hub/childLog', { name: 'plain' })).result.lines.some((line) => line.includes('behind')));
  await until('the others wait', async () => (await peer.ask('hub/agents', {})).result.agents.every(({ pending }) => pending));
  await load('');
  for (const one of asks) assert.deepEqual(Object.keys(assertError(await one, -32010).data), ['agent']);
  assertError(await opens, -32010);
  assertError(await has, -32050);
});

scenario('one of MCP that is started again has its session, level and subscriptions before what waits', SERVER, async (hub) => {
  const opening = { protocolVersion: '2025-06-18', capabilities: { roots: {} }, clientInfo: { name: 'client', version: '1' } };
  const peer = await attached(hub, 'server');
  const seen = async (params = {}) => (await peer.ask('seen', params)).result.messages;
  assert.equal((await peer.ask('initialize', opening)).result.serverInfo.name, 'tested');
  await peer.notify('notifications/initialized');
  for (const uri of ['test://a', 'test://b', 'test://c']) await peer.ask('resources/subscribe', { uri });
  await peer.ask('resources/unsubscribe', { uri: 'test://b' });
  await peer.ask('logging/setLevel', { level: 'error' });
  for (let round = 0; round < 2; round++) {
    assertError(await peer.ask('die'), -32050);
    assert.equal((await peer.ask('tools/call', { n: 1 })).result.params.n, 1);
    const messages = await seen();
    assert.deepEqual(messages.map(({ method, params }) => params?.uri ?? params?.level ?? method), ['initialize', 'notifications/initialized', 'error', 'test://a', 'test://c', 'tools/call']);
    assert.deepEqual(messages[0].params, opening);
  }
  await peer.silent('what the hub was answered');
  // A client that opens the session itself does so alone. A client of the other era has none.
  assertError(await peer.ask('die'), -32050);
  assert.equal((await peer.ask('initialize', opening)).result.serverInfo.name, 'tested');
  assert.deepEqual((await seen()).map(({ method }) => method), ['initialize']);
  assertError(await peer.ask('die'), -32050);
  await peer.ask('tools/call');
  assert.deepEqual((await seen()).map(({ method }) => method), ['initialize', 'notifications/initialized', 'tools/call']);
  assertError(await peer.ask('die'), -32050);
  assertError(await peer.ask('server/discover', {}), -32601);
  assert.deepEqual((await seen()).map(({ method }) => method), ['server/discover']);
});

for (const [what, how] of [['takes', ''], ['refuses', '--modern']]) {
  // The file `flags` has the program's next arguments. The program's input is copied to the file `heard`.
  const [gate, flags, heard, starts] = ['gate', 'flags', 'heard', 'starts.sh'].map((name) => join(directory, `${what}-${name}`));
  writeFileSync(starts, `exec ${PYTHON} -S -E ${program('mcp_server.py')} --gate ${gate} $(cat ${flags}) < <(exec tee ${heard})\n`);
  const GATED = both(config(`${what}.ini`, `[child server]\ncommand = /bin/bash ${starts}\nprotocol = mcp\ninstances = each\nrestart-delay = 1ms\n`));
  scenario(`a user opens a session while the hub opens the one before anew, which the program ${what}`, GATED, async (hub) => {
    const opening = { protocolVersion: '2025-06-18', capabilities: { roots: {} }, clientInfo: { name: 'client', version: '1' } };
    writeFileSync(flags, '');
    writeFileSync(gate, '');
    const [peer, watch] = [await attached(hub, 'server'), await hub.peer()];
    assert.equal((await peer.ask('initialize', opening)).result.serverInfo.name, 'tested');
    await peer.notify('notifications/initialized');
    await peer.ask('resources/subscribe', { uri: 'test://a' });
    rmSync(gate);
    rmSync(heard);
    writeFileSync(flags, how);
    assertError(await peer.ask('die'), -32050);
    const works = peer.ask('tools/call', { n: 1 }); // for which it is started again
    await until('the hub has asked it', () => existsSync(heard) && /"initialize".*\n/.test(readFileSync(heard, 'utf8')));
    const opens = peer.ask('initialize', { ...opening, capabilities: {} });
    await until('that waits, too', async () => (await watch.ask('hub/agents', {})).result.agents[0].pending === 2);
    writeFileSync(flags, '');
    writeFileSync(gate, '');
    if (how) { // what waited has found it gone, and isn't told what the hub was answered
      for (const one of [works, opens]) assertError(await one, -32050);
      assert.equal((await peer.ask('initialize', opening)).result.serverInfo.name, 'tested');
    } else {
      assert.equal((await works).result?.params.n, 1);
      assert.equal((await opens).result?.serverInfo.name, 'tested');
    }
    const { messages } = (await peer.ask('seen')).result;
    assert.deepEqual(messages.map(({ method, params }) => params?.uri ?? method), how ? ['initialize'] : ['initialize', 'notifications/initialized', 'test://a', 'tools/call', 'initialize']);
    assert.deepEqual(messages[0].params, opening);
    await peer.silent('what the hub was answered');
  });
}
