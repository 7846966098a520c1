// Registrations over two hubs: an agentId is held once, names of any form are found, and the agents of all hubs can be
// listed.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Broker, joined, joining, linked, until } from './cluster.mjs';
import { Hub } from './hub.mjs';
import { assertError } from './peer.mjs';

const directory = mkdtempSync(join(tmpdir(), 'patchbay-names-'));
after(() => rmSync(directory, { recursive: true, force: true }));
const PYTHON = execFileSync('python3', ['-c', 'import sys; print(sys.executable)']).toString().trim();
const EACH = ['--config', join(directory, 'each.ini')];
writeFileSync(EACH[1], `[child own]\ncommand = ${PYTHON} -S -E ${fileURLToPath(new URL('child.py', import.meta.url))} serve\ninstances = each\nmethods = polite\n`);
const SERVER = ['--config', join(directory, 'server.ini')];
writeFileSync(SERVER[1], `[child server]\ncommand = ${PYTHON} -S -E ${fileURLToPath(new URL('mcp_server.py', import.meta.url))}\nprotocol = mcp\n`);

const register = (peer, agentId, more = {}) => peer.ask('agent/register', { agentId, capabilities: {}, ...more });

joined('what another hub holds is refused as what this one does', {}, async (x, y) => {
  const holder = await x.agent('b');
  holder.serve(() => 'first');
  const later = await y.peer();
  assert.equal(assertError(await register(later, 'b'), -32053).data.agent, 'b');
  assert.equal((await later.ask('work', { targetAgent: 'b' })).result, 'first');
  await holder.silent('anything of that');
});

joined('of two who ask at once one gets it', { hubs: [[], [], []] }, async (x, y, z) => {
  const peers = await Promise.all([x, y, z].map((hub) => hub.peer()));
  for (let n = 0; n < 50; n++) {
    const answers = await Promise.all(peers.map((peer) => register(peer, `n-${n}`)));
    const refused = answers.filter((answer) => !answer.result);
    assert.equal(refused.length, 2, JSON.stringify(answers));
    refused.forEach((answer) => assertError(answer, -32053));
  }
  for (const peer of peers) await peer.silent('hub/replaced');
});

joined('a connection that asks twice is answered twice, and alike', {}, async (x, y) => {
  await x.agent('b');
  const [one, other] = [await y.peer(), await y.peer()];
  for (const answer of await Promise.all([register(one, 'b'), register(one, 'b'), register(other, 'b')])) assertError(answer, -32053);
  for (const answer of await Promise.all([register(one, 'c'), register(one, 'c')])) assert.ok(answer.result);
  const answers = await Promise.all([register(one, 'd'), one.ask('agent/unregister', { agentId: 'd' }), register(one, 'd')]);
  assert.deepEqual(answers.map((answer) => answer.result.registered), [true, false, true]);
  const [registered, ended] = await Promise.all([register(other, 'e'), other.ask('shutdown')]);
  assert.deepEqual([registered.result.registered, ended.result], [true, null]);
  assert.ok((await register(one, 'e')).result);
});

joined('with --takeover at both hubs the later one takes it', { hubs: [['--takeover'], ['--takeover'], []] }, async (x, y, z) => {
  const first = await x.agent('b'), strict = await z.agent('c');
  const later = await y.peer();
  assert.ok((await register(later, 'b')).result);
  assert.deepEqual((await first.find((one) => one.json.method === 'hub/replaced', 'hub/replaced')).json.params, { agentId: 'b' });
  later.serve(() => 'later');
  assert.equal((await (await x.peer()).ask('work', { targetAgent: 'b' })).result, 'later');
  assertError(await register(later, 'c'), -32053);
  await strict.silent('hub/replaced');
});

joined('a hub that has gone keeps one who registers waiting, not all', { hubs: [[], [], []] }, async (x, y, z) => {
  const peers = await Promise.all(Array.from({ length: 8 }, () => x.peer()));
  await z.stop();
  const begun = performance.now();
  for (const [n, peer] of peers.entries()) assert.ok((await register(peer, `n-${n}`)).result);
  assert.ok(performance.now() - begun < 4000, 'each has waited for it'); // 0.7 s
});

joined('a child\'s name is the child\'s at all hubs', { hubs: [['--extension', 'tool=sleep 1000'], ['--takeover']] }, async (x, y) => {
  assertError(await register(await y.peer(), 'tool'), -32053);
});

joined('a program of which each peer has its own is its own hub\'s peers\' alone, and its name is held at all', { hubs: [EACH, []] }, async (x, y) => {
  const here = await x.peer(), there = await y.peer();
  assert.ok((await here.ask('process', { targetAgent: 'own' })).result);
  assertError(await there.ask('process', { targetAgent: 'own' }), -32010);
  assertError(await there.ask('polite', {}), -32601);
  assertError(await there.ask('hub/attach', { agent: 'own' }), -32010);
  assertError(await register(there, 'own'), -32053);
});

joined('what a program asks of who is at another hub is refused at once', { hubs: [SERVER, []] }, async (x, y) => {
  const here = await x.peer(), there = await y.peer();
  const message = { jsonrpc: '2.0', id: 'S1', method: 'sampling/createMessage', params: {} };
  assert.ok((await there.ask('say', { targetAgent: 'server', message })).result);
  const heard = async () => (await here.ask('seen', { targetAgent: 'server' })).result.messages.find(({ id }) => id === 'S1');
  await until('the program has an answer', heard);
  assertError(await heard(), -32601);
  assert.equal((await here.ask('hub/stats')).result.pending, 0);
});

// Two registrations of one name stand while the hubs are apart. Ages count: each hub's later one is the other's earlier
// one.
joined('hubs that were apart agree on the older one', {}, async (x, y, broker) => {
  const replaced = (peer) => peer.find((one) => one.json.method === 'hub/replaced', 'hub/replaced');
  await broker.kill();
  await Promise.all([linked(x, 0), linked(y, 0)]);
  const older = [await x.agent('one'), await y.agent('two')];
  await new Promise((resolve) => setTimeout(resolve, 50));
  const later = [await y.agent('one'), await x.agent('two')];
  await x.agent('mine');
  for (const [n, peer] of older.entries()) peer.serve(() => `older ${n}`);
  await broker.again();
  for (const [n, peer] of later.entries()) assert.deepEqual((await replaced(peer)).json.params, { agentId: ['one', 'two'][n] });
  await Promise.all([linked(x), linked(y)]);
  const source = await y.peer();
  for (const [n, targetAgent] of ['one', 'two'].entries())
    assert.equal((await source.ask('work', { targetAgent })).result, `older ${n}`);
  for (const peer of older) await peer.silent('hub/replaced');
});

joined('a hub that stands still holds a registration up for a second, and keeps what it has', { shards: [1] }, async (x, y) => {
  const older = await y.agent('b');
  const later = await x.peer();
  await until('both hubs know each other', async () => (await later.ask('hub/agents', { cluster: true })).result.agents.length === 1);
  y.process.kill('SIGSTOP');
  const begun = Date.now();
  assert.ok((await register(later, 'b')).result);
  const took = Date.now() - begun;
  y.process.kill('SIGCONT');
  assert.ok(took < 5000, `answered after ${took} ms`);
  await later.find((one) => one.json.method === 'hub/replaced', 'hub/replaced');
  await older.silent('hub/replaced');
});

joined('its holder leaves: it is free', {}, async (x, y) => {
  const holder = await x.agent('b');
  const later = await y.peer();
  holder.drop();
  for (let answer; !(answer = await register(later, 'b')).result;) assertError(answer, -32053);
  const source = await x.peer();
  later.serve(() => 'later');
  assert.equal((await source.ask('work', { targetAgent: 'b' })).result, 'later');
});

joined('the holder registers again, and its hub alone is asked', {}, async (x, y) => {
  const holder = await x.agent('b', { methods: ['one'] });
  holder.serve((message) => message.method);
  assert.equal((await register(holder, 'b', { capabilities: { methods: ['two'] } })).result.registered, true);
  const source = await y.peer();
  assert.equal((await source.ask('two', {})).result, 'two');
  assertError(await source.ask('one', {}), -32601);
});

joined('names of every form that may be are found', {}, async (x, y) => {
  const names = ['a.b.c', 'a-b', 'a_b', 'a:b/c', 'A', '_XX', 'x'.repeat(255), '_'.repeat(255)];
  for (const name of names) (await y.agent(name)).serve((message) => message.params.targetAgent);
  const source = await x.peer();
  for (const name of names) assert.equal((await source.ask('work', { targetAgent: name })).result, name);
});

joined('what differs in case, or looks like an escape, is another name', {}, async (x, y) => {
  (await y.agent('a_2Eb')).serve(() => 'escape');
  (await y.agent('a.b')).serve(() => 'dot');
  (await y.agent('ab')).serve(() => 'lower');
  const source = await x.peer();
  assert.equal((await source.ask('work', { targetAgent: 'a.b' })).result, 'dot');
  assert.equal((await source.ask('work', { targetAgent: 'a_2Eb' })).result, 'escape');
  assertError(await source.ask('work', { targetAgent: 'AB' }), -32010);
});

joined('names of 255 bytes of any kind are found; longer ones are nobody\'s', {}, async (x, y) => {
  const [fits, over] = ['*'.repeat(255), '*'.repeat(256)];
  (await y.agent('b', { methods: [fits, over, 'x'.repeat(5000)] })).serve((message) => message.method.length);
  const source = await x.peer();
  assert.equal((await source.ask(fits, {})).result, 255);
  assertError(await source.ask(over, {}), -32601);
  assertError(await source.ask('x'.repeat(5000), {}), -32601);
  assert.equal((await source.ask('work', { targetAgent: 'b' })).result, 4);
});

test('hubs of clusters of different names know nothing of each other', async () => {
  const broker = await Broker.start();
  const [x, y] = [await Hub.start(joining(broker, 'one')), await Hub.start(joining(broker, 'one_2'))];
  await Promise.all([linked(x), linked(y)]);
  await x.agent('b');
  await y.agent('b');
  assertError(await (await y.peer()).ask('work', { targetAgent: 'only' }), -32010);
  await Promise.all([x.stop(), y.stop()]);
  await broker.kill();
});
